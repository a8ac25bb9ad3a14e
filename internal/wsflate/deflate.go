package wsflate

import (
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// The bounds of Deflater.Bits and the levels of compression.
const (
	MinBits  = 8
	MaxBits  = 15
	MinLevel = -2
	MaxLevel = 9

	levels = MaxLevel - MinLevel + 1
)

// Deflater compresses the messages that a connection sends. Its fields are set before its
// first use, except for Level. Goroutines must not use it concurrently.
type Deflater struct {
	// Level is the level of compression, from MinLevel to MaxLevel, for messages that begin
	// after it is set. It has no effect if Bits is less than MaxBits.
	Level int8
	// Bits is the logarithm of the size of the window, from MinBits to MaxBits. No match is
	// further back.
	Bits uint8
	// Takeover lets a message refer to earlier messages.
	Takeover bool

	c *compressor // of the current message, or of the connection with Takeover
}

// compressor is a flate.Writer, and the buffer that gets its output.
type compressor struct {
	w    *flate.Writer
	out  *bufpool.Buffer
	pool *sync.Pool
}

// Write implements io.Writer.
func (c *compressor) Write(p []byte) (int, error) {
	c.out.Grow(len(p))
	c.out.B = append(c.out.B, p...)
	return len(p), nil
}

// compressors has a pool for each level with the largest window, and one for each smaller
// window.
var compressors [levels + MaxBits - MinBits]sync.Pool

// tail is the end of each message, which is not sent (RFC 7692 section 7.2.1).
const tail = "\x00\x00\xff\xff"

// begin takes a compressor for a message, unless there is one.
func (d *Deflater) begin() {
	if d.c != nil {
		return
	}
	pool := &compressors[int(d.Level)-MinLevel]
	if d.Bits < MaxBits {
		pool = &compressors[levels+int(d.Bits)-MinBits]
	}
	if c, ok := pool.Get().(*compressor); ok {
		c.w.Reset(c)
		d.c = c
		return
	}
	d.c = &compressor{pool: pool}
	// both fail only for a level, or a window, out of range
	if d.Bits < MaxBits {
		d.c.w, _ = flate.NewWriterWindow(d.c, 1<<d.Bits)
	} else {
		d.c.w, _ = flate.NewWriter(d.c, int(d.Level))
	}
}

// Write compresses a part of a message, and appends the output that is complete to dst. The
// compressor keeps some for later.
func (d *Deflater) Write(dst *bufpool.Buffer, p []byte) {
	d.begin()
	d.c.out = dst
	_, _ = d.c.w.Write(p)
	d.c.out = nil
}

// End appends the rest of the message to dst. dst must have all output since the beginning of
// the message, or the last four bytes at least: the tail, which is not sent, is among them.
func (d *Deflater) End(dst *bufpool.Buffer) {
	d.begin()
	d.c.out = dst
	_ = d.c.w.Flush()
	d.c.out = nil
	dst.B = dst.B[:len(dst.B)-len(tail)]
	if !d.Takeover {
		d.Release()
	}
}

// Release frees the compressor, in the middle of a message or at its end. The next message
// does not refer to earlier ones, so it is correct even if the peer has not received them.
func (d *Deflater) Release() {
	if d.c != nil {
		d.c.pool.Put(d.c)
		d.c = nil
	}
}

// Compress appends a whole message to dst.
func (d *Deflater) Compress(dst *bufpool.Buffer, p []byte) {
	d.Write(dst, p)
	d.End(dst)
}
