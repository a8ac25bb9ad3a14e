package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// HTTP2Conn is a Conn that speaks HTTP/2 by prior knowledge.
type HTTP2Conn struct {
	conn   *Conn
	host   string
	next   uint32 // stream
	buf    [1024]byte
	unread int // bytes of buf in an incomplete frame
}

// DialHTTP2 is Dial for HTTP/2.
func DialHTTP2(source, addr string) (*HTTP2Conn, error) {
	conn, err := Dial(source, addr, "/")
	if err != nil {
		return nil, err
	}
	return &HTTP2Conn{conn: conn, host: addr, next: 1}, nil
}

// Close drops the connection.
func (c *HTTP2Conn) Close() error { return c.conn.Close() }

// The constants of RFC 9113 and the indices of the static table of RFC 7541 that are needed.
const (
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7

	flagEndStream, flagAck, flagEndHeaders = 0x1, 0x1, 0x4

	frameHead = 9

	fieldGet, fieldHTTP, fieldRoot, fieldAuthority, field200 = 0x82, 0x86, 0x84, 0x41, 0x88
)

// appendFrame appends the head of a frame.
func appendFrame(b []byte, size int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

// request returns the frames of the next request.
func (c *HTTP2Conn) request() []byte {
	var b []byte
	if c.next == 1 {
		b = appendFrame([]byte(http2Preface), 0, frameSettings, 0, 0)
	}
	fields := append([]byte{fieldGet, fieldHTTP, fieldRoot, fieldAuthority, byte(len(c.host))}, c.host...)
	b = appendFrame(b, len(fields), frameHeaders, flagEndHeaders|flagEndStream, c.next)
	return append(b, fields...)
}

// Get sends a request and waits for its response, which must be the expected one.
func (c *HTTP2Conn) Get() error {
	nc, buf := c.conn.conn, c.buf[:]
	if err := nc.SetDeadline(time.Now().Add(getTimeout)); err != nil {
		return err
	}
	if _, err := nc.Write(c.request()); err != nil {
		return err
	}
	stream := c.next
	c.next += 2
	for {
		n, err := nc.Read(buf[c.unread:])
		if n == 0 && err != nil {
			return err
		}
		c.unread += n
		whole, err := c.frames(stream)
		if whole || err != nil {
			return err
		}
		if c.unread == len(buf) {
			return errors.New("probe: the response is too long")
		}
	}
}

// frames processes the complete frames, acknowledges them if needed, and reports whether the
// response is complete.
func (c *HTTP2Conn) frames(stream uint32) (whole bool, err error) {
	text := c.buf[:c.unread]
	var acks []byte
	for len(text) >= frameHead && !whole {
		size := int(text[0])<<16 | int(text[1])<<8 | int(text[2])
		if len(text) < frameHead+size {
			break
		}
		kind, flags, payload := text[3], text[4], text[frameHead:frameHead+size]
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			acks = appendFrame(acks, 0, frameSettings, flagAck, 0)
		case kind == framePing && flags&flagAck == 0:
			acks = append(appendFrame(acks, size, framePing, flagAck, 0), payload...)
		case kind == frameHeaders && (size == 0 || payload[0] != field200 || flags&flagEndStream != 0):
			return false, fmt.Errorf("probe: a response with the fields %x", payload)
		case kind == frameData && size > 0 && string(payload) != serving.Body:
			return false, fmt.Errorf("probe: a response with the body %q", payload)
		case kind == frameReset || kind == frameGoAway:
			return false, fmt.Errorf("probe: a frame of type %d: %x", kind, payload)
		}
		whole = kind == frameData && flags&flagEndStream != 0 && binary.BigEndian.Uint32(text[5:]) == stream
		text = text[frameHead+size:]
	}
	c.unread = copy(c.buf[:], text)
	if len(acks) > 0 {
		_, err = c.conn.conn.Write(acks)
	}
	return whole, err
}
