package integrationtests

import (
	"bufio"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// reach is a timeout that expires in a test, but not before the steps that must happen in
// time: they take a thousandth of it on a quiet machine, and less than it on a very busy one.
const reach = 2 * time.Second

// pass waits for a time that a server or a client measures: in a bubble it passes at once.
func pass(d time.Duration) {
	time.Sleep(d) // real time: the event engine measures the time of the system
}

// limitRequests gives each request of a server a short time, from its first byte on, until lift is
// called: a handshake, and a client that has not sent anything yet, have all the time they need. A
// program's own deadline limits the head, and RequestConfig what follows it.
func limitRequests(s *fasthttp.Server) (lift func()) {
	var lifted atomic.Bool
	s.ConnState = func(nc net.Conn, state fasthttp.ConnState) {
		if state == fasthttp.StateActive && !lifted.Load() {
			_ = nc.SetReadDeadline(time.Now().Add(servertest.Short))
		}
	}
	s.HeaderReceived = func(*fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
		if !lifted.Load() {
			c.ReadTimeout = servertest.Short
		}
		return c
	}
	return func() { lifted.Store(true) }
}

// outlast waits until the server has ended a connection that began after all others, because
// of its IdleTimeout: then all shorter timeouts have passed for the other connections.
func outlast(ts *testServer) {
	c := ts.Dial()
	c.Get(outlasting)
	c.Next("GET")
	c.ExpectEnd()
}

// outlasting is the path of the request before outlast waits. A handler must answer it at once.
const outlasting = "/outlasting"

// pause lets other goroutines run for a random time, in tests with random events. No test
// waits for anything with it.
func pause(d time.Duration) {
	time.Sleep(d) // real time: random events happen at random times
}

// yield lets other goroutines run, in tests with random events: up to most times it goes to
// the end of the run queue.
func yield(most int) {
	for range rand.N(most) {
		runtime.Gosched()
	}
}

// inBubble runs a test in a bubble, in which time passes only while all goroutines wait:
// at once, and exactly. Connections must be in memory.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer holdClock()()
	servertest.Bubble(t, func(t *testing.T) {
		// workers that are idle, and handlers of clients that have left, end by themselves
		t.Cleanup(func() { time.Sleep(time.Hour) }) // bubble: within synctest.Test
		test(t)
	})
}

// holdClock keeps the shared clock of all tests on the time of the system until release is
// called: the first use of a stopped clock starts it, and in a bubble it would use the
// bubble's time.
func holdClock() (release func()) {
	clock.Now()
	released, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(released)
		ticker := time.NewTicker(clock.Resolution)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				clock.Now()
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-released
	}
}

// sideBySide runs parts of a test, all at the same time, in each of which something must happen
// before reach has passed. They mostly wait, so they are one of the parallel tests together.
func sideBySide(t *testing.T, parts func(run func(name string, test func(t testing.TB)))) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	parts(func(name string, test func(t testing.TB)) {
		all.Go(func() {
			t.Run(name, func(t *testing.T) { servertest.Steady(t, reach, test) })
		})
	})
}

// runInTime runs one such part, in parallel with all other tests.
func runInTime(t *testing.T, name string, test func(t testing.TB)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		servertest.Steady(t, reach, test)
	})
}

// forEachEngineInTime is forEachEngine with runInTime.
func forEachEngineInTime(t *testing.T, test func(t testing.TB, start starter)) {
	t.Helper()
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		runInTime(t, e.Name, func(t testing.TB) {
			test(t, func(s *fasthttp.Server) *testServer { return startServer(t, e, s) })
		})
	}
}

// overTime runs a test of a server's timeouts: in a bubble with the portable engine, and in
// real time on the event engine, which needs sockets.
func overTime(t *testing.T, test func(t testing.TB, start starter)) {
	t.Helper()
	overTimeOn(t, func(t testing.TB, e servertest.Engine) {
		test(t, func(s *fasthttp.Server) *testServer { return startServer(t, e, s) })
	})
}

// overTimeOn is overTime for tests that start their servers themselves.
func overTimeOn(t *testing.T, test func(t testing.TB, e servertest.Engine)) {
	t.Helper()
	sideBySide(t, func(run func(name string, test func(t testing.TB))) {
		for _, e := range servertest.Engines {
			switch {
			case !e.Sockets:
				t.Run(e.Name, func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(t *testing.T) { test(t, e) })
				})
			case e.Kind == servertest.Event:
				run(e.Name, func(t testing.TB) { test(t, e) })
			}
		}
	})
}

// clientInBubble returns a client whose connections, in memory, are served by serve. The client
// closes them when the test ends. Within a bubble it must not use AcquireTimer, as it does for
// Dial with a deadline: the next user of that timer would be outside of the bubble.
func clientInBubble(t *testing.T, serve func(c *servertest.PeerConn)) *fasthttp.HostClient {
	p := &servertest.Peer{T: t}
	hc := &fasthttp.HostClient{Addr: "peer", DialTimeout: func(string, time.Duration) (net.Conn, error) {
		pipe, n := fasthttputil.NewPipeConns(), p.Conns.Add(1)
		nc := pipe.Conn2()
		go func() {
			defer func() { _ = nc.Close() }()
			serve(&servertest.PeerConn{Conn: nc, Peer: p, Number: int(n), R: bufio.NewReader(nc)})
		}()
		return pipe.Conn1(), nil
	}}
	t.Cleanup(hc.CloseIdleConnections)
	return hc
}
