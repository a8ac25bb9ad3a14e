package fronts

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tap is a relay between a front and the server. It forwards every byte, and records it.
type tap struct {
	ln    net.Listener
	to    string
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []*tappedConn
}

// tappedConn is the bytes of a connection between a front and the server.
type tappedConn struct {
	from     string // its address at the server
	sent     bytes.Buffer
	answered bytes.Buffer
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{ln: ln, to: to}
	p.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.pass(c) })
		}
	})
	return p
}

func (p *tap) pass(front net.Conn) {
	defer front.Close()
	server, err := net.Dial("tcp4", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	c := &tappedConn{from: server.LocalAddr().String()}
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	var answers sync.WaitGroup
	answers.Go(func() {
		_, _ = io.Copy(io.MultiWriter(&c.answered, front), server)
		_ = front.Close()
	})
	_, _ = io.Copy(io.MultiWriter(&c.sent, server), front)
	// the front or the server has closed; if it was the front, the server has all
	// bytes
	_ = server.(*net.TCPConn).CloseWrite()
	answers.Wait()
}

// close waits until the front has ended all connections.
func (p *tap) close() []*tappedConn {
	_ = p.ln.Close()
	p.wg.Wait()
	return p.conns
}

// message returns a text that differs between requests.
func message(method, target string, body []byte) string {
	return fmt.Sprintf("%s %s %d %08x", method, target, len(body), crc32.ChecksumIEEE(body))
}

// requests returns the well-formed requests that the front has sent, and their
// methods. whole is false if they are followed by an incomplete or malformed one.
func (c *tappedConn) requests() (requests, methods []string, whole bool) {
	r := bufio.NewReader(bytes.NewReader(c.sent.Bytes()))
	for {
		if _, err := r.Peek(1); err != nil {
			return requests, methods, true
		}
		method, target, body, ok := readRequest(r)
		methods = append(methods, method)
		if !ok {
			return requests, methods, false
		}
		requests = append(requests, message(method, target, body))
		if method == http.MethodConnect {
			// the handler responds with 200, so the rest belongs to the tunnel
			return requests, methods, true
		}
	}
}

// readRequest reads a request as the standard library does, but accepts any target.
func readRequest(r *bufio.Reader) (method, target string, body []byte, ok bool) {
	text := textproto.NewReader(r)
	line, err := text.ReadLine()
	if err != nil {
		return "", "", nil, false
	}
	method, target, _ = strings.Cut(line, " ")
	target = strings.TrimSuffix(strings.TrimSuffix(target, " HTTP/1.1"), " HTTP/1.0")
	head, err := text.ReadMIMEHeader()
	if err != nil || len(head["Content-Length"])+len(head["Transfer-Encoding"]) > 1 {
		return method, target, nil, false
	}
	if coding := head["Transfer-Encoding"]; coding != nil {
		body, err = io.ReadAll(httputil.NewChunkedReader(r))
		if err == nil {
			_, err = text.ReadMIMEHeader()
		}
		return method, target, body, err == nil && strings.EqualFold(coding[0], "chunked")
	}
	if length := head.Get("Content-Length"); length != "" {
		n, err := strconv.ParseUint(length, 10, 31)
		body = make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(r, body)
		}
		return method, target, body, err == nil
	}
	return method, target, nil, true
}

// statuses returns the statuses of the final responses to requests with these
// methods.
func (c *tappedConn) statuses(methods []string) (statuses []int) {
	r := bufio.NewReader(bytes.NewReader(c.answered.Bytes()))
	for {
		method := ""
		if len(statuses) < len(methods) {
			method = methods[len(statuses)]
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode >= 200 {
			statuses = append(statuses, resp.StatusCode)
		}
	}
}
