package fasthttp

import (
	"errors"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// callerWrites makes clients of a peer; their connections record which goroutine writes.
type callerWrites struct {
	gate     atomic.Pointer[servertest.Gate] // each write waits at it, if there is one
	fails    atomic.Bool                     // the next write fails in the middle
	byCaller atomic.Bool                     // the caller of the last request has written it
	writes   atomic.Int64
	exits    atomic.Pointer[func()] // called instead of the next write
	overdue  atomic.Bool            // the next write ends at its deadline
	deadline atomic.Pointer[time.Time]
}

func (w *callerWrites) client(p pipelinePeer) *PipelineClient {
	c := p.client()
	c.Dial = func(string) (net.Conn, error) {
		nc, err := p.Dial()
		return callerWritesConn{nc, w}, err
	}
	return c
}

type callerWritesConn struct {
	net.Conn
	w *callerWrites
}

var errBrokenWrite = errors.New("the write is broken")

func (c callerWritesConn) Write(p []byte) (int, error) {
	c.w.writes.Add(1)
	var stack [8 << 10]byte
	c.w.byCaller.Store(strings.Contains(string(stack[:runtime.Stack(stack[:], false)]), "(*PipelineClient).do("))
	if g := c.w.gate.Load(); g != nil {
		g.Pass("write")
	}
	if c.w.overdue.CompareAndSwap(true, false) {
		// the other end is not read
		near, far := net.Pipe()
		defer far.Close()
		_ = near.SetWriteDeadline(*c.w.deadline.Load())
		return near.Write(p)
	}
	if exit := c.w.exits.Swap(nil); exit != nil {
		(*exit)()
	}
	if c.w.fails.CompareAndSwap(true, false) {
		n, _ := c.Conn.Write(p[:len(p)/2])
		return n, errBrokenWrite
	}
	return c.Conn.Write(p)
}

func (c callerWritesConn) SetWriteDeadline(t time.Time) error {
	c.w.deadline.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

// patientCall is a call without a limit.
func patientCall(c *PipelineClient, method, path string) (string, error) {
	var req Request
	var resp Response
	req.Header.SetMethod(method)
	req.SetRequestURI("http://host.test" + path)
	if method == MethodPost {
		req.SetBodyString("content")
	}
	err := c.Do(&req, &resp)
	return string(resp.Body()), err
}

func expectPatient(t *testing.T, c *PipelineClient, method, path string) {
	t.Helper()
	checkPipelined(t, patientCall, c, method, path)
}

// settle makes calls until a caller has written its request itself. The next lone caller does
// so, too.
func (w *callerWrites) settle(t *testing.T, c *PipelineClient) {
	t.Helper()
	servertest.Eventually(t, "a caller writes its request", func() bool {
		expectPatient(t, c, MethodGet, "/settle")
		return w.byCaller.Load()
	})
}

// settledCaller returns a client of an echo in memory, whose callers write their requests.
func settledCaller(t *testing.T, set func(c *PipelineClient)) (pipelinePeer, *PipelineClient, *callerWrites) {
	t.Helper()
	peer, w := pipelinePeerInMemory(t, (*servertest.PeerConn).Echo), new(callerWrites)
	c := w.client(peer)
	set(c)
	w.settle(t, c)
	return peer, c, w
}

func TestPipelineCallersWriteLoneRequests(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	var w callerWrites
	c := w.client(peer)
	w.settle(t, c)
	for range 3 {
		if expectPatient(t, c, MethodGet, "/"); !w.byCaller.Load() {
			t.Error("the writer was woken for a lone request")
		}
	}
	var req Request
	req.SetRequestURI("http://host.test/")
	if err := c.DoTimeout(&req, nil, servertest.Patience); err != nil || w.byCaller.Load() {
		t.Errorf("with a limit, by its caller: %v, error %v", w.byCaller.Load(), err)
	}
	c = w.client(peer)
	c.MaxBatchDelay = time.Microsecond
	for range 100 {
		if expectPatient(t, c, MethodGet, "/"); w.byCaller.Load() {
			t.Fatal("a request did not wait for others")
		}
	}
}

func TestPipelineWritesOfCallersFail(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	var w callerWrites
	c := w.client(peer)
	for _, method := range []string{MethodGet, MethodPost} {
		w.settle(t, c)
		w.fails.Store(true)
		if method == MethodGet {
			expectPatient(t, c, method, "/")
		} else if _, err := patientCall(c, method, "/"); !errors.Is(err, ErrConnectionClosed) {
			t.Errorf("a request that may have been received ended with %v", err)
		}
		if w.fails.Load() {
			t.Error("nothing was written")
		}
	}
	peer.expectNoPipelineLeft(c)
}

// The server closes the connection while a caller is about to write.
func TestPipelineEndsUnderACallerThatWrites(t *testing.T) {
	t.Parallel()
	leave, left := make(chan struct{}), make(chan struct{})
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		if c.Number == 1 {
			go func() {
				c.Await(leave)
				servertest.Reset(c.Conn)
				close(left)
			}()
		}
		c.Echo()
	})
	var w callerWrites
	c := w.client(peer)
	w.settle(t, c)
	g := servertest.NewGate()
	w.gate.Store(g)
	result := make(chan error, 1)
	go func() {
		_, err := patientCall(c, MethodGet, "/")
		result <- err
	}()
	servertest.Receive(t, "the write", g.Entered)
	close(leave)
	servertest.Receive(t, "the end of the connection", left)
	w.gate.Store(nil)
	close(g.Open)
	if err := servertest.Receive(t, "the result", result); err != nil {
		t.Error(err)
	}
	peer.HasAccepted(2)
}

