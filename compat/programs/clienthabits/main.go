// Command clienthabits reports unusual behaviors of clients on which programs rely: custom
// transports, connections that wrap others, servers that violate HTTP slightly, and the state
// after a failed call.
package main

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	runTransports()
	runConns()
	runDeadlines()
	runResponses()
	runHeads()
	runRetries()
	runRedirects()
	runURIs()
	runPipelines()
	runProxies()
	runTexts()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// server answers each request with answer, and counts. Its connections are in memory.
type server struct {
	// answer returns the response to request number n, counted from 0 over all connections; an
	// empty response closes the connection
	answer func(n int) string
	// wrap, if set, wraps the connections of the client
	wrap func(net.Conn) net.Conn

	mu       sync.Mutex
	conns, n int
	got      []string
}

func (s *server) dial(string) (net.Conn, error) {
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	here, there := net.Pipe()
	go s.serve(there)
	if s.wrap != nil {
		return s.wrap(here), nil
	}
	return here, nil
}

func (s *server) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 64<<10)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, string(b[:n]))
		number := s.n
		s.n++
		s.mu.Unlock()
		answer := s.answer(number)
		if answer == "" {
			return
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

func (s *server) dialed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

// always returns an answer that does not depend on the request.
func always(text string) func(int) string { return func(int) string { return text } }

// inTurn answers with one text after the other, and with ok after the last.
func inTurn(texts ...string) func(int) string {
	return func(n int) string {
		if n < len(texts) {
			return texts[n]
		}
		return ok
	}
}

// client returns a client of s.
func (s *server) client() *fasthttp.HostClient {
	return &fasthttp.HostClient{Addr: "name.test:80", Dial: s.dial}
}
