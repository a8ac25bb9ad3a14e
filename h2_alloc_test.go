package fasthttp

import (
	"bytes"
	"errors"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/workers"
)

// h2Peer is an HTTP/2 client that allocates nothing for a request.
type h2Peer struct {
	t       testing.TB
	nc      net.Conn
	conn    http2.Conn
	limits  http2.Limits
	m       http2.Message
	in, out []byte
	got     int // complete responses
	bytes   int // of content
	fields  [][2][]byte
	body    []byte
}

func newH2Peer(t testing.TB, nc net.Conn) *h2Peer {
	p := &h2Peer{t: t, nc: nc, in: make([]byte, 0, 64<<10)}
	p.limits.Fill()
	p.conn.Init(http2.Client, &p.limits, 0)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "http"}, {":authority", "example.com"}, {":path", "/some/path?with=query"},
		{"user-agent", "Mozilla/5.0 (X11; Linux x86_64)"}, {"accept", "*/*"}, {"cookie", "session=0123456789abcdef0123456789abcdef"},
	} {
		p.fields = append(p.fields, [2][]byte{[]byte(f[0]), []byte(f[1])})
	}
	return p
}

// ask begins n requests.
func (p *h2Peer) ask(n int) {
	part := http2.SendWhole
	if len(p.body) > 0 {
		part = http2.SendHead
	}
	for range n {
		s := p.conn.Open()
		if s == nil {
			p.t.Fatal("no room for another stream")
		}
		b := p.conn.BeginHeaders()
		for _, f := range p.fields {
			b = p.conn.Encoder().AppendField(b, field.Lookup(f[0]), f[0], f[1], hpack.Index)
		}
		p.conn.EndHeaders(s, b, part)
		if len(p.body) > 0 {
			p.conn.Send(s, p.body, true)
		}
	}
	p.write()
}

func (p *h2Peer) write() {
	for p.conn.HasOutput() {
		p.out = p.conn.Output(p.out[:0], 64<<10)
		if _, err := p.nc.Write(p.out); err != nil {
			p.t.Fatal(err)
		}
	}
}

// await reads until n more responses are complete.
func (p *h2Peer) await(n int) {
	for n += p.got; p.got < n; {
		k, err := p.nc.Read(p.in[len(p.in):cap(p.in)])
		if err != nil {
			p.t.Fatal(err)
		}
		p.in = p.in[:len(p.in)+k]
		p.feed()
		p.write()
	}
}

func (p *h2Peer) feed() {
	read := 0
	for {
		n, ev, err := p.conn.Feed(p.in[read:], 0, &p.m)
		if err != nil {
			p.t.Fatal(err)
		}
		read += n
		switch ev.Kind {
		case http2.Data:
			p.bytes += len(ev.Payload)
			p.conn.Consumed(ev.Stream, len(ev.Payload))
		case http2.Reset:
			p.t.Fatalf("a stream was reset with %v", ev.Code)
		}
		if ev.End {
			p.got++
			p.conn.Release(ev.Stream)
		}
		if n == 0 && ev.Kind == http2.None {
			break
		}
	}
	p.in = p.in[:copy(p.in, p.in[read:])]
}

func TestHTTP2RequestsDoNotAllocate(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	t.Run("plain", func(t *testing.T) { checkHTTP2Allocations(t, nil) })
	t.Run("response ready", func(t *testing.T) {
		value := []byte("nosniff")
		checkHTTP2Allocations(t, func(ctx *RequestCtx) { ctx.Response.Header.SetBytesV(HeaderXContentTypeOptions, value) })
	})
}

func checkHTTP2Allocations(t *testing.T, ready RequestHandler) {
	content := []byte("Hello, World!")
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{ResponseReady: ready, Handler: func(ctx *RequestCtx) { ctx.SetBody(content) }}))
		if r.Engine.TLS {
			t.Skip("crypto/tls allocates")
		}
		for _, n := range []int{1, 100} {
			nc := r.Dial()
			p := newH2Peer(t, nc)
			once := func() {
				p.ask(n)
				p.await(n)
			}
			// goroutines and pools need some rounds until they allocate no more
			allocs := 1.0
			for range 20 {
				_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
				if allocs = testing.AllocsPerRun(100, once); allocs == 0 {
					break
				}
			}
			if allocs != 0 {
				t.Errorf("%d at a time: %v allocations", n, allocs)
			}
			if want := p.got * len(content); p.bytes != want {
				t.Errorf("%d bytes, want %d", p.bytes, want)
			}
		}
	})
}

