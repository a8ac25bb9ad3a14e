// Package fasthttptest has helpers for tests of programs that use fasthttp: a server for the time
// of a test, a call of a handler without a server, and a peer that does as the test says, for tests
// of clients.
//
// Servers and peers are in memory, unless the name of their function ends in TCP. They need no port,
// and work within a testing/synctest bubble, in which limits of time expire at once: all their
// goroutines end with the test. One clock, which is coarse and for Date fields and idle
// connections, belongs to the whole process: a test in a bubble should not run in parallel with
// others that look at these. A bubble with clients and servers of its own, not of this package,
// ends with a time.Sleep of two seconds, after which that clock has ended too.
package fasthttptest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// Patience is how long a server may take to shut down at the end of a test. Only a failing test
// takes that long.
const Patience = time.Minute

// Server is a server that serves until the test ends.
type Server struct {
	// URL is the address of the server, without a path: such as "http://127.0.0.1:34567".
	URL string
	// Client sends requests to the server, whatever the host of the URL is.
	Client *fasthttp.Client
	// Server is the running server.
	Server *fasthttp.Server
	// Listener is the listener that it serves.
	Listener net.Listener

	dial func() (net.Conn, error)
}

// New serves a handler in memory. At the end of the test it shuts the server down, and the test
// fails if that takes longer than Patience: a handler still runs, or a client other than Client
// has not closed its connection.
func New(t testing.TB, h fasthttp.RequestHandler) *Server {
	t.Helper()
	return NewServer(t, &fasthttp.Server{Handler: h})
}

// NewServer is New for a server with settings.
func NewServer(t testing.TB, s *fasthttp.Server) *Server {
	t.Helper()
	ln := fasthttputil.NewInmemoryListener()
	return start(t, s, ln, "http://in-memory", ln.Dial)
}

// NewTCP is New with a port of the loopback interface.
func NewTCP(t testing.TB, h fasthttp.RequestHandler) *Server {
	t.Helper()
	return NewServerTCP(t, &fasthttp.Server{Handler: h})
}

// NewServerTCP is NewServer with a port of the loopback interface.
func NewServerTCP(t testing.TB, s *fasthttp.Server) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("fasthttptest: %v", err)
	}
	addr := ln.Addr().String()
	return start(t, s, ln, "http://"+addr, func() (net.Conn, error) { return net.Dial("tcp", addr) })
}

func start(t testing.TB, s *fasthttp.Server, ln net.Listener, url string, dial func() (net.Conn, error)) *Server {
	ts := &Server{URL: url, Server: s, Listener: ln, dial: dial}
	ts.Client = &fasthttp.Client{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ts.Client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		err := s.ShutdownWithContext(ctx)
		// Serve may begin only now
		_ = ln.Close()
		if err != nil {
			t.Errorf("fasthttptest: the server does not shut down, with %d open connections: %v", s.GetOpenConnectionsCount(), err)
			return
		}
		select {
		case err := <-served:
			if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
				t.Errorf("fasthttptest: Serve has failed: %v", err)
			}
		case <-ctx.Done():
			t.Error("fasthttptest: Serve does not return")
		}
		rest()
	})
	return ts
}

// began is the time of the system: package variables are initialized outside of bubbles.
var began = time.Now()

// rest waits in a bubble, where that takes no time, until the clock of the process has ended: its
// goroutine may have been started there.
func rest() {
	if time.Now().Before(began) {
		time.Sleep(2 * time.Second)
	}
}

// Dial opens a connection to the server, which the test must close. It returns an error if the
// server has been shut down.
func (s *Server) Dial() (net.Conn, error) { return s.dial() }

// ErrHijack reports that a handler has called RequestCtx.Hijack or RequestCtx.SwitchProtocols: Do
// has no connection for it. Use New.
var ErrHijack = errors.New("fasthttptest: the handler takes over the connection, and there is none")

// Do calls a handler with a copy of req, without a server, and returns a copy of its response, with
// the whole body in memory. It returns ErrHijack if the handler takes over the connection, and the
// error of a body stream. A panic of the handler is not caught. The client has the address
// 127.0.0.1. A server is not involved: neither its settings nor its limits apply.
func Do(h fasthttp.RequestHandler, req *fasthttp.Request) (*fasthttp.Response, error) {
	var ctx fasthttp.RequestCtx
	ctx.Init(req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
	h(&ctx)
	from := ctx.TakeTimeoutResponse()
	if from == nil {
		from = &ctx.Response
		// values that have a Close method are closed, as at the end of any request
		defer ctx.ResetUserValues()
	}
	if ctx.Hijacked() {
		_ = from.CloseBodyStream()
		return nil, ErrHijack
	}
	resp := new(fasthttp.Response)
	from.CopyTo(resp)
	if from.IsBodyStream() {
		var body bytes.Buffer
		if err := from.BodyWriteTo(&body); err != nil {
			return nil, err
		}
		resp.SetBody(body.Bytes())
	}
	return resp, nil
}
