package fasthttp

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/pipeline"
	"github.com/valyala/fasthttp/internal/servertest"
)

// pipelinePeer is the server of a pipeline.
type pipelinePeer struct{ *servertest.Peer }

// startPipelinePeer starts a server, which lingers after serve.
func startPipelinePeer(t *testing.T, serve func(c *servertest.PeerConn)) pipelinePeer {
	t.Helper()
	return pipelinePeer{servertest.NewPeer(t, lingering(serve))}
}

// pipelinePeerInMemory is startPipelinePeer for a bubble of testing/synctest.
func pipelinePeerInMemory(t *testing.T, serve func(c *servertest.PeerConn)) pipelinePeer {
	t.Helper()
	return pipelinePeer{servertest.NewMemoryPeer(t, lingering(serve))}
}

func lingering(serve func(c *servertest.PeerConn)) func(c *servertest.PeerConn) {
	return func(c *servertest.PeerConn) {
		serve(c)
		c.Linger()
	}
}

// client returns a client of the peer, which closes no idle connection.
func (p pipelinePeer) client() *PipelineClient {
	return &PipelineClient{Addr: p.Addr(), MaxIdleConnDuration: servertest.Never, Dial: p.dial}
}

func (p pipelinePeer) dial(string) (net.Conn, error) { return p.Dial() }

// held is a dial function that waits until the channel is closed, so that all
// earlier calls wait together.
func (p pipelinePeer) held(proceed chan struct{}) DialFunc {
	return func(string) (net.Conn, error) {
		<-proceed
		return p.Dial()
	}
}

// expectNoPipelineLeft ends the server, and waits until the client has neither goroutines nor
// calls.
func (p pipelinePeer) expectNoPipelineLeft(c *PipelineClient) {
	p.T.Helper()
	p.Stop()
	expectNoPipelineLeft(p.T, c)
}

// expectNoPipelineLeft waits until the client has neither goroutines nor calls.
func expectNoPipelineLeft(t testing.TB, c *PipelineClient) {
	t.Helper()
	servertest.Eventually(t, "the end of a pipeline", func() bool { return c.pool.Status().Writers == 0 })
	if s := c.pool.Status(); s != (pipeline.Status{Failures: s.Failures}) || c.PendingRequests() != 0 {
		t.Errorf("a pipeline ended with %+v, %d pending", s, c.PendingRequests())
	}
}

// pipelineGet sends a request and returns the content of the response.
func pipelineGet(c *PipelineClient, method, path string) (string, error) {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.Header.SetMethod(method)
	req.SetRequestURI("http://host.test" + path)
	if method == MethodPost {
		req.SetBodyString("content")
	}
	// thousands of calls may be in a row, and connections of a peer end sooner
	err := c.DoTimeout(req, resp, servertest.Never)
	return string(resp.Body()), err
}

// pipelinedCalls counts the calls of expectPipelined.
var pipelinedCalls atomic.Int64

// expectPipelined checks the response to a request. Every other one has no deadline, and may be
// written by its caller.
func expectPipelined(t *testing.T, c *PipelineClient, method, path string) {
	t.Helper()
	if pipelinedCalls.Add(1)%2 == 0 {
		expectPatient(t, c, method, path)
	} else {
		expectInTime(t, c, method, path)
	}
}

// expectInTime checks the response to a request that has a deadline.
func expectInTime(t *testing.T, c *PipelineClient, method, path string) {
	t.Helper()
	checkPipelined(t, pipelineGet, c, method, path)
}

func checkPipelined(t *testing.T, call func(c *PipelineClient, method, path string) (string, error), c *PipelineClient, method, path string) {
	t.Helper()
	body, err := call(c, method, path)
	if want := method + " " + path; err != nil || body != want {
		t.Errorf("%s %s: %q, %v", method, path, body, err)
	}
}

// taken returns how many calls have their place on a connection: PendingRequests counts a call
// before.
func (c *PipelineClient) taken() int {
	if c.PendingRequests() == 0 {
		return 0
	}
	s := c.pool.Status()
	return s.Queued + s.Sent
}

// pipelineTogether sends requests for /0, /1 and so on, in that order in the queue,
// and returns their results.
func pipelineTogether(t *testing.T, c *PipelineClient, method string, n int) (bodies []string, errs []error) {
	t.Helper()
	bodies, errs = make([]string, n), make([]error, n)
	var calls sync.WaitGroup
	var ended atomic.Int64
	for i := range n {
		calls.Go(func() {
			defer ended.Add(1)
			bodies[i], errs[i] = pipelineGet(c, method, "/"+strconv.Itoa(i))
		})
		// reads ended first, so that no call counts twice
		servertest.Eventually(t, "the call", func() bool { return int(ended.Load())+c.taken() > i })
	}
	calls.Wait()
	return bodies, errs
}
