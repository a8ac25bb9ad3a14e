package integrationtests

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// stressCalls is the number of concurrent calls: 10,000 with FASTHTTP_SOAK set.
func stressCalls() int {
	switch {
	case isSoak():
		return 10_000
	case testing.Short(), servertest.RaceDetector:
		return 300
	}
	return 500
}

// h2Stress makes many concurrent calls over few connections, to servers that behave in many
// ways.
type h2Stress struct {
	t      *testing.T
	hc     *fasthttp.HostClient
	dials  atomic.Int32
	closes atomic.Int32 // requests after which the server closed their connection gracefully
	good   atomic.Int64
	ends   sync.Map // number of calls by their result: the text of an error, or the status

	mu    sync.Mutex
	seen  map[string]int    // how often a handler received each request
	open  map[net.Conn]bool // the connections of the client, and their ends at the server
	relay sync.WaitGroup
}

func newH2Stress(t *testing.T, addr string) *h2Stress {
	s := &h2Stress{t: t, seen: make(map[string]int), open: make(map[net.Conn]bool)}
	s.hc = &fasthttp.HostClient{
		Addr: addr, MaxConns: 4, IsTLS: true, TLSConfig: servertest.TrustCertificate(), MaxIdleConnDuration: servertest.Never,
		MaxResponseBodySize: 1 << 20, Dial: s.dial,
		// so small that a lost window update stops everything
		HTTP2: fasthttp.HTTP2Config{MaxReceiveBufferPerConnection: 300_000, MaxReceiveBufferPerStream: 70_000},
	}
	s.hc.Protocols.SetHTTP2(true)
	return s
}

func (s *h2Stress) dial(addr string) (net.Conn, error) {
	s.dials.Add(1)
	return net.Dial("tcp4", addr)
}

// dialRelay connects through a relay, whose connections are cut at random.
func (s *h2Stress) dialRelay(addr string) (net.Conn, error) {
	s.dials.Add(1)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = ln.Close() }()
	nc, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		return nil, err
	}
	near, err := ln.Accept()
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	far, err := net.Dial("tcp4", addr)
	if err != nil {
		return nil, errors.Join(err, nc.Close(), near.Close())
	}
	s.mu.Lock()
	s.open[near] = true
	s.mu.Unlock()
	pass := func(to, from net.Conn) {
		// without the pipes that the kernel could use, which stay open for a while
		_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
		servertest.Reset(near)
		_ = far.Close()
		s.mu.Lock()
		delete(s.open, near)
		s.mu.Unlock()
	}
	s.relay.Go(func() { pass(near, far) })
	s.relay.Go(func() { pass(far, near) })
	return nc, nil
}

// cut ends a connection at random.
func (s *h2Stress) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc := range s.open {
		delete(s.open, nc)
		servertest.Reset(nc)
		return
	}
}

// reach records that a request has reached a handler, and returns when the handler may
// continue.
func (s *h2Stress) reach(method, path, id string) {
	s.mu.Lock()
	s.seen[method+" "+id]++
	s.mu.Unlock()
	if path == "/slow" {
		pause(rand.N(20 * time.Millisecond))
	}
}

// stressSize returns the size of the content in either direction.
func stressSize() int {
	if rand.N(10) == 0 {
		return rand.N(400_000)
	}
	return rand.N(2000)
}

var stressPaths = []string{"/echo", "/echo", "/echo", "/echo", "/early", "/slow", "/large", "/hang", "/fail", "/trailers"}

// call makes a call, and checks that it ends in time, with its own response or an error.
func (s *h2Stress) call(number int) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	id, size := strconv.Itoa(number), stressSize()
	path := stressPaths[rand.N(len(stressPaths))]
	if rand.N(100) == 0 {
		path = "/close" // refuses all other requests that are on their way
		s.closes.Add(1)
	}
	req.SetRequestURI("https://" + s.hc.Addr + path + "?n=" + strconv.Itoa(stressSize()))
	req.Header.Set("X-Id", id)
	method := []string{"GET", "POST", "POST", "PUT"}[rand.N(4)]
	req.Header.SetMethod(method)
	text := ""
	if method != "GET" {
		text = numbered(size)
		if rand.N(2) == 0 {
			req.SetBodyStream(strings.NewReader(text), -1)
		} else {
			req.SetBodyString(text)
		}
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	limit := servertest.Patience
	switch {
	case path == "/hang", rand.N(8) == 0:
		limit = rand.N(300 * time.Millisecond)
	case rand.N(8) == 0:
		time.AfterFunc(rand.N(300*time.Millisecond), cancel)
	}
	req.SetTimeout(limit)
	resp.StreamBody = rand.N(3) == 0
	watchdog := time.AfterFunc(limit+servertest.Patience, func() { panic(fmt.Sprintf("%s %s hangs, which had %v", method, path, limit)) })
	defer watchdog.Stop()
	err := s.hc.DoContext(ctx, req, resp)
	var content []byte
	if err == nil {
		content, err = s.read(resp)
	}
	s.note(resp, err)
	if err != nil || resp.StatusCode() != 200 {
		return
	}
	s.good.Add(1)
	want := id + text
	if path == "/large" {
		want = numbered(len(content))
	} else if path == "/early" {
		want = id
	}
	if string(content) != want {
		s.t.Errorf("%s %s %s got %d bytes %.50q, want %d", method, path, id, len(content), content, len(want))
	}
}

