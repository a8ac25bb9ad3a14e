package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// peer is a scripted server: it answers every request with a function, and records the
// requests. Its connections are in memory.
type peer struct {
	answer func(n int, req *http.Request) (response string, closes bool)

	mu      sync.Mutex
	conns   int
	dialed  []string
	got     []string
	running sync.WaitGroup
}

func (p *peer) dial(addr string) (net.Conn, error) {
	p.mu.Lock()
	p.conns++
	p.dialed = append(p.dialed, addr)
	p.mu.Unlock()
	here, there := net.Pipe()
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		p.serve(there)
	}()
	return here, nil
}

func (p *peer) serve(c net.Conn) {
	defer c.Close()
	// a client that never reads must not keep the program from ending
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		n := p.note(req, string(body))
		response, closes := p.answer(n, req)
		if _, err := io.WriteString(c, response); err != nil || closes {
			return
		}
	}
}

// note records a request, and returns how many there were before.
func (p *peer) note(req *http.Request, body string) int {
	var fields []string
	for name, values := range req.Header {
		for _, v := range values {
			fields = append(fields, name+": "+v)
		}
	}
	sort.Strings(fields)
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.got)
	p.got = append(p.got, req.Method+" "+req.RequestURI+" host="+req.Host+" ["+strings.Join(fields, "; ")+"] "+body)
	return n
}

// requests returns the recorded requests.
func (p *peer) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.got, "\n")
}

func (p *peer) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// always returns an answer that does not depend on the request.
func always(response string) func(int, *http.Request) (string, bool) {
	return func(int, *http.Request) (string, bool) { return response, false }
}

// closing is always for a server that closes the connection afterwards.
func closing(response string) func(int, *http.Request) (string, bool) {
	return func(int, *http.Request) (string, bool) { return response, true }
}
