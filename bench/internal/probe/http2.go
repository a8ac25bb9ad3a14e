package probe

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// HTTP2Conn is a Conn that speaks HTTP/2 by prior knowledge.
type HTTP2Conn struct {
	conn   *Conn
	host   string
	stream uint32 // of the last request
	in     h2frame.Reader
	out    []byte // frames to send
	whole  bool   // the response
}

// DialHTTP2 is Dial for HTTP/2.
func DialHTTP2(source, addr string) (*HTTP2Conn, error) {
	conn, err := Dial(source, addr, "/")
	if err != nil {
		return nil, err
	}
	return &HTTP2Conn{conn: conn, host: addr}, nil
}

// Close drops the connection.
func (c *HTTP2Conn) Close() error { return c.conn.Close() }

// The fields of requests, as indices of the static table of RFC 7541.
const fieldGet, fieldHTTP, fieldRoot, fieldAuthority = 0x82, 0x86, 0x84, 0x41

// request appends the frames of the next request.
func (c *HTTP2Conn) request() {
	if c.stream == 0 {
		c.out = h2frame.AppendSettings(append(c.out, h2frame.Preface...))
		c.stream--
	}
	c.stream += 2
	fields := append([]byte{fieldGet, fieldHTTP, fieldRoot, fieldAuthority, byte(len(c.host))}, c.host...)
	c.out = h2frame.Append(c.out, h2frame.Headers, h2frame.EndHeaders|h2frame.EndStream, c.stream, fields)
}

// Get sends a request and waits for its response, which must be the expected one.
func (c *HTTP2Conn) Get() error {
	nc := c.conn.conn
	if err := nc.SetDeadline(time.Now().Add(getTimeout)); err != nil {
		return err
	}
	buf := buffers.Get().(*[1024]byte)
	defer buffers.Put(buf)
	c.request()
	for c.whole = false; ; {
		if len(c.out) > 0 {
			if _, err := nc.Write(c.out); err != nil {
				return err
			}
			c.out = nil
		}
		if c.whole {
			return nil
		}
		n, err := nc.Read(buf[:])
		if n == 0 && err != nil {
			return err
		}
		if err := c.in.Feed(buf[:n], c.frame); err != nil {
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
		c.whole = c.whole || f.Is(h2frame.EndStream) && f.Stream == c.stream
	case h2frame.Reset, h2frame.GoAway:
		return fmt.Errorf("probe: a frame of type %d: %x", f.Kind, f.Payload)
	default:
		c.out = h2frame.AppendAnswer(c.out, f)
	}
	return nil
}
