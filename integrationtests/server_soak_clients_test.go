package integrationtests

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// soakKinds are the kinds of clients.
var soakKinds = []struct {
	name  string
	use   func(c *soakConn) error
	hasty bool // uses the server with short timeouts
}{
	{"polite", (*soakConn).polite, false},
	{"pipelining", (*soakConn).pipelining, false},
	{"flooding", (*soakConn).flooding, false},
	{"uploading", (*soakConn).uploading, false},
	{"slow sending", (*soakConn).sendingSlowly, false},
	{"slow reading", (*soakConn).readingSlowly, false},
	{"half-closing", (*soakConn).halfClosing, false},
	{"aborting", (*soakConn).aborting, false},
	{"hijacking", (*soakConn).hijacking, false},
	{"malformed", (*soakConn).malformed, false},
	{"vanishing", (*soakConn).vanishing, false},
	{"dawdling", (*soakConn).dawdling, true},
	{"not reading", (*soakConn).notReading, true},
}

// soakConn is the connection of a client.
type soakConn struct {
	s         *soak
	r         *rand.Rand
	nc        *soakNet
	in        *bufio.Reader
	counts    *soakCounts
	streaming bool // the server streams the bodies of requests

	number string // the server's number for the connection
	asked  int    // requests with a response
}

// soakRequest is a request and its expected response.
type soakRequest struct {
	text   string
	method string
	id     uint64
	status int
	body   []byte
	// closes: the response announces the end of the connection; ends: the connection
	// ends without that; mayClose: either is possible
	closes, ends, mayClose bool
	// foreign is set if the response is not from the context of the request
	foreign bool
}

// soakNet is a connection that must make progress within a time. The whole exchange
// may take longer on a slow machine.
type soakNet struct {
	net.Conn
	patience time.Duration
}

func (c *soakNet) Read(p []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(c.patience))
	return c.Conn.Read(p)
}

func (c *soakNet) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.patience))
	return c.Conn.Write(p)
}

// tcp returns the TCP connection, which is below TLS if the client uses TLS.
func (c *soakConn) tcp() *net.TCPConn {
	if over, ok := c.nc.Conn.(*tls.Conn); ok {
		return over.NetConn().(*net.TCPConn)
	}
	return c.nc.Conn.(*net.TCPConn)
}

// size returns a random number of bytes up to a limit. Small ones are more likely.
func (c *soakConn) size(limit int) int { return c.r.IntN(1 + c.r.IntN(limit)) }

// simple returns a request without a body for a path.
func (c *soakConn) simple(path string, limit int) soakRequest {
	id := c.s.ids.Add(1)
	n := c.size(limit)
	q := soakRequest{method: "GET", id: id, status: fasthttp.StatusOK, body: c.s.content(id, n)}
	if c.r.IntN(20) == 0 {
		q.method, q.body = "HEAD", nil
	}
	padding := strings.Repeat("p", c.size(2000))
	q.text = fmt.Sprintf("%s %s?id=%d&n=%d HTTP/1.1\r\nHost: soak\r\nX-Padding: %s\r\n\r\n", q.method, path, id, n, padding)
	return q
}

// posting returns a request with a body for a path.
func (c *soakConn) posting(path string, limit int) soakRequest {
	id := c.s.ids.Add(1)
	n := c.size(limit)
	q := soakRequest{method: "POST", id: id, status: fasthttp.StatusOK, body: c.s.content(id, n)}
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s?id=%d&n=%d HTTP/1.1\r\nHost: soak\r\n", path, id, n)
	if c.r.IntN(2) == 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", n, q.body)
	} else {
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		c.writeChunks(&b, q.body)
	}
	q.text = b.String()
	if path == "/ignore" {
		q.body = q.body[:min(n, 10)]
	}
	return q
}

func (c *soakConn) writeChunks(b *strings.Builder, content []byte) {
	for len(content) > 0 {
		n := min(1+c.r.IntN(30_000), len(content))
		extension := ""
		if c.r.IntN(5) == 0 {
			extension = ";of=soak"
		}
		fmt.Fprintf(b, "%x%s\r\n%s\r\n", n, extension, content[:n])
		content = content[n:]
	}
	b.WriteString("0\r\n")
	if c.r.IntN(3) == 0 {
		b.WriteString("X-Trailer: soak\r\n")
	}
	b.WriteString("\r\n")
}

