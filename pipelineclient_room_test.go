package fasthttp

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestPipelineIsBounded(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	c := peer.client()
	c.MaxPendingRequests = 5
	c.Dial = peer.held(proceed)
	var calls sync.WaitGroup
	for i := range 5 {
		calls.Go(func() { expectPipelined(t, c, MethodGet, "/"+strconv.Itoa(i)) })
	}
	servertest.Eventually(t, "a full queue", func() bool { return c.queued() == 5 })
	req := requestTo(t, MethodGet, "http://host.test/")
	// nothing is left of an earlier response
	for want, do := range map[error]func(resp *Response) error{
		ErrPipelineOverflow: func(resp *Response) error { return c.Do(req, resp) },
		ErrTimeout:          func(resp *Response) error { return c.DoTimeout(req, resp, servertest.Short) },
	} {
		var resp Response
		resp.SetStatusCode(StatusTeapot)
		resp.Header.Set("X-Earlier", "yes")
		resp.SetBodyString("earlier")
		if err := do(&resp); err != want || resp.StatusCode() != StatusOK || resp.Header.Len() > 1 || len(resp.Body()) > 0 {
			t.Errorf("%v: got %v and %q", want, err, resp.String())
		}
	}
	for name, do := range map[string]func() error{
		"Do":           func() error { return c.Do(req, nil) },
		"DoContext":    func() error { return c.DoContext(t.Context(), req, nil) },
		"no deadline":  func() error { return c.DoDeadline(req, nil, time.Time{}) },
		"with timeout": func() error { req.SetTimeout(servertest.Patience); return c.Do(req, nil) },
	} {
		if err := do(); err != ErrPipelineOverflow {
			t.Errorf("%s: %v", name, err)
		}
	}
	// a call with a deadline waits for room
	for name, do := range map[string]func() error{
		"DoTimeout":  func() error { return c.DoTimeout(req, nil, servertest.Short) },
		"DoDeadline": func() error { return c.DoDeadline(req, nil, time.Now().Add(servertest.Short)) },
		"SetTimeout": func() error {
			req.SetTimeout(servertest.Short)
			return c.DoTimeout(req, nil, servertest.Patience)
		},
	} {
		if err := do(); err != error(ErrTimeout) {
			t.Errorf("%s: %v, want a timeout", name, err)
		}
		req.SetTimeout(0)
	}
	for i := range 50 {
		calls.Go(func() { expectInTime(t, c, MethodGet, "/late"+strconv.Itoa(i)) })
	}
	servertest.Eventually(t, "calls that wait", func() bool { return c.pool.Status().Waiting == 50 })
	close(proceed)
	calls.Wait()
	if n, waiting := c.PendingRequests(), c.pool.Status().Waiting; n != 0 || waiting != 0 {
		t.Errorf("%d requests are pending at the end, %d wait for room", n, waiting)
	}
	expectPipelined(t, c, MethodGet, "/after")
}

// A canceled call does not wait for room until its deadline.
func TestPipelineCallThatWaitsForRoomIsCanceled(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	c := peer.client()
	c.MaxPendingRequests = 1
	c.Dial = peer.held(proceed)
	var calls sync.WaitGroup
	calls.Go(func() { expectPipelined(t, c, MethodGet, "/first") })
	servertest.Eventually(t, "a full queue", func() bool { return c.queued() == 1 })

	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ended := make(chan error, 1)
	req := requestTo(t, MethodGet, "http://host.test/")
	lb := &LBClient{Clients: []BalancingClient{c}}
	go func() { ended <- lb.DoContext(ctx, req, nil) }()
	servertest.Eventually(t, "a call that waits", func() bool { return c.pool.Status().Waiting == 1 })
	cancel()
	if err := servertest.Receive(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	close(proceed)
	calls.Wait()
	expectPipelined(t, c, MethodGet, "/after")
}

// queued returns the number of calls that wait to be sent on the first connection.
func (c *PipelineClient) queued() int {
	if c.PendingRequests() == 0 {
		return 0
	}
	return c.pool.Status().Queued
}

// Calls of all kinds share the queue, and each call gets its response.
func TestPipelineRoomIsForAll(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	c := peer.client()
	c.MaxPendingRequests, c.MaxConns = 2, 2
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			for range servertest.Heavy(8) {
				expectInTime(t, c, MethodGet, "/"+strconv.Itoa(i))
			}
		})
	}
	// each of them ends in time
	calls.Wait()
	if waiting := c.pool.Status().Waiting; waiting != 0 {
		t.Errorf("%d calls wait for room", waiting)
	}
}
