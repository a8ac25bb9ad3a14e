package servertest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Conn is the client's side of a connection.
type Conn struct {
	net.Conn
	T testing.TB    // the test it belongs to
	R *bufio.Reader // reads from it
}

// NewConn makes a Conn of a connection, for a limited time: see Renew.
func NewConn(t testing.TB, nc net.Conn) *Conn {
	c := &Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
	c.Renew()
	return c
}

// Renew gives the connection the time of a new one. A test that does more on it than a slow
// machine can do in that time calls Renew between the parts.
func (c *Conn) Renew() { _ = c.Conn.SetDeadline(time.Now().Add(life())) }

// DialOnceServed connects to a TCP address as soon as a server listens on it.
func DialOnceServed(t testing.TB, addr string) *Conn {
	t.Helper()
	var nc net.Conn
	Eventually(t, "the server", func() (served bool) {
		var err error
		nc, err = net.Dial("tcp", addr)
		return err == nil
	})
	return NewConn(t, nc)
}

// Close ends the connection: see the function Close.
func (c *Conn) Close() error { return Close(c.Conn) }

// Send writes text.
func (c *Conn) Send(text string) {
	c.T.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		fatalf(c.T, "cannot send: %v", err)
	}
}

// Get sends a GET request for the target.
func (c *Conn) Get(target string) {
	c.T.Helper()
	c.Send(Get(target))
}

// EndWrites ends the client's side of the connection.
func (c *Conn) EndWrites() {
	c.T.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		fatalf(c.T, "cannot end the writes: %v", err)
	}
}

// Response is a response as a client sees it.
type Response struct {
	*http.Response
	Content string // all of the body
}

// Next reads the response to a request with the method.
func (c *Conn) Next(method string) Response {
	c.T.Helper()
	resp, err := ReadResponse(c.R, method)
	if err != nil {
		fatalf(c.T, "cannot read the response: %v, after %q", err, resp.Content)
	}
	return resp
}

// ReadResponse reads a response with its body. With an error it returns the part of
// the body that was received.
func ReadResponse(r *bufio.Reader, method string) (Response, error) {
	if _, err := r.Peek(1); err != nil {
		return Response{}, err
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return Response{}, err
	}
	content, err := ReadContent(resp)
	return Response{resp, content}, err
}

// ReadContent reads the content of a response. Unlike io.ReadAll it allocates the memory for
// large content at once, if the length is known.
func ReadContent(resp *http.Response) (string, error) {
	if resp.ContentLength < largeContent {
		// most content is a few bytes, less than the buffer of io.Copy by far
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	var content strings.Builder
	if resp.ContentLength <= mostContent {
		content.Grow(int(resp.ContentLength))
	}
	_, err := io.Copy(&content, resp.Body)
	return content.String(), err
}

const (
	largeContent = 16 << 10
	mostContent  = 64 << 20 // is the largest length that ReadContent believes
)

// Expect reads the response to a GET and checks it.
func (c *Conn) Expect(status int, body string) Response {
	c.T.Helper()
	resp := c.Next("GET")
	if resp.StatusCode != status || resp.Content != body {
		fatalf(c.T, "got %d %q, want %d %q", resp.StatusCode, resp.Content, status, body)
	}
	return resp
}

// ExpectFinal checks the body of the next final response.
func (c *Conn) ExpectFinal(body string) {
	c.T.Helper()
	for {
		resp := c.Next("GET")
		if resp.StatusCode/100 == 1 {
			continue
		}
		if resp.Content != body {
			fatalf(c.T, "got %d %q, want %q", resp.StatusCode, resp.Content, body)
		}
		return
	}
}

// ExpectLine reads a line, and checks it.
func (c *Conn) ExpectLine(want string) {
	c.T.Helper()
	if line, err := c.R.ReadString('\n'); line != want || err != nil {
		fatalf(c.T, "got %q, %v, want %q", line, err, want)
	}
}

// ExpectEnd checks that the server has closed the connection cleanly.
func (c *Conn) ExpectEnd() {
	c.T.Helper()
	if b, err := io.ReadAll(c.R); len(b) > 0 || err != nil {
		fatalf(c.T, "got %q, %v, want the end of the connection", b, err)
	}
}

// ExpectCut checks that the connection has ended, cleanly or not.
func (c *Conn) ExpectCut() {
	c.T.Helper()
	if b, err := io.ReadAll(c.R); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		fatalf(c.T, "got %q, %v, want the end of the connection", b, err)
	}
}
