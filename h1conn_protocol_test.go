package fasthttp

import (
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// noEngine is the engine of an h1Conn that a test drives by hand.
type noEngine struct {
	engine.Link
	state *engine.Conn
}

func (noEngine) LimitReads(time.Time)      {}
func (noEngine) LimitWrites(time.Time)     {}
func (noEngine) ForgetDeadlines(time.Time) {}
func (e noEngine) State() *engine.Conn     { return e.state }
func (noEngine) SendsFiles() bool          { return false }

// driven returns an h1Conn that no engine drives.
func driven(t *testing.T, s *Server, keepsSpace bool) *h1Conn {
	s.prepare()
	nc, other := net.Pipe()
	t.Cleanup(func() { _, _ = nc.Close(), other.Close() })
	c := &engine.Conn{Set: &s.conns, NC: nc, Service: s.conns.Service(), HasReadGoroutine: keepsSpace}
	return (*host)(s).AcquireProtocol(c, noEngine{}, nil).(*h1Conn)
}

func (h *h1Conn) give(text string) {
	for len(text) > 0 {
		n := copy(h.ReadBuffer(), text)
		h.Received(n, engine.Arrival{})
		text = text[n:]
	}
}

// expectAction has the connection make one step.
func expectAction(t *testing.T, h *h1Conn, want engine.Action) {
	t.Helper()
	if got := h.Step(); got != want {
		t.Fatalf("the step is %d, want %d", got, want)
	}
}

// If a head arrives at the last moment, while the loop is busy, the body still has
// its own time.
func TestHeadAtTheLastMomentIsFollowedByABody(t *testing.T) {
	x := driven(t, &Server{Handler: echo, ReadHeaderTimeout: time.Hour}, false)
	x.give("POST / HTTP/1.1\r\n")
	expectAction(t, x, engine.Read)
	if until := x.Wait(engine.WaitInput); time.Until(until) < time.Minute {
		t.Fatalf("the head may take until %v", until)
	}
	x.DeadlineExceeded()
	x.give("Host: a\r\nContent-Length: 2\r\n\r\na")
	expectAction(t, x, engine.Read)
	if until := x.Wait(engine.WaitInput); until.Equal(engine.PastDeadline) {
		t.Fatal("the time of the body is over")
	}
	x.give("b")
	expectAction(t, x, engine.FlushIdle)
	head, tail, _ := x.Output()
	if got := string(head) + string(tail); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, servertest.Echoed("POST", "/", "ab")) {
		t.Errorf("the answer is %q", got)
	}
	x.Written(int64(len(head)+len(tail)), nil)
	expectAction(t, x, engine.Read)
	if !x.Idle() {
		t.Error("the connection is busy")
	}
}

// If HeaderReceived gives a request its own time, the body has it even if the head
// arrived at the last moment.
func TestTimeOfHeaderReceivedAtTheLastMoment(t *testing.T) {
	x := driven(t, &Server{Handler: echo, ReadTimeout: 1, HeaderReceived: func(*RequestHeader) RequestConfig {
		return RequestConfig{ReadTimeout: time.Hour}
	}}, false)
	x.give("POST / HTTP/1.1\r\n")
	expectAction(t, x, engine.Read)
	x.Wait(engine.WaitInput)
	x.DeadlineExceeded()
	x.give("Host: a\r\nContent-Length: 2\r\n\r\na")
	expectAction(t, x, engine.Read)
	if until := x.Wait(engine.WaitInput); time.Until(until) < time.Minute {
		t.Errorf("the body may take until %v", until)
	}
}

// Each busy connection has an h1Conn with its exchange, so both must be small.
func TestConnectionsOfHTTP1AreSmall(t *testing.T) {
	const limit = 704
	if size := reflect.TypeFor[h1Conn]().Size(); size > limit {
		t.Errorf("an h1Conn has %d bytes, want %d at most", size, limit)
	}
}

