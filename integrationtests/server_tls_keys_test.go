package integrationtests

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// keyClient is a TLS 1.3 client whose records the test makes itself after the handshake:
// crypto/tls cannot change its keys.
type keyClient struct {
	net.Conn
	t         *testing.T
	sends     recordKeys
	receives  recordKeys
	rest      []byte // received data that was not read
	responses *bufio.Reader
	updates   int // how often the server has changed its key
}

// recordKeys are the keys of one direction (RFC 8446 sections 5.2, 5.3 and 7.2).
type recordKeys struct {
	secret []byte
	number uint64
}

func (k *recordKeys) expand(label string, size int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(size >> 8), byte(size), byte(len(label))}, label...)
	out, err := hkdf.Expand(sha256.New, k.secret, string(append(info, 0)), size)
	if err != nil {
		panic(err)
	}
	return out
}

// next returns the cipher and the nonce of the next record.
func (k *recordKeys) next() (aead cipher.AEAD, nonce []byte) {
	block, _ := aes.NewCipher(k.expand("key", 16))
	aead, _ = cipher.NewGCM(block)
	nonce = k.expand("iv", aead.NonceSize())
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], k.number)
	k.number++
	for i, b := range number {
		nonce[len(nonce)-8+i] ^= b
	}
	return aead, nonce
}

func (k *recordKeys) update() { k.secret, k.number = k.expand("traffic upd", sha256.Size), 0 }

const (
	recordAlert, recordHandshake, recordData = 21, 22, 23

	updateNotRequested = "\x18\x00\x00\x01\x00"
	updateRequested    = "\x18\x00\x00\x01\x01"
)

// dialByHand does the handshake. The server must send no tickets.
func dialByHand(t *testing.T, ts *testServer) *keyClient {
	t.Helper()
	nc, err := net.Dial("tcp4", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ts.Wrap(nc)
	var log strings.Builder
	over := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, KeyLogWriter: &log})
	if err := over.Handshake(); err != nil {
		t.Fatal(err)
	}
	if suite := over.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("the connection has the cipher suite %s", tls.CipherSuiteName(suite))
	}
	c := &keyClient{Conn: nc, t: t}
	for _, line := range strings.Split(log.String(), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		secret, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		switch fields[0] {
		case "CLIENT_TRAFFIC_SECRET_0":
			c.sends.secret = secret
		case "SERVER_TRAFFIC_SECRET_0":
			c.receives.secret = secret
		}
	}
	c.responses = bufio.NewReader(readerFunc(c.read))
	return c
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// record returns a record.
func (c *keyClient) record(kind byte, message string) []byte {
	aead, nonce := c.sends.next()
	inner := append([]byte(message), kind)
	head := []byte{recordData, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(head[3:], uint16(len(inner)+aead.Overhead()))
	return aead.Seal(head, nonce, inner, head)
}

// changed returns the message that changes the key of the client, and changes it.
func (c *keyClient) changed(message string) []byte {
	record := c.record(recordHandshake, message)
	c.sends.update()
	return record
}

func (c *keyClient) write(records ...[]byte) error {
	_, err := c.Conn.Write(bytes.Join(records, nil))
	return err
}

// read reads data.
func (c *keyClient) read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		head := make([]byte, 5)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		sealed := make([]byte, binary.BigEndian.Uint16(head[3:]))
		if _, err := io.ReadFull(c.Conn, sealed); err != nil {
			return 0, err
		}
		aead, nonce := c.receives.next()
		inner, err := aead.Open(nil, nonce, sealed, head)
		if err != nil {
			return 0, err
		}
		message := inner[:len(inner)-1]
		switch kind := inner[len(inner)-1]; {
		case kind == recordData:
			c.rest = message
		case kind == recordHandshake && string(message) == updateNotRequested:
			c.receives.update()
			c.updates++
		case kind == recordAlert && string(message) == "\x01\x00":
			return 0, io.EOF
		default:
			return 0, fmt.Errorf("a message %x of the type %d", message, kind)
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// TestKeysChangeInTheMiddleOfBodies changes the keys of both sides while the bodies of a
// request and its response are on their way, at the same time if both are streams.
func TestKeysChangeInTheMiddleOfBodies(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		for name, tc := range map[string]struct {
			streams bool
			handler fasthttp.RequestHandler
		}{
			"buffered": {false, func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.PostBody()) }},
			"streamed request": {true, func(ctx *fasthttp.RequestCtx) {
				body, err := io.ReadAll(ctx.RequestBodyStream())
				if err != nil {
					t.Errorf("the body ends with %v", err)
				}
				ctx.SetBody(body)
			}},
			"streams": {true, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) }},
		} {
			t.Run(name, func(t *testing.T) {
				ts := startServer(t, e, &fasthttp.Server{
					Handler: tc.handler, StreamRequestBody: tc.streams, TLSConfig: &tls.Config{SessionTicketsDisabled: true},
				})
				testKeysChange(t, dialByHand(t, ts))
				ts.Log.CheckEmpty(t)
			})
		}
	})
}

func testKeysChange(t *testing.T, c *keyClient) {
	const size, rounds = 10_000, 100
	body := servertest.Noise(size * rounds)
	for range 2 {
		before := c.updates
		sent := make(chan error, 1)
		go func() {
			failed := c.write(c.record(recordData, fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(body))))
			for i := range rounds {
				piece := body[i*size : (i+1)*size]
				failed = errors.Join(failed, c.write(
					c.record(recordData, string(piece[:size/2])), c.changed(updateRequested),
					c.record(recordData, string(piece[size/2:])), c.changed(updateNotRequested)))
			}
			// while the response is on its way; crypto/tls accepts 16 records without data
			for range 10 {
				failed = errors.Join(failed, c.write(c.changed(updateRequested)))
			}
			sent <- failed
		}()
		resp, err := http.ReadResponse(c.responses, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("a body of %d bytes, %v", len(got), err)
		}
		if err := servertest.Receive(t, "the end of the request", sent); err != nil {
			t.Fatal(err)
		}
		if c.updates == before {
			t.Error("the server has not changed its key")
		}
	}
	// the alerts of the client and of the server
	if err := c.write(c.record(recordAlert, "\x01\x00")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.responses.ReadByte(); err != io.EOF {
		t.Errorf("the connection ends with %v", err)
	}
}