// A handler that waits delays no other request of its connection, earlier or later.
func TestHTTP2HandlersThatWaitHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		through := make(chan struct{})
		r := start(withHTTP2(&Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-through
			}
			ctx.SetBodyString("x")
		}}))
		if r.Engine.TLS {
			t.Skip("the connection has not agreed on HTTP/2")
		}
		nc := r.Dial()
		p := newH2Peer(t, nc)
		path := &p.fields[3][1]
		letThrough := func() {
			t.Helper()
			servertest.Send(t, "a handler's permission to go on", through, struct{}{})
		}
		for range 3 {
			for range 10 {
				_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
				p.ask(9)
				*path = []byte("/wait")
				p.ask(1)
				*path = []byte("/")
			}
			p.await(90)
			letThrough()
			p.await(1)
			p.ask(9)
			p.await(9)
			for range 9 {
				letThrough()
			}
			p.await(9)
		}
	})
}

// linkOfNothing is a link without a connection.
type linkOfNothing struct{ engine.Link }

func (linkOfNothing) Wake()      {}
func (linkOfNothing) Push() bool { return true }
func (linkOfNothing) Interrupt() {}

// A shutdown wakes the engines of the connections that it finds, so each must have its
// protocol by then: an engine has it once it calls Step.
func TestHTTP2ShutdownFindsConnectionsThatAreDriven(t *testing.T) {
	s := withHTTP2(&Server{Handler: echo})
	s.prepare()
	h := newH2Conn(s, &engine.Conn{Set: &s.conns}, linkOfNothing{})
	if s.h2.shutdown(); len(s.h2.conns) != 0 || h.conn.Life() != http2.LifeOpen {
		t.Error("a shutdown finds the connection before its engine has it")
	}
	if h.Step(); len(s.h2.conns) != 1 {
		t.Error("a shutdown does not find the connection")
	}
	// the end of the connection may be signalled more than once
	h.shutdown()
	if h.shutdown(); h.conn.Life() != http2.LifeGoingAway {
		t.Errorf("the connection is in phase %v of its life: it does not wait for the client", h.conn.Life())
	}
	h.release()
}

// While other connections have their turn, a connection with output waits for room to write. There
// may be none, so that wait needs a timeout.
func TestHTTP2TurnOfOthersIsLimitedForOutput(t *testing.T) {
	s := withHTTP2(&Server{Handler: echo})
	s.prepare()
	h := newH2Conn(s, &engine.Conn{Set: &s.conns}, linkOfNothing{})
	defer h.release()
	if w, until := h.Yield(); w != engine.WaitWritable || until.IsZero() {
		t.Errorf("with output: it waits for %v until %v", w, until)
	}
	for head, _, _ := h.Output(); len(head) > 0; head, _, _ = h.Output() {
		h.Written(int64(len(head)), nil)
	}
	if w, _ := h.Yield(); w != engine.WaitInput {
		t.Errorf("without output: it waits for %v", w)
	}
}

// A connection stops reading frames while much output waits. If another goroutine writes that
// output before the engine asks for the next step, the connection must read the received frames:
// if it waited for more input, they would wait, too.
func TestHTTP2GoesOnIfOthersHaveWrittenWhatItStoppedFor(t *testing.T) {
	s := withHTTP2(&Server{Handler: echo})
	s.prepare()
	s.h2.limits.Output = 32
	h := newH2Conn(s, &engine.Conn{Set: &s.conns}, linkOfNothing{})
	defer h.release()
	wrote := 0
	write := func() {
		for head, _, _ := h.Output(); len(head) > 0; head, _, _ = h.Output() {
			wrote += bytes.Count(head, []byte("ping"))
			h.Written(int64(len(head)), nil)
		}
	}
	const pings = 10
	from := http2.Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
		strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00pingping", pings)
	h.Received(copy(h.ReadBuffer(), from), engine.Arrival{})
	for range pings {
		h.feed(clock.Monotonic(), h2Now())
		if len(h.pending()) == 0 {
			break
		}
		write()
		if next, feeds := h.decide(); next != engine.Read || !feeds {
			t.Fatalf("with %d bytes of frames: %v, %v", len(h.pending()), next, feeds)
		}
	}
	write()
	if next, feeds := h.decide(); next != engine.Read || feeds || wrote != 2*pings {
		t.Errorf("at the end: %v, %v, with %d answers", next, feeds, wrote/2)
	}
}

// While a worker is about to serve the requests of a connection, others that arrive ask for no
// other worker: it would find nothing to do.
func TestHTTP2AsksForOneLeader(t *testing.T) {
	s := withHTTP2(&Server{Handler: echo})
	s.prepare()
	h := newH2Conn(s, &engine.Conn{Set: &s.conns, HasReadGoroutine: true}, linkOfNothing{})
	defer h.release()
	servertest.Bubble(t, func(t *testing.T) {
		var asked atomic.Int32
		s.h2.workers = workers.New(time.Minute, func(task h2Task) {
			if task.kind == h2Lead && task.h == h {
				asked.Add(1)
			}
		})
		defer s.h2.workers.Stop()
		for round := range int32(3) {
			for range 3 {
				h.dispatch(&h2Exchange{})
				h.decide()
			}
			synctest.Wait()
			if n := asked.Load(); n != round+1 {
				t.Fatalf("in round %d: %d workers", round, n)
			}
			h.queue, h.waiting = h2Queue{}, 0
			h.Work()
		}
	})
}

