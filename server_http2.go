package fasthttp

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/workers"
)

// h2Server is the HTTP/2 state of a server.
type h2Server struct {
	limits     http2.Limits
	workers    *workers.Pool[h2Task]
	pace       h2Pace
	countError func(errType string)

	exchanges sync.Pool // of lists, by h2Exchange.next

	mu    sync.Mutex
	conns map[*h2Conn]struct{}
}

// variantHTTP2 is the engine.Conn.Variant of connections that speak HTTP/2.
const variantHTTP2 = 1

// prepareHTTP2 puts the settings of HTTP/2 into s.h2.
func (s *Server) prepareHTTP2() {
	if !s.Protocols.HTTP2() && !s.Protocols.UnencryptedHTTP2() {
		return
	}
	c := &s.HTTP2
	s.h2.countError = c.CountError
	s.h2.limits = http2.Limits{
		Streams:      max(c.MaxConcurrentStreams, 0),
		HeaderList:   max(s.ReadBufferSize, 0),
		Frame:        max(c.MaxReadFrameSize, 0),
		ConnWindow:   max(c.MaxReceiveBufferPerConnection, 0),
		Window:       max(c.MaxReceiveBufferPerStream, 0),
		DecoderTable: max(c.MaxDecoderHeaderTableSize, 0),
		EncoderTable: max(c.MaxEncoderHeaderTableSize, 0),
		Stall:        int(min(positive(c.WriteByteTimeout, h2WriteTime).Milliseconds(), math.MaxInt32)),
		Preface:      h2Preface(s.set.headTimeout),
		Bodies:       max(http2.DefaultBodies, s.set.maxBodySize),
		KeepNames:    s.DisableHeaderNamesNormalizing,

		ExtendedConnect: c.ExtendedConnect,
	}
	s.h2.limits.Fill()
	s.h2.workers = workers.New(positive(s.MaxIdleWorkerDuration, 10*time.Second), h2Task.do)
	s.h2.conns = make(map[*h2Conn]struct{})
	s.h2.exchanges.New = func() any { return new(h2Exchange) }
}

// h2Preface returns how many milliseconds a client has for its preface, which begins a
// connection as the head of a request does in HTTP/1.
func h2Preface(headTimeout time.Duration) int {
	return int(min(positive(headTimeout, http2.DefaultGreeting*time.Millisecond).Milliseconds()+1, http2.DefaultGreeting))
}

// count reports an error to the application.
func (s *h2Server) count(err error) {
	if s.countError != nil && err != nil {
		if e, ok := err.(*http2.Error); ok {
			// the names of net/http are in lower case
			s.countError(strings.ToLower(e.Code.String()))
		}
	}
}

func (s *h2Server) add(h *h2Conn) {
	s.mu.Lock()
	s.conns[h] = struct{}{}
	s.mu.Unlock()
	s.workers.Resume()
	if h.s.conns.Stopping() {
		h.mu.Lock()
		h.startGoAway()
		h.mu.Unlock()
	}
}

func (s *h2Server) remove(h *h2Conn) {
	s.mu.Lock()
	delete(s.conns, h)
	s.mu.Unlock()
}

// shutdown starts a graceful shutdown of all connections.
func (s *h2Server) shutdown() {
	s.mu.Lock()
	conns := make([]*h2Conn, 0, len(s.conns))
	for h := range s.conns {
		conns = append(conns, h)
	}
	s.mu.Unlock()
	for _, h := range conns {
		// the engine may have to wait for room
		go h.shutdown()
	}
}

// stopWorkers ends the goroutines as soon as they have no request to serve, until the next
// connection.
func (s *h2Server) stopWorkers() {
	if s.workers != nil {
		s.workers.Stop()
	}
}

// upgradeHTTP2 returns the protocol of a connection on which the preface of HTTP/2 was received.
func (h *host) upgradeHTTP2(c *engine.Conn, l engine.Link, old *h1Conn) engine.Protocol {
	next := newH2Conn((*Server)(h), c, l)
	next.mu.Lock()
	next.input = h2Open
	next.mu.Unlock()
	next.in, next.read = old.in, old.read
	old.in, old.read = nil, 0
	return next
}

// IsHTTP2 reports whether the request arrived over HTTP/2.
func (ctx *RequestCtx) IsHTTP2() bool {
	return ctx.Request.Header.head.IsHTTP2() && !ctx.Request.Header.isHTTP3()
}

// checkPreface checks whether a connection begins with the preface of HTTP/2, which
// no request of HTTP/1 does. wait reports that it does, or that more bytes are needed.
func (x *h1Exchange) checkPreface(b []byte) (next engine.Action, wait bool) {
	n := min(len(b), len(http2.Preface))
	switch {
	case n == 0 || x.c.IsTLS || string(b[:n]) != http2.Preface[:n]:
		return next, false
	case n == len(http2.Preface):
		return engine.Upgrade, true
	}
	return engine.Read, true
}