// keeping returns a request after which the connection stays open.
func (c *soakConn) keeping(limit int) soakRequest {
	switch c.r.IntN(14) {
	case 11:
		return c.simple("/lock", 200)
	case 0, 10:
		return c.simple("/sleep", 200)
	case 1:
		return c.simple("/spin", 200)
	case 2:
		return c.simple("/sized", limit)
	case 3:
		return c.simple("/unsized", limit)
	case 4:
		return c.simple("/writer", limit)
	case 5:
		return c.posting("/pieces", limit)
	case 6:
		return c.posting("/echo", limit)
	case 7:
		return c.posting("/ignore", min(5*limit, 100_000))
	case 8:
		q := c.simple("/late", 200)
		q.status, q.foreign = fasthttp.StatusAccepted, true
		if q.method == "GET" {
			q.body = c.s.content(q.id, 100)
		}
		return q
	case 9:
		return c.simple("/buffered", limit)
	default:
		return c.simple("/buffered", 300)
	}
}

// ending returns a request that ends the connection.
func (c *soakConn) ending() (q soakRequest) {
	switch c.r.IntN(3) {
	case 0:
		q = c.simple("/close", 50_000)
		q.closes = true
	case 1:
		q = c.simple("/panic", 200)
		q.status, q.closes, q.foreign = fasthttp.StatusInternalServerError, true, true
		if q.method == "GET" {
			q.body = []byte(fasthttp.StatusMessage(fasthttp.StatusInternalServerError))
		}
	default:
		q = c.simple("/abort", 200)
		q.ends = true
	}
	return q
}

// answer reads and checks the response to a request. It returns errCut if the
// connection has ended with it as it should.
func (c *soakConn) answer(q *soakRequest) error {
	resp, body, err := c.response(q.method)
	switch {
	case q.ends && err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		c.counts.cut.Add(1)
		return errCut
	case err != nil:
		return fmt.Errorf("no answer to %.60q after %d others: %w", q.text, c.asked, err)
	case q.ends:
		return fmt.Errorf("got %d but the connection should have been cut", resp.StatusCode)
	case resp.StatusCode != q.status:
		return fmt.Errorf("got %d %.100q for %.60q, want %d", resp.StatusCode, body, q.text, q.status)
	case !bytes.Equal(body, q.body):
		return fmt.Errorf("got %d other bytes for %.60q, want %d", len(body), q.text, len(q.body))
	case resp.Close && !q.closes && !q.mayClose:
		return fmt.Errorf("the answer to %.60q closes the connection", q.text)
	}
	if id := resp.Header.Get("X-Id"); id != strconv.FormatUint(q.id, 10) && resp.StatusCode < 500 {
		return fmt.Errorf("got the answer to %q for %.60q", id, q.text)
	}
	c.asked++
	if err := c.checkNumbers(q, resp); err != nil {
		return err
	}
	c.counts.answers.Add(1)
	c.counts.bytes.Add(int64(len(body)))
	if !resp.Close && !q.closes {
		return nil
	}
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the connection goes on after %.60q: %.60q, %v", q.text, rest, err)
	}
	return errCut
}

// checkNumbers checks that all responses are from the same connection, and none is missing.
func (c *soakConn) checkNumbers(q *soakRequest, resp *http.Response) error {
	if q.foreign {
		return nil
	}
	conn, num := resp.Header.Get("X-Conn"), resp.Header.Get("X-Num")
	if c.number == "" {
		c.number = conn
	}
	if conn != c.number || num != strconv.Itoa(c.asked) {
		return fmt.Errorf("got answer %s on connection %s for %.60q, want answer %d on %s", num, conn, q.text, c.asked, c.number)
	}
	return nil
}

