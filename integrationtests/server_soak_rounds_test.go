package integrationtests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// comeAndGo repeatedly serves and shuts down a second server, with busy clients in each round.
// Its end must not affect the connections of the other servers.
func (s *soak) comeAndGo(e servertest.Engine, round time.Duration) {
	for !s.stopping.Load() {
		server := &fasthttp.Server{Handler: s.handle, Logger: &soakLog{}, ReadTimeout: soakTimeout, IdleTimeout: soakTimeout}
		prepare(server, e)
		ts := &testServer{T: s.t, S: server, Engine: e, Served: make(chan error, 1)}
		ts.Serve()
		begun, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			visited := sync.OnceFunc(func() { close(begun) })
			for s.visit(ts) {
				visited()
			}
			visited()
		}()
		// a shutdown before the call of Serve does not end it
		<-begun
		s.pass(round)
		if err := server.Shutdown(); err != nil {
			s.t.Errorf("Shutdown of the second server: %v", err)
		}
		if n := server.GetOpenConnectionsCount(); n != 0 {
			s.t.Errorf("%d connections of the second server are open", n)
		}
		servertest.Receive(s.t, "return of Serve", ts.Served)
		<-ended
		s.rounds.Add(1)
	}
}

// visit sends some requests over a connection. It returns false if it cannot
// connect.
func (s *soak) visit(ts *testServer) bool {
	nc, err := ts.Dialer()
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(soakPatience))
	in := bufio.NewReader(nc)
	for _, path := range []string{"/buffered", "/sleep", "/lock", "/sized"} {
		id := s.ids.Add(1)
		q := soakTarget(path, id, 1000)
		if _, err := io.WriteString(nc, q); err != nil {
			return true
		}
		resp, err := servertest.ReadResponse(in, http.MethodGet)
		if err != nil {
			if resp.Response != nil {
				s.t.Errorf("an answer of the second server was cut off: %v", err)
			}
			return true
		}
		if resp.Content != string(s.content(id, 1000)) {
			s.t.Errorf("the second server has answered %q with other bytes", path)
		}
	}
	return true
}

// measureTimeouts opens idle connections to the server with short timeouts, and
// measures how late it closes them.
func (s *soak) measureTimeouts() {
	for !s.stopping.Load() {
		nc, err := s.hasty.Dialer()
		if err != nil {
			// the TLS handshake has the short timeout, too
			continue
		}
		_ = nc.SetDeadline(time.Now().Add(soakPatience))
		_, _ = io.WriteString(nc, soakTarget("/buffered", s.ids.Add(1), 10))
		in := bufio.NewReader(nc)
		if _, err := servertest.ReadResponse(in, http.MethodGet); err == nil {
			timeout := s.hasty.S.IdleTimeout
			plain := plainTimeout(timeout)
			begun := time.Now()
			_, err = in.ReadByte()
			took := time.Since(begun)
			if late := <-plain; err != nil && late >= 0 {
				s.late(took-timeout, late)
			}
		}
		_ = nc.Close()
	}
}

// plainTimeout measures how late a goroutine with its own timer closes a connection
// from which a client reads. This is the delay of any timeout on a busy machine. A
// negative value is a failed measurement.
func plainTimeout(timeout time.Duration) <-chan time.Duration {
	late := make(chan time.Duration, 1)
	go func() {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			late <- -1
			return
		}
		defer ln.Close()
		begun := time.Now()
		go func() {
			nc, err := ln.Accept()
			if err == nil {
				time.AfterFunc(timeout-time.Since(begun), func() { _ = nc.Close() })
			}
		}()
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			late <- -1
			return
		}
		defer nc.Close()
		_ = nc.SetReadDeadline(begun.Add(soakPatience))
		_, _ = nc.Read(make([]byte, 1))
		late <- max(time.Since(begun)-timeout, 0)
	}()
	return late
}

// late records how late a timeout was, and how late a plain one was that began at
// the same time.
func (s *soak) late(by, plain time.Duration) {
	raise(&s.latest, by)
	raise(&s.plainest, plain)
}

// raise sets v to d if d is larger.
func raise(v *atomic.Int64, d time.Duration) {
	for old := v.Load(); int64(d) > old && !v.CompareAndSwap(old, int64(d)); old = v.Load() {
	}
}

// soakTarget returns the target of a GET request for content.
func soakTarget(path string, id uint64, n int) string {
	return fmt.Sprintf("GET %s?id=%d&n=%d HTTP/1.1\r\nHost: soak\r\n\r\n", path, id, n)
}
