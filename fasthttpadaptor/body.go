package fasthttpadaptor

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// requestBody is the body of a fasthttp request for a handler of net/http. Goroutines other
// than the handler's may read it, even after the handler has returned.
type requestBody struct {
	ctx      *fasthttp.RequestCtx
	r        *http.Request
	src      io.Reader // the body, if it is streamed
	rest     []byte    // the unread part of the body, if it is in memory
	stream   any       // src, which does not change
	streamed bool
	size     int64 // -1 if it is not known
	shared   bool  // the context keeps the bytes that are read from its stream

	mu     lockorder.Mutex[lockorder.RequestBody] // held while the body is read
	begun  bool                                   // a part of it was read
	taken  int64                                  // how much of it was read
	closed bool
	err    error // the error of Read from now on

	interrupted atomic.Bool // Close has interrupted a waiting Read

	ended atomic.Bool // the body was read to its end
	onEnd func()      // called at the end of the body, with mu held
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, b.errClosed()
	}
	n, err = b.read(p)
	if err != nil && err != io.EOF && b.interrupted.Load() {
		err = b.errClosed()
	}
	return n, err
}

// errClosed returns the error of reading a closed body. Servers for net/http, such as
// grpc-go's, look for its text if the body belongs to an HTTP/2 stream.
func (b *requestBody) errClosed() error {
	if b.interrupted.Load() {
		return errClosedByHandler
	}
	return http.ErrBodyReadAfterClose
}

var errClosedByHandler = fmt.Errorf("fasthttpadaptor: body closed by handler: %w", http.ErrBodyReadAfterClose)

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
		b.taken += int64(n)
		if err == nil && b.taken == b.size && b.r.ProtoMajor < 2 {
			// a handler that knows the size may not look for the end; trailers may
			// follow in HTTP/2 alone
			err = io.EOF
		}
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

// load makes the context read its stream into memory.
func (b *requestBody) load() error {
	b.shared, b.streamed = false, false
	req := &b.ctx.Request
	if stream := req.BodyStream(); stream != nil {
		content, err := io.ReadAll(stream)
		if err != nil {
			// the next reader of the stream must get this error, too
			return err
		}
		req.SetBodyRaw(content)
	}
	b.rest = req.Body()
	return nil
}

// end records that all of the body was read, including the trailers.
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

// interrupter is a body stream whose Read can be interrupted while it waits.
type interrupter interface{ Interrupt() }

// interrupt makes a waiting Read return, and reports whether that is possible. It works for
// HTTP/2 streams only: in HTTP/1 the body shares the connection with the next request.
func (b *requestBody) interrupt() bool {
	stream, ok := b.stream.(interrupter)
	if ok {
		b.interrupted.Store(true)
		stream.Interrupt()
	}
	return ok
}

// Close implements io.Closer. It leaves unread content to the server. As with net/http, a
// waiting Read fails if the body belongs to an HTTP/2 stream; otherwise Close waits for it.
func (b *requestBody) Close() error {
	b.interrupt()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return nil
}

// drainLimit is how much unread content is discarded before a response begins, as in
// net/http.
const drainLimit = 256 << 10

// drain closes the body and discards its unread content, so that no goroutine reads it any
// more. It returns false if there is more than drainLimit, or if the client would send the
// content only after a 100 Continue. Then the connection must not be used for another request.
func (b *requestBody) drain() (complete bool) {
	if !b.streamed {
		// it is in memory, and does not affect the connection
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
	buf := make([]byte, 4<<10)
	for left := drainLimit; left > 0; {
		n, err := b.read(buf)
		left -= n
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}

// exceedsDrainLimit reports whether the body is known to be larger than what is discarded before a
// response begins. Then the handler may read on, as with net/http, although the connection
// must not be used for another request.
func (b *requestBody) exceedsDrainLimit() bool {
	if !b.streamed || b.size < drainLimit {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun && b.ctx.Request.MayContinue() {
		return false
	}
	return !b.closed && b.size-b.taken >= drainLimit
}

// leave ends the use of the body when the handler has returned. If another goroutine
// still waits for content, leave wakes it and returns false: the connection cannot be
// used any more then.
func (b *requestBody) leave() (complete bool) {
	complete = true
	if !b.mu.TryLock() {
		if !b.interrupt() && b.streamed {
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