// A head is late if no byte of it arrived in time.
func TestExpiredHeadIsOverUnlessItIsThere(t *testing.T) {
	x := driven(t, &Server{Handler: echo, ReadTimeout: time.Hour}, false)
	x.give("POST / HTTP/1.1\r\n")
	expectAction(t, x, engine.Read)
	x.Wait(engine.WaitInput)
	x.DeadlineExceeded()
	x.give("Host: a\r\n")
	expectAction(t, x, engine.Read)
	if until := x.Wait(engine.WaitInput); !until.Equal(engine.PastDeadline) {
		t.Errorf("the rest of the head may take until %v", until)
	}
}

// A kept-alive request takes one step: after the write, the connection is idle.
func TestKeptAliveRequestTakesOneStep(t *testing.T) {
	x := driven(t, &Server{Handler: echo}, false)
	for range 3 {
		x.give(servertest.Get("/"))
		expectAction(t, x, engine.FlushIdle)
		head, tail, _ := x.Output()
		x.Written(int64(len(head)+len(tail)), nil)
		if !x.Idle() {
			t.Fatal("the connection is busy after one step")
		}
	}
}

// An engine may report written bytes in pieces, with the same result.
func TestWrittenInPieces(t *testing.T) {
	x := driven(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBody(make([]byte, 2*copyLimit)) }}, true)
	x.give(servertest.Get("/"))
	expectAction(t, x, engine.Flush)
	head, tail, _ := x.Output()
	all := len(head) + len(tail)
	if len(tail) != 2*copyLimit {
		t.Fatalf("%d bytes after the head", len(tail))
	}
	for n := 0; n < all; {
		if x.Idle() {
			t.Fatalf("idle after %d of %d bytes", n, all)
		}
		head, tail, _ := x.Output()
		if left := len(head) + len(tail); left != all-n {
			t.Fatalf("%d bytes are left after %d of %d", left, n, all)
		}
		part := min(1000, all-n)
		x.Written(int64(part), nil)
		n += part
	}
	if !x.Idle() {
		t.Error("busy after all was written")
	}
}

// answerOne has the connection answer a request, and wait for the next one.
func answerOne(t *testing.T, h *h1Conn, w engine.Wait, request string) {
	t.Helper()
	answerRequest(t, h, request)
	h.Wait(w)
}

// answerRequest has the connection answer a request.
func answerRequest(t *testing.T, h *h1Conn, request string) {
	t.Helper()
	h.give(request)
	for h.Step() == engine.Read {
	}
	head, tail, _ := h.Output()
	h.Written(int64(len(head)+len(tail)), nil)
	if !h.Idle() {
		t.Fatal("the connection is busy after a request")
	}
}

// If goroutines wait with a buffer, a few connections of a server keep their contexts
// meanwhile. When they end, other connections may keep theirs.
func TestFewWaitingConnectionsKeepTheirContexts(t *testing.T) {
	s := &Server{Handler: echo}
	for range 2 {
		var all []*h1Conn
		kept := 0
		for range maxCachedCtxs + 3 {
			x := driven(t, s, true)
			for range 2 {
				answerOne(t, x, engine.WaitRequest, servertest.Get("/"))
			}
			if all = append(all, x); x.x.ctx == nil {
				continue
			}
			if kept++; x.x.ctx.c != nil || x.x.ctx.used {
				t.Fatal("a context that waits is still that of a request")
			}
		}
		if kept != maxCachedCtxs || s.cachedCtxs.Load() != maxCachedCtxs {
			t.Errorf("%d connections have a context, and %d are counted, want %d", kept, s.cachedCtxs.Load(), maxCachedCtxs)
		}
		for i, x := range all {
			if i%3 == 0 {
				x.Abandoned()
			}
			(*host)(s).ReleaseProtocol(x, i%2 == 0)
		}
		if n := s.cachedCtxs.Load(); n != 0 {
			t.Fatalf("%d connections are counted after the end of all", n)
		}
	}
}

