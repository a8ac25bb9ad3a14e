package probe

import (
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// HTTP2Conn is a connection with HTTP/2 that repeats one request, which was encoded before.
type HTTP2Conn struct {
	conn    net.Conn
	fields  []byte // of a request
	stream  uint32 // of the next request
	in      h2frame.Reader
	out     []byte // frames to send
	missing int    // responses
}

// NewHTTP2 returns an HTTP2Conn over nc whose requests have these fields, as the static table of
// RFC 7541 appendix A has them.
func NewHTTP2(nc net.Conn, fields []byte) *HTTP2Conn {
	hello := h2frame.AppendSettings([]byte(h2frame.Preface))
	// more than the total size of the responses of a run
	hello = h2frame.AppendWindow(hello, h2frame.LargestWindow-h2frame.FirstWindow)
	return &HTTP2Conn{conn: nc, fields: fields, stream: 1, out: hello}
}

// DialHTTP2 is Dial for HTTP/2 by prior knowledge.
func DialHTTP2(source, addr string) (*HTTP2Conn, error) {
	conn, err := Dial(source, addr, "/")
	if err != nil {
		return nil, err
	}
	const get, http, root, authority = 0x82, 0x86, 0x84, 0x41
	return NewHTTP2(conn.conn, append([]byte{get, http, root, authority, byte(len(addr))}, addr...)), nil
}

// Close drops the connection.
func (c *HTTP2Conn) Close() error { return c.conn.Close() }

// Get sends a request and waits for its response, which must be the expected one.
func (c *HTTP2Conn) Get() error {
	if err := c.conn.SetDeadline(time.Now().Add(getTimeout)); err != nil {
		return err
	}
	buf := buffers.Get().(*[1024]byte)
	defer buffers.Put(buf)
	return c.Call(1, buf[:])
}

// Call sends n requests at once, and waits for their responses, which it reads into buf.
func (c *HTTP2Conn) Call(n int, buf []byte) error {
	for range n {
		c.out = h2frame.Append(c.out, h2frame.Headers, h2frame.EndHeaders|h2frame.EndStream, c.stream, c.fields)
		c.stream += 2
	}
	for c.missing = n; ; {
		if len(c.out) > 0 {
			if _, err := c.conn.Write(c.out); err != nil {
				return err
			}
			c.out = c.out[:0]
		}
		if c.missing == 0 {
			return nil
		}
		read, err := c.conn.Read(buf)
		if read == 0 && err != nil {
			return err
		}
		if err := c.in.Feed(buf[:read], c.frame); err != nil {
			return err
		}
	}
}

// frame processes a frame of a response.
func (c *HTTP2Conn) frame(f h2frame.Frame) error {
	switch f.Kind {
	case h2frame.Headers:
		if !h2frame.IsOK(f.Payload) || f.Is(h2frame.EndStream) {
			return fmt.Errorf("probe: a response with the fields %x", f.Payload)
		}
	case h2frame.Data:
		if len(f.Payload) > 0 && string(f.Payload) != serving.Body {
			return fmt.Errorf("probe: a response with the body %q", f.Payload)
		}
		if f.Is(h2frame.EndStream) {
			c.missing--
		}
	case h2frame.Reset, h2frame.GoAway:
		return fmt.Errorf("probe: a frame of type %d: %x", f.Kind, f.Payload)
	default:
		c.out = h2frame.AppendAnswer(c.out, f)
	}
	return nil
}
