package integrationtests

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	// soakSeedVariable repeats the random choices of a run. The interleaving of the
	// clients may differ.
	soakSeedVariable = "FASTHTTP_SOAK_SEED"

	soakClients = 32
	// soakPatience is the time that a client waits for a single byte. Only a
	// connection that hangs takes longer.
	soakPatience = time.Minute
	// soakTimeout is longer than any wait on a busy machine.
	soakTimeout = time.Hour
	// soakGrowth is the number of bytes by which the heap may have grown in the end.
	// A leak in each connection exceeds it within a second.
	soakGrowth = 4 << 20
	// soakLateness is the largest lateness of a server's timeout, as a multiple of the latest
	// plain timeout. Below soakLeast the machine is so quiet that the comparison means
	// nothing.
	soakLateness = 10
	soakLeast    = 20 * time.Millisecond
	// soakRound is the length of a round of the repeatedly restarted server, if the run is
	// long enough.
	soakRound = 2 * time.Second
)

// TestSoak runs clients of all kinds against handlers of all kinds. It checks every
// byte of the responses. In the end no connection, goroutine or memory may be left.
func TestSoak(t *testing.T) { servertest.Apart(t, testSoak) }

func testSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(servertest.SoakVariable))
	if err != nil {
		length = servertest.SoakTime()
	}
	seed, err := strconv.ParseUint(os.Getenv(soakSeedVariable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Logf("%s=%d", soakSeedVariable, seed)
			// a first round creates permanent resources
			newSoak(t, seed+1).run(e, servertest.SoakTime()/4)
			s := newSoak(t, seed)
			before := servertest.Measure(t)
			s.run(e, length)
			t.Log(s.summary())
			before.ExpectBack(t, soakGrowth)
		})
	}
}

// soak is a run of TestSoak.
type soak struct {
	t    *testing.T
	seed uint64
	// block is random bytes; every content is a part of it
	block    []byte
	conns    atomic.Uint64
	ids      atomic.Uint64
	stopping atomic.Bool
	stopped  chan struct{} // stop closes it
	stop     func()
	failures atomic.Int32

	plain, timed, streaming, hasty *testServer
	// Maxima in nanoseconds: latest is how late the end of an idle connection was, and
	// plainest how late a plain timeout was that began at the same time (plainTimeout).
	latest, plainest atomic.Int64

	rounds atomic.Int64 // of the repeatedly restarted server
	counts []soakCounts
}

// soakCounts are the counts of the clients of one kind.
type soakCounts struct {
	conns   atomic.Int64
	answers atomic.Int64
	bytes   atomic.Int64
	cut     atomic.Int64 // connections that ended early, as they should
}

const (
	soakMaxBody = 1 << 20
	soakBlock   = 2 << 20
)

func newSoak(t *testing.T, seed uint64) *soak {
	s := &soak{t: t, seed: seed, block: make([]byte, soakBlock), counts: make([]soakCounts, len(soakKinds)), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() {
		s.stopping.Store(true)
		close(s.stopped)
	})
	r := rand.New(rand.NewPCG(seed, 0))
	for rest := s.block; len(rest) > 0; rest = rest[8:] {
		binary.LittleEndian.PutUint64(rest, r.Uint64())
	}
	return s
}

// content returns n bytes that differ for each id.
func (s *soak) content(id uint64, n int) []byte {
	from := int(id * 0x9e3779b97f4a7c15 % (soakBlock - soakMaxBody))
	return s.block[from : from+n]
}