var errStressLeft = errors.New("left the stream")

// read reads the content, sometimes slowly, or not to its end.
func (s *h2Stress) read(resp *fasthttp.Response) ([]byte, error) {
	if !resp.IsBodyStream() {
		return resp.Body(), nil
	}
	defer func() { _ = resp.CloseBodyStream() }()
	switch rand.N(4) {
	case 0:
		_, _ = resp.BodyStream().Read(make([]byte, 100))
		return nil, errStressLeft
	case 1:
		yield(10_000)
	}
	return io.ReadAll(resp.BodyStream())
}

func (s *h2Stress) note(resp *fasthttp.Response, err error) {
	text := fmt.Sprint(resp.StatusCode())
	if err != nil {
		text = err.Error()
		if _, op := errors.AsType[*net.OpError](err); op {
			text = "an error of the network"
		}
	}
	n, _ := s.ends.LoadOrStore(text, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// run makes all calls at once, and then checks that nothing is left and that the windows add
// up.
func (s *h2Stress) run(cuts bool) {
	stop := make(chan struct{})
	var cutting, all sync.WaitGroup
	if cuts {
		s.hc.Dial = s.dialRelay
		cutting.Go(func() {
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-stop:
					return
				case <-ticker.C:
					s.cut()
				}
			}
		})
	}
	for i := range stressCalls() {
		all.Go(func() { s.call(i) })
	}
	all.Wait()
	close(stop)
	cutting.Wait()
	s.ends.Range(func(text, n any) bool {
		s.t.Logf("%6d %s", n.(*atomic.Int64).Load(), text)
		return true
	})
	s.t.Logf("%d connections", s.dials.Load())
	s.mu.Lock()
	for request, n := range s.seen {
		if n > 1 && strings.HasPrefix(request, "POST ") {
			s.t.Errorf("%s has reached a handler %d times", request, n)
		}
	}
	s.mu.Unlock()
	if s.good.Load() == 0 {
		s.t.Error("no call succeeded")
	}
	servertest.Eventually(s.t, "the end of all calls", func() bool { return s.hc.PendingRequests() == 0 })
	s.checkWindows(cuts)
	s.hc.CloseIdleConnections()
	servertest.Eventually(s.t, "the end of all connections", func() bool { return s.hc.ConnsCount() == 0 })
	s.relay.Wait()
}

// checkWindows makes large calls in each direction, over the existing connections. After cuts
// some of these may be dead without the client knowing: then the calls may be sent again.
// Without cuts a round of calls needs a new connection only if a request for /close has closed
// all others since the round before.
func (s *h2Stress) checkWindows(cuts bool) {
	s.t.Helper()
	method := "POST"
	if cuts {
		method = "PUT"
	}
	for closes := s.closes.Load(); ; closes-- {
		before, conns := s.dials.Load(), s.hc.ConnsCount()
		s.largeCalls(method)
		got := s.dials.Load() - before
		if got == 0 || conns == 0 || cuts || s.t.Failed() {
			return
		}
		if closes == 0 {
			s.t.Errorf("%d new connections for the last calls, beside %d", got, conns)
			return
		}
	}
}

// largeCalls makes calls whose content is larger than all windows, at once.
func (s *h2Stress) largeCalls(method string) {
	s.t.Helper()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.Header.SetMethod(method)
			id, text := fmt.Sprint("window ", i), numbered(900_000)
			req.Header.Set("X-Id", id)
			req.SetRequestURI("https://" + s.hc.Addr + "/echo")
			req.SetBodyString(text)
			err := s.hc.DoTimeout(req, resp, servertest.Patience)
			if err != nil || string(resp.Body()) != id+text {
				s.t.Errorf("a large call after all others: %d bytes, %v", len(resp.Body()), err)
			}
		})
	}
	all.Wait()
}

