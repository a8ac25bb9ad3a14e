package integrationtests

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A client may send requests while it does not read the response to an earlier one.
// They wait for their turn.
func TestRequestsBehindAnAnswerThatDoesNotFit(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 1<<20)
	forEachEngine(t, func(t *testing.T, start starter) {
		served := make(chan string, 10)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			served <- string(ctx.Path())
			if string(ctx.Path()) == "/big" {
				ctx.SetBodyString(big)
				return
			}
			echo(ctx)
		}})
		c := ts.Dial()
		c.Get("/big")
		servertest.Receive(t, "the first request", served)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for _, request := range []string{servertest.Get("/1"), servertest.Get("/2")[:10], servertest.Get("/2")[10:] + servertest.Get("/3"),
				"POST /4 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo", "dy"} {
				_, _ = io.WriteString(c.Conn, request)
				runtime.Gosched()
			}
		}()
		if ts.Engine.Sockets {
			// a pipe passes the requests one by one
			servertest.Receive(t, "the end of sending", sent)
		}
		resp := c.Next("GET")
		if resp.StatusCode != 200 || resp.Content != big {
			t.Fatalf("got %d with %d bytes", resp.StatusCode, len(resp.Content))
		}
		for _, target := range []string{"/1", "/2", "/3"} {
			c.Expect(200, servertest.Echoed("GET", target, ""))
		}
		c.Expect(200, servertest.Echoed("POST", "/4", "body"))
	})
}

// A connection must let others go first in the middle of a long pipeline, without an
// effect on its responses.
func TestLongPipelinesOfLargeAnswers(t *testing.T) {
	t.Parallel()
	const requests = 200
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			// large enough for its own write
			ctx.SetBody(bytes.Repeat(ctx.Path(), 5000))
		}})
		c := ts.Dial()
		var text strings.Builder
		for i := range requests {
			text.WriteString(servertest.Get(fmt.Sprintf("/%03d", i)))
		}
		go func() { _, _ = io.WriteString(c.Conn, text.String()) }()
		for i := range requests {
			c.Expect(200, strings.Repeat(fmt.Sprintf("/%03d", i), 5000))
		}
	})
}

// flood writes requests until stops returns, which waits until the server stops reading. It
// sends the number of written requests to the result when the last one is also written. It
// sets no deadline, because a TLS connection is unusable after a write that timed out.
func flood(nc net.Conn, request string, limit int, stops func(progress func() int64)) <-chan int {
	var begun atomic.Int64
	var enough atomic.Bool
	written := make(chan int, 1)
	go func() {
		defer func() { written <- int(begun.Load()) }()
		for !enough.Load() && begun.Load() < int64(limit) {
			begun.Add(1)
			if _, err := io.WriteString(nc, request); err != nil {
				return
			}
		}
	}()
	stops(begun.Load)
	enough.Store(true)
	return written
}

// stopsForAWhile waits until there is no progress for a while. The absence of progress cannot
// be detected otherwise.
func stopsForAWhile(progress func() int64) {
	for before := int64(-1); progress() != before; {
		before = progress()
		pass(servertest.Short * 10)
	}
}

// stopsInBubble waits until there can be no progress.
func stopsInBubble(func() int64) { synctest.Wait() }

// If a client does not read its responses, the server stops reading its requests.
// Otherwise responses would pile up.
func TestPeerThatDoesNotReadIsNotRead(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	answer := bytes.Repeat([]byte("x"), 10_000)
	request := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("y", 5000)
	overTimeOn(t, func(t testing.TB, e servertest.Engine) {
		stops := stopsForAWhile
		if !e.Sockets {
			stops = stopsInBubble
		}
		var served atomic.Int64
		ts := startServer(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			served.Add(1)
			ctx.SetBody(answer)
		}})
		c := ts.Dial()
		written := flood(c.Conn, request, limit, stops)
		most := served.Load()
		// all of them, since the last request is written when there is room for it
		answers := make(chan error, limit)
		go func() {
			for {
				resp, err := servertest.ReadResponse(c.R, "POST")
				if err == nil && resp.Content != string(answer) {
					err = fmt.Errorf("got %d %.100q", resp.StatusCode, resp.Content)
				}
				answers <- err
				if err != nil {
					return
				}
			}
		}()
		n := servertest.Receive(t, "the end of writing", written)
		if n >= limit {
			t.Fatalf("all %d requests were read, and %d served, though no answer was", n, most)
		}
		for range n {
			servertest.Must(t, servertest.Receive(t, "an answer", answers))
		}
	})
}

