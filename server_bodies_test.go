package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/servertest"
)

// takes waits until the server counts that many bytes for bodies.
func takes(t *testing.T, s *Server, want int64) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprintf("%d bytes", want), func() bool { return s.bodies.Used() == want })
}

// age makes it appear that the bodies of the server, n of which arrive, last moved that long ago.
func age(t *testing.T, s *Server, n int, ago time.Duration) {
	t.Helper()
	servertest.Eventually(t, "all bodies that arrive", func() bool { return s.bodies.Age(ago) == n })
}

// expectBusy reads the response that refuses a request, and the end of the
// connection.
func expectBusy(c *servertest.Conn) {
	c.T.Helper()
	resp := c.Next("POST")
	if resp.StatusCode != StatusServiceUnavailable || !resp.Close || resp.Header.Get("Retry-After") == "" {
		c.T.Errorf("got %d, close %v, Retry-After %q, want 503", resp.StatusCode, resp.Close, resp.Header.Get("Retry-After"))
	}
	c.ExpectEnd()
}

// emptyPools empties the pools, in which other tests may have left buffers of odd
// sizes. Tests that count memory do not run beside others for the same reason.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

func sayLength(ctx *RequestCtx) { fmt.Fprint(ctx, len(ctx.PostBody())) }

// heldRoom returns the memory that the server counts for a body that lacks its last
// byte.
func heldRoom(ts *testServer) int64 {
	if ts.Engine.Kind == servertest.Event && runtime.GOOS == "linux" {
		return 256 << 10
	}
	return 256<<10 + bodyReadSize
}

// holdersMemory is the limit of the server. It is enough for 4 or 5 holders.
const holdersMemory = 1280 << 10

// holders opens connections whose bodies lack their last byte, as many as the limit
// allows.
func holders(t *testing.T, ts *testServer) (clients []*servertest.Conn) {
	emptyPools()
	for used := heldRoom(ts); used <= holdersMemory; used += heldRoom(ts) {
		c := ts.Dial()
		c.Send(servertest.Part("/", 200_000, 199_999))
		clients = append(clients, c)
		takes(t, ts.S, used)
	}
	return clients
}

func TestRequestBodyMemoryIsLimited(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{MaxRequestBodyMemory: holdersMemory, Handler: sayLength}
		ts := start(s)
		clients := holders(t, ts)
		age(t, s, len(clients), -time.Hour)

		c := ts.Dial()
		_, _ = io.WriteString(c.Conn, servertest.Part("/", 100_000, 100_000))
		expectBusy(c)
		ts.Log.WaitFor(t, ErrRequestBodyMemory.Error())
		// a request that needs little memory is served
		c = ts.Dial()
		c.Get("/")
		c.Expect(200, "0")
		c.Send(servertest.Post("/", strings.Repeat("x", 10_000)))
		c.Expect(200, "10000")
		takes(t, s, holdersMemory)

		clients[0].Send("x")
		clients[0].Expect(200, "200000")
		takes(t, s, holdersMemory-heldRoom(ts))
		c.Send(servertest.Part("/", 100_000, 100_000))
		c.Expect(200, "100000")
		takes(t, s, holdersMemory-heldRoom(ts))
		_ = clients[1].Close()
		takes(t, s, holdersMemory-2*heldRoom(ts))
		for _, c := range clients[2:] {
			c.Send("x")
			c.Expect(200, "200000")
		}
		takes(t, s, 0)
	})
}

