package integrationtests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// upgradeServer speaks HTTP/2 and HTTP/1.1. It switches to a protocol that repeats lines if a request
// asks for "echo", and refuses another one.
type upgradeServer struct {
	*httptest.Server
	open    atomic.Int32  // connections
	held    chan struct{} // a request for /hold arrived
	release chan struct{} // ends such a request
}

func newUpgradeServer(t *testing.T) *upgradeServer {
	s := &upgradeServer{held: make(chan struct{}, 1), release: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *upgradeServer) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/hold":
		s.held <- struct{}{}
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
	case r.Header.Get("Upgrade") == "echo":
		nc, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer s.open.Add(-1)
		defer nc.Close()
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(nc, rw.Reader)
		return
	case r.Header.Get("Upgrade") != "":
		w.WriteHeader(http.StatusUpgradeRequired)
	}
	fmt.Fprint(w, r.Proto)
}

// client returns a client of s with both versions.
func (s *upgradeServer) client(t *testing.T, maxConns int) *fasthttp.HostClient {
	hc := &fasthttp.HostClient{
		Addr: s.Listener.Addr().String(), IsTLS: true, TLSConfig: servertest.TrustCertificate(), MaxConns: maxConns,
		MaxIdleConnDuration: servertest.Never,
	}
	hc.TLSConfig.InsecureSkipVerify = true
	hc.Protocols.SetHTTP1(true)
	hc.Protocols.SetHTTP2(true)
	return servertest.EndsWith(t, hc)
}

// upgrade asks for another protocol, and returns the stream that is the connection.
func (s *upgradeServer) upgrade(t *testing.T, hc *fasthttp.HostClient, protocol string, status int) io.ReadWriteCloser {
	t.Helper()
	stream, err := s.tryUpgrade(t, hc, protocol, status)
	servertest.Must(t, err)
	return stream
}

func (s *upgradeServer) tryUpgrade(t *testing.T, hc *fasthttp.HostClient, protocol string, status int) (io.ReadWriteCloser, error) {
	req, resp := requestTo(t, "GET", s.URL+"/"), responseFor(t)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol)
	resp.StreamBody = true
	if err := hc.DoTimeout(req, resp, servertest.Patience); err != nil {
		return nil, err
	}
	if resp.StatusCode() != status {
		return nil, fmt.Errorf("status %d, want %d", resp.StatusCode(), status)
	}
	return resp.BodyStream().(io.ReadWriteCloser), nil
}

// get makes a call to which the version does not matter.
func (s *upgradeServer) get(hc *fasthttp.HostClient, path string) error {
	_, body, err := hc.GetTimeout(nil, s.URL+path, servertest.Patience)
	if err == nil && string(body) != "HTTP/2.0" {
		err = fmt.Errorf("the server got %s", body)
	}
	return err
}

// expectEcho checks that a switched connection works.
func expectEcho(t *testing.T, rw io.ReadWriter) {
	t.Helper()
	_, err := io.WriteString(rw, "hello\n")
	servertest.Must(t, err)
	servertest.Soon(t, "the line", func() {
		if line, err := bufio.NewReader(rw).ReadString('\n'); err != nil || line != "hello\n" {
			t.Errorf("got %q, %v", line, err)
		}
	})
}

func expectConns(t *testing.T, hc *fasthttp.HostClient, open, idle int) {
	t.Helper()
	if hc.ConnsCount() != open || hc.IdleConnsCount() != idle {
		t.Errorf("%d connections, %d of them idle, want %d and %d", hc.ConnsCount(), hc.IdleConnsCount(), open, idle)
	}
}

