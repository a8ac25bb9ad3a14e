package tls13

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
)

// session is one handshake and its connection.
type session struct {
	client     *Client
	transcript hash.Hash
	handshake  []byte // secret
	clientHand []byte // traffic secret of the client during the handshake
	resumption []byte // secret
	in         records
	out        sealer
}

// takeServerHello reads the first message of the server and derives the keys of the handshake.
func (s *session) takeServerHello() error {
	kind, p, err := s.in.next()
	if err != nil {
		return err
	}
	const bodyAt = 4 + 2 + 32 // header, version, random
	if kind != recordHandshake || len(p) < bodyAt+1 || p[0] != messageServerHello {
		return fmt.Errorf("tls13: the server begins with a record of type %d", kind)
	}
	s.transcript.Write(p)
	share, resumed, err := s.extensions(p[bodyAt:])
	if err != nil {
		return err
	}
	if resumed != s.client.resume {
		return fmt.Errorf("tls13: resumed: %v, want %v", resumed, s.client.resume)
	}
	public, err := ecdh.X25519().NewPublicKey(share)
	if err != nil {
		return err
	}
	shared, err := s.client.key.ECDH(public)
	if err != nil {
		return err
	}
	s.handshake = extract(derive(s.client.early, "derived", hashOf()), shared)
	hello := s.transcript.Sum(nil)
	s.clientHand = derive(s.handshake, "c hs traffic", hello)
	serverHand := derive(s.handshake, "s hs traffic", hello)
	s.in.secret, s.in.open = serverHand, newSealer(serverHand)
	return nil
}

// extensions reads the rest of a ServerHello: session, cipher, compression, extensions.
func (s *session) extensions(p []byte) (share []byte, resumed bool, err error) {
	bad := errors.New("tls13: a ServerHello that is too short")
	skip := 1 + int(p[0]) + 2 + 1 + 2
	if len(p) < skip {
		return nil, false, bad
	}
	for p = p[skip:]; len(p) > 0; {
		if len(p) < 4 {
			return nil, false, bad
		}
		kind, n := binary.BigEndian.Uint16(p), int(binary.BigEndian.Uint16(p[2:]))
		if len(p) < 4+n {
			return nil, false, bad
		}
		value := p[4 : 4+n]
		p = p[4+n:]
		switch kind {
		case extensionKeyShare:
			if len(value) < 4 {
				return nil, false, bad
			}
			share = value[4:]
		case extensionPSK:
			resumed = true
		}
	}
	return share, resumed, nil
}

// takeFlight reads the rest of the server's handshake messages, and returns the record of the
// client's Finished. Then the session has the keys for application data.
func (s *session) takeFlight() (finish []byte, err error) {
	var flight []byte
	for {
		kind, p, err := s.in.next()
		if err != nil {
			return nil, err
		}
		if kind != recordHandshake {
			return nil, fmt.Errorf("tls13: a record of type %d in a handshake: %v", kind, p)
		}
		flight = append(flight, p...)
		last, whole := walk(flight)
		if whole && last == messageFinished {
			break
		}
	}
	s.transcript.Write(flight)
	none := make([]byte, sha256.Size)
	master := extract(derive(s.handshake, "derived", hashOf()), none)
	done := s.transcript.Sum(nil)
	serverData := derive(master, "s ap traffic", done)
	s.in.secret, s.in.open = serverData, newSealer(serverData)

	message := append([]byte{messageFinished, 0, 0, sha256.Size}, finished(s.clientHand, done)...)
	s.transcript.Write(message)
	s.resumption = derive(master, "res master", s.transcript.Sum(nil))
	hand := newSealer(s.clientHand)
	s.out = newSealer(derive(master, "c ap traffic", done))
	return hand.seal(nil, recordHandshake, message), nil
}

// walk returns the type of the last message, and reports whether it is complete.
func walk(p []byte) (last byte, whole bool) {
	for len(p) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(p)&0xffffff)
		if n > len(p) {
			return 0, false
		}
		last, p = p[0], p[n:]
	}
	return last, len(p) == 0
}

// headerSize is the size of the header of a record.
const headerSize = 5