func (c *soakConn) response(method string) (*http.Response, []byte, error) {
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// exchange sends requests with the function send, and checks the responses.
func (c *soakConn) exchange(send func(text string) error, requests ...soakRequest) error {
	var text strings.Builder
	for i := range requests {
		text.WriteString(requests[i].text)
	}
	sent := make(chan error, 1)
	go func() { sent <- send(text.String()) }()
	for i := range requests {
		if err := c.answer(&requests[i]); err != nil {
			// which makes the sender return
			_ = c.nc.Close()
			<-sent
			return err
		}
	}
	return <-sent
}

// send sends text at once.
func (c *soakConn) send(text string) error {
	_, err := io.WriteString(c.nc, text)
	return err
}

// sendPieces returns a function that sends text in pieces of up to n bytes, with a
// pause now and then. It runs beside the client, so it has its own random numbers.
func (c *soakConn) sendPieces(n int) func(text string) error {
	r := rand.New(rand.NewPCG(c.r.Uint64(), 0))
	return func(text string) error {
		for len(text) > 0 {
			k := min(1+r.IntN(n), len(text))
			if err := c.send(text[:k]); err != nil {
				return err
			}
			text = text[k:]
			if r.IntN(10) == 0 {
				pause(time.Duration(r.IntN(2_000_000)))
			}
		}
		return nil
	}
}

// uncut returns err, or nil if the connection should have ended with it.
func uncut(err error) error {
	if errors.Is(err, errCut) {
		return nil
	}
	return err
}

// polite sends one request after the other.
func (c *soakConn) polite() error {
	for range c.size(50) {
		if err := c.exchange(c.send, c.keeping(50_000)); err != nil {
			return uncut(err)
		}
	}
	return uncut(c.exchange(c.send, c.ending()))
}

func (c *soakConn) batch(n, limit int) (requests []soakRequest) {
	for range n {
		requests = append(requests, c.keeping(limit))
	}
	return requests
}

// pipelining sends many requests without waiting, and reads the responses as they
// arrive.
func (c *soakConn) pipelining() error {
	for range 1 + c.r.IntN(5) {
		requests := c.batch(1+c.size(100), 20_000)
		send := c.send
		if c.r.IntN(2) == 0 {
			send = c.sendPieces(5000)
		}
		if err := c.exchange(send, requests...); err != nil {
			return uncut(err)
		}
	}
	return nil
}

// flooding sends as much as the server reads, and then reads the responses.
func (c *soakConn) flooding() error {
	var requests []soakRequest
	if c.r.IntN(2) == 0 {
		// responses that exceed the buffer, between others that do not
		requests = append(requests, c.simple("/buffered", soakMaxBody))
	}
	for range 200 + c.size(1000) {
		requests = append(requests, c.simple("/buffered", 500+c.size(20_000)))
	}
	var text strings.Builder
	for i := range requests {
		text.WriteString(requests[i].text)
	}
	flood := text.String()
	sent := make(chan error, 1)
	go func() { sent <- c.send(flood) }()
	pause(10 * time.Millisecond)
	for i := range requests {
		if err := c.answer(&requests[i]); err != nil {
			_ = c.nc.Close()
			<-sent
			return uncut(err)
		}
	}
	return <-sent
}

// uploading sends large bodies, some of them after 100 Continue.
func (c *soakConn) uploading() error {
	for range 1 + c.r.IntN(6) {
		q := c.posting([]string{"/echo", "/pieces", "/reflect"}[c.r.IntN(3)], soakMaxBody)
		if c.r.IntN(3) > 0 || len(q.body) == 0 {
			if err := c.exchange(c.send, q); err != nil {
				return uncut(err)
			}
			continue
		}
		head, body, _ := strings.Cut(q.text, "\r\n\r\n")
		if err := c.send(head + "\r\nExpect: 100-continue\r\n\r\n"); err != nil {
			return err
		}
		resp, _, err := c.response("POST")
		if err != nil || resp.StatusCode != fasthttp.StatusContinue {
			return fmt.Errorf("got %v, %v for %.60q, want 100", resp, err, q.text)
		}
		q.text = body
		if err := c.exchange(c.send, q); err != nil {
			return uncut(err)
		}
	}
	return nil
}

// sendingSlowly sends a few bytes, one by one.
func (c *soakConn) sendingSlowly() error {
	for range 1 + c.r.IntN(3) {
		if err := c.exchange(c.sendPieces(1+c.r.IntN(30)), c.keeping(300)); err != nil {
			return uncut(err)
		}
	}
	return nil
}

// slowReader reads in small pieces.
type slowReader struct{ c *soakConn }

func (r slowReader) Read(p []byte) (int, error) {
	if r.c.r.IntN(10) == 0 {
		pause(time.Duration(r.c.r.IntN(1_000_000)))
	}
	return r.c.nc.Read(p[:min(len(p), 1+r.c.r.IntN(20_000))])
}

// readingSlowly reads large responses slowly, with a small receive buffer.
func (c *soakConn) readingSlowly() error {
	_ = c.tcp().SetReadBuffer(64 << 10)
	c.in = bufio.NewReader(slowReader{c})
	requests := c.batch(1+c.r.IntN(5), 300)
	for range 1 + c.r.IntN(3) {
		path := []string{"/buffered", "/sized", "/unsized", "/writer"}[c.r.IntN(4)]
		requests = append(requests, c.simple(path, soakMaxBody/2))
	}
	c.r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	// the reader uses the random numbers while the client sends
	return uncut(c.exchange(c.send, requests...))
}

// halfClosing closes its side after its requests, and gets all responses.
func (c *soakConn) halfClosing() error {
	requests := c.batch(1+c.size(20), 50_000)
	err := c.exchange(func(text string) error {
		if err := c.send(text); err != nil {
			return err
		}
		return c.nc.Conn.(interface{ CloseWrite() error }).CloseWrite()
	}, requests...)
	if err != nil {
		return uncut(err)
	}
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || err != nil {
		return fmt.Errorf("got %.60q, %v, want the end", rest, err)
	}
	return nil
}

// aborting disconnects in the middle of a request, in the middle of a response, or between.
func (c *soakConn) aborting() error {
	var text strings.Builder
	for _, q := range c.batch(1+c.size(10), 200_000) {
		text.WriteString(q.text)
	}
	all := text.String()
	part := all[:c.r.IntN(1+len(all))]
	// it disconnects after a random number of bytes and a random time
	n := rand.IntN(1 + rand.IntN(300_000))
	c.nc.patience = time.Duration(rand.IntN(20_000_000))
	go func() { _ = c.send(part) }()
	_, _ = io.CopyN(io.Discard, c.in, int64(n))
	c.counts.cut.Add(1)
	if rand.IntN(2) == 0 {
		_ = c.tcp().SetLinger(0)
	}
	_ = c.tcp().Close()
	return nil
}

// hijacking uses another protocol after its requests, and sends some bytes of it
// early.
func (c *soakConn) hijacking() error {
	q := c.simple("/hijack", 30_000)
	content := c.s.content(q.id, soakHijacked)
	requests := append(c.batch(c.r.IntN(4), 1000), q)
	ahead := content[:c.r.IntN(len(content))]
	err := c.exchange(func(text string) error { return c.send(text + string(ahead)) }, requests...)
	if err != nil {
		return uncut(err)
	}
	if err := c.send(string(content[len(ahead):])); err != nil {
		return err
	}
	got, err := io.ReadAll(c.in)
	if err != nil || !bytes.Equal(got, content) {
		return fmt.Errorf("got %d bytes, %v from a hijacked connection", len(got), err)
	}
	return nil
}

var soakMalformed = []string{
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"GET / HTTP/3.0\r\nHost: soak\r\n\r\n",
	"GET / HTTP/1.1\r\n\r\n",
	"GET /\nHost: soak\n\n",
	"POST / HTTP/1.1\r\nHost: soak\r\nContent-Length: x\r\n\r\n",
	"POST /echo?id=1 HTTP/1.1\r\nHost: soak\r\nContent-Length: 9999999999\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: soak\r\nX: " + strings.Repeat("x", 100_000) + "\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}

// malformed sends a malformed request after well-formed ones.
func (c *soakConn) malformed() error {
	bad := soakMalformed[c.r.IntN(len(soakMalformed))]
	if c.streaming && strings.HasPrefix(bad, "POST /echo") {
		// streams have no limit
		bad = soakMalformed[0]
	}
	requests := c.batch(c.r.IntN(3), 1000)
	if err := c.exchange(c.send, requests...); err != nil {
		return uncut(err)
	}
	if err := c.send(bad); err != nil {
		return err
	}
	resp, _, err := c.response("GET")
	if err != nil || resp.StatusCode/100 != 4 && resp.StatusCode/100 != 5 || !resp.Close {
		return fmt.Errorf("got %v, %v for %.60q", resp, err, bad)
	}
	c.counts.cut.Add(1)
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("got %.60q, %v after the refusal of %.60q", rest, err, bad)
	}
	return nil
}

// vanishing connects, and disconnects without sending.
func (c *soakConn) vanishing() error {
	c.nc.patience = time.Duration(c.r.IntN(2) * c.r.IntN(20_000_000))
	_, _ = c.in.Peek(1) // nothing arrives, or the end if the server is faster
	return nil
}

// dawdling sends a request slowly, until the server ends the connection.
func (c *soakConn) dawdling() error {
	q := c.simple("/buffered", 300)
	text := q.text[:c.r.IntN(len(q.text))]
	if c.r.IntN(3) > 0 {
		if err := c.exchange(c.send, c.simple("/buffered", 300)); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			// the machine may have been busy for longer than the timeout
			return nil
		}
	}
	if c.r.IntN(3) == 0 {
		text = ""
	}
	_ = c.send(text)
	rest, err := io.ReadAll(c.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("a client that has sent %.60q may stay", text)
	}
	if len(rest) > 0 && !bytes.HasPrefix(rest, []byte("HTTP/1.1 408 ")) {
		return fmt.Errorf("got %.60q after %.60q", rest, text)
	}
	c.counts.cut.Add(1)
	return nil
}

// notReading does not read its response, until the server ends the connection.
func (c *soakConn) notReading() error {
	_ = c.tcp().SetReadBuffer(4096)
	path := []string{"/buffered", "/sized", "/unsized", "/writer"}[c.r.IntN(4)]
	for range 10 {
		id := c.s.ids.Add(1)
		_ = c.send(fmt.Sprintf("GET %s?id=%d&n=%d HTTP/1.1\r\nHost: soak\r\n\r\n", path, id, soakMaxBody))
	}
	// the connection has ended when a write fails: the write blocks, since the server does not
	// read either
	_ = c.tcp().SetWriteBuffer(4096)
	more := strings.Repeat("x", 4096)
	err := error(nil)
	for begun := time.Now(); err == nil && time.Since(begun) < soakPatience; {
		err = c.send(more)
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("a client that does not read may stay: %v", err)
	}
	c.counts.cut.Add(1)
	return nil
}
