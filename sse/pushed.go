package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
)

// Handler has the functions of a stream that Options.Open opens. They are called one after the
// other, and should not block. Either may be nil.
type Handler struct {
	// OnOpen is called when the head of the response is sent: from then on the stream can send
	// events.
	OnOpen func(s *Stream)

	// OnClose is called when the stream has ended, and all that was sent has left or cannot be
	// sent. err is nil if Stream.Close or Topic.Close has ended it, wraps context.Canceled if
	// the server shuts down, wraps ErrSlow with SlowEnds, and otherwise is the reason of
	// fasthttp.PushHandler.Ended: io.EOF if the client has left, for example. It is called once
	// for each call of Open: with fasthttp.ErrPushNotSent if OnOpen was not called, for
	// example after a HEAD request.
	OnClose func(s *Stream, err error)
}

// Open is Options.Open with the default settings.
func Open(ctx *fasthttp.RequestCtx, h Handler) { Options{}.Open(ctx, h) }

// Open makes the response a stream of events, with the same head as Serve, and returns. The handler
// should return then; it may set other fields. The stream ends when Stream.Close is called, the
// client leaves, or the server shuts down.
//
// It differs from Serve in that no goroutine belongs to the stream: functions are called when it
// opens and when it ends, and any goroutine may send events meanwhile. Over HTTP/1 on the event
// engine an open stream has neither a goroutine nor a buffer while it waits, nor a timer for its
// comments; see fasthttp.RequestCtx.PushBody for the cases in which a goroutine sends it. Stream.Send
// never waits for the client: SlowWaits drops events as SlowDrops does.
func (o Options) Open(ctx *fasthttp.RequestCtx, h Handler) {
	p := &pushed{h: h}
	s := &p.Stream
	s.pushed = p
	s.prepare(ctx, o)
	p.push.MaxQueued = s.options.Buffer
	ctx.Response.PieceTimeout = s.options.WriteTimeout
	ctx.PushBody(&p.push, (*pushedEvents)(p))
}

// pushed is a Stream without a goroutine.
type pushed struct {
	Stream
	push  fasthttp.Push
	h     Handler
	last  atomic.Int64 // when something was last sent, as a duration since the variable start
	topic *Topic       // that the stream has joined; Stream.mu guards it
	more  []*Topic     // further ones
}

// pushedEvents is a pushed as its Push sees it.
type pushedEvents pushed

var _ fasthttp.PushHandler = (*pushedEvents)(nil)

// Opened implements fasthttp.PushHandler.
func (e *pushedEvents) Opened(*fasthttp.Push) {
	p := (*pushed)(e)
	if p.options.Retry > 0 {
		_ = p.Send(Event{Retry: p.options.Retry})
	}
	p.mark()
	if p.options.Heartbeat > 0 {
		p.push.SetTick(p.options.Heartbeat)
	}
	if p.h.OnOpen != nil {
		p.h.OnOpen(&p.Stream)
	}
}

var start = time.Now()

// mark records that something was sent.
func (p *pushed) mark() { p.last.Store(int64(time.Since(start))) }

// tickResolution is how much too early a Push may call Tick.
const tickResolution = 10 * time.Millisecond

// heartbeat is a comment.
var heartbeat = fasthttp.NewPushPiece([]byte(":\n"))

// Tick implements fasthttp.PushHandler.
func (e *pushedEvents) Tick(*fasthttp.Push) {
	p := (*pushed)(e)
	left := p.options.Heartbeat - (time.Since(start) - time.Duration(p.last.Load()))
	if left < tickResolution {
		if left = p.options.Heartbeat; p.push.Queued() == 0 {
			_ = p.push.SendPiece(heartbeat)
		}
		p.mark()
	}
	p.push.SetTick(left)
}

// ShuttingDown implements fasthttp.PushHandler.
func (e *pushedEvents) ShuttingDown(*fasthttp.Push) { (*pushed)(e).end(context.Canceled) }