// Many callers share one processor, so that each of them runs until it waits. A busy machine may
// stop the process, and change the order in which its goroutines run, but not all the time.
func TestPipelineBatchesOfManyCallers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	peer := pipelinePeerInMemory(t, (*servertest.PeerConn).Echo)
	var w callerWrites
	c := w.client(peer)
	w.settle(t, c)
	const callers, each = 50, 40
	servertest.Eventually(t, "writes of many requests each", func() bool {
		w.writes.Store(0)
		var calls sync.WaitGroup
		for range callers {
			calls.Go(func() {
				for range each {
					expectPatient(t, c, MethodGet, "/")
				}
			})
		}
		calls.Wait()
		n := w.writes.Load()
		t.Logf("%d writes for %d requests", n, callers*each)
		return n <= callers*each/10
	})
}

// The server answers before it has read the content, and reads no more.
func TestPipelineEarlyResponseOfALoneCall(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for {
			if first, _ := c.R.Peek(1); string(first) != "G" {
				break
			}
			c.OK(c.Asked())
		}
		c.OK("early")
		c.Await(release)
	})
	defer close(release)
	var w callerWrites
	c := w.client(peer)
	w.settle(t, c)
	var req Request
	var resp Response
	req.Header.SetMethod(MethodPost)
	req.SetRequestURI("http://host.test/")
	req.SetBodyRaw(make([]byte, 32<<20))
	if err := c.Do(&req, &resp); err != nil || string(resp.Body()) != "early" || w.byCaller.Load() {
		t.Errorf("got %q, %v; written by its caller: %v", resp.Body(), err, w.byCaller.Load())
	}
}

// A panic in the application's connection ends that connection, not the client.
func TestPipelineSurvivesAPanicOfAConnection(t *testing.T) {
	t.Parallel()
	posts := make(chan string, 10)
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for request := c.Asked(); request != ""; request = c.Asked() {
			posts <- request
			c.OK(request)
		}
	})
	var clients []*PipelineClient
	for _, exit := range []func(){func() { panic("the connection panics") }, runtime.Goexit} {
		var w callerWrites
		c := w.client(peer)
		drain := func(want string) {
			t.Helper()
			if got := servertest.Receive(t, "a request", posts); got != want {
				t.Errorf("the server got %q, want %q", got, want)
			}
		}
		servertest.Eventually(t, "a caller writes its request", func() bool {
			expectPatient(t, c, MethodGet, "/settle")
			drain("GET /settle")
			return w.byCaller.Load()
		})
		w.exits.Store(&exit)
		ended := make(chan any, 1)
		go func() {
			defer func() {
				p := recover()
				ended <- p
			}()
			_, _ = patientCall(c, MethodPost, "/lost")
		}()
		servertest.Receive(t, "the end of the call", ended)
		for i := range 2 {
			expectInTime(t, c, MethodGet, "/"+strconv.Itoa(i))
			drain("GET /" + strconv.Itoa(i))
		}
		clients = append(clients, c)
	}
	peer.Stop()
	for _, c := range clients {
		expectNoPipelineLeft(t, c)
	}
}
