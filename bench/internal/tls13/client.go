// Package tls13 is a TLS 1.3 client for loads: a handshake takes less processor time than on the
// server's side, so that one core of clients keeps one core of a server busy. All handshakes of a
// Client have the same hello and the same key, and the server's certificate is not verified. The
// package implements one version, one cipher and one key exchange. Use it for measurements only.
//
// Start with New and Client.Exchange.
package tls13

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Client has the common state of its handshakes.
type Client struct {
	key    *ecdh.PrivateKey
	hello  []byte // a record
	early  []byte // the early secret
	resume bool
}

// Ticket lets a Client resume a session.
type Ticket struct{ identity, psk []byte }

// New returns a client with full handshakes.
func New() (*Client, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	none := make([]byte, sha256.Size)
	return &Client{key: key, hello: clientHello(key.PublicKey().Bytes(), nil), early: extract(nil, none)}, nil
}

// Resume returns a client that resumes the same session in each handshake.
func (c *Client) Resume(t *Ticket) *Client {
	r := &Client{key: c.key, early: extract(nil, t.psk), resume: true}
	r.hello = clientHello(c.key.PublicKey().Bytes(), t)
	message := r.hello[headerSize:]
	part := sha256.Sum256(message[:len(message)-bindersSize])
	binder := finished(derive(r.early, "res binder", hashOf()), part[:])
	copy(message[len(message)-len(binder):], binder)
	return r
}

// Hello returns the first record of every handshake.
func (c *Client) Hello() []byte { return c.hello }

// The types of records and of messages (RFC 8446 sections 5.1 and 4).
const (
	recordChange    = 20
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23

	messageClientHello = 1
	messageServerHello = 2
	messageTicket      = 4
	messageFinished    = 20
)

// The extensions (RFC 8446 section 4.2).
const (
	extensionGroups     = 10
	extensionSignatures = 13
	extensionPSK        = 41
	extensionVersions   = 43
	extensionModes      = 45
	extensionKeyShare   = 51
)

const (
	groupX25519 = 0x001d
	// bindersSize is the size of the end of a hello that its binder does not cover.
	bindersSize = 2 + 1 + sha256.Size
)

// clientHello returns the record of a hello. With a ticket, the caller must fill in its
// binder.
func clientHello(public []byte, t *Ticket) []byte {
	var e []byte
	extension := func(kind uint16, value []byte) {
		e = binary.BigEndian.AppendUint16(e, kind)
		e = sized16(e, value)
	}
	extension(extensionVersions, []byte{2, 3, 4})
	extension(extensionGroups, []byte{0, 2, 0, groupX25519})
	// ecdsa_secp256r1_sha256, rsa_pss_rsae_sha256
	extension(extensionSignatures, []byte{0, 4, 4, 3, 8, 4})
	extension(extensionKeyShare, sized16(nil, sized16([]byte{0, groupX25519}, public)))
	extension(extensionModes, []byte{1, 1}) // psk_dhe_ke
	if t != nil {
		identity := append(sized16(nil, t.identity), 0, 0, 0, 0)
		binders := append([]byte{sha256.Size}, make([]byte, sha256.Size)...)
		extension(extensionPSK, sized16(sized16(nil, identity), binders))
	}
	body := []byte{3, 3}
	body = append(body, make([]byte, 32)...) // random, which may be constant
	body = append(body, 0)                   // no session
	body = append(body, 0, 2, 0x13, 0x01)    // TLS_AES_128_GCM_SHA256
	body = append(body, 1, 0)                // no compression
	body = sized16(body, e)
	message := []byte{messageClientHello, 0}
	message = sized16(message, body)
	return sized16([]byte{recordHandshake, 3, 1}, message)
}

func sized16(dst, value []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(value)))
	return append(dst, value...)
}

// Exchange performs a handshake over nc, sends the request, and calls take with the data from
// the server until it ends the connection, or until take returns true. It returns the last
// ticket that was received, or nil.
func (c *Client) Exchange(nc net.Conn, request []byte, take func(p []byte) (enough bool, err error)) (*Ticket, error) {
	s := &session{client: c, transcript: sha256.New(), in: records{from: nc}}
	if _, err := nc.Write(c.hello); err != nil {
		return nil, err
	}
	s.transcript.Write(c.hello[headerSize:])
	if err := s.takeServerHello(); err != nil {
		return nil, err
	}
	finish, err := s.takeFlight()
	if err != nil {
		return nil, err
	}
	if _, err := nc.Write(s.out.seal(finish, recordData, request)); err != nil {
		return nil, err
	}
	return s.receive(take)
}

// receive reads the records after the handshake.
func (s *session) receive(take func(p []byte) (enough bool, err error)) (ticket *Ticket, err error) {
	for {
		kind, p, err := s.in.next()
		switch {
		case err == io.EOF:
			return ticket, nil
		case err != nil:
			return ticket, err
		}
		switch kind {
		case recordAlert:
			if !bytes.Equal(p, []byte{1, 0}) {
				return ticket, fmt.Errorf("tls13: alert %v", p)
			}
			return ticket, nil
		case recordHandshake:
			for len(p) >= 4 {
				n := 4 + int(binary.BigEndian.Uint32(p)&0xffffff)
				if n > len(p) {
					return ticket, errors.New("tls13: a message in several records")
				}
				if p[0] == messageTicket {
					if ticket, err = s.ticket(p[4:n]); err != nil {
						return nil, err
					}
				}
				p = p[n:]
			}
		case recordData:
			enough, err := take(p)
			if enough || err != nil {
				return ticket, err
			}
		}
	}
}

// ticket parses a NewSessionTicket (RFC 8446 section 4.6.1).
func (s *session) ticket(p []byte) (*Ticket, error) {
	bad := errors.New("tls13: a ticket that is too short")
	const nonceAt = 8
	if len(p) <= nonceAt {
		return nil, bad
	}
	nonce, p := p[nonceAt+1:], p
	if len(nonce) < int(p[nonceAt])+2 {
		return nil, bad
	}
	nonce, p = nonce[:p[nonceAt]], nonce[p[nonceAt]:]
	size := int(binary.BigEndian.Uint16(p))
	if len(p) < 2+size {
		return nil, bad
	}
	return &Ticket{identity: bytes.Clone(p[2 : 2+size]), psk: expand(s.resumption, "resumption", nonce, sha256.Size)}, nil
}

// finished returns the verify_data of a Finished message (RFC 8446 section 4.4.4).
func finished(secret, transcript []byte) []byte {
	mac := hmac.New(sha256.New, expand(secret, "finished", nil, sha256.Size))
	mac.Write(transcript)
	return mac.Sum(nil)
}