// Ended implements fasthttp.PushHandler.
func (e *pushedEvents) Ended(_ *fasthttp.Push, err error) {
	p := (*pushed)(e)
	p.mu.Lock()
	ended := p.err
	p.mu.Unlock()
	cause := err
	if errors.Is(err, io.EOF) {
		cause = errDisconnected
	}
	p.end(cause)
	switch {
	case p.h.OnClose == nil:
		return
	case err == nil && (errors.Is(ended, context.Canceled) || errors.Is(ended, ErrSlow)):
		err = ended
	}
	p.h.OnClose(&p.Stream, err)
}

// send sends an encoded event or comment. ends means that the stream has ended because of it.
func (p *pushed) send(encoded []byte) (ends bool, err error) { return p.result(p.push.Send(encoded)) }

func (p *pushed) sendPiece(piece *fasthttp.PushPiece) (ends bool, err error) {
	return p.result(p.push.SendPiece(piece))
}

// replay sends encoded events that the client has missed, whatever waits for it already.
func (p *pushed) replay(encoded []byte) error {
	_, err := p.result(bridge.SendUnlimited(&p.push, encoded))
	return err
}

// result returns the result of sending for an error of the Push.
func (p *pushed) result(err error) (ends bool, _ error) {
	if err == nil {
		p.mark()
		return false, nil
	}
	p.mu.Lock()
	ended := p.err
	p.mu.Unlock()
	switch {
	case ended != nil:
		return false, ended
	case err != fasthttp.ErrPushQueueFull:
		return false, fmt.Errorf("%w: %w", ErrEnded, err)
	case p.options.Slow != SlowEnds:
		p.dropped.Add(1)
		return false, ErrSlow
	}
	ends = p.end(ErrSlow)
	p.mu.Lock()
	defer p.mu.Unlock()
	return ends, p.err
}

// end ends the stream, and reports whether it had not ended before. The caller may hold the lock of
// a topic.
func (p *pushed) end(cause error) (ends bool) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return false
	}
	p.endLocked(cause)
	cancel, topics := p.cancel, p.more
	if p.topic != nil {
		topics = append(topics, p.topic)
	}
	p.topic, p.more = nil, nil
	p.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	if len(topics) > 0 {
		go func() {
			for _, t := range topics {
				t.Leave(&p.Stream)
			}
		}()
	}
	p.push.Close()
	return true
}

// join records that the stream is in a topic. It returns false if the stream has ended.
func (p *pushed) join(t *Topic) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return false
	case p.topic == nil:
		p.topic = t
	default:
		p.more = append(p.more, t)
	}
	return true
}

// leave is the opposite of join.
func (p *pushed) leave(t *Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic == t {
		p.topic = nil
		return
	}
	for i, other := range p.more {
		if other == t {
			p.more = append(p.more[:i], p.more[i+1:]...)
			return
		}
	}
}

// context returns the context of the stream, which the first call creates.
func (p *pushed) context() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithCancelCause(context.Background())
		if p.err != nil {
			p.cancel(p.err)
		}
	}
	return p.ctx
}

// hasEnded reports whether the stream has ended.
func (s *Stream) hasEnded() bool {
	if s.pushed == nil {
		return s.ctx.Err() != nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// replayPushed is replay for a pushed stream. It sends all kept events as one piece, which may be
// larger than the buffer. mu is held.
func (t *Topic) replayPushed(s *Stream) (complete bool) {
	for i := range t.kept {
		if t.keptAt(i).id != s.lastID {
			continue
		}
		if i == 0 {
			return true
		}
		b := bufpool.Get(0)
		for i--; i >= 0; i-- {
			b.B = append(b.B, t.keptAt(i).encoded...)
		}
		err := s.pushed.replay(b.B)
		bufpool.Put(b)
		return err == nil
	}
	return false
}