// handleOurs serves the paths of a stress.
func (s *h2Stress) handleOurs(ctx *fasthttp.RequestCtx) {
	id := string(ctx.Request.Header.Peek("X-Id"))
	path := string(ctx.Path())
	s.reach(string(ctx.Method()), path, id)
	switch path {
	case "/early":
		ctx.SetBodyString(id) // the content is left unread
	case "/large":
		ctx.SetBodyStream(strings.NewReader(numbered(ctx.QueryArgs().GetUintOrZero("n"))), -1)
	case "/hang":
		ctx.WatchDisconnect()
		<-ctx.Done()
	case "/fail":
		panic("a handler that fails")
	case "/close":
		ctx.SetConnectionClose()
		ctx.SetBodyString(id + string(ctx.PostBody()))
	case "/trailers":
		ctx.SetBodyString(id + string(ctx.PostBody()))
		_ = ctx.Response.Header.AddTrailerField("X-End", "yes")
	default:
		ctx.SetBodyString(id + string(ctx.PostBody()))
	}
}

// ServeHTTP is handleOurs for net/http.
func (s *h2Stress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Id")
	s.reach(r.Method, r.URL.Path, id)
	echo := func() {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, id+string(body))
	}
	switch r.URL.Path {
	case "/early":
		_, _ = io.WriteString(w, id)
	case "/large":
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		for rest := numbered(n); rest != ""; {
			part := rest[:min(len(rest), 5000)]
			rest = rest[len(part):]
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	case "/hang":
		<-r.Context().Done()
	case "/fail":
		panic(http.ErrAbortHandler)
	case "/close":
		w.Header().Set("Connection", "close")
		echo()
	case "/trailers":
		w.Header().Set("Trailer", "X-End")
		echo()
		w.Header().Set("X-End", "yes")
	default:
		echo()
	}
}

// TestHTTP2ClientUnderStress has 10,000 calls at once, with FASTHTTP_SOAK set, over at most 4
// connections, which are cut, canceled, drained and reset at random.
func TestHTTP2ClientUnderStress(t *testing.T) { servertest.Apart(t, testHTTP2ClientUnderStress) }

func testHTTP2ClientUnderStress(t *testing.T) {
	warmUpStress(t)
	for _, cuts := range []bool{false, true} {
		t.Run(fmt.Sprint("ours, cuts ", cuts), func(t *testing.T) {
			checkLeaks(t, func() {
				var s *h2Stress
				ts := serveHTTP2(t, servertest.TLSEngines[1], &fasthttp.Server{
					Handler: func(ctx *fasthttp.RequestCtx) { s.handleOurs(ctx) }, Logger: servertest.LoggerFunc(func(string, ...any) {}),
				})
				s = newH2Stress(t, ts.Listener.Addr().String())
				s.run(cuts)
				ts.Stop()
			})
		})
		t.Run(fmt.Sprint("net/http, cuts ", cuts), func(t *testing.T) {
			checkLeaks(t, func() {
				cert, key := servertest.Certificate()
				pair, err := tls.X509KeyPair(cert, key)
				servertest.Must(t, err)
				ln, err := net.Listen("tcp4", "127.0.0.1:0")
				servertest.Must(t, err)
				s := newH2Stress(t, ln.Addr().String())
				server := &http.Server{
					Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0),
				}
				served := make(chan struct{})
				go func() { _ = server.ServeTLS(ln, "", ""); close(served) }()
				s.run(cuts)
				_ = server.Close()
				<-served
			})
		})
	}
}

// warmUpStress makes the process open its permanent resources, such as event loops.
func warmUpStress(t *testing.T) {
	ts := serveHTTP2(t, servertest.TLSEngines[1], &fasthttp.Server{Handler: tellProtocol})
	s := newH2Stress(t, ts.Listener.Addr().String())
	if status, _, err := s.hc.Get(nil, "https://"+s.hc.Addr); status != 200 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
	s.hc.CloseIdleConnections()
	ts.Stop()
}

// checkLeaks checks that f leaves no goroutine and no descriptor.
func checkLeaks(t *testing.T, f func()) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), servertest.OpenFiles(t)
	f()
	left := func() bool { return runtime.NumGoroutine() > goroutines || servertest.OpenFiles(t) > files }
	defer func() {
		if t.Failed() && left() {
			t.Logf("%d goroutines and %d descriptors are left, there were %d and %d:\n%s",
				runtime.NumGoroutine(), servertest.OpenFiles(t), goroutines, files, servertest.Stacks())
		}
	}()
	servertest.Eventually(t, "the end of all goroutines and descriptors", func() bool { return !left() })
}