// A client whose body has stalled is cut off, and no other client is. It is the client that
// has stalled for longest, which only a test with one clock can check:
// TestBodiesStallWithTime.
func TestStalledBodiesMakeRoomForOthers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var failed atomic.Int32
		s := &Server{MaxRequestBodyMemory: holdersMemory, Handler: sayLength, ErrorHandler: func(ctx *RequestCtx, err error) {
			if errors.Is(err, ErrRequestBodyMemory) {
				failed.Add(1)
			}
			defaultErrorResponse(ctx, err)
		}}
		ts := start(s)
		waiting := make(map[*servertest.Conn]bool)
		answered := make(chan *servertest.Conn, 100)
		waits := func(c *servertest.Conn) {
			waiting[c] = true
			go func() {
				_, _ = c.R.Peek(1)
				answered <- c
			}()
		}
		for _, c := range holders(t, ts) {
			waits(c)
		}
		age(t, s, len(waiting), time.Minute)
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Part("/", 200_000, 200_000))
			c.Expect(200, "200000")
			ended := servertest.Receive(t, "an answer to a stalled request", answered)
			expectBusy(ended)
			delete(waiting, ended)
			takes(t, s, holdersMemory-heldRoom(ts))
			more := ts.Dial()
			more.Send(servertest.Part("/", 200_000, 199_999))
			waits(more)
			takes(t, s, holdersMemory)
		}
		for c := range waiting {
			c.Send("x")
		}
		for range waiting {
			servertest.Receive(t, "an answer", answered).Expect(200, "200000")
		}
		takes(t, s, 0)
		if n := failed.Load(); n != 2 {
			t.Errorf("ErrorHandler has heard of %d", n)
		}
	})
}

// A few bytes now and then do not keep a body from counting as stalled.
func TestBodiesStallWithTime(t *testing.T) {
	emptyPools()
	s := &Server{MaxRequestBodyMemory: holdersMemory, Handler: sayLength}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		var clients []*servertest.Conn
		for range 4 {
			c := dial()
			c.Send(servertest.Part("/", 200_000, 150_000))
			clients = append(clients, c)
		}
		for range 6 {
			time.Sleep(bodymem.StallTime / 5)
			for i, c := range clients {
				// the first client sends 3 KiB in a second, the second 6 KiB, and so
				// on
				c.Send(strings.Repeat("x", 600*(i+1)))
			}
		}
		c := dial()
		c.Send(servertest.Part("/", 200_000, 200_000))
		c.Expect(200, "200000")
		expectBusy(clients[0])
		clients = clients[1:]
		for range 3 {
			time.Sleep(bodymem.StallTime / 5)
			for _, c := range clients {
				c.Send(strings.Repeat("x", 1000))
			}
		}
		more := dial()
		more.Send(servertest.Part("/", 300_000, 250_000))
		time.Sleep(time.Nanosecond)
		c.Send(servertest.Part("/", 200_000, 200_000))
		expectBusy(c)
		// no client was cut off
		for i, c := range clients {
			c.Send(strings.Repeat("x", 50_000-6*600*(i+2)-3000))
			c.Expect(200, "200000")
		}
		more.Send(strings.Repeat("x", 50_000))
		more.Expect(200, "300000")
	})
	if used := s.bodies.Used(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

func TestFormsThatAreSpooledCount(t *testing.T) {
	t.Parallel()
	const boundary = "Content-Type: multipart/form-data; boundary=b"
	form := "--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n"
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{MaxRequestBodyMemory: 9 << 20, MaxRequestBodySize: 8 << 20, Handler: func(ctx *RequestCtx) {
			if fh, err := ctx.FormFile("f"); err == nil {
				fmt.Fprint(ctx, fh.Size, ctx.s.bodies.Used())
				return
			}
			sayLength(ctx)
		}}
		ts := start(s)
		var forms []*servertest.Conn
		for i := range 2 {
			c := ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 5000000", boundary) + form + "begin")
			forms = append(forms, c)
			takes(t, s, int64(i+1)*formMemory)
		}
		age(t, s, len(forms), -time.Hour)
		c := ts.Dial()
		_, _ = io.WriteString(c.Conn, servertest.Part("/", 2_000_000, 2_000_000))
		expectBusy(c)

		s.bodies.Age(time.Minute)
		c = ts.Dial()
		c.Send(servertest.Part("/", 2_000_000, 2_000_000))
		c.Expect(200, "2000000")
		expectBusy(forms[0])
		takes(t, s, formMemory)
		end := "\r\n--b--\r\n"
		size := 5_000_000 - len(form) - len(end)
		forms[1].Send(strings.Repeat("x", size-len("begin")) + end)
		forms[1].Expect(200, fmt.Sprint(size, formMemory))

		// a chunked body counts like any other at first
		s = &Server{MaxRequestBodySize: 8 << 20, Handler: sayLength}
		c = start(s).Dial()
		c.Send(servertest.Chunked("/", fmt.Sprintf("%x\r\n", len(form)+(4<<20))+form+strings.Repeat("x", 4<<20)+"\r\n1\r\n", boundary))
		servertest.Eventually(t, "both", func() bool { return s.bodies.Used() >= 8<<20+formMemory })
		_ = c.Close()
		takes(t, s, 0)
	})
}

