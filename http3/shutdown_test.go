package http3

import (
	"context"
	"net"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A shutdown that begins together with a handshake must not wait for it, while it waits for the shutdown.
func TestShutdownDuringAHandshake(t *testing.T) {
	s, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	servertest.Must(t, s.prepare())
	servertest.Eventually(t, "the listener", s.isServing)
	s.mu.Lock()
	ended, dialed := make(chan error, 1), make(chan struct{})
	go func() { ended <- s.Shutdown(context.Background()) }()
	awaitStack(t, "http3.(*Server).Shutdown")
	go func() {
		defer close(dialed)
		if r, err := tryDial(t, addr, new(quic.Config)); err == nil {
			_ = r.q.CloseWithError(0, "")
		}
	}()
	awaitStack(t, "http3.(*Server).open")
	s.mu.Unlock()
	servertest.Must(t, servertest.Receive(t, "Shutdown", ended))
	servertest.Receive(t, "the client", dialed)
}

// isServing reports whether the server has a listener, and isStopping whether it shuts down.
func (s *Server) isServing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.listeners) > 0
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// A shutdown loses no request of a connection that was accepted, but is not served yet.
func TestShutdownWaitsForConnectionsThatBegin(t *testing.T) {
	t.Parallel()
	begun, proceed := make(chan struct{}), make(chan struct{})
	s, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, ConnState: func(_ net.Conn, state fasthttp.ConnState) {
		if state == fasthttp.StateNew {
			close(begun)
			<-proceed
		}
	}})
	r := dial(t, addr)
	r.control()
	stream := r.stream(true, getHead()...)
	servertest.Receive(t, "the connection", begun)
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	servertest.Eventually(t, "the shutdown", s.isStopping)
	close(proceed)
	// on a slow machine the request may arrive so late that the client must send it elsewhere
	if got := r.response(stream); got != "200" && got != "H3_REQUEST_REJECTED" {
		t.Errorf("the response is %s", got)
	}
	_ = r.q.CloseWithError(0, "")
	servertest.Must(t, servertest.Receive(t, "Shutdown", ended))
}
