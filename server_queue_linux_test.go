package fasthttp

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// On event loops requests wait for each other. Here the clock of the loops stands still until the
// handler of a request makes it run, while others follow it in the queue.
func TestEventLoopsRefuseRequestsThatHaveWaitedTooLong(t *testing.T) {
	for _, e := range servertest.Engines {
		if e.Kind != servertest.Event {
			continue
		}
		for _, isHTTP2 := range []bool{false, true} {
			name := e.Name
			if isHTTP2 {
				name += "/http2"
			}
			t.Run(name, func(t *testing.T) { refusesLateRequests(t, e, isHTTP2) })
		}
	}
}

func refusesLateRequests(t *testing.T, e servertest.Engine, isHTTP2 bool) {
	var passed atomic.Int64
	var armed atomic.Bool
	inside, free := make(chan struct{}, 1), make(chan struct{}, 1)
	s := withHTTP2(&Server{MaxQueueTime: time.Second, Handler: func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/hold":
			inside <- struct{}{}
			<-free
		case "/work":
			if armed.CompareAndSwap(true, false) {
				passed.Add(int64(time.Minute))
			}
		}
	}})
	began := clock.Monotonic()
	r := servertest.Start(t, e, s, func(s *Server, e servertest.Engine) *servertest.Log {
		log := prepare(s, e)
		s.prepare()
		s.conns.Clock = func() time.Duration { return began + time.Duration(passed.Load()) }
		return log
	})
	// each client has one connection
	clients := make([]*HostClient, 4*runtime.GOMAXPROCS(0))
	for i := range clients {
		c := &HostClient{Addr: "127.0.0.1", IsTLS: e.TLS, TLSConfig: servertest.TrustCertificate(), Dial: func(string) (net.Conn, error) {
			return net.Dial(r.Listener.Addr().Network(), r.Listener.Addr().String())
		}, MaxIdleConnDuration: servertest.Never}
		if isHTTP2 {
			c.Protocols.SetHTTP2(true)
			c.Protocols.SetUnencryptedHTTP2(true)
		}
		t.Cleanup(c.CloseIdleConnections)
		clients[i] = c
	}
	ask := func(c *HostClient, path string) (status int, retryAfter string) {
		var req Request
		var resp Response
		req.SetRequestURI("http://127.0.0.1" + path)
		if e.TLS {
			req.SetRequestURI("https://127.0.0.1" + path)
		}
		if err := c.DoTimeout(&req, &resp, servertest.Patience); err != nil {
			t.Error(err)
		}
		return resp.StatusCode(), string(resp.Header.Peek(HeaderRetryAfter))
	}
	round := func() (refused bool) {
		// the loops forget slow handlers: other goroutines serve nothing meanwhile
		passed.Add(int64(time.Hour))
		s.h2.pace.excess.Store(0)
		for _, c := range clients {
			if status, _ := ask(c, "/"); status != StatusOK {
				t.Errorf("a request that need not wait gets %d", status)
			}
		}
		var all sync.WaitGroup
		all.Go(func() {
			if status, _ := ask(clients[0], "/hold"); status != StatusOK {
				t.Errorf("the request that holds a loop up gets %d", status)
				inside <- struct{}{}
			}
		})
		servertest.Receive(t, "a handler that holds a loop up", inside)
		var late atomic.Int32
		for _, c := range clients[1:] {
			all.Go(func() {
				switch status, after := ask(c, "/work"); {
				case status == StatusServiceUnavailable && after == "1":
					late.Add(1)
				case status != StatusOK:
					t.Errorf("got %d, %q", status, after)
				}
			})
		}
		armed.Store(true)
		free <- struct{}{}
		all.Wait()
		armed.Store(false)
		return late.Load() > 0
	}
	// the others may be on other loops, or not have arrived in time
	servertest.Eventually(t, "a request that is refused", round)
	if n := s.GetOpenConnectionsCount(); int(n) != len(clients) {
		t.Errorf("%d connections are open, want %d", n, len(clients))
	}
}
