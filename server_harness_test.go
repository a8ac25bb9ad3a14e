package fasthttp

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// patience is how long a test waits for what must come. It is only ever
// reached by a test that fails.
const patience = 20 * time.Second

// engine is a way to serve connections that all tests of the server's
// behaviour run on: how bytes are moved, and over what.
type serverEngine struct {
	name   string
	setup  func(s *Server)
	listen func(t testing.TB) (ln net.Listener, dial func() (net.Conn, error))
	// sockets tells that connections are those of the operating system: one
	// side can be closed alone, and the peer has an IP address
	sockets bool
	// tls tells that the server speaks TLS, with testCert
	tls bool
}

// engines are what forEachEngine goes through. Another engine, or another kind
// of connection such as TLS, is another line here.
var engines = []serverEngine{
	{name: "portable/tcp", setup: func(s *Server) { s.Engine = EnginePortable }, listen: listenTCP, sockets: true},
	{name: "event/tcp", setup: func(s *Server) { s.Engine = EngineEvent }, listen: listenTCP, sockets: true},
	{name: "portable/tls", setup: func(*Server) {}, listen: listenTLS, sockets: true, tls: true},
	{name: "portable/memory", setup: func(s *Server) { s.Engine = EnginePortable }, listen: listenMemory},
}

// memoryEngine is the engine for tests that need only one.
var memoryEngine = engines[len(engines)-1]

// tlsEngine is the engine for tests of TLS.
var tlsEngine = engines[len(engines)-2]

func listenTCP(t testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	return ln, func() (net.Conn, error) { return net.Dial("tcp4", addr) }
}

// testCert is a certificate for 127.0.0.1 and its key.
var testCert = sync.OnceValues(func() (cert, key []byte) {
	cert, key, err := GenerateTestCertificate("127.0.0.1")
	if err != nil {
		panic(err)
	}
	return cert, key
})

// trustTestCert is the configuration of a client that trusts testCert.
func trustTestCert() *tls.Config {
	cert, _ := testCert()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return &tls.Config{RootCAs: roots}
}

// listenTLS is listenTCP with connections that speak TLS from the start.
func listenTLS(t testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln, _ := listenTCP(t)
	addr := ln.Addr().String()
	return ln, func() (net.Conn, error) { return tls.Dial("tcp4", addr, trustTestCert()) }
}

func listenMemory(testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln := fasthttputil.NewInmemoryListener()
	return ln, ln.Dial
}

// starter starts a server on the engine of the test.
type starter func(s *Server) *testServer

// forEachEngine runs a test on every engine. start serves until the test ends;
// the server is shut down then, which must end all its connections and
// goroutines.
func forEachEngine(t *testing.T, test func(t *testing.T, start starter)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			test(t, func(s *Server) *testServer { return startServer(t, e, s) })
		})
	}
}

// testServer is a Server that serves.
type testServer struct {
	t      testing.TB
	s      *Server
	engine serverEngine
	ln     net.Listener
	log    *testLog
	dialer func() (net.Conn, error)
	served chan error
	conns  []*testConn
}

func startServer(t testing.TB, e serverEngine, s *Server) *testServer {
	t.Helper()
	ts := &testServer{t: t, s: s, engine: e, served: make(chan error, 1)}
	e.setup(s)
	if s.Logger == nil {
		ts.log = &testLog{}
		s.Logger = ts.log
	}
	t.Cleanup(ts.stop)
	ts.serve()
	return ts
}

// serve serves a new listener.
func (ts *testServer) serve() {
	ts.ln, ts.dialer = ts.engine.listen(ts.t)
	go func(ln net.Listener) {
		if ts.engine.tls {
			cert, key := testCert()
			ts.served <- ts.s.ServeTLSEmbed(ln, cert, key)
		} else {
			ts.served <- ts.s.Serve(ln)
		}
	}(ts.ln)
}

// stop shuts the server down once all connections of the test are closed.
func (ts *testServer) stop() {
	for _, c := range ts.conns {
		_ = c.Close()
	}
	shutDown(ts.t, ts.s)
	// a test may end before Serve has begun
	_ = ts.ln.Close()
}

// shutDown ends s, whose clients have gone, and checks that nothing is left.
func shutDown(t testing.TB, s *Server) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Shutdown() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	case <-time.After(patience):
		t.Errorf("Shutdown hangs with %d open connections:\n%s", s.GetOpenConnectionsCount(), stacks())
	}
	eventually(t, "counts of connections back at 0", func() bool {
		return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0
	})
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never seen: %s", what)
		}
	}
}

// receive returns the next value of c.
func receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("never came: %s\n%s", what, stacks())
	}
	return v
}

// dial opens a connection to the server, which ends with the test.
func (ts *testServer) dial() *testConn {
	ts.t.Helper()
	nc, err := ts.dialer()
	if err != nil {
		ts.t.Fatal(err)
	}
	return ts.wrap(nc)
}

