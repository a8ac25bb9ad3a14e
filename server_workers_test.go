package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
)

// crowdedListener counts the callers that wait in Accept, and can make one of them
// fail.
type crowdedListener struct {
	*fasthttputil.InmemoryListener
	waiting, most atomic.Int32
	fault         chan error // makes one Accept fail that has a connection
}

func newCrowdedListener() *crowdedListener {
	return &crowdedListener{InmemoryListener: fasthttputil.NewInmemoryListener(), fault: make(chan error, 1)}
}

func (l *crowdedListener) Accept() (net.Conn, error) {
	n := l.waiting.Add(1)
	for most := l.most.Load(); n > most && !l.most.CompareAndSwap(most, n); most = l.most.Load() {
	}
	nc, err := l.InmemoryListener.Accept()
	l.waiting.Add(-1)
	if err == nil {
		select {
		case err = <-l.fault:
			_ = nc.Close()
			return nil, err
		default:
		}
	}
	return nc, err
}

// visit runs clients that open connections one after the other, each for one
// request.
func (l *crowdedListener) visit(t *testing.T, clients, each int) {
	t.Helper()
	var all servertest.Crowd
	for range clients {
		all.Go(func() {
			for range each {
				nc, err := l.Dial()
				if err != nil {
					t.Error(err)
					return
				}
				c := &servertest.Conn{Conn: nc, T: t}
				c.Send(servertest.Get("/", "Connection: close"))
				if all, err := io.ReadAll(nc); err != nil {
					t.Errorf("%q, %v", all, err)
				}
				_ = nc.Close()
				all.Step()
			}
		})
	}
	all.Wait(t, "the clients")
}

func TestWorkersAcceptOnceThereWereManyConnections(t *testing.T) {
	ln := newCrowdedListener()
	s := &Server{Handler: func(*RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	ln.visit(t, 4, engine.ManyAccepted/8)
	if most := ln.most.Load(); most != 1 {
		t.Errorf("%d goroutines wait in Accept of a listener that had few connections", most)
	}
	ln.visit(t, 4, engine.ManyAccepted)
	limit := int32(1 + max(engine.MinAcceptors, runtime.GOMAXPROCS(0)))
	if most := ln.most.Load(); most < 2 || most > limit {
		t.Errorf("%d goroutines wait in Accept of a busy listener, want 2 to %d", most, limit)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := servertest.Receive(t, "return of Serve", served); err != nil {
		t.Error(err)
	}
	servertest.Eventually(t, "no worker in Accept", func() bool { return ln.waiting.Load() == 0 })
}

func TestServeReturnsTheErrorThatAWorkerMet(t *testing.T) {
	ln := newCrowdedListener()
	s := &Server{Handler: func(*RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	ln.visit(t, 4, engine.ManyAccepted)
	servertest.Eventually(t, "workers in Accept", func() bool { return ln.waiting.Load() > 1 })
	broken := errors.New("broken")
	ln.fault <- broken
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := servertest.Receive(t, "return of Serve", served); err != broken {
		t.Errorf("Serve returned %v, want %v", err, broken)
	}
	servertest.Eventually(t, "no worker in Accept", func() bool { return ln.waiting.Load() == 0 })
	servertest.ShutDown(t, s)
}

// lateListener delays workers between the arrival of a connection and the return of
// Accept.
type lateListener struct {
	*crowdedListener
	late    atomic.Bool
	taken   chan bool // each connection by now, and whether a worker has taken it
	release chan struct{}
}

func (l *lateListener) Accept() (net.Conn, error) {
	nc, err := l.crowdedListener.Accept()
	if err == nil && l.late.Load() {
		byWorker := bytes.Contains(debug.Stack(), []byte("(*connWorkers).accept("))
		if l.taken <- byWorker; byWorker {
			<-l.release
		}
	}
	return nc, err
}

func TestNoHandlerRunsAfterShutdown(t *testing.T) {
	ln := &lateListener{crowdedListener: newCrowdedListener(), taken: make(chan bool, 1), release: make(chan struct{})}
	var down atomic.Bool
	s := &Server{Handler: func(*RequestCtx) {
		if down.Load() {
			t.Error("a handler runs after Shutdown has returned")
		}
	}}
	served := inBackground(func() error { return s.Serve(ln) })
	ln.visit(t, 4, engine.ManyAccepted)
	servertest.Eventually(t, "workers in Accept", func() bool { return ln.waiting.Load() > 1 })
	ln.late.Store(true)
	var clients []net.Conn
	for taken := false; !taken; {
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		clients = append(clients, nc)
		taken = servertest.Receive(t, "the connection in Accept", ln.taken)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	down.Store(true)
	last := clients[len(clients)-1]
	(&servertest.Conn{Conn: last, T: t}).Send(servertest.Get("/"))
	close(ln.release)
	_ = last.SetReadDeadline(time.Now().Add(servertest.Patience))
	if b, err := io.ReadAll(last); len(b) > 0 || err != nil {
		t.Errorf("got %q, %v, want the end of the connection", b, err)
	}
	if err := servertest.Receive(t, "return of Serve", served); err != nil {
		t.Error(err)
	}
}
