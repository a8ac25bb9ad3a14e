package fasthttpprometheus

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

// Server has the metrics of a server. It is a prometheus.Collector.
type Server struct {
	server    *fasthttp.Server
	durations *durations
	vectors   []prometheus.Collector

	refused  *prometheus.CounterVec
	ended    *prometheus.CounterVec
	reasons  [fasthttp.ConnEndAborted + 1]prometheus.Counter // of ended
	accepted atomic.Uint64
	cutOff   atomic.Uint64
	counts   [shards]counts
	bodies   [shards]bodies

	conns  sync.Map // of net.Conn: a *atomic.Int32 with its state
	states [fasthttp.StateIdle + 1]atomic.Int64
	tracks bool

	open, serving, rejected, acceptedDesc, bytesDesc, cutOffDesc, handlersDesc, statesDesc *prometheus.Desc
}

var _ prometheus.Collector = (*Server)(nil)

// counts are the counts that each request changes, of a part of the connections.
type counts struct {
	handlers atomic.Int64
	bytes    atomic.Uint64
	_        [112]byte // other processors change the next ones
}

// of returns the counts for a request.
func (m *Server) of(ctx *fasthttp.RequestCtx) *counts { return &m.counts[ctx.ConnID()%shards] }

// NewServer returns the metrics of a server. It is called before the server is started, and after
// its hooks were set: it adds functions to Server.ResponseSent and Server.Trace, which it copies, and
// with Options.ConnStates to Server.ConnState.
//
// A duration is the time from the head of a request until its response was sent, or cut off, so
// it includes body streams. Its status is the one that was sent: "none" if there was no response.
// The method is "unknown" if the request could not be read, or was left to its handler by a
// TimeoutError method.
func NewServer(s *fasthttp.Server, o Options) *Server {
	m := &Server{server: s, tracks: o.ConnStates, durations: newDurations(&o, "server", "Time from the head of a request to the end of its response.", "none")}
	m.open = o.desc("server", "connections_open", "Open connections.")
	m.serving = o.desc("server", "connections_serving", "Connections that are being served; Server.Concurrency limits them.")
	m.rejected = o.desc("server", "connections_rejected_total", "Connections that were refused because of Server.Concurrency.")
	m.acceptedDesc = o.desc("server", "connections_accepted_total", "Connections that were accepted.")
	m.bytesDesc = o.desc("server", "response_bytes_total", "Bytes of responses, with their heads and before encryption.")
	m.cutOffDesc = o.desc("server", "responses_cut_off_total", "Responses of which a part was not sent.")
	m.handlersDesc = o.desc("server", "handlers_running", "Handlers that are running.")
	m.statesDesc = o.desc("server", "connections", "Connections by state.", "state")
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{Name: o.name("server", "requests_refused_total"), Help: "Requests and connections that no handler has got.", ConstLabels: o.Labels}, []string{"reason"})
	m.ended = prometheus.NewCounterVec(prometheus.CounterOpts{Name: o.name("server", "connections_ended_total"), Help: "Connections that have ended, by reason.", ConstLabels: o.Labels}, []string{"reason"})
	for why := range m.reasons {
		m.reasons[why] = m.ended.WithLabelValues(fasthttp.ConnEnd(why).String())
	}
	m.vectors = []prometheus.Collector{m.durations, m.refused, m.ended}
	m.attach(s)
	return m
}

// attach adds the hooks.
func (m *Server) attach(s *fasthttp.Server) {
	var before fasthttp.ServerTrace
	if s.Trace != nil {
		before = *s.Trace
	}
	trace := before
	trace.ConnAccepted = func(id uint64, conn net.Conn) {
		m.accepted.Add(1)
		if before.ConnAccepted != nil {
			before.ConnAccepted(id, conn)
		}
	}
	trace.ConnEnded = func(id uint64, conn net.Conn, why fasthttp.ConnEnd) {
		if why >= 0 && int(why) < len(m.reasons) {
			m.reasons[why].Inc()
		}
		if before.ConnEnded != nil {
			before.ConnEnded(id, conn, why)
		}
	}
	trace.HandlerBegins = func(ctx *fasthttp.RequestCtx) {
		m.of(ctx).handlers.Add(1)
		if before.HandlerBegins != nil {
			before.HandlerBegins(ctx)
		}
	}
	trace.HandlerEnds = func(ctx *fasthttp.RequestCtx) {
		m.of(ctx).handlers.Add(-1)
		if before.HandlerEnds != nil {
			before.HandlerEnds(ctx)
		}
	}
	m.attachSent(s, &trace)
	s.Trace = &trace
	if !m.tracks {
		return
	}
	state := s.ConnState
	s.ConnState = func(conn net.Conn, to fasthttp.ConnState) {
		m.changed(conn, to)
		if state != nil {
			state(conn, to)
		}
	}
}

