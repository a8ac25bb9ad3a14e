package sse

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

var (
	// ErrEnded is wrapped by the errors of a Stream that has ended: its function has
	// returned, the client has disconnected or was too slow, or the server shuts down.
	ErrEnded = errors.New("sse: the stream has ended")
	// ErrSlow is the error of an event that was dropped, and is wrapped by the errors of a
	// Stream that was ended, because more than Options.Buffer bytes wait for the client.
	ErrSlow = errors.New("sse: the client is too slow")
)

// Slow is what happens to an event while Options.Buffer bytes wait for the client.
type Slow uint8

const (
	// SlowWaits makes Stream.Send wait for the client, up to Options.WriteTimeout. A Topic
	// never waits: it drops the event.
	SlowWaits Slow = iota
	// SlowDrops drops the event.
	SlowDrops
	// SlowEnds ends the stream, after the events that wait. A client that reconnects
	// reports the last event that it has received, so a Topic with Keep can send it the
	// ones that it has missed.
	SlowEnds
)

// The defaults of Options.
const (
	DefaultHeartbeat    = 15 * time.Second
	DefaultWriteTimeout = 30 * time.Second
	DefaultBuffer       = 64 << 10
)

// Options are the settings of a Stream. The zero value has the defaults.
type Options struct {
	// Heartbeat is the time without events after which a comment is sent, so that proxies
	// keep the connection open, and clients that have disappeared are noticed. 0 means
	// DefaultHeartbeat; if it is negative, no comments are sent.
	Heartbeat time.Duration

	// Retry, if it is positive, is sent first: how long the client waits before it
	// reconnects. Otherwise the client has its own default, usually some seconds.
	Retry time.Duration

	// WriteTimeout limits how long the client may take to receive what is sent at once: an
	// event, or several that were waiting. After that time the connection is aborted. It
	// replaces Server.WriteTimeout; see fasthttp.Response.PieceTimeout. 0 means
	// DefaultWriteTimeout; if it is negative, there is no limit. With HTTP/2,
	// HTTP2Config.WriteByteTimeout is another limit.
	WriteTimeout time.Duration

	// Buffer is how many bytes may wait for the client before Slow applies. An event is
	// accepted if fewer bytes wait, whatever its size. As many bytes may be on their way
	// to the connection at the same time. 0 or less means DefaultBuffer.
	Buffer int

	// Slow is what happens to events while Buffer bytes wait.
	Slow Slow
}

// Serve is Options.Serve with the default settings.
func Serve(ctx *fasthttp.RequestCtx, f func(s *Stream)) { Options{}.Serve(ctx, f) }

// Serve makes the response a stream of events, with status 200 and the fields Content-Type,
// Cache-Control and "X-Accel-Buffering: no", and returns. The handler should return then; it
// may set other fields. f is called in its own goroutine when the response is sent, and must
// not use ctx. The response ends when f returns, or when the Done channel of the Stream is
// closed, even if f has not returned. f is not called if the response is not sent: after a
// HEAD request, for example, or if other code has replaced the body.
//
// A panic of f aborts the response, after the events sent before it, and is logged by the
// server.
//
// Serve calls ctx.WatchDisconnect. Cache-Control becomes "no-cache, no-transform" unless the
// handler has set it. With no-transform, proxies and fasthttp.CompressHandler leave the
// stream as it is. To compress it, set "no-cache" before; each event is flushed all the same.
//
// To make a browser stop to reconnect, respond with status 204 instead of calling Serve.
func (o Options) Serve(ctx *fasthttp.RequestCtx, f func(s *Stream)) {
	s := &Stream{f: f}
	s.prepare(ctx, o)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	ctx.WatchDisconnect()
	ctx.AfterFunc(func() { s.end(context.Canceled) })

	resp := &ctx.Response
	resp.SetBodyStream(&body{s: s}, -1)
	// the client learns at once that the stream is open
	resp.ImmediateHeaderFlush = true
	resp.PieceTimeout = s.options.WriteTimeout
}