// run runs clients for a while, and then shuts the servers down.
func (s *soak) run(e servertest.Engine, length time.Duration) {
	s.plain = s.start(e, &fasthttp.Server{})
	s.timed = s.start(e, &fasthttp.Server{ReadTimeout: soakTimeout, WriteTimeout: soakTimeout, IdleTimeout: soakTimeout})
	s.streaming = s.start(e, &fasthttp.Server{StreamRequestBody: true, ReadTimeout: soakTimeout})
	s.hasty = s.start(e, &fasthttp.Server{ReadTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	var wg sync.WaitGroup
	wg.Go(func() { s.comeAndGo(e, min(soakRound, length/2)) })
	wg.Go(s.measureTimeouts)
	for range soakClients {
		wg.Go(func() {
			for !s.stopping.Load() {
				s.connect()
			}
		})
	}
	defer time.AfterFunc(length, s.stop).Stop()
	wg.Wait()
	// a short run has too few of them to compare
	if latest, plainest := time.Duration(s.latest.Load()), time.Duration(s.plainest.Load()); length > servertest.SoakTime() && latest > soakLateness*max(plainest, soakLeast) {
		s.t.Errorf("a timeout came %v late, and plain ones at most %v", latest, plainest)
	}
	for _, ts := range []*testServer{s.plain, s.timed, s.streaming, s.hasty} {
		ts.Stop()
		if err := servertest.Receive(s.t, "return of Serve", ts.Served); err != nil {
			s.t.Errorf("Serve: %v", err)
		}
		s.checkLog(ts)
	}
}

func (s *soak) start(e servertest.Engine, server *fasthttp.Server) *testServer {
	server.Handler = s.handle
	server.Logger = &soakLog{}
	return startServer(s.t, e, server)
}

// soakLog keeps only unexpected lines.
type soakLog struct {
	servertest.Log
}

const (
	// soakPanic is the value with which handlers panic.
	soakPanic = "a handler of the soak panics"
	// soakRefusal is the start of the log lines for malformed requests.
	soakRefusal = "fasthttp: cannot read the request from "
)

func (l *soakLog) Printf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !strings.Contains(line, soakPanic) && !strings.HasPrefix(line, soakRefusal) {
		l.Log.Printf("%s", line)
	}
}

func (s *soak) checkLog(ts *testServer) {
	lines := ts.S.Logger.(*soakLog).All()
	for _, line := range lines[:min(len(lines), 5)] {
		s.t.Errorf("one of %d lines in the log: %.3000s", len(lines), line)
	}
}

// connect opens one connection of a random kind, and uses it.
func (s *soak) connect() {
	number := s.conns.Add(1)
	r := rand.New(rand.NewPCG(s.seed, number))
	i := r.IntN(len(soakKinds))
	kind := soakKinds[i]
	ts := []*testServer{s.plain, s.timed, s.streaming}[r.IntN(3)]
	if kind.hasty {
		ts = s.hasty
	}
	nc, err := ts.Dialer()
	if err != nil {
		// the TLS handshake has the short timeout, too
		if !kind.hasty {
			s.fail(kind.name, number, err)
		}
		return
	}
	c := &soakConn{s: s, r: r, counts: &s.counts[i], streaming: ts == s.streaming}
	c.nc = &soakNet{nc, soakPatience}
	c.in = bufio.NewReader(c.nc)
	c.counts.conns.Add(1)
	if err := kind.use(c); err != nil {
		s.fail(kind.name, number, err)
	}
	if r.IntN(2) == 0 {
		_ = c.tcp().SetLinger(0)
	}
	_ = nc.Close()
}

// fail reports a failure of a client. Many failures may have one cause, so a run
// ends after some.
func (s *soak) fail(kind string, number uint64, err error) {
	s.t.Errorf("connection %d, %s: %.500s", number, kind, err.Error())
	if s.failures.Add(1) >= 10 {
		s.stop()
	}
}

// pass waits for a while, or until the run ends.
func (s *soak) pass(length time.Duration) {
	select {
	case <-s.stopped:
	case <-time.After(length): // real time: the length of the run
	}
}

func (s *soak) summary() string {
	var b strings.Builder
	var conns, answers int64
	for i, kind := range soakKinds {
		n := &s.counts[i]
		fmt.Fprintf(&b, "\n%-14s %8d connections %9d answers %8d MiB %8d cut",
			kind.name, n.conns.Load(), n.answers.Load(), n.bytes.Load()>>20, n.cut.Load())
		conns += n.conns.Load()
		answers += n.answers.Load()
	}
	fmt.Fprintf(&b, "\n%-14s %8d connections %9d answers", "all", conns, answers)
	fmt.Fprintf(&b, "\n%d rounds of a second server, timeouts at most %v late, plain ones %v",
		s.rounds.Load(), time.Duration(s.latest.Load()), time.Duration(s.plainest.Load()))
	return b.String()
}

// handle is the handler of all servers. The path selects the action, the query selects the
// content.
func (s *soak) handle(ctx *fasthttp.RequestCtx) {
	id, err := strconv.ParseUint(string(ctx.QueryArgs().Peek("id")), 10, 64)
	if err != nil {
		// a request must not be served if its target was cut off
		s.t.Errorf("a request for %q", ctx.RequestURI())
		return
	}
	n := ctx.QueryArgs().GetUintOrZero("n")
	ctx.Response.Header.Set("X-Id", strconv.FormatUint(id, 10))
	ctx.Response.Header.Set("X-Conn", strconv.FormatUint(ctx.ConnID(), 10))
	ctx.Response.Header.Set("X-Num", strconv.FormatUint(ctx.ConnRequestNum(), 10))
	ctx.SetContentType("application/octet-stream")
	content := s.content(id, n)
	switch path := string(ctx.Path()); path {
	case "/buffered":
		ctx.SetBody(content)
	case "/sleep":
		pause(time.Duration(id%100) * 100 * time.Microsecond)
		ctx.SetBody(content)
	case "/lock":
		// the thread ends with the goroutine, which may run an event loop
		runtime.LockOSThread()
		ctx.SetBody(content)
	case "/spin":
		for end := time.Now().Add(time.Duration(id%4) * time.Millisecond); time.Now().Before(end); {
		}
		ctx.SetBody(content)
	case "/sized":
		ctx.SetBodyStream(bytes.NewReader(content), n)
	case "/unsized":
		ctx.SetBodyStream(io.LimitReader(bytes.NewReader(content), int64(n)), -1)
	case "/writer":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { writePieces(w, content, id) })
	case "/close":
		ctx.SetConnectionClose()
		ctx.SetBody(content)
	case "/panic":
		ctx.SetBody(content)
		panic(soakPanic)
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/late":
		s.answerLate(ctx, id)
	case "/hijack":
		ctx.SetBody(content)
		ctx.Hijack(func(nc net.Conn) { s.echoHijacked(nc, id) })
	default:
		s.handleBody(ctx, path, content)
	}
}

