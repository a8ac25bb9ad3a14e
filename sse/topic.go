package sse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// Topic sends events to many streams. The zero value is ready for use. Its methods may be
// called by several goroutines. A Topic must not be copied.
type Topic struct {
	// Keep is how many of the latest events that have an ID are kept for clients that
	// reconnect. They get the events that followed the one with their LastEventID. The
	// IDs of the events must differ. By default none is kept. Keep must not be changed after the
	// first event.
	Keep int

	dropped, ended atomic.Uint64

	mu      sync.Mutex
	streams map[*Stream]func() bool // with the function that cancels its Leave at the end
	closed  bool
	encoded []byte      // the event being sent
	kept    []keptEvent // a ring
	next    int         // where the next event is kept
}

// keptEvent is an event kept for clients that reconnect.
type keptEvent struct {
	id      string
	encoded []byte
}

// Serve adds a stream, and waits until it has ended. It can be passed to Serve and to
// Options.Serve.
func (t *Topic) Serve(s *Stream) {
	t.Join(s)
	<-s.Done()
}

// Join adds a stream, until it has ended or leaves. All streams get the events in the same
// order.
//
// If the LastEventID of the stream is the ID of an event that the topic has kept, the stream
// first gets the later ones, even if they are larger than its buffer. missed reports whether
// the client may have missed other events: it reconnects, and the event with its LastEventID
// is not kept.
//
// Join does nothing for a stream that has ended or is in the topic already. The streams of a
// closed topic end.
func (t *Topic) Join(s *Stream) (missed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		s.end(errTopicClosed)
		return false
	}
	if _, joined := t.streams[s]; joined || s.hasEnded() {
		return false
	}
	missed = !t.replay(s)
	if t.streams == nil {
		t.streams = make(map[*Stream]func() bool)
	}
	if s.pushed == nil {
		t.streams[s] = context.AfterFunc(s.ctx, func() { t.Leave(s) })
	} else if s.pushed.join(t) {
		t.streams[s] = nil
	}
	return missed
}

// Open makes the response a stream of the topic, without a goroutine while it waits: see
// Options.Open. It is for a RequestHandler, which should return then.
func (t *Topic) Open(ctx *fasthttp.RequestCtx, o Options) {
	o.Open(ctx, Handler{OnOpen: func(s *Stream) { t.Join(s) }})
}

var errTopicClosed = errors.New("the topic was closed")

// replay sends kept events to a stream that joins, and reports whether it has all events then.
// mu is held.
func (t *Topic) replay(s *Stream) (complete bool) {
	if s.lastID == "" {
		return true
	}
	if s.pushed != nil {
		return t.replayPushed(s)
	}
	// from the latest to the oldest one
	for i := range t.kept {
		if t.keptAt(i).id != s.lastID {
			continue
		}
		for i--; i >= 0; i-- {
			if _, err := s.offer(t.keptAt(i).encoded, true); err != nil {
				break
			}
		}
		return true
	}
	return false
}

// keptAt returns the kept event after which i others were kept. mu is held.
func (t *Topic) keptAt(i int) *keptEvent {
	return &t.kept[(t.next-1-i+2*len(t.kept))%len(t.kept)]
}

// Leave removes a stream, which does not end.
func (t *Topic) Leave(s *Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stop, joined := t.streams[s]
	switch {
	case !joined:
		return
	case s.pushed != nil:
		s.pushed.leave(t)
	default:
		stop()
	}
	delete(t.streams, s)
}

// Publish sends an event to all streams of the topic. It never waits for a client: if
// Options.Buffer bytes wait for one, the event is dropped for this stream or, with SlowEnds,
// the stream ends.
//
// The error wraps ErrInvalidEvent if the event cannot be sent, and ErrEnded if the topic is
// closed.
func (t *Topic) Publish(e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosedTopic
	}
	t.encoded = appendEvent(t.encoded[:0], &e)
	if len(t.encoded) == 0 {
		return nil
	}
	t.keep(&e)
	var piece *fasthttp.PushPiece // for all pushed streams
	for s := range t.streams {
		var ends bool
		var err error
		if s.pushed == nil {
			ends, err = s.offer(t.encoded, false)
		} else {
			if piece == nil {
				piece = fasthttp.NewPushPiece(t.encoded)
			}
			ends, err = s.pushed.sendPiece(piece)
		}
		switch {
		case err == nil:
		case err == ErrSlow:
			t.dropped.Add(1)
		default:
			delete(t.streams, s)
			if ends {
				t.ended.Add(1)
			}
		}
	}
	if cap(t.encoded) > DefaultBuffer {
		t.encoded = nil
	}
	return nil
}

var errClosedTopic = fmt.Errorf("%w: %w", ErrEnded, errTopicClosed)

// keep keeps the event being sent. mu is held.
func (t *Topic) keep(e *Event) {
	if e.ID == "" || t.Keep <= 0 {
		return
	}
	if len(t.kept) < t.Keep {
		t.kept = append(t.kept, keptEvent{})
		t.next = len(t.kept) - 1
	}
	k := &t.kept[t.next]
	k.id, k.encoded = e.ID, append(k.encoded[:0], t.encoded...)
	t.next = (t.next + 1) % t.Keep
}

// Close ends all streams of the topic, after the events that wait. Streams that join later
// end at once.
func (t *Topic) Close() {
	t.mu.Lock()
	streams := t.streams
	t.closed, t.streams, t.kept = true, nil, nil
	t.mu.Unlock()
	for s := range streams {
		s.end(errTopicClosed)
	}
}

// Len returns the number of streams.
func (t *Topic) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.streams)
}

// Dropped returns how many events were dropped for slow clients, all streams together.
func (t *Topic) Dropped() uint64 { return t.dropped.Load() }

// Ended returns how many streams the topic has ended because their clients were too slow.
func (t *Topic) Ended() uint64 { return t.ended.Load() }
