// Package probe is an HTTP client that allocates nothing, and accepts only one response.
package probe

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/bench/internal/dial"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// Conn is one connection to a server. It is not safe for concurrent use.
type Conn struct {
	conn    net.Conn
	request []byte
}

// buffers has a buffer for each response being read, so that an idle connection holds none.
var buffers = sync.Pool{New: func() any { return new([1024]byte) }}

// Dial connects to a server, from the given address if it is not empty, to send
// requests for path.
func Dial(source, addr, path string) (*Conn, error) {
	conn, err := dial.TCP(source, addr, nil)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, request: Request(addr, path)}, nil
}

// TLSConfig is the configuration for clients of the measured servers: TLS 1.3, without the
// hybrid key exchange that only some of them support.
func TLSConfig() *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, // the certificate is self-signed
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519},
	}
}

// DialTLS is Dial over TLS. It is an error if client and server negotiate another cipher than
// the one that all servers must use.
func DialTLS(source, addr, path string) (*Conn, error) {
	c, err := Dial(source, addr, path)
	if err != nil {
		return nil, err
	}
	over := tls.Client(c.conn, TLSConfig())
	err = errors.Join(over.SetDeadline(time.Now().Add(getTimeout)), over.Handshake())
	if suite := over.ConnectionState().CipherSuite; err == nil && suite != tls.TLS_AES_128_GCM_SHA256 {
		err = fmt.Errorf("probe: the server chooses %s", tls.CipherSuiteName(suite))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.conn = over
	return c, nil
}

// Request returns the text of a request for path.
func Request(host, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
}

const getTimeout = 30 * time.Second

// Get sends a request and waits for its response, which must be the expected one.
func (c *Conn) Get() error {
	if err := c.conn.SetDeadline(time.Now().Add(getTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	buf := buffers.Get().(*[1024]byte)
	defer buffers.Put(buf)
	have := 0
	for {
		n, err := c.conn.Read(buf[have:])
		have += n
		whole, bad := Check(buf[:have])
		switch {
		case bad != nil:
			return bad
		case whole:
			return nil
		case err != nil:
			return err
		case have == len(buf):
			return errors.New("probe: the response is too long")
		}
	}
}

var (
	statusLine = []byte("HTTP/1.1 200 OK\r\n")
	headEnd    = []byte("\r\n\r\n")
)

// Check reports whether text is a whole response, or returns an error if it is wrong.
func Check(text []byte) (whole bool, err error) {
	if n := min(len(text), len(statusLine)); !bytes.Equal(text[:n], statusLine[:n]) {
		return false, fmt.Errorf("probe: a response that begins with %q", text[:min(len(text), 64)])
	}
	_, body, ok := bytes.Cut(text, headEnd)
	if !ok || len(body) < len(serving.Body) {
		return false, nil
	}
	if string(body) != serving.Body {
		return false, fmt.Errorf("probe: a response with the body %q", body)
	}
	return true, nil
}

// Close drops the connection.
func (c *Conn) Close() error {
	if over, ok := c.conn.(*tls.Conn); ok {
		return over.NetConn().Close()
	}
	return c.conn.Close()
}