// The server refuses a request once, even if its body stays while the response waits
// for the client.
func TestRefusedBodiesAreNotRefusedAgain(t *testing.T) {
	t.Parallel()
	const size = 600_000
	answer := make([]byte, 32<<20)
	forEachEngine(t, func(t *testing.T, start starter) {
		refused := make(chan error, 10)
		ts := start(&Server{MaxRequestBodyMemory: 1 << 20, Handler: sayLength, ErrorHandler: func(ctx *RequestCtx, err error) {
			if string(ctx.Path()) != "/broken" {
				defaultErrorResponse(ctx, err)
				return
			}
			ctx.Response.SetBodyRaw(answer)
			refused <- err
		}})
		broken := ts.Dial()
		broken.Send(servertest.Chunked("/broken", fmt.Sprintf("%x\r\n%s\r\nxyz\r\n", size, strings.Repeat("x", size))))
		_ = servertest.Receive(t, "the refusal", refused)
		for range 5 {
			ts.S.bodies.Age(time.Minute)
			c := ts.Dial()
			_, _ = io.WriteString(c.Conn, servertest.Part("/", size, size))
			_, _ = servertest.ReadResponse(c.R, "POST")
			_ = c.Close()
		}
		select {
		case err := <-refused:
			t.Errorf("refused again: %v", err)
		default:
		}
		if resp := broken.Next("POST"); len(resp.Content) != len(answer) {
			t.Errorf("an answer of %d bytes", len(resp.Content))
		}
		takes(t, ts.S, 0)
	})
}

// After a request has ended in any way, its body does not count.
func TestBodiesOfRequestsThatHaveEndedDoNotCount(t *testing.T) {
	const size = 100_000
	whole := servertest.Part("/", size, size)
	forEachEngine(t, func(t *testing.T, start starter) {
		var late chan struct{}
		var inside atomic.Int64
		ts := start(&Server{MaxRequestBodySize: 2 * size, ReadTimeout: time.Minute, Handler: func(ctx *RequestCtx) {
			inside.Store(ctx.s.bodies.Used())
			switch string(ctx.Request.Header.Peek("Do")) {
			case "panic":
				panic("this one ends")
			case "leave":
				runtime.Goexit()
			case "hijack":
				ctx.Hijack(handleNothing)
			case "echo":
				ctx.Response.SetBodyRaw(ctx.PostBody())
			case "stream":
				ctx.SetBodyStream(strings.NewReader("stream"), -1)
			case "swap":
				ctx.Request.SwapBody(nil)
			case "late":
				ctx.TimeoutErrorWithCode("late", StatusServiceUnavailable)
				go func() {
					<-late
					_ = ctx.PostBody()
				}()
			}
		}})
		do := func(what string) string {
			return strings.Replace(whole, "Host: a\r\n", "Host: a\r\nDo: "+what+"\r\n", 1)
		}
		for _, what := range []string{"nothing", "panic", "leave", "hijack", "echo", "stream", "swap"} {
			c := ts.Dial()
			c.Send(do(what))
			_, _ = servertest.ReadResponse(c.R, "POST")
			takes(t, ts.S, 0)
			if inside.Swap(0) == 0 {
				t.Errorf("%s: the body does not count", what)
			}
			_ = c.Close()
		}
		for name, request := range map[string]string{
			"cut off":   whole[:size/2],
			"too large": servertest.Chunked("/", fmt.Sprintf("%x\r\n%s\r\n%x\r\n", size, whole[:size], 3*size)),
			"broken":    servertest.Chunked("/", fmt.Sprintf("%x\r\n%s\r\nxyz\r\n", size, whole[:size])),
		} {
			c := ts.Dial()
			c.Send(request)
			if name == "cut off" {
				servertest.Eventually(t, "a body", func() bool { return ts.S.bodies.Used() > 0 })
				_ = c.Close()
			} else if resp := c.Next("POST"); resp.StatusCode/100 != 4 {
				t.Errorf("%s: status %d", name, resp.StatusCode)
			}
			takes(t, ts.S, 0)
		}

		// a handler that has timed out keeps its body as long as it runs
		late = make(chan struct{})
		c := ts.Dial()
		c.Send(do("late"))
		c.Expect(503, "late")
		runtime.GC()
		if ts.S.bodies.Used() == 0 {
			t.Error("the body of a late handler does not count")
		}
		close(late)
		servertest.Eventually(t, "the end of the handler", func() bool {
			runtime.GC()
			return ts.S.bodies.Used() == 0
		})
	})
}