// wrap makes a connection to the server one of the test.
func (ts *testServer) wrap(nc net.Conn) *testConn {
	c := &testConn{Conn: nc, t: ts.t, r: bufio.NewReader(nc)}
	_ = nc.SetDeadline(time.Now().Add(patience))
	ts.conns = append(ts.conns, c)
	return c
}

// testConn is the client's side of a connection.
type testConn struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

// send writes text.
func (c *testConn) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("cannot send: %v", err)
	}
}

// get sends a GET request for the target.
func (c *testConn) get(target string) {
	c.t.Helper()
	c.send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
}

// closeWrite ends the client's side of the connection.
func (c *testConn) closeWrite() {
	c.t.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// testResponse is a response as a client sees it.
type testResponse struct {
	*http.Response
	body string
}

// next reads the response to a request with the method.
func (c *testConn) next(method string) testResponse {
	c.t.Helper()
	resp, err := readResponse(c.r, method)
	if err != nil {
		c.t.Fatalf("cannot read the response: %v, after %q", err, resp.body)
	}
	return resp
}

// readResponse reads a response with its body; also with an error the part of
// the body that came is there.
func readResponse(r *bufio.Reader, method string) (testResponse, error) {
	if _, err := r.Peek(1); err != nil {
		return testResponse{}, err
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return testResponse{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return testResponse{resp, string(body)}, err
}

// expect reads the response to a GET and checks it.
func (c *testConn) expect(status int, body string) testResponse {
	c.t.Helper()
	resp := c.next("GET")
	if resp.StatusCode != status || resp.body != body {
		c.t.Fatalf("got %d %q, want %d %q", resp.StatusCode, resp.body, status, body)
	}
	return resp
}

// expectFinal checks the body of the next response that is not informational.
func (c *testConn) expectFinal(body string) {
	c.t.Helper()
	for {
		resp := c.next("GET")
		if resp.StatusCode/100 == 1 {
			continue
		}
		if resp.body != body {
			c.t.Fatalf("got %d %q, want %q", resp.StatusCode, resp.body, body)
		}
		return
	}
}

// expectEnd checks that the server has closed the connection in order.
func (c *testConn) expectEnd() {
	c.t.Helper()
	if b, err := io.ReadAll(c.r); len(b) > 0 || err != nil {
		c.t.Fatalf("got %q, %v, want the end of the connection", b, err)
	}
}

// expectCut checks that the connection has ended, in order or not.
func (c *testConn) expectCut() {
	c.t.Helper()
	if b, err := io.ReadAll(c.r); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %q, %v, want the end of the connection", b, err)
	}
}

// testLog is a Logger that keeps the lines.
type testLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLog) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *testLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// waitFor waits for a line that holds all the parts, and returns it.
func (l *testLog) waitFor(t testing.TB, parts ...string) (line string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a log line with %q", parts), func() bool {
		for _, line = range l.all() {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return true
			}
		}
		return false
	})
	return line
}

// checkEmpty checks that nothing was logged.
func (l *testLog) checkEmpty(t testing.TB) {
	t.Helper()
	if lines := l.all(); len(lines) > 0 {
		t.Errorf("logged: %q", lines)
	}
}

// echo answers with what it got of the request.
func echo(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %q", ctx.Method(), ctx.RequestURI(), ctx.Request.Body())
}

// echoed is the body with which echo answers.
func echoed(method, target, body string) string { return fmt.Sprintf("%s %s %q", method, target, body) }

// fakeConn is a connection whose peer has sent everything beforehand: each Read
// returns the next piece. It needs no goroutine, so how the bytes are split is
// exact, and runs are fast.
type fakeConn struct {
	pieces [][]byte
	out    bytes.Buffer
	// starved is called when all pieces were read; it may add to them. The
	// connection ends where it does not.
	starved func(c *fakeConn)
	closed  int
	onWrite func(p []byte)
}

func (c *fakeConn) Read(p []byte) (int, error) {
	if c.closed > 0 {
		return 0, net.ErrClosed
	}
	if len(c.pieces) == 0 && c.starved != nil {
		c.starved(c)
	}
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

func (c *fakeConn) Write(p []byte) (int, error) {
	if c.closed > 0 {
		return 0, net.ErrClosed
	}
	if c.onWrite != nil {
		c.onWrite(p)
	}
	return c.out.Write(p)
}

func (c *fakeConn) Close() error {
	if c.closed++; c.closed > 1 {
		return net.ErrClosed
	}
	return nil
}

func (c *fakeConn) LocalAddr() net.Addr              { return zeroTCPAddr }
func (c *fakeConn) RemoteAddr() net.Addr             { return zeroTCPAddr }
func (c *fakeConn) SetDeadline(time.Time) error      { return nil }
func (c *fakeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *fakeConn) SetWriteDeadline(time.Time) error { return nil }