func TestConnectionsThatKeepNoContext(t *testing.T) {
	for _, c := range []struct {
		name       string
		keepsSpace bool
		wait       engine.Wait
		handler    RequestHandler
	}{
		{"of the event engine", false, engine.WaitRequest, echo},
		{"without a buffer", true, engine.WaitUnbuffered, echo},
		{"with much output", true, engine.WaitRequest, func(ctx *RequestCtx) {
			ctx.Response.Header.Set("Much", strings.Repeat("x", 3*defaultWriteSize))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := driven(t, &Server{Handler: c.handler}, c.keepsSpace)
			if answerOne(t, x, c.wait, servertest.Get("/")); x.x.ctx != nil || x.out != nil {
				t.Error("the connection has its context or its buffer")
			}
		})
	}
}

// A kept context holds no more memory than one of the pool.
func TestKeptContextIsSmall(t *testing.T) {
	x := driven(t, &Server{Handler: echo}, true)
	answerOne(t, x, engine.WaitRequest, "GET / HTTP/1.1\r\nHost: a\r\nMuch: "+strings.Repeat("x", header.MaxKeptBlock)+"\r\n\r\n")
	if x.x.ctx == nil {
		t.Fatal("the connection has no context")
	}
	if size := cap(x.x.ctx.Request.Header.head.List.Block); size >= header.MaxKeptBlock {
		t.Errorf("the header has a block of %d bytes", size)
	}
}

// An engine need not ask for the time of a wait for room if there never is one.
func TestEngineNeedNotAskForTheTimeOfOutput(t *testing.T) {
	configure := func(*RequestHeader) RequestConfig { return RequestConfig{WriteTimeout: time.Hour} }
	for _, c := range []struct {
		name    string
		s       *Server
		forEver bool
	}{
		{"no timeout", &Server{ReadTimeout: time.Hour, IdleTimeout: time.Hour}, true},
		{"a timeout", &Server{WriteTimeout: time.Hour}, false},
		{"a timeout of some requests", &Server{HeaderReceived: configure}, false},
	} {
		c.s.Handler = echo
		x := driven(t, c.s, true)
		if x.c.NoWriteTimeout != c.forEver {
			t.Errorf("%s: RoomForEver is %v", c.name, x.c.NoWriteTimeout)
		}
		x.give(servertest.Get("/"))
		x.Step()
		if until := x.Wait(engine.WaitWritable); until.IsZero() != c.forEver {
			t.Errorf("%s: output may take until %v", c.name, until)
		}
	}
}

// Requests that arrive faster than they are read are read many at once, unless a goroutine
// holds the space while it waits. A connection that waits afterwards holds no memory for that.
func TestBurstsAreReadAtOnce(t *testing.T) {
	const requests = 40
	request := "GET / HTTP/1.1\r\nHost: a\r\nMuch: " + strings.Repeat("x", 500) + "\r\n\r\n"
	for _, keepsSpace := range []bool{false, true} {
		for _, size := range []int{0, 8 << 10} {
			served := 0
			x := driven(t, &Server{Handler: func(*RequestCtx) { served++ }, ReadBufferSize: size}, keepsSpace)
			usual := x.s.set.readSize
			rest, reads := strings.Repeat(request, requests)+request[:100], 0
			for ; rest != ""; reads++ {
				n := copy(x.ReadBuffer(), rest)
				x.Received(n, engine.Arrival{})
				rest = rest[n:]
				for x.Step() != engine.Read {
					head, tail, _ := x.Output()
					x.Written(int64(len(head)+len(tail)), nil)
				}
			}
			if most := 2 + requests*len(request)/(burstReadSize-len(request)); served != requests || !keepsSpace && reads > most {
				t.Errorf("%d requests were read with %d reads, want %d with %d at most", served, reads, requests, most)
			}
			x.Wait(engine.WaitInput)
			// the pool may have a buffer of a little less than twice the size
			if size := cap(x.in.B); size >= 2*usual {
				t.Errorf("the first %d bytes of a request are held in %d bytes", len(x.pending()), size)
			}
			answerOne(t, x, engine.WaitRequest, request[100:])
			if served != requests+1 {
				t.Errorf("%d requests were served, want %d", served, requests+1)
			}

			// the last of these fills the usual space
			whole := request[:len(request)-4] + strings.Repeat("x", usual-len(request)) + "\r\n\r\n"
			for _, part := range []string{strings.Repeat(request, requests), request, whole} {
				answerOne(t, x, engine.WaitRequest, part)
				if size := len(x.ReadBuffer()); size >= 2*usual {
					t.Errorf("an idle connection has room for %d bytes", size)
				}
			}
		}
	}
}

