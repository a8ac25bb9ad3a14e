// Package fasthttptest has helpers for tests of programs that use fasthttp: a server for the time
// of a test, a call of a handler without a server, and a peer that does as the test says, for tests
// of clients.
//
// Servers and peers are in memory, unless their name ends in TCP. They need no port, and work
// within a testing/synctest bubble: every goroutine that they start ends with the test, or, within
// the bubble, when its clock has passed the time after which idle goroutines of a server end.
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

// Patience is how long a server may take to shut down at the end of a test, and a peer to end.
const Patience = 10 * time.Second

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
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Errorf("fasthttptest: the server does not shut down, with %d open connections: %v", s.GetOpenConnectionsCount(), err)
		}
		// Serve may begin only now
		_ = ln.Close()
		select {
		case err := <-served:
			if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
				t.Errorf("fasthttptest: Serve has failed: %v", err)
			}
		case <-ctx.Done():
			t.Error("fasthttptest: Serve does not return")
		}
	})
	return ts
}

// Dial opens a connection to the server, which the test must close.
func (s *Server) Dial() (net.Conn, error) { return s.dial() }

// ErrHijack reports that a handler has called RequestCtx.Hijack or RequestCtx.SwitchProtocols: Do
// has no connection for it. Use New.
var ErrHijack = errors.New("fasthttptest: the handler takes over the connection, and there is none")

// Do calls a handler with a copy of req, without a server, and returns a copy of its response, with
// the whole body in memory. It returns ErrHijack if the handler takes over the connection, and the
// error of a body stream. A panic of the handler is not caught. The settings of a server have no
// effect, nor do its limits.
func Do(h fasthttp.RequestHandler, req *fasthttp.Request) (*fasthttp.Response, error) {
	var ctx fasthttp.RequestCtx
	ctx.Init(req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
	h(&ctx)
	from := ctx.TakeTimeoutResponse()
	if from == nil {
		from = &ctx.Response
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
