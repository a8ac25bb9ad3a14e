package http2client

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/servertest"
)

// peer is an HTTP/2 server that answers each request at its end, unless it holds them.
type peer struct {
	nc     net.Conn
	limits http2.Limits

	mu    sync.Mutex
	conn  http2.Conn
	held  []*http2.Stream // unanswered requests
	holds bool
	got   int // content
	out   []byte

	goAway chan http2.Code // codes from the client
	over   chan struct{}   // closed at the end of the connection
}

func newPeer(nc net.Conn) *peer {
	p := &peer{nc: nc, goAway: make(chan http2.Code, 10), over: make(chan struct{})}
	p.limits = http2.Limits{Streams: 1000, Wasted: -1, Glitches: -1}
	p.limits.Fill()
	p.conn.Init(http2.Server, &p.limits, 0)
	return p
}

// run serves until the connection ends.
func (p *peer) run() {
	defer close(p.over)
	defer p.close()
	var m http2.Message
	in := make([]byte, 0, 64<<10)
	for {
		p.mu.Lock()
		p.write()
		p.mu.Unlock()
		n, err := p.nc.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
		p.mu.Lock()
		read := 0
		for {
			n, ev, err := p.conn.Feed(in[read:], 0, &m)
			if read += n; err != nil {
				p.write()
				p.mu.Unlock()
				return
			}
			p.handle(&ev)
			if n == 0 && ev.Kind == http2.None {
				break
			}
		}
		p.mu.Unlock()
		in = in[:copy(in, in[read:])]
	}
}

// close closes the connection cleanly.
func (p *peer) close() { _ = servertest.Close(p.nc) }

func (p *peer) handle(ev *http2.Event) {
	switch ev.Kind {
	case http2.Data:
		p.got += len(ev.Payload)
		p.conn.Consumed(ev.Stream, len(ev.Payload))
	case http2.Reset:
		p.held = slices.DeleteFunc(p.held, func(s *http2.Stream) bool { return s == ev.Stream })
		p.conn.Release(ev.Stream)
	case http2.GoAway:
		p.goAway <- ev.Code
	}
	if !ev.End {
		return
	}
	if p.holds {
		p.held = append(p.held, ev.Stream)
		return
	}
	p.answer(ev.Stream)
}

// answer answers a request. The lock is held.
func (p *peer) answer(s *http2.Stream) {
	if p.conn.CanSend(s, http2.SendWhole) {
		b := p.conn.BeginHeaders()
		p.conn.EndHeaders(s, p.conn.Encoder().AppendField(b, field.Lookup([]byte(":status")), []byte(":status"), []byte("200"), hpack.Index), http2.SendWhole)
	}
	p.conn.Release(s)
}

// release answers the held requests, and all later ones.
func (p *peer) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.held {
		p.answer(s)
	}
	p.held, p.holds = nil, false
	p.write()
}

// hold makes the peer answer no requests from now on.
func (p *peer) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = true
}

func (p *peer) write() {
	for p.conn.HasOutput() {
		p.out = p.conn.Output(p.out[:0], 64<<10)
		_ = p.nc.SetWriteDeadline(time.Now().Add(servertest.Patience))
		if _, err := p.nc.Write(p.out); err != nil {
			return
		}
	}
}

// owner records its calls.
type owner struct{ settled, ended chan struct{} }

func newOwner() *owner {
	return &owner{settled: make(chan struct{}, 100), ended: make(chan struct{}, 100)}
}

func (o *owner) SettingsReceived() { o.settled <- struct{}{} }
func (o *owner) Ended()            { o.ended <- struct{}{} }

// begin returns a connection that has settled, and has no reservation.
func begin(t *testing.T, nc net.Conn, cfg *Config) (*Conn, *owner) {
	t.Helper()
	c, o := beginUnsettled(nc, cfg)
	t.Cleanup(func() { c.lose(net.ErrClosed) })
	servertest.Receive(t, "the settings of the peer", o.settled)
	return c, o
}

