package fasthttp

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestPipelineBatchesForMaxBatchDelay(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer := pipelinePeerInMemory(t, (*servertest.PeerConn).Echo)
		c := peer.client()
		c.MaxBatchDelay = time.Minute
		began := time.Now()
		expectCallsOf(t, c, MethodGet, "/0", 10)
		if took := time.Since(began); took != c.MaxBatchDelay {
			t.Errorf("calls that were not many were answered after %v", took)
		}
		c = peer.client()
		c.MaxBatchDelay = time.Hour
		c.WriteBufferSize = 1
		began = time.Now()
		expectPatient(t, c, MethodGet, "/1")
		if took := time.Since(began); took != 0 {
			t.Errorf("a full batch waited for %v", took)
		}
	})
}

func TestPipelineClosesIdleConnections(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		var ended time.Time
		peer := pipelinePeerInMemory(t, func(c *servertest.PeerConn) {
			c.Echo()
			ended = time.Now()
		})
		c := peer.client()
		c.MaxIdleConnDuration = time.Minute
		for i := range 3 {
			expectPipelined(t, c, MethodGet, "/"+strconv.Itoa(i))
			time.Sleep(c.MaxIdleConnDuration - 1)
			expectPipelined(t, c, MethodGet, "/still")
			idle := time.Now()
			time.Sleep(2 * c.MaxIdleConnDuration)
			synctest.Wait()
			if rest := ended.Sub(idle); rest != c.MaxIdleConnDuration {
				t.Errorf("connection %d ended after %v", i, rest)
			}
			expectNoPipelineLeft(t, c)
		}
		peer.HasAccepted(3)
	})
}

// A caller is about to write while its connection exceeds the idle time. Other calls wait
// until it has written.
func TestPipelineCallsWaitForACallerThatWrites(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer, c, w := settledCaller(t, func(c *PipelineClient) { c.MaxIdleConnDuration = time.Minute })
		g := servertest.NewGate()
		w.gate.Store(g)
		results := make(chan error, 3)
		call := func(f func(c *PipelineClient, method, path string) (string, error), path string) {
			body, err := f(c, MethodGet, path)
			if err == nil && body != "GET "+path {
				err = errors.New("got " + body)
			}
			results <- err
		}
		go call(patientCall, "/1")
		servertest.Receive(t, "the write", g.Entered)
		time.Sleep(2 * c.MaxIdleConnDuration)
		go call(patientCall, "/2")
		go call(pipelineGet, "/3")
		synctest.Wait()
		if s := c.pool.Status(); s.Sent != 1 || s.Queued != 2 {
			t.Errorf("%+v, want one that is sent, and two others that wait", s)
		}
		w.gate.Store(nil)
		close(g.Open)
		for range 3 {
			if err := servertest.Receive(t, "a result", results); err != nil {
				t.Error(err)
			}
		}
		peer.HasAccepted(1)
	})
}

func TestPipelineWriteTimeoutOfACaller(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		_, c, w := settledCaller(t, func(c *PipelineClient) { c.WriteTimeout = time.Minute })
		w.overdue.Store(true)
		began := time.Now()
		if _, err := patientCall(c, MethodGet, "/"); err != error(ErrTimeout) || !w.byCaller.Load() {
			t.Errorf("by its caller: %v, ended with %v", w.byCaller.Load(), err)
		}
		if took := time.Since(began); took != c.WriteTimeout {
			t.Errorf("the write ended after %v", took)
		}
		w.settle(t, c)
	})
}

// After a timeout, the client leaves a connection with no waiting call, so that a
// server that hangs on one request does not delay the next ones.
func TestPipelineLeavesAServerThatHangs(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer := pipelinePeerInMemory(t, func(c *servertest.PeerConn) {
			if c.Number <= 2 {
				c.Expect("GET /hang")
				return
			}
			c.Echo()
		})
		c := peer.client()
		for range 2 {
			var req Request
			req.SetRequestURI("http://host.test/hang")
			if err := c.DoTimeout(&req, nil, time.Minute); err != error(ErrTimeout) {
				t.Error(err)
			}
		}
		expectPipelined(t, c, MethodGet, "/next")
		peer.HasAccepted(3)
	})
}