// attachSent adds the hook for responses. The server reads the clock less often without
// ServerTrace.ResponseSent. With LazyRequestTime it does not know when a request has begun.
func (m *Server) attachSent(s *fasthttp.Server, trace *fasthttp.ServerTrace) {
	if s.LazyRequestTime {
		before := trace.ResponseSent
		trace.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
			m.sent(ctx, sent.SentResponse, sent.Protocol != "", sent.Receiving+sent.Handling+sent.Sending)
			if before != nil {
				before(ctx, sent)
			}
		}
		return
	}
	received := trace.BodyReceived
	trace.BodyReceived = func(ctx *fasthttp.RequestCtx) {
		m.bodies[ctx.ConnID()%shards].add(ctx.ID(), ctx.Duration())
		if received != nil {
			received(ctx)
		}
	}
	before := s.ResponseSent
	s.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		// RequestCtx.Time is the time after the body
		receiving := m.bodies[ctx.ConnID()%shards].take(ctx.ID())
		m.sent(ctx, sent, ctx.ConnRequestNum() > 0, receiving+ctx.Duration())
		if before != nil {
			before(ctx, sent)
		}
	}
}

// sent counts a response.
func (m *Server) sent(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse, isRequest bool, took time.Duration) {
	if sent.Bytes > 0 {
		m.of(ctx).bytes.Add(uint64(sent.Bytes))
	}
	if sent.Err != nil {
		m.cutOff.Add(1)
	}
	if sent.Refused != nil {
		m.refused.WithLabelValues(reasonOf(sent.Refused)).Inc()
	}
	if !isRequest {
		return // a connection
	}
	method := methodUnknown
	// to count the fields takes longer
	if h := &ctx.Request.Header; len(h.Host()) > 0 || h.Len() > 0 {
		method = methodOf(ctx.Request.Header.Method())
	}
	m.durations.observe(ctx.ConnID(), method, sent.StatusCode, took)
}

// changed counts a connection in its new state.
func (m *Server) changed(conn net.Conn, to fasthttp.ConnState) {
	last := to == fasthttp.StateClosed || to == fasthttp.StateHijacked
	v, known := m.conns.Load(conn)
	switch {
	case known:
		state := v.(*atomic.Int32)
		m.states[state.Load()].Add(-1)
		if last {
			m.conns.Delete(conn)
			return
		}
		state.Store(int32(to))
	case last:
		return
	default:
		state := new(atomic.Int32)
		state.Store(int32(to))
		m.conns.Store(conn, state)
	}
	m.states[to].Add(1)
}

// Describe describes the metrics.
func (m *Server) Describe(descs chan<- *prometheus.Desc) {
	for _, v := range m.vectors {
		v.Describe(descs)
	}
	for _, d := range []*prometheus.Desc{m.open, m.serving, m.rejected, m.acceptedDesc, m.bytesDesc, m.cutOffDesc, m.handlersDesc} {
		descs <- d
	}
	if m.tracks {
		descs <- m.statesDesc
	}
}

// Collect collects the metrics.
func (m *Server) Collect(metrics chan<- prometheus.Metric) {
	for _, v := range m.vectors {
		v.Collect(metrics)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value uint64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value))
	}
	gauge(m.open, float64(m.server.GetOpenConnectionsCount()))
	gauge(m.serving, float64(m.server.GetCurrentConcurrency()))
	var handlers int64
	var bytes uint64
	for i := range m.counts {
		handlers += m.counts[i].handlers.Load()
		bytes += m.counts[i].bytes.Load()
	}
	gauge(m.handlersDesc, float64(handlers))
	counter(m.rejected, uint64(m.server.GetRejectedConnectionsCount()))
	counter(m.acceptedDesc, m.accepted.Load())
	counter(m.bytesDesc, bytes)
	counter(m.cutOffDesc, m.cutOff.Load())
	if m.tracks {
		for state := range m.states {
			gauge(m.statesDesc, float64(m.states[state].Load()), fasthttp.ConnState(state).String())
		}
	}
}