func beginUnsettled(nc net.Conn, cfg *Config) (*Conn, *owner) {
	line := new(clientconn.Conn)
	line.Attach(nc, 4096)
	if cfg == nil {
		cfg = new(Config)
	}
	if cfg.Write == 0 {
		cfg.Write = servertest.Patience
	}
	cfg.Limits.Fill()
	o := newOwner()
	c := Begin(line, cfg, o)
	c.Wake()
	c.ReleaseReservation()
	return c, o
}

// connect returns a connection and its peer. dial makes it: see servertest.TCPPair.
func connect(t *testing.T, dial func(t testing.TB) (client, server net.Conn), cfg *Config) (*Conn, *owner, *peer) {
	t.Helper()
	client, server := dial(t)
	p := newPeer(server)
	go p.run()
	c, o := begin(t, client, cfg)
	return c, o, p
}

// call is one request with its response.
type call struct {
	c      *Conn
	s      *http2.Stream
	signal chan struct{}
	leads  bool

	// guarded by the lock
	answered bool
	fault    error
}

var (
	errLate  = errors.New("the time is over")
	errReset = errors.New("the stream was reset")
)

// ask begins a request, with content.
func ask(c *Conn, content []byte) (*call, error) {
	x := &call{c: c, signal: make(chan struct{}, 1)}
	if !c.Reserve() {
		return nil, errors.New("no reservation")
	}
	c.Lock()
	conn := c.HTTP2()
	s := conn.Open()
	part := http2.SendWhole
	if len(content) > 0 {
		part = http2.SendHead
	}
	if s == nil || !conn.CanSend(s, part) {
		if s != nil {
			conn.Release(s)
		}
		c.Unlock()
		c.ReleaseReservation()
		return nil, errors.New("no stream")
	}
	s.User, x.s = x, s
	b := conn.BeginHeaders()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}} {
		b = conn.Encoder().AppendField(b, field.Lookup([]byte(f[0])), []byte(f[0]), []byte(f[1]), hpack.Index)
	}
	conn.EndHeaders(s, b, part)
	x.leads = c.Begun(true)
	if len(content) > 0 {
		conn.Send(s, content, true)
	}
	c.Unlock()
	c.Wake()
	return x, nil
}

// await waits for the response, and ends the call.
func (x *call) await(until time.Time) error {
	c := x.c
	late := false
	for {
		c.Lock()
		over, err := x.answered || x.fault != nil, x.fault
		c.Unlock()
		if over || late {
			if !over {
				err = errLate
			}
			x.leave()
			return err
		}
		switch {
		case x.leads:
			late = !c.ReadLoopInline(x.signal, until)
		case until.IsZero():
			<-x.signal
		default:
			timer := time.NewTimer(time.Until(until))
			select {
			case <-x.signal:
			case <-timer.C:
				late = true
			}
			timer.Stop()
		}
	}
}

func (x *call) leave() {
	c := x.c
	c.Lock()
	c.HTTP2().Release(x.s)
	if x.leads {
		c.StopReadInline()
	}
	wake := c.Wakes()
	c.Unlock()
	if wake {
		c.Wake()
	}
	c.ReleaseReservation()
}

func (x *call) tell() {
	select {
	case x.signal <- struct{}{}:
	default:
	}
	if x.leads {
		x.c.Interrupt()
	}
}

// Receive implements Exchange.
func (x *call) Receive(ev *http2.Event, _ *http2.Message) {
	switch {
	case ev.Kind == http2.Reset:
		x.ConnEnded(errReset)
	case ev.End:
		x.answered = true
		x.tell()
	}
}

// ContentSent implements Exchange.
func (x *call) ContentSent() {}

// ConnEnded implements Exchange.
func (x *call) ConnEnded(err error) {
	if x.fault == nil {
		x.fault = err
	}
	x.tell()
}

// succeeds waits for the response, without a limit of the call's own.
func (x *call) succeeds(t *testing.T) {
	t.Helper()
	servertest.Must(t, x.result(t))
}

// result is await without a limit of the call's own.
func (x *call) result(t *testing.T) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.await(time.Time{}) }()
	return servertest.Receive(t, "the end of a call", done)
}

// expectReader checks which goroutine reads, once all that can happen without time has
// happened. It is for bubbles of testing/synctest.
func (c *Conn) expectReader(t *testing.T, want reader) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reader != want {
		t.Fatalf("the reader is %d, want %d", c.reader, want)
	}
}
