package fasthttp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"time"
)

// comeAndGo has a second server serve and shut down in turn, with clients that
// keep it busy: its end must not touch the connections of the others.
func (s *soak) comeAndGo(e engine) {

	for !s.stopping.Load() {
		server := &Server{Handler: s.handle, Logger: &soakLog{}, ReadTimeout: soakTimeout, IdleTimeout: soakTimeout}
		e.setup(server)
		ts := &testServer{t: s.t, s: server, engine: e, served: make(chan error, 1)}
		ts.serve()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for s.visit(ts) {
			}
		}()
		for end := time.Now().Add(soakRound); time.Now().Before(end) && !s.stopping.Load(); {
			time.Sleep(soakRound / 100)
		}
		if err := server.Shutdown(); err != nil {
			s.t.Errorf("Shutdown of the second server: %v", err)
		}
		if n := server.GetOpenConnectionsCount(); n != 0 {
			s.t.Errorf("%d connections of the second server are open", n)
		}
		receive(s.t, "return of Serve", ts.served)
		<-ended
		s.rounds.Add(1)
	}
}

// visit sends some requests over a connection, and is false if there is none.
func (s *soak) visit(ts *testServer) bool {
	nc, err := ts.dialer()
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(soakPatience))
	in := bufio.NewReader(nc)
	for _, path := range []string{"/buffered", "/wait", "/lock", "/sized"} {
		id := s.ids.Add(1)
		q := soakTarget(path, id, 1000)
		if _, err := io.WriteString(nc, q); err != nil {
			return true
		}
		resp, err := readResponse(in, http.MethodGet)
		if err != nil {
			if resp.Response != nil {
				s.t.Errorf("an answer of the second server was cut off: %v", err)
			}
			return true
		}
		if resp.body != string(s.content(id, 1000)) {
			s.t.Errorf("the second server has answered %q with other bytes", path)
		}
	}
	return true
}

// measureTimeouts has clients be silent on the server with short timeouts, and
// measures how late it notices.
func (s *soak) measureTimeouts() {
	for !s.stopping.Load() {
		nc, err := s.hasty.dialer()
		if err != nil {
			// the handshake of TLS has to be as hasty
			continue
		}
		_ = nc.SetDeadline(time.Now().Add(soakPatience))
		_, _ = io.WriteString(nc, soakTarget("/buffered", s.ids.Add(1), 10))
		in := bufio.NewReader(nc)
		if _, err := readResponse(in, http.MethodGet); err == nil {
			begun := time.Now()
			_, err = in.ReadByte()
			if err != nil {
				s.late(time.Since(begun) - s.hasty.s.IdleTimeout)
			}
		}
		_ = nc.Close()
	}
}

// late takes in how late a timeout came.
func (s *soak) late(by time.Duration) {
	for worst := s.worst.Load(); int64(by) > worst && !s.worst.CompareAndSwap(worst, int64(by)); worst = s.worst.Load() {
	}
}

// soakTarget is a GET request for content.
func soakTarget(path string, id uint64, n int) string {
	return fmt.Sprintf("GET %s?id=%d&n=%d HTTP/1.1\r\nHost: soak\r\n\r\n", path, id, n)
}