// TestHTTP2CallsBesideUpgrade has a connection of HTTP/1.1 that was switched to another protocol beside
// one of HTTP/2.
func TestHTTP2CallsBesideUpgrade(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"HTTP/2", "Upgrade"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			s := newUpgradeServer(t)
			hc := s.client(t, 0)
			if first == "HTTP/2" {
				servertest.Must(t, s.get(hc, "/"))
				expectConns(t, hc, 1, 1)
			}
			switched := s.upgrade(t, hc, "echo", fasthttp.StatusSwitchingProtocols)
			servertest.Must(t, s.get(hc, "/"))
			expectConns(t, hc, 2, 1)
			expectEcho(t, switched)
			servertest.Must(t, switched.Close())
			expectConns(t, hc, 1, 1)
			servertest.Must(t, s.get(hc, "/"))
			if n := hc.PendingRequests(); n != 0 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestHTTP1ConnectionsForUpgradeAreKept has a server that refuses to switch: the connection is for the
// next call with Upgrade, and not for others, which are made by HTTP/2.
func TestHTTP1ConnectionsForUpgradeAreKept(t *testing.T) {
	t.Parallel()
	s := newUpgradeServer(t)
	hc := s.client(t, 0)
	for range 3 {
		refused := s.upgrade(t, hc, "other", fasthttp.StatusUpgradeRequired)
		_, err := io.Copy(io.Discard, refused)
		servertest.Must(t, err)
		servertest.Must(t, refused.Close())
	}
	expectConns(t, hc, 1, 1)
	servertest.Must(t, s.get(hc, "/"))
	expectConns(t, hc, 2, 2)
	echo := s.upgrade(t, hc, "echo", fasthttp.StatusSwitchingProtocols)
	expectConns(t, hc, 2, 1)
	expectEcho(t, echo)
	servertest.Must(t, echo.Close())
	servertest.Must(t, s.upgrade(t, hc, "other", fasthttp.StatusUpgradeRequired).Close())
	hc.CloseIdleConnections()
	expectConns(t, hc, 0, 0)
	servertest.Eventually(t, "the end of all connections", func() bool { return s.open.Load() == 0 })
}

// TestMaxConnsHoldsOverBothVersions has one place for a connection. A call that waits for it gets it when
// calls by the other version are over.
func TestMaxConnsHoldsOverBothVersions(t *testing.T) {
	t.Parallel()
	s := newUpgradeServer(t)
	hc := s.client(t, 1)
	servertest.Must(t, s.get(hc, "/"))
	// an idle connection of HTTP/2 makes room
	switched := s.upgrade(t, hc, "echo", fasthttp.StatusSwitchingProtocols)
	expectConns(t, hc, 1, 0)
	done, upgraded := make(chan error, 1), make(chan error, 1)
	go func() { done <- s.get(hc, "/hold") }()
	servertest.Eventually(t, "a call that waits", func() bool { return hc.PendingRequests() == 1 })
	expectEcho(t, switched)
	servertest.Must(t, switched.Close())
	servertest.Receive(t, "the call of HTTP/2", s.held)
	expectConns(t, hc, 1, 0)
	// a call of HTTP/2 is not disturbed
	go func() {
		var err error
		switched, err = s.tryUpgrade(t, hc, "echo", fasthttp.StatusSwitchingProtocols)
		upgraded <- err
	}()
	servertest.Eventually(t, "a call that waits", func() bool { return hc.PendingRequests() == 2 })
	servertest.Send(t, "the end of the call", s.release, struct{}{})
	servertest.Must(t, servertest.Receive(t, "the end of the call", done))
	servertest.Must(t, servertest.Receive(t, "the switched connection", upgraded))
	expectEcho(t, switched)
	servertest.Must(t, switched.Close())
	// an idle connection of HTTP/1.1 makes room
	servertest.Must(t, s.upgrade(t, hc, "other", fasthttp.StatusUpgradeRequired).Close())
	expectConns(t, hc, 1, 1)
	servertest.Must(t, s.get(hc, "/"))
	expectConns(t, hc, 1, 1)
	hc.SetMaxConns(2)
	switched = s.upgrade(t, hc, "echo", fasthttp.StatusSwitchingProtocols)
	expectConns(t, hc, 2, 1)
	servertest.Must(t, switched.Close())
}
