package http3

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/hpack"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// clientConn is a connection of a client.
type clientConn struct {
	session
	host *host
	born time.Time

	extended atomic.Bool   // the server accepts extended CONNECT
	settled  chan struct{} // closed when the settings of the server arrive

	noMore context.Context // ends when the connection takes no more requests
	retire context.CancelFunc

	// guarded by mu
	streams  map[quic.StreamID]*clientStream
	retired  bool
	closed   bool
	lastUse  time.Duration // when a request ended, on the clock
	tunneled time.Time     // when a tunnel ended
	idle     *time.Timer   // closes the connection when it had no request for a while
	idleTime time.Duration

	closeTime time.Duration // for the server to receive the rest of a tunnel
}

// newClientConn makes a connection of q.
func newClientConn(h *host, q *quic.Conn, key *bridge.ClientKey, idleTime time.Duration) *clientConn {
	c := &clientConn{host: h, born: time.Now(), streams: make(map[quic.StreamID]*clientStream), settled: make(chan struct{}), idleTime: idleTime}
	c.noMore, c.retire = context.WithCancel(context.Background())
	c.init(q, c, sectionLimits{hpack.Limits{Size: key.Section, Fields: key.Fields}, key.KeepNames, false, false, key.Table, key.Encoder})
	return c
}

func (c *clientConn) controlStream() wire.Stream { return wire.ControlOfServer }

func (c *clientConn) pushFault() wire.Code { return wire.IDError }

// run serves the streams of the server until the connection ends.
func (c *clientConn) run() {
	c.acceptUni()
	c.mu.Lock()
	c.retired, c.closed = true, true
	if c.idle != nil {
		c.idle.Stop()
	}
	c.mu.Unlock()
	c.retire()
}

// controlFrame implements role.
func (c *clientConn) controlFrame(f wire.Frame, _ *uint64) *wire.Error {
	switch f.Type {
	case wire.TypeSettings:
		var s wire.Settings
		e := s.Parse(f.Payload)
		c.apply(&s)
		c.extended.Store(s.ExtendedConnect)
		close(c.settled)
		return e
	case wire.TypeGoAway:
		id, e := wire.Number(f.Payload)
		switch {
		case e != nil:
			return e
		case id%4 != 0:
			return &wire.Error{Code: wire.IDError, What: "GOAWAY with an id of no request"}
		case id > c.away:
			return &wire.Error{Code: wire.IDError, What: "GOAWAY with a higher id than before"}
		}
		c.goAway(id)
	}
	return nil
}

// goAway makes the connection take no more requests, and ends the ones from id on, which the server
// does not serve (RFC 9114 section 5.2).
func (c *clientConn) goAway(id uint64) {
	c.mu.Lock()
	c.away = id
	var rejected []*clientStream
	for n, s := range c.streams {
		if uint64(n) >= id {
			rejected = append(rejected, s)
		}
	}
	closes := c.retireLocked()
	c.mu.Unlock()
	for _, s := range rejected {
		s.reject()
	}
	if closes {
		c.closeUnused()
	}
}

// retireLocked makes the connection take no more requests. It reports whether the connection is to
// be closed. mu is held.
func (c *clientConn) retireLocked() (closes bool) {
	c.retired = true
	c.retire()
	closes = len(c.streams) == 0 && !c.closed
	c.closed = c.closed || closes
	return closes
}

// closeUnused closes the connection, which has no request. The server has time before to receive the end of
// a tunnel: with the connection it would lose bytes that its program has not read yet.
func (c *clientConn) closeUnused() {
	c.mu.Lock()
	wait := time.Duration(0)
	if !c.tunneled.IsZero() {
		wait = c.closeTime - time.Since(c.tunneled)
	}
	c.mu.Unlock()
	if wait <= 0 {
		c.close()
		return
	}
	timer := time.AfterFunc(wait, c.close)
	context.AfterFunc(c.q.Context(), func() { timer.Stop() })
}

// close closes the connection.
func (c *clientConn) close() { _ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "") }

// closeIfIdle closes the connection if it has no request.
func (c *clientConn) closeIfIdle() {
	c.mu.Lock()
	closes := len(c.streams) == 0 && c.retireLocked()
	c.mu.Unlock()
	if closes {
		c.closeUnused()
	}
}

// tryOpen opens a stream, if there is room. full reports that there is none now. A connection that has
// served a request is not used any more after maxAge, if there is one.
func (c *clientConn) tryOpen(maxAge time.Duration) (s *clientStream, full bool) {
	c.mu.Lock()
	closes := false
	if maxAge > 0 && c.lastUse != 0 && time.Since(c.born) >= maxAge {
		closes = c.retireLocked()
	}
	retired := c.retired
	c.mu.Unlock()
	if closes {
		c.closeUnused()
	}
	if retired {
		return nil, false
	}
	q, err := c.q.OpenStream()
	if err != nil {
		// the limit of the server is an error of which the connection is not the reason
		return nil, c.q.Context().Err() == nil
	}
	return c.adopt(q), false
}

// adopt makes q the stream of a request. It returns nil if the connection takes no more requests.
func (c *clientConn) adopt(q *quic.Stream) *clientStream {
	s := &clientStream{message: message{link: &c.session, q: q, left: -1}, c: c}
	s.r.Init(wire.Response, int(c.max.Size))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		q.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
		q.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled))
		return nil
	}
	s.idleSince = c.lastUse
	c.streams[q.StreamID()] = s
	if c.idle != nil {
		c.idle.Stop()
	}
	return s
}

// awaitStream waits for a stream.
func (c *clientConn) awaitStream(ctx context.Context) (*clientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.noMore, cancel)()
	q, err := c.q.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	return c.adopt(q), nil
}

// end is called when a request has ended. If retire is set, the connection takes no other ones. If
// cancelled is set, a part of the response was not decoded.
func (c *clientConn) end(s *clientStream, retire, cancelled bool) {
	c.mu.Lock()
	delete(c.streams, s.q.StreamID())
	c.lastUse = clock.Elapsed()
	if s.tunnel {
		c.tunneled = time.Now()
	}
	retire = retire || c.retired
	closes := retire && c.retireLocked()
	if !retire && len(c.streams) == 0 {
		c.startIdle()
	}
	c.mu.Unlock()
	switch {
	case closes:
		c.closeUnused()
	case cancelled:
		c.cancel(s.q.StreamID(), &s.message)
	}
}

// startIdle starts the timer. mu is held.
func (c *clientConn) startIdle() {
	if c.idle == nil {
		c.idle = time.AfterFunc(c.idleTime, c.closeIfIdle)
	} else {
		c.idle.Reset(c.idleTime)
	}
}

// requests returns how many requests there are.
func (c *clientConn) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}