// The first bytes of a request that arrives after many others move to a buffer of their size.
func TestPartOfARequestBehindABurstIsSmall(t *testing.T) {
	request := "GET / HTTP/1.1\r\nHost: a\r\nMuch: " + strings.Repeat("x", 3900) + "\r\n\r\n"
	for part := 1; part < len(request); part += 389 {
		x := driven(t, &Server{Handler: echo}, false)
		x.give(strings.Repeat(request, 2) + request[:part])
		for x.Step() != engine.Read {
			head, tail, _ := x.Output()
			x.Written(int64(len(head)+len(tail)), nil)
		}
		x.Wait(engine.WaitInput)
		if size, most := cap(x.in.B), 4*max(x.s.set.readSize, part+minSpace); size >= most {
			t.Errorf("%d bytes are held in %d", part, size)
		}
		answerOne(t, x, engine.WaitRequest, request[part:])
	}
}

// Content that fills a usual buffer is read with fewer reads, too. A connection that waits for
// the rest of it holds no large buffer, on a goroutine or without one.
func TestContentIsReadInLargerParts(t *testing.T) {
	head := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"
	for _, keepsSpace := range []bool{false, true} {
		x := driven(t, &Server{Handler: echo}, keepsSpace)
		usual := x.s.set.readSize
		rest, reads := head+strings.Repeat("x", 40000), 0
		for ; rest != ""; reads++ {
			n := copy(x.ReadBuffer(), rest)
			x.Received(n, engine.Arrival{})
			rest = rest[n:]
			expectAction(t, x, engine.Read)
		}
		if want := 2 + 40000/burstReadSize; !keepsSpace && reads > want {
			t.Errorf("%d reads, want %d at most", reads, want)
		}
		x.Wait(engine.WaitInput)
		if x.in != nil && cap(x.in.B) >= 2*usual {
			t.Errorf("a connection that waits holds %d bytes", cap(x.in.B))
		}
	}
	x := driven(t, &Server{Handler: echo}, false)
	x.give(head + strings.Repeat("x", 20000))
	expectAction(t, x, engine.Read)
	if size := len(x.idleReadBuffer()); size >= 2*x.s.set.readSize {
		t.Errorf("a goroutine waits with %d bytes", size)
	}
}

// write writes the output of the connection.
func (h *h1Conn) write() {
	head, tail, _ := h.Output()
	h.Written(int64(len(head)+len(tail)), nil)
}

// A connection that ends after a small response is closed at once, although an earlier response
// was a large one.
func TestLargeResponseBeforeTheLastOne(t *testing.T) {
	x := driven(t, &Server{Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/large" {
			ctx.SetBody(make([]byte, 2*copyLimit))
		}
	}}, true)
	x.give(servertest.Get("/large"))
	expectAction(t, x, engine.Flush)
	x.write()
	x.give("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	expectAction(t, x, engine.Flush)
	x.write()
	expectAction(t, x, engine.Close)
}

// The body of a late handler is counted as long as it has the body, also if the client does not
// get the other response.
func TestBodyOfALateHandlerIsCountedAfterAFailedWrite(t *testing.T) {
	goOn := make(chan struct{})
	defer close(goOn)
	late := TimeoutHandler(func(*RequestCtx) { <-goOn }, servertest.Short, strings.Repeat("late", copyLimit))
	x := driven(t, &Server{Handler: late}, false)
	x.give(servertest.Post("/", strings.Repeat("x", 8*uncountedBody)))
	next := x.Step()
	for next == engine.Read {
		next = x.Step()
	}
	if next != engine.Flush {
		t.Fatalf("the step is %d", next)
	}
	s := x.s
	x.Written(0, net.ErrClosed)
	_, _ = (*host)(s).ReleaseProtocol(x, false)
	if s.bodies.Used() == 0 {
		t.Error("the body is not counted")
	}
}