func TestPipelineReadTimeout(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer := pipelinePeerInMemory(t, func(c *servertest.PeerConn) {
			if c.Number > 1 {
				c.Echo()
				return
			}
			c.Expect("GET /0")
			c.UntilClosed()
		})
		c := peer.client()
		c.ReadTimeout = time.Second
		began := time.Now()
		bodies, errs := pipelineTogether(t, c, MethodGet, 3)
		if errs[0] != error(ErrTimeout) {
			t.Errorf("the first call ended with %v", errs[0])
		}
		if took := time.Since(began); took < c.ReadTimeout || took > 2*c.ReadTimeout {
			t.Errorf("the wait took %v", took)
		}
		for i := range 2 {
			if errs[i+1] != nil {
				t.Errorf("call %d: %q, %v", i+1, bodies[i+1], errs[i+1])
			}
		}
		// ReadTimeout does not count while no request is pending
		time.Sleep(2 * c.ReadTimeout)
		expectPipelined(t, c, MethodGet, "/later")
		peer.HasAccepted(2)
	})
}

func TestPipelineWriteTimeout(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer := pipelinePeerInMemory(t, func(c *servertest.PeerConn) {
			<-c.Peer.Ended() // it reads nothing
		})
		c := peer.client()
		c.WriteTimeout = time.Minute
		var req Request
		req.Header.SetMethod(MethodPost)
		req.SetRequestURI("http://host.test/")
		req.SetBodyRaw(make([]byte, 16<<20))
		began := time.Now()
		if err := c.Do(&req, nil); err != error(ErrTimeout) {
			t.Errorf("the call ended with %v", err)
		}
		if took := time.Since(began); took != c.WriteTimeout {
			t.Errorf("the call ended after %v", took)
		}
		peer.HasAccepted(1)
	})
}

// If a peer stops reading, with or without a response, the later calls of a pipeline continue.
func TestPipelineGoesOnWhenTheReaderHasEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		waits  bool // the client has to wait for ReadTimeout
	}{
		"reads nothing":  {"", true},
		"413 and close":  {"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
		"nonsense":       {"nonsense\r\n\r\n", false},
		"413 and silent": {"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n", true},
	} {
		test := func(t *testing.T, start func(t *testing.T, serve func(c *servertest.PeerConn)) pipelinePeer) {
			peer := start(t, func(c *servertest.PeerConn) {
				if c.Number > 1 {
					c.Echo()
					return
				}
				c.Send(tt.answer)
				<-c.Peer.Ended()
			})
			client := peer.client()
			client.ReadTimeout = servertest.Patience / 2
			client.Logger = servertest.LoggerFunc(func(string, ...any) {})
			var req Request
			req.Header.SetMethod(MethodPost)
			req.SetRequestURI("http://host.test/")
			req.SetBodyRaw(make([]byte, 16<<20))
			servertest.Soon(t, "the first call", func() { _ = client.Do(&req, nil) })
			for range 3 {
				expectPipelined(t, client, MethodGet, "/next")
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servertest.Bubble(t, func(t *testing.T) { test(t, pipelinePeerInMemory) })
		})
		if !tt.waits {
			t.Run(name+", on a socket", func(t *testing.T) {
				t.Parallel()
				test(t, startPipelinePeer)
			})
		}
	}
}

// expectCallsOf makes a number of calls at the same time, and checks their responses.
func expectCallsOf(t *testing.T, c *PipelineClient, method, path string, n int) {
	t.Helper()
	results := make(chan struct{}, n)
	for range n {
		go func() {
			expectPatient(t, c, method, path)
			results <- struct{}{}
		}()
	}
	for range n {
		<-results // bubble: TestPipelineBatchesForMaxBatchDelay
	}
}