// records reads records, which it decrypts if it has a key.
type records struct {
	from   net.Conn
	secret []byte // nil before there are keys
	open   sealer
	buf    []byte
	rest   []byte // of buf, received and not returned
}

// next returns the next record, except for records that can be ignored. It is valid until the
// next call.
func (r *records) next() (kind byte, p []byte, err error) {
	for {
		record, err := r.whole()
		if err != nil {
			return 0, nil, err
		}
		kind, p = record[0], record[headerSize:]
		switch {
		case kind == recordChange:
			continue
		case r.secret == nil || kind != recordData:
			return kind, p, nil
		}
		p, err = r.open.open(record)
		if err != nil {
			return 0, nil, err
		}
		// the type follows the data, and may be followed by zeros
		for len(p) > 0 && p[len(p)-1] == 0 {
			p = p[:len(p)-1]
		}
		if len(p) == 0 {
			return 0, nil, errors.New("tls13: a record without a type")
		}
		return p[len(p)-1], p[:len(p)-1], nil
	}
}

// whole reads until there is a complete record.
func (r *records) whole() ([]byte, error) {
	const most = headerSize + 1<<14 + 256
	if r.buf == nil {
		r.buf = make([]byte, 4<<10)
	}
	for {
		if len(r.rest) >= headerSize {
			n := headerSize + int(binary.BigEndian.Uint16(r.rest[3:]))
			if n > most {
				return nil, errors.New("tls13: a record that is too long")
			}
			if n <= len(r.rest) {
				record := r.rest[:n]
				r.rest = r.rest[n:]
				return record, nil
			}
			if n > len(r.buf) {
				r.buf = make([]byte, most)
			}
		}
		have := copy(r.buf, r.rest)
		n, err := r.from.Read(r.buf[have:])
		r.rest = r.buf[:have+n]
		if n > 0 || err == nil {
			continue
		}
		if err == io.EOF && have > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
}

// sealer encrypts or decrypts the records of one direction.
type sealer struct {
	aead cipher.AEAD
	iv   []byte
	seq  uint64
}

func newSealer(secret []byte) sealer {
	const keySize, ivSize = 16, 12
	block, err := aes.NewCipher(expand(secret, "key", nil, keySize))
	if err != nil {
		panic(err) // the key has the right size
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return sealer{aead: aead, iv: expand(secret, "iv", nil, ivSize)}
}

func (s *sealer) nonce() []byte {
	nonce := append([]byte(nil), s.iv...)
	at := nonce[len(nonce)-8:]
	binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)^s.seq)
	s.seq++
	return nonce
}

// seal appends a record to dst.
func (s *sealer) seal(dst []byte, kind byte, p []byte) []byte {
	dst = append(dst, recordData, 3, 3)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(p)+1+s.aead.Overhead()))
	header := dst[len(dst)-headerSize:]
	return s.aead.Seal(dst, s.nonce(), append(append([]byte(nil), p...), kind), header)
}

// open decrypts a record in place.
func (s *sealer) open(record []byte) ([]byte, error) {
	p := record[headerSize:]
	return s.aead.Open(p[:0], s.nonce(), p, record[:headerSize])
}

// The key schedule (RFC 8446 section 7.1).

func extract(salt, secret []byte) []byte {
	key, err := hkdf.Extract(sha256.New, secret, salt)
	if err != nil {
		panic(err) // only for a key that FIPS 140 does not allow
	}
	return key
}

func derive(secret []byte, label string, transcript []byte) []byte {
	return expand(secret, label, transcript, sha256.Size)
}

func expand(secret []byte, label string, context []byte, size int) []byte {
	const prefix = "tls13 "
	info := make([]byte, 0, 64)
	info = binary.BigEndian.AppendUint16(info, uint16(size))
	info = append(info, byte(len(prefix)+len(label)))
	info = append(append(info, prefix...), label...)
	info = append(append(info, byte(len(context))), context...)
	key, err := hkdf.Expand(sha256.New, secret, string(info), size)
	if err != nil {
		panic(err) // the size is not too large
	}
	return key
}

// hashOf is the hash of no messages.
func hashOf() []byte {
	h := sha256.Sum256(nil)
	return h[:]
}
