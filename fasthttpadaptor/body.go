package fasthttpadaptor

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// requestBody is the body of a request on its way from fasthttp to net/http. It
// may be read in another goroutine than the handler's, also one that goes on
// when the handler has returned.
type requestBody struct {
	ctx      *fasthttp.RequestCtx
	r        *http.Request
	src      io.Reader // where it is streamed
	rest     []byte    // where it is not
	streamed bool
	shared   bool // the context keeps what is read of its stream

	mu     sync.Mutex // held while the body is read
	begun  bool       // something of it was read
	closed bool
	err    error // what Read returns from now on

	ended atomic.Bool // the body was read to its end
	onEnd func()      // called then, with mu held
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

func (b *requestBody) read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	b.begun = true
	if b.shared {
		if err := b.load(); err != nil {
			b.err = err
			return 0, err
		}
	}
	if b.streamed {
		n, err = b.src.Read(p)
	} else {
		n = copy(p, b.rest)
		b.rest = b.rest[n:]
		if n == 0 && len(b.rest) == 0 {
			err = io.EOF
		}
	}
	if err == io.EOF {
		b.end()
	}
	b.err = err
	return n, err
}

// load has the context read its stream into memory.
func (b *requestBody) load() error {
	b.shared, b.streamed = false, false
	req := &b.ctx.Request
	if stream := req.BodyStream(); stream != nil {
		content, err := io.ReadAll(stream)
		if err != nil {
			// who reads the stream next is to find that, too
			return err
		}
		req.SetBodyRaw(content)
	}
	b.rest = req.Body()
	return nil
}

// end says that all of the body was read, with the trailers behind it.
func (b *requestBody) end() {
	for name, value := range b.ctx.Request.Header.TrailerFields() {
		if b.r.Trailer == nil {
			b.r.Trailer = make(http.Header)
		}
		b.r.Trailer.Add(string(name), string(value))
	}
	b.ended.Store(true)
	if b.onEnd != nil {
		b.onEnd()
	}
}

// Close implements io.Closer. What was not read is the business of the server.
func (b *requestBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return nil
}

// drainLimit is how much of an unread body is read away before a response
// begins, as in net/http.
const drainLimit = 256 << 10

// settle makes the body safe to be left alone: nothing reads from it any more.
// What is unread is read away, and where that is too much, or not to be had
// without asking the client for it, complete is false: the connection must not be
// used for another request.
func (b *requestBody) settle() (complete bool) {
	if !b.streamed {
		// it is in memory, where nobody is in anybody's way
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.ended.Load() {
		return true
	}
	if !b.begun && b.ctx.Request.MayContinue() {
		return false
	}
	waste := make([]byte, 4<<10)
	for left := drainLimit; left > 0; {
		n, err := b.read(waste)
		left -= n
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}

// leave ends the use of the body when the handler has returned. Who still waits
// for more of it in another goroutine is woken, which the connection does not
// survive; complete is false then.
func (b *requestBody) leave() (complete bool) {
	complete = true
	if !b.mu.TryLock() {
		if b.streamed {
			complete = false
			_ = b.ctx.SetReadDeadline(time.Unix(1, 0))
		}
		b.mu.Lock()
	}
	b.closed = true
	b.src, b.rest = nil, nil
	b.mu.Unlock()
	return complete
}