// handleBody is handle for requests with a body.
func (s *soak) handleBody(ctx *fasthttp.RequestCtx, path string, content []byte) {
	stream := ctx.RequestBodyStream()
	switch {
	case path == "/ignore":
		ctx.SetBody(content[:min(len(content), 10)])
	case path == "/reflect" && stream != nil:
		ctx.SetBodyStream(stream, -1)
	case path == "/pieces" && stream != nil:
		got, err := io.ReadAll(stream)
		if err == nil && !bytes.Equal(got, content) {
			s.t.Errorf("a stream gave %d other bytes instead of %d", len(got), len(content))
		}
		// a client that has left gets no response
		ctx.SetBody(got)
	default:
		body := ctx.PostBody()
		if stream == nil && !bytes.Equal(body, content) {
			s.t.Errorf("the body of %q has %d other bytes", ctx.RequestURI(), len(body))
		}
		ctx.SetBody(body)
	}
}

// answerLate sends a response while the handler still runs.
func (s *soak) answerLate(ctx *fasthttp.RequestCtx, id uint64) {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	resp.SetStatusCode(fasthttp.StatusAccepted)
	resp.Header.Set("X-Id", strconv.FormatUint(id, 10))
	resp.SetBody(s.content(id, 100))
	ctx.TimeoutErrorWithResponse(resp)
	uri := slices.Clone(ctx.RequestURI())
	go func() {
		for range 20 {
			ctx.SetBody(uri)
			runtime.Gosched()
			if !bytes.Equal(ctx.RequestURI(), uri) {
				s.t.Errorf("the request of a handler that timed out has become %q", ctx.RequestURI())
			}
		}
	}()
}

// soakHijacked is the number of bytes that are sent over a hijacked connection.
const soakHijacked = 20_000

func (s *soak) echoHijacked(nc net.Conn, id uint64) {
	_ = nc.SetDeadline(time.Now().Add(soakPatience))
	got := make([]byte, soakHijacked)
	if _, err := io.ReadFull(nc, got); err != nil {
		return
	}
	if !bytes.Equal(got, s.content(id, soakHijacked)) {
		s.t.Error("other bytes on a hijacked connection")
	}
	_, _ = nc.Write(got)
}

// writePieces writes content in pieces, and flushes some of them.
func writePieces(w *bufio.Writer, content []byte, id uint64) {
	r := rand.New(rand.NewPCG(id, 1))
	for len(content) > 0 {
		n := min(1+r.IntN(20_000), len(content))
		if _, err := w.Write(content[:n]); err != nil {
			return
		}
		content = content[n:]
		if r.IntN(3) == 0 && w.Flush() != nil {
			return
		}
	}
}

// errCut is returned if the server has ended a connection as expected.
var errCut = errors.New("the connection was cut")