func handleNothing(net.Conn) {}

func TestBodiesThatAreStreamsDoNotCount(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, MaxRequestBodyMemory: 1 << 20, Handler: func(ctx *RequestCtx) {
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n, err, ctx.s.bodies.Used())
		}})
		c := ts.Dial()
		c.Send(servertest.Part("/", 10_000_000, 10_000_000))
		c.Expect(200, "10000000 <nil> 0")
	})
}

func TestBodyThatNeverFitsIsTooLarge(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{MaxRequestBodyMemory: 100_000, Handler: sayLength})
		c := ts.Dial()
		_, _ = io.WriteString(c.Conn, servertest.Part("/", 200_000, 200_000))
		if resp := c.Next("POST"); resp.StatusCode != StatusRequestEntityTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
		takes(t, ts.S, 0)
	})
}

func TestRequestBodyMemoryByDefault(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, test := range []struct {
		runtime, set int64
		size         int
		want         int64
	}{
		{math.MaxInt64, 0, 0, 1 << 30},
		{math.MaxInt64, 5000, 0, 5000},
		{math.MaxInt64, -1, 0, math.MaxInt64},
		{math.MaxInt64, 0, 1 << 30, 2 << 30},
		{100 << 30, 0, 0, 50 << 30},
		{100 << 20, 0, 0, 50 << 20},
		{1 << 20, 0, 0, 8 << 20},
		{math.MaxInt64, 0, math.MaxInt, min(math.MaxInt, math.MaxInt64/2) * 2},
	} {
		debug.SetMemoryLimit(test.runtime)
		s := Server{MaxRequestBodyMemory: int(test.set), MaxRequestBodySize: test.size}
		if got := s.bodyMemoryLimit(); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// The buffer of a body with a known length is little larger than the body.
func TestLargeBodiesHaveNoMoreRoomThanTheyNeed(t *testing.T) {
	const size = 5 << 20
	var room atomic.Int64
	s := &Server{MaxRequestBodySize: size, Handler: func(ctx *RequestCtx) { room.Store(int64(cap(ctx.PostBody()))) }}
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{MaxRequestBodySize: s.MaxRequestBodySize, Handler: s.Handler}
		c := start(s).Dial()
		c.Send(servertest.Part("/", size, size))
		c.Expect(200, "")
		if n := room.Load(); n > size+size/8 {
			t.Errorf("%d bytes for a body of %d", n, size)
		}
	})
}

// A connection that waits for the rest of a body holds only the bytes that have
// arrived.
func TestStalledUploadsHoldNoRoomForMore(t *testing.T) {
	const crowd, sent = 100, 10_000
	for _, e := range servertest.Engines {
		if e.Name != "event/tcp" || runtime.GOOS != "linux" {
			continue
		}
		ts := startServer(t, e, &Server{Handler: sayLength})
		before := servertest.Measure(t)
		for range crowd {
			ts.Dial().Send(servertest.Part("/", 4<<20, sent))
		}
		servertest.Eventually(t, "all connections", func() bool { return ts.S.GetOpenConnectionsCount() == crowd })
		var each int64
		servertest.Eventually(t, "little memory", func() bool {
			each = (servertest.Measure(t).Heap - before.Heap) / crowd
			return each < 40<<10
		})
		t.Logf("%d bytes for a body of which %d have come, the client's side included", each, sent)
	}
}