// A late handler may write after its engine has left the connection, and the write may fail.
// The engine must not read the reason for the end of the connection at that moment: under the
// race detector this test fails if it does.
func TestHTTP2WritesFailWhileTheEngineLeaves(t *testing.T) {
	early, late := errors.New("early"), errors.New("late")
	for _, before := range []error{nil, early} {
		s := withHTTP2(&Server{Handler: echo})
		s.prepare()
		nc, peer := net.Pipe()
		_ = peer.Close()
		h := newH2Conn(s, &engine.Conn{Set: &s.conns, NC: nc}, linkOfNothing{})
		h.fault = before
		gone := func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.input == h2Detached
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			for !gone() {
				runtime.Gosched()
			}
			h.Written(0, late)
		}()
		last, fault := (*host)(s).ReleaseProtocol(h, false)
		servertest.Receive(t, "the late write", written)
		if last != nil || fault != before && fault != late {
			t.Errorf("the engine is told of %v and is to reuse %v", fault, last)
		}
		if before != nil && fault != before {
			t.Errorf("the connection has ended with %v, want what came first", fault)
		}
		_ = nc.Close()
	}
}

// An idle connection has little more than its h2Conn, and the next size of memory is 896 bytes.
func TestHTTP2ConnectionsAreSmall(t *testing.T) {
	const limit = 768 - 8 // the allocator adds a word
	if size := reflect.TypeFor[h2Conn]().Size(); size > limit {
		t.Errorf("an h2Conn has %d bytes, want %d at most", size, limit)
	}
}

// A connection may end while one of its heads is checked: the request of that head must not be
// released meanwhile. Requests after it are no error.
func TestHTTP2ConnectionEndsDuringAHead(t *testing.T) {
	for _, refuse := range []int{0, StatusForbidden} {
		var h *h2Conn
		served := 0
		s := withHTTP2(&Server{
			Handler: func(ctx *RequestCtx) { served++ },
			HeaderReceived: func(*RequestHeader) RequestConfig {
				h.end(h2Ended)
				h.mu.Lock()
				defer h.mu.Unlock()
				if h.first == nil || h.first.phase == h2Over {
					t.Error("the request is released while its head is looked at")
				}
				return RequestConfig{RefuseStatus: refuse}
			},
			HTTP2: HTTP2Config{CountError: func(code string) { t.Errorf("%s is counted", code) }},
		})
		s.prepare()
		h = newH2Conn(s, &engine.Conn{Set: &s.conns}, linkOfNothing{})
		input := append([]byte(http2.Preface), 0, 0, 0, 4, 0, 0, 0, 0, 0) // and SETTINGS
		input = append(input, 0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, 'x')
		input = append(input, 0, 0, 6, 1, 4, 0, 0, 0, 3, 0x82, 0x86, 0x84, 0x41, 1, 'x')
		h.Received(copy(h.ReadBuffer(), input), engine.Arrival{})
		h.Step()
		if h.waiting != 1 || h.first == nil {
			t.Errorf("%d requests wait for their turn, want the one whose head was looked at", h.waiting)
		}
		if h.Work(); h.first != nil || h.conn.Held() != 0 {
			t.Errorf("%d streams are not released", h.conn.Held())
		}
		if refuse == 0 != (served == 1) {
			t.Errorf("%d requests were served", served)
		}
		h.release()
	}
}

func TestHTTP2PaceOfHandlers(t *testing.T) {
	var p h2Pace
	// the clock is read less often while handlers are quick
	n := 1
	for _, want := range []int{2, 4, 8, 8} {
		if n = p.record(time.Duration(n)*time.Microsecond, n); n != want {
			t.Errorf("%d handlers are recorded together, want %d", n, want)
		}
	}
	if n = p.record(h2MaxExcess, n); n != 1 || p.slow() {
		t.Errorf("after a slow handler %d are recorded together, and slow is %v", n, p.slow())
	}
	for range 3 {
		n = p.record(time.Second, n)
	}
	if n != 1 || !p.slow() {
		t.Errorf("after four slow handlers %d are recorded together, and slow is %v", n, p.slow())
	}
	handlers := 0
	for ; p.slow(); handlers += n {
		n = p.record(time.Duration(n)*time.Microsecond, n)
	}
	if most := int(h2Credit/h2QuickTime) + h2MaxRecordBatch; handlers > most {
		t.Errorf("handlers count as slow until %d were quick, want at most %d", handlers, most)
	}
}