// prepare sets the settings of the stream, and the head of the response.
func (s *Stream) prepare(ctx *fasthttp.RequestCtx, o Options) {
	s.options, s.lastID = o.withDefaults(), string(ctx.Request.Header.Peek(fasthttp.HeaderLastEventID))
	s.changed.L = &s.mu
	resp := &ctx.Response
	resp.SetStatusCode(fasthttp.StatusOK)
	resp.Header.SetContentType("text/event-stream")
	if len(resp.Header.Peek(fasthttp.HeaderCacheControl)) == 0 {
		resp.Header.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	}
	resp.Header.Set("X-Accel-Buffering", "no")
}

func (o Options) withDefaults() Options {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	return o
}

// Stream is the response to a client that receives events. Its methods may be called by
// several goroutines, and after its end.
type Stream struct {
	f       func(s *Stream)
	pushed  *pushed // nil for a stream with a function
	options Options
	lastID  string
	ctx     context.Context // nil for a pushed stream until it is needed; mu guards it then
	cancel  context.CancelCauseFunc
	dropped atomic.Uint64

	mu      sync.Mutex
	changed sync.Cond       // any field below
	waiting *bufpool.Buffer // encoded events, not yet taken by the body; nil if there are none
	err     error           // of further events, once the stream has ended
	fault   *panicError     // of f
	beat    *time.Timer     // nil before the response is sent, and without heartbeats
	last    time.Time       // when something was last added
}

// LastEventID returns the ID of the last event that the client has received, before it
// reconnected: the Last-Event-ID field of the request. It is "" if the client is new, or if
// no event had an ID. The client may have sent any text.
func (s *Stream) LastEventID() string { return s.lastID }

// Context returns a context canceled when the Done channel is closed. It has no
// values.
func (s *Stream) Context() context.Context {
	if s.pushed != nil {
		return s.pushed.context()
	}
	return s.ctx
}

// Done returns a channel closed when the stream has ended: when the client has
// disconnected or was too slow, when the server shuts down, or when the function of the
// stream has returned, or Close was called.
func (s *Stream) Done() <-chan struct{} { return s.Context().Done() }

// Close ends the stream, after the events that wait.
func (s *Stream) Close() { s.end(nil) }

// Dropped returns the number of events that were dropped because the client was too slow.
func (s *Stream) Dropped() uint64 { return s.dropped.Load() }

// Send sends an event. It copies the event into the buffer of the stream, from which it is
// sent at once; it returns before the client has received it. While Options.Buffer bytes wait,
// Options.Slow applies.
//
// The error wraps ErrInvalidEvent if the event cannot be sent, and ErrEnded if the stream has
// ended. It is ErrSlow if the event was dropped.
func (s *Stream) Send(e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	if s.pushed != nil {
		b := bufpool.Get(len(e.ID) + len(e.Name) + len(e.Data) + overhead)
		b.B = appendEvent(b.B, &e)
		_, err := s.pushed.send(b.B)
		bufpool.Put(b)
		return err
	}
	s.mu.Lock()
	ends, err := s.makeRoom(s.options.Slow == SlowWaits)
	if err == nil {
		b := s.buffer(len(e.ID) + len(e.Name) + len(e.Data))
		b.B = appendEvent(b.B, &e)
		s.added()
	}
	s.mu.Unlock()
	if ends {
		s.cancel(ErrSlow)
	}
	return err
}

// Comment sends text that clients ignore. Each of its lines becomes a comment. Its errors are
// the errors of Send.
func (s *Stream) Comment(text string) error {
	if s.pushed != nil {
		b := bufpool.Get(len(text) + overhead)
		b.B = append(appendLines(b.B, ": ", bytesconv.Bytes(text)), '\n')
		_, err := s.pushed.send(b.B)
		bufpool.Put(b)
		return err
	}
	s.mu.Lock()
	ends, err := s.makeRoom(s.options.Slow == SlowWaits)
	if err == nil {
		b := s.buffer(len(text))
		b.B = append(appendLines(b.B, ": ", bytesconv.Bytes(text)), '\n')
		s.added()
	}
	s.mu.Unlock()
	if ends {
		s.cancel(ErrSlow)
	}
	return err
}