// plenty is a stream without an end.
type plenty struct{}

func (plenty) Read(p []byte) (int, error) { return len(p), nil }

// blockers are ways in which a request blocks its handler.
var blockers = map[string]struct {
	request string
	handle  func(ctx *fasthttp.RequestCtx, free <-chan struct{})
}{
	"the handler waits": {servertest.Get("/block"), func(ctx *fasthttp.RequestCtx, free <-chan struct{}) { <-free }},
	"the handler computes": {servertest.Get("/block"), func(ctx *fasthttp.RequestCtx, free <-chan struct{}) {
		for {
			select {
			case <-free:
				return
			default: //lint:ignore SA5004 computing is what it does
			}
		}
	}},
	"the request does not come": {
		"POST /block HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
		func(ctx *fasthttp.RequestCtx, free <-chan struct{}) { _, _ = io.ReadAll(ctx.RequestBodyStream()) },
	},
	"the response is not read": {servertest.Get("/block"), func(ctx *fasthttp.RequestCtx, free <-chan struct{}) {
		ctx.SetBodyStream(plenty{}, -1)
	}},
	"the connection is hijacked": {servertest.Get("/block"), func(ctx *fasthttp.RequestCtx, free <-chan struct{}) {
		ctx.Hijack(func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
	}},
}

// Many handlers may block for any time, without a delay for other requests.
func TestHandlersThatBlockHoldNobodyUp(t *testing.T) {
	t.Parallel()
	for name, blocker := range blockers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachEngine(t, func(t *testing.T, start starter) {
				// more than the goroutines that a server keeps for them
				crowd, rounds := maxIdlePollers+10, 5
				if name == "the handler computes" {
					// with few processors everything is slow
					crowd, rounds = 2, 1
				}
				free := make(chan struct{})
				var begun atomic.Int64
				// the time for a TLS handshake could be over on a busy machine
				ts := start(&fasthttp.Server{StreamRequestBody: true, ReadTimeout: servertest.Never, Handler: func(ctx *fasthttp.RequestCtx) {
					if string(ctx.Path()) != "/block" {
						echo(ctx)
						return
					}
					begun.Add(1)
					blocker.handle(ctx, free)
				}})
				freeAll := sync.OnceFunc(func() { close(free) })
				defer freeAll()
				other := ts.Dial()
				for i := range crowd {
					ts.Dial().Send(blocker.request)
					_ = other.SetDeadline(time.Now().Add(servertest.Patience))
					other.Get(fmt.Sprint("/", i))
					other.Expect(200, servertest.Echoed("GET", fmt.Sprint("/", i), ""))
				}
				servertest.Eventually(t, "all that block have begun", func() bool { return begun.Load() == int64(crowd) })
				for range rounds {
					_ = other.SetDeadline(time.Now().Add(servertest.Patience))
					c := ts.Dial()
					c.Get("/")
					c.Expect(200, servertest.Echoed("GET", "/", ""))
					other.Get("/")
					other.Expect(200, servertest.Echoed("GET", "/", ""))
				}
				// clients of waiting handlers disconnect when the test ends
				freeAll()
			})
		})
	}
}

// Connections that always have bytes to read must let others have their turn, even
// on a single processor.
func TestFloodsStarveNobody(t *testing.T) { servertest.Apart(t, testFloodsStarveNobody) }

