package servertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The flags of frames that a test sends.
const (
	EndStream  = http2.FlagDataEndStream
	EndHeaders = http2.FlagHeadersEndHeaders
	Whole      = EndStream | EndHeaders
)

// PriorityUpdate is the PRIORITY_UPDATE frame of RFC 9218.
const PriorityUpdate = http2.FrameType(0x10)

// H2Role is a side of an HTTP/2 connection.
type H2Role int

// The sides of a connection.
const (
	H2Client H2Role = iota
	H2Server
)

// H2Conn is a side of an HTTP/2 connection. It sends any frames, right or wrong: most
// methods queue frames, which Flush writes, and the methods of the Framer write at once.
// Frames of the other side are read by the methods that wait for something, or after Listen
// by a goroutine.
type H2Conn struct {
	*Conn
	*http2.Framer
	*H2Seen
	Out bytes.Buffer // queued bytes

	fields   bytes.Buffer
	enc      *hpack.Encoder
	listens  bool
	syncs    int
	uploaded int // content sent on all streams
}

// NewH2Conn makes an H2Conn of a connection, and sends nothing.
func NewH2Conn(c *Conn, role H2Role) *H2Conn {
	h := &H2Conn{Conn: c, Framer: http2.NewFramer(c.Conn, c.R), H2Seen: newH2Seen(role)}
	h.enc = hpack.NewEncoder(&h.fields)
	h.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.SetMaxReadFrameSize(1 << 14)
	return h
}

// Raw queues bytes.
func (c *H2Conn) Raw(text string) *H2Conn {
	c.Out.WriteString(text)
	return c
}

// Frame queues a frame.
func (c *H2Conn) Frame(kind http2.FrameType, flags http2.Flags, id uint32, payload string) *H2Conn {
	var head [9]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(payload))<<8|uint32(kind))
	head[4] = byte(flags)
	binary.BigEndian.PutUint32(head[5:], id)
	c.Out.Write(head[:])
	c.Out.WriteString(payload)
	return c
}

// H2Words encodes 32-bit fields of frames.
func H2Words(values ...uint32) string {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return string(b)
}

// Settings queues SETTINGS with pairs of an id and a value.
func (c *H2Conn) Settings(pairs ...uint32) *H2Conn {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = binary.BigEndian.AppendUint16(b, uint16(pairs[i]))
		b = binary.BigEndian.AppendUint32(b, pairs[i+1])
	}
	return c.Frame(http2.FrameSettings, 0, 0, string(b))
}

// AckSettings acknowledges the settings of the other side.
func (c *H2Conn) AckSettings() *H2Conn {
	return c.Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
}

// Block encodes fields. Each is a line "name: value".
func (c *H2Conn) Block(lines ...string) string {
	c.fields.Reset()
	for _, line := range lines {
		name, value, _ := strings.Cut(line[1:], ": ")
		_ = c.enc.WriteField(hpack.HeaderField{Name: line[:1] + name, Value: value})
	}
	return c.fields.String()
}

// Headers queues a header section in one frame.
func (c *H2Conn) Headers(id uint32, flags http2.Flags, lines ...string) *H2Conn {
	return c.Frame(http2.FrameHeaders, flags, id, c.Block(lines...))
}

// Fields queues a header section in as many frames as it needs.
func (c *H2Conn) Fields(id uint32, end bool, lines ...string) *H2Conn {
	const most = 16 << 10
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = EndStream
	}
	block := c.Block(lines...)
	for ; len(block) > most; block = block[most:] {
		c.Frame(kind, flags, id, block[:most])
		kind, flags = http2.FrameContinuation, 0
	}
	return c.Frame(kind, flags|EndHeaders, id, block)
}

// Data queues content.
func (c *H2Conn) Data(id uint32, flags http2.Flags, content string) *H2Conn {
	return c.Frame(http2.FrameData, flags, id, content)
}

// Window queues a WINDOW_UPDATE.
func (c *H2Conn) Window(id, n uint32) *H2Conn {
	return c.Frame(http2.FrameWindowUpdate, 0, id, H2Words(n))
}

// Reset queues the reset of a stream.
func (c *H2Conn) Reset(id uint32, code http2.ErrCode) *H2Conn {
	return c.Frame(http2.FrameRSTStream, 0, id, H2Words(uint32(code)))
}

// TryFlush writes the queued bytes.
func (c *H2Conn) TryFlush() error {
	_, err := c.Out.WriteTo(c.Conn.Conn)
	c.Out.Reset()
	return err
}

// Flush is TryFlush, which must succeed.
func (c *H2Conn) Flush() {
	c.T.Helper()
	c.Must(c.TryFlush())
}

// Must ends the test if something could not be sent.
func (c *H2Conn) Must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatalf("cannot send: %v", err)
	}
}

// Take reads a frame, and records its content. It answers PING unless c is mute, and a
// client acknowledges SETTINGS: a server does that in Greet.
func (c *H2Conn) Take() error {
	frame, err := c.ReadFrame()
	if err != nil {
		return err
	}
	if err := c.note(frame); err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() && c.role == H2Client {
			return c.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() && !c.Mute {
			return c.WritePing(true, f.Data)
		}
	}
	return nil
}

// Until reads frames until a condition holds.
func (c *H2Conn) Until(what string, holds func() bool) {
	c.T.Helper()
	for !holds() {
		if err := c.Take(); err != nil {
			c.T.Fatalf("never came: %s: %v, GOAWAY %v", what, err, c.Away)
		}
	}
}

// Sync waits until the other side has read everything that was sent.
func (c *H2Conn) Sync() {
	c.T.Helper()
	c.syncs++
	payload := fmt.Sprintf("sync%04d", c.syncs)
	c.Frame(http2.FramePing, 0, 0, payload)
	if c.listens {
		_ = c.TryFlush()
		Eventually(c.T, "an answer to PING", func() bool { return c.IsAnswered(payload) || c.IsOver() })
		return
	}
	c.Flush()
	c.Until("an answer to PING", func() bool { return c.IsAnswered(payload) })
}