// offer adds an encoded event without waiting. replay is set for events that the client has
// missed: they are added even if there is no room. ends means that the stream has ended because
// of this event.
func (s *Stream) offer(encoded []byte, replay bool) (ends bool, err error) {
	s.mu.Lock()
	err = s.err
	if !replay {
		ends, err = s.makeRoom(false)
	}
	if err == nil {
		b := s.buffer(len(encoded))
		b.B = append(b.B, encoded...)
		s.added()
	}
	s.mu.Unlock()
	if ends {
		s.cancel(ErrSlow)
	}
	return ends, err
}

// makeRoom makes room for an event, or returns the reason why there is none. ends means that
// the stream has ended because of this event: the caller must cancel its context, once it has
// released mu. mu is held.
func (s *Stream) makeRoom(wait bool) (ends bool, err error) {
	for s.err == nil && s.waiting != nil && len(s.waiting.B) >= s.options.Buffer {
		switch {
		case wait:
			s.changed.Wait()
		case s.options.Slow == SlowEnds:
			s.endLocked(ErrSlow)
			return true, s.err
		default:
			s.dropped.Add(1)
			return false, ErrSlow
		}
	}
	return false, s.err
}

// overhead is more than the names of the fields of a usual event.
const overhead = 64

// buffer returns the buffer to which at least about n bytes are added. mu is held.
func (s *Stream) buffer(n int) *bufpool.Buffer {
	if s.waiting == nil {
		s.waiting = bufpool.Get(n + overhead)
	} else {
		s.waiting.Grow(n + overhead)
	}
	return s.waiting
}

// added is called when the buffer has been filled. mu is held.
func (s *Stream) added() {
	if len(s.waiting.B) == 0 {
		// it was an event without fields
		bufpool.Put(s.waiting)
		s.waiting = nil
		return
	}
	s.last = time.Now()
	s.changed.Broadcast()
}

// end ends the stream, unless it has ended. The events that wait are still sent.
func (s *Stream) end(cause error) {
	if s.pushed != nil {
		s.pushed.end(cause)
		return
	}
	s.mu.Lock()
	s.endLocked(cause)
	s.mu.Unlock()
	s.cancel(cause)
}

// endLocked is end, without the cancellation of the context. mu is held.
func (s *Stream) endLocked(cause error) {
	if s.err != nil {
		return
	}
	s.err = ErrEnded
	if cause != nil {
		s.err = fmt.Errorf("%w: %w", ErrEnded, cause)
	}
	if s.beat != nil {
		s.beat.Stop()
	}
	s.changed.Broadcast()
}

// begin is called when the response is sent. mu is held.
func (s *Stream) begin() {
	if s.err != nil {
		return
	}
	if s.options.Retry > 0 {
		b := s.buffer(0)
		b.B = appendEvent(b.B, &Event{Retry: s.options.Retry})
		s.added()
	}
	s.last = time.Now()
	if s.options.Heartbeat > 0 {
		s.beat = time.AfterFunc(s.options.Heartbeat, s.heartbeat)
	}
	go s.run()
}

// heartbeat sends a comment unless something was sent lately.
func (s *Stream) heartbeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	next := s.options.Heartbeat - time.Since(s.last)
	if next <= 0 {
		next = s.options.Heartbeat
		if s.waiting == nil {
			b := s.buffer(0)
			b.B = append(b.B, ":\n"...)
			s.added()
		}
	}
	s.beat.Reset(next)
}

// run calls the function of the stream.
func (s *Stream) run() {
	returned := false
	defer func() {
		if !returned {
			// the value is nil if f has ended its goroutine
			value := recover()
			s.mu.Lock()
			s.fault = &panicError{value, debug.Stack()}
			s.mu.Unlock()
		}
		s.end(nil)
	}()
	s.f(s)
	returned = true
}

// panicError is the value with which the body panics after the function of the stream has
// panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("panic in a function that sends events: %v\n%s", e.value, e.stack)
}

// Unwrap returns the value of the panic if it is an error.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}