func testFloodsStarveNobody(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			forEachEngine(t, func(t *testing.T, start starter) {
				const floods, rounds = 3, 3
				var answered atomic.Int64
				ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					if string(ctx.Path()) == "/flood" {
						answered.Add(1)
					}
					ctx.SetBodyString("ok")
				}})
				requests := []byte(strings.Repeat(servertest.Get("/flood"), 500))
				var wg sync.WaitGroup
				var all []*servertest.Conn
				for range floods {
					c := ts.Dial()
					all = append(all, c)
					wg.Go(func() {
						for {
							if _, err := c.Conn.Write(requests); err != nil {
								return
							}
						}
					})
					wg.Go(func() { _, _ = io.Copy(io.Discard, c.Conn) })
				}
				servertest.Eventually(t, "the flood", func() bool { return answered.Load() > 1000 })
				polite := ts.Dial()
				worst := int64(0)
				for range rounds {
					before := answered.Load()
					polite.Get("/")
					polite.Expect(200, "ok")
					worst = max(worst, answered.Load()-before)
				}
				t.Logf("%d requests of the flood were answered, at most %d of them while one other waited", answered.Load(), worst)
				for _, c := range all {
					_ = c.Close()
				}
				wg.Wait()
			})
		})
	}
}

// onEvents runs a test that takes seconds. The event engine uses the clock of the
// system; the other engine is tested with a fake clock.
func onEvents(t *testing.T, test func(t *testing.T, start starter)) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for _, e := range servertest.Engines {
		if e.Name == "event/tcp" {
			test(t, func(s *fasthttp.Server) *testServer { return startServer(t, e, s) })
		}
	}
}

// readSlowly reads n bytes from time to time, to the end, and returns how many there were.
func readSlowly(r io.Reader, n int, every time.Duration) (all int) {
	buf := make([]byte, n)
	for {
		n, err := r.Read(buf)
		all += n
		if err != nil {
			return all
		}
		pass(every)
	}
}

// A client that reads a little of a response from time to time must not delay the
// timeout.
func TestWriteTimeoutIsForTheWholeResponse(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("x"), 64<<20)
	onEvents(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBody(big) }, WriteTimeout: reach})
		c := ts.Dial()
		c.Get("/")
		// at this rate the response would take 10 seconds
		if got := readSlowly(c.Conn, 64<<10, 10*time.Millisecond); got >= len(big) {
			t.Errorf("a client that took its time got all of the response")
		}
	})
}

// overlap sends requests, each of which begins together with the end of the one before, for
// longer than the timeout. It leaves one request unfinished, after beforeLast. It returns
// false if an unanswered request had taken as long as the timeout. The time of the first request has
// begun with the connection, after begun.
func overlap(c *servertest.Conn, begun time.Time, begin, end, beforeLast string) bool {
	_, _ = io.WriteString(c.Conn, begin) // the connection may have ended
	const times = 6
	for i := range times {
		pass(reach / 4)
		next := time.Now()
		if i == times-1 {
			end += beforeLast
		}
		_, _ = io.WriteString(c.Conn, end+begin)
		resp, err := servertest.ReadResponse(c.R, "GET")
		took := time.Since(begun)
		if err != nil || resp.StatusCode != 200 || string(resp.Content) != servertest.Echoed("GET", "/", "") {
			if took < reach {
				c.T.Fatalf("got %d %q, %v after %v", resp.StatusCode, resp.Content, err, took)
			}
			return false
		}
		begun = next
	}
	return true
}

// The requests of a client may overlap, so that its connection is never idle. Each
// request takes less than the timeout, even if a response had to wait before.
func TestReadTimeoutBeginsAnewBetweenAnswersThatWait(t *testing.T) {
	t.Parallel()
	onEvents(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{ReadTimeout: reach, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/big" {
				ctx.SetBody(make([]byte, 16<<20))
				return
			}
			echo(ctx)
		}})
		request := servertest.Get("/")
		half := len(request) / 2
		var c *servertest.Conn
		// a machine may be so busy that the timeout passes between the halves of a request
		const tries = 10
		for try := 1; ; try++ {
			begun := time.Now()
			c = ts.Dial()
			if overlap(c, begun, request[:half], request[half:], servertest.Get("/big")) {
				break
			}
			if try == tries {
				t.Fatalf("a request took as long as its timeout, in each of %d tries", try)
			}
		}
		if resp := c.Next("GET"); len(resp.Content) != 16<<20 {
			t.Fatalf("got %d bytes", len(resp.Content))
		}
		// the client stops sending: the request that has begun times out
		if resp := c.Next("GET"); resp.StatusCode != fasthttp.StatusRequestTimeout {
			t.Errorf("got %d", resp.StatusCode)
		}
		c.ExpectEnd()
	})
}
