package wsflate

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
)

// Inflater decompresses the messages that a connection receives. Its fields are set before
// its first use. Goroutines must not use it concurrently.
type Inflater struct {
	// Bits is the logarithm of the size of the peer's window, from MinBits to MaxBits.
	Bits uint8
	// Takeover means that a message may refer to earlier messages.
	Takeover bool

	e      *expander       // of the current message
	window *bufpool.Buffer // the end of the earlier messages, with Takeover
}

// expander is a flate reader, and its input.
type expander struct {
	r      io.ReadCloser
	src    bytes.Reader
	packed *bufpool.Buffer
	finals int // blocks in the middle of the message that are marked as final
}

var expanders = sync.Pool{New: func() any {
	e := new(expander)
	e.r = flate.NewReader(&e.src)
	return e
}}

const (
	// ending is the tail that was not sent, and a final block, after which the reader
	// reports the end of its input.
	ending = tail + "\x01\x00\x00\xff\xff"

	// maxFinals bounds the number of final blocks in the middle of a message, each of which
	// costs a copy of the window. Peers that mark blocks as final (RFC 7692 section 7.2.3.4)
	// do so once for each message or fragment.
	maxFinals = 64
)

// Begin begins a message with all its compressed bytes, of which it makes a copy. End must be
// called.
func (i *Inflater) Begin(packed []byte) {
	e := expanders.Get().(*expander)
	e.packed = bufpool.Get(len(packed) + len(ending))
	e.packed.B = append(append(e.packed.B, packed...), ending...)
	e.src.Reset(e.packed.B)
	e.finals = 0
	i.e = e
	i.restart()
}

// restart begins to read blocks, which may refer to the window.
func (i *Inflater) restart() {
	var dict []byte
	if w := i.window; w != nil {
		dict = w.B[max(0, len(w.B)-i.size()):]
	}
	_ = i.e.r.(flate.Resetter).Reset(&i.e.src, dict)
}

// End ends the message, after Read has returned an error or in the middle of it. Later
// messages may refer to what Read has returned.
func (i *Inflater) End() {
	if e := i.e; e != nil {
		e.src.Reset(nil)
		bufpool.Put(e.packed)
		e.packed = nil
		expanders.Put(e)
		i.e = nil
	}
}

// Release frees all memory.
func (i *Inflater) Release() {
	i.End()
	bufpool.Put(i.window)
	i.window = nil
}

// Read implements io.Reader for the message: it returns io.EOF at its end, and
// ws.ErrMalformedData if it is malformed.
func (i *Inflater) Read(p []byte) (n int, err error) {
	for {
		n, err = i.e.r.Read(p)
		if i.Takeover {
			i.remember(p[:n])
		}
		switch {
		case err != nil && err != io.EOF:
			return n, ws.ErrMalformedData
		case err == io.EOF && i.ended():
			return n, io.EOF
		case err == io.EOF:
			if i.e.finals++; i.e.finals > maxFinals {
				return n, ws.ErrMalformedData
			}
			i.restart()
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
}

// ended reports whether a block marked as final is the end of the message: the block
// of ending, or the last one of a message, without another one for the tail.
func (i *Inflater) ended() bool {
	rest := i.e.src.Len()
	return rest == 0 || rest == len(ending)
}

// size returns the size of the peer's window.
func (i *Inflater) size() int { return 1 << i.Bits }

// remember adds output to the window, which holds up to twice its size, so that it rarely
// moves.
func (i *Inflater) remember(p []byte) {
	size := i.size()
	if i.window == nil {
		i.window = bufpool.Get(2 * size)
	}
	w := i.window
	if len(p) >= size {
		w.B = append(w.B[:0], p[len(p)-size:]...)
		return
	}
	if len(w.B)+len(p) > 2*size {
		w.B = append(w.B[:0], w.B[len(w.B)-size:]...)
	}
	w.B = append(w.B, p...)
}

// Decompress appends a whole message to dst, up to the limit of the size of dst, unless it is
// negative. Its output never exceeds the limit by more than a byte. The error is
// ws.ErrMessageSize or ws.ErrMalformedData.
func (i *Inflater) Decompress(dst *bufpool.Buffer, packed []byte, limit int64) error {
	i.Begin(packed)
	defer i.End()
	for {
		if len(dst.B) == cap(dst.B) {
			dst.Grow(1)
		}
		room := dst.B[len(dst.B):cap(dst.B)]
		// the limit may be the largest number
		if limit >= 0 && int64(len(room)-1) > limit-int64(len(dst.B)) {
			room = room[:limit-int64(len(dst.B))+1]
		}
		n, err := i.Read(room)
		dst.B = dst.B[:len(dst.B)+n]
		switch {
		case limit >= 0 && int64(len(dst.B)) > limit:
			return ws.ErrMessageSize
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
