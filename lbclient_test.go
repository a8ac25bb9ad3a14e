package fasthttp

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/failover"
	"github.com/valyala/fasthttp/internal/servertest"
)

// fakeBalanced is a client that counts its requests and calls answer for each.
type fakeBalanced struct {
	name    string
	pending int
	calls   atomic.Int64
	answer  func(deadline time.Time) error
}

func (c *fakeBalanced) PendingRequests() int { return c.pending }

func (c *fakeBalanced) DoDeadline(_ *Request, _ *Response, deadline time.Time) error {
	c.calls.Add(1)
	if c.answer != nil {
		return c.answer(deadline)
	}
	return nil
}

func balanced(names string) (clients []BalancingClient) {
	for _, name := range strings.Fields(names) {
		clients = append(clients, &fakeBalanced{name: name})
	}
	return clients
}

// doOften does n requests and returns how many each client got.
func doOften(t *testing.T, lb *LBClient, clients []BalancingClient, n int) (calls []int64) {
	t.Helper()
	for _, c := range clients {
		c.(*fakeBalanced).calls.Store(0)
	}
	for range n {
		_ = lb.Do(nil, nil)
	}
	for _, c := range clients {
		calls = append(calls, c.(*fakeBalanced).calls.Load())
	}
	return calls
}

func expectCalls(t *testing.T, what string, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: the clients got %d requests, want %d", what, got, want)
	}
}

// Known failure 40: this was a deadlock or a panic.
func TestLBClientWithoutClients(t *testing.T) {
	for name, lb := range map[string]*LBClient{
		"new": {},
		"all removed": func() *LBClient {
			lb := &LBClient{Clients: balanced("a b")}
			if n := lb.RemoveClients(func(BalancingClient) bool { return true }); n != 0 {
				t.Errorf("%d clients are left", n)
			}
			return lb
		}(),
	} {
		for _, err := range []error{lb.Do(nil, nil), lb.DoTimeout(nil, nil, time.Second), lb.DoDeadline(nil, nil, time.Now())} {
			if err != ErrNoAvailableClients {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := lb.AddClient(&fakeBalanced{}); n != 1 {
			t.Errorf("%s: %d clients after the first", name, n)
		}
		if err := lb.Do(nil, nil); err != nil {
			t.Errorf("%s: with a client again: %v", name, err)
		}
	}
}

func TestLBClientPassesTheDeadline(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var got time.Duration
		c := &fakeBalanced{answer: func(deadline time.Time) error {
			got = time.Until(deadline)
			return nil
		}}
		for _, call := range []struct {
			timeout time.Duration // timeout of the LBClient
			do      func(lb *LBClient) error
			want    time.Duration
		}{
			{0, func(lb *LBClient) error { return lb.Do(nil, nil) }, DefaultLBClientTimeout},
			{time.Minute, func(lb *LBClient) error { return lb.Do(nil, nil) }, time.Minute},
			{0, func(lb *LBClient) error { return lb.DoTimeout(nil, nil, 0) }, 0},
			{0, func(lb *LBClient) error { return lb.DoDeadline(nil, nil, time.Now().Add(time.Hour)) }, time.Hour},
		} {
			if err := call.do(&LBClient{Clients: []BalancingClient{c}, Timeout: call.timeout}); err != nil || got != call.want {
				t.Errorf("the client had %v, want %v; %v", got, call.want, err)
			}
		}
	})
}

// contextBalanced is a client that takes a context.
type contextBalanced struct {
	fakeBalanced
	do func(ctx context.Context) error
}

func (c *contextBalanced) DoContext(ctx context.Context, _ *Request, _ *Response) error {
	return c.do(ctx)
}

func TestLBClientPassesTheContext(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		type key struct{}
		var got time.Duration
		var value any
		clients := map[string]BalancingClient{
			"with DoContext": &contextBalanced{do: func(ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				got, value = time.Until(deadline), ctx.Value(key{})
				return nil
			}},
			"without": &fakeBalanced{answer: func(deadline time.Time) error {
				got, value = time.Until(deadline), "v"
				return nil
			}},
		}
		ctx := context.WithValue(t.Context(), key{}, "v")
		hour, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		for name, c := range clients {
			lb := &LBClient{Clients: []BalancingClient{c}, Timeout: time.Minute}
			outer := &LBClient{Clients: []BalancingClient{lb}, Timeout: time.Second}
			for _, tt := range []struct {
				lb   *LBClient
				ctx  context.Context
				want time.Duration
			}{
				{lb, ctx, time.Minute}, {lb, hour, time.Hour}, {outer, ctx, time.Second}, {outer, hour, time.Hour},
			} {
				got, value = 0, nil
				if err := tt.lb.DoContext(tt.ctx, nil, nil); err != nil || got != tt.want || value != "v" {
					t.Errorf("%s: the client had %v and value %v, want %v; %v", name, got, value, tt.want, err)
				}
			}
		}
	})
}

// The end of a context ends the call of each kind of client. It does not count as a
// failure of the client.
func TestLBClientContextEndsTheCall(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.UntilClosed()
	})
	clients := []BalancingClient{hostFor(p), &PipelineClient{Addr: p.Addr(), MaxIdleConnDuration: 50 * time.Millisecond}}
	clients = append(clients, &LBClient{Clients: []BalancingClient{hostFor(p)}})
	for _, c := range clients {
		lb := &LBClient{Clients: []BalancingClient{c}, Timeout: servertest.Patience, HealthCheck: func(*Request, *Response, error) bool {
			t.Errorf("%T: the client was blamed", c)
			return false
		}}
		gone := errors.New("the caller has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		before := p.Requests.Load()
		go func() {
			servertest.Eventually(t, "a request", func() bool { return p.Requests.Load() > before })
			cancel(gone)
		}()
		req, resp := requestTo(t, MethodGet, p.URL("/")), responseFor(t)
		if err := lb.DoContext(ctx, req, resp); !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
			t.Errorf("%T: got %v, want context.Canceled and its cause", c, err)
		}
		if err := lb.DoContext(ctx, req, resp); !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
			t.Errorf("%T: with a context that has ended: got %v", c, err)
		}
		if n := lb.PendingRequests(); n != 0 {
			t.Errorf("%T: %d requests are pending", c, n)
		}
	}
}

// If a deadline passes, that counts as a failure of the client, as with DoDeadline.
// wrappedHost is a client of an application.
type wrappedHost struct{ *HostClient }

// The body of a response, read while it arrives, has the time that the call has left.
func TestLBClientLeavesBodiesTheirTime(t *testing.T) {
	rest := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
			select {
			case <-rest:
				c.Send("cd")
			case <-c.Peer.Ended():
			}
		}
	})
	hc := hostFor(p)
	limited, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	for name, client := range map[string]BalancingClient{"HostClient": hc, "wrapped": wrappedHost{hc}} {
		for _, ctx := range []context.Context{t.Context(), limited} {
			lb := &LBClient{Clients: []BalancingClient{client}, Timeout: servertest.Patience}
			resp := responseFor(t)
			resp.StreamBody = true
			servertest.Must(t, lb.DoContext(ctx, requestTo(t, MethodGet, p.URL("/")), resp))
			rest <- struct{}{}
			if got, err := io.ReadAll(resp.BodyStream()); string(got) != "abcd" || err != nil {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
			_ = resp.CloseBodyStream()
		}
	}
}

func TestLBClientBlamesWhoIsLate(t *testing.T) {
	callInBubble(t, (*servertest.PeerConn).UntilClosed, func(t *testing.T, hc *HostClient) {
		var blamed error
		lb := &LBClient{Clients: []BalancingClient{hc}, HealthCheck: func(_ *Request, _ *Response, err error) bool {
			blamed = err
			return err == nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := lb.DoContext(ctx, requestTo(t, MethodGet, "http://peer.test/"), responseFor(t))
		if !errors.Is(err, context.DeadlineExceeded) || blamed != err {
			t.Errorf("got %v, and the client is blamed for %v", err, blamed)
		}
	})
}

func TestLBClientPrefersTheLeastLoaded(t *testing.T) {
	clients := balanced("a b c")
	lb := &LBClient{Clients: clients}
	expectCalls(t, "equal loads", doOften(t, lb, clients, 9), 3, 3, 3)
	clients[0].(*fakeBalanced).pending = 2
	clients[1].(*fakeBalanced).pending = 1
	clients[2].(*fakeBalanced).pending = 1
	expectCalls(t, "one busy client", doOften(t, lb, clients, 10), 0, 5, 5)
	clients[1].(*fakeBalanced).pending = 0
	expectCalls(t, "one idle client", doOften(t, lb, clients, 10), 0, 10, 0)
}

func TestLBClientCountsWhatClientsDoNotYet(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		clients := balanced("a b c")
		proceed := make(chan struct{})
		for _, c := range clients {
			c.(*fakeBalanced).answer = func(time.Time) error {
				<-proceed
				return nil
			}
		}
		lb := &LBClient{Clients: clients}
		for range 30 {
			go func() { _ = lb.Do(nil, nil) }()
			synctest.Wait()
		}
		if n := lb.PendingRequests(); n != 30 {
			t.Errorf("%d requests are pending", n)
		}
		var calls []int64
		for _, c := range clients {
			calls = append(calls, c.(*fakeBalanced).calls.Load())
		}
		expectCalls(t, "all waiting", calls, 10, 10, 10)
		close(proceed)
		synctest.Wait()
		if n := lb.PendingRequests(); n != 0 {
			t.Errorf("%d requests are pending at the end", n)
		}
	})
}

func TestLBClientAvoidsWhatHasFailed(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		fault := errors.New("fault")
		clients := balanced("a b")
		bad := clients[0].(*fakeBalanced)
		bad.answer = func(time.Time) error { return fault }
		lb := &LBClient{Clients: clients}
		expectCalls(t, "after the first failure", doOften(t, lb, clients, 100), 1, 99)
		time.Sleep(2 * time.Second)
		expectCalls(t, "two seconds later", doOften(t, lb, clients, 100), 0, 100)
		time.Sleep(time.Second)
		expectCalls(t, "three seconds later", doOften(t, lb, clients, 1), 1, 0)
		bad.answer = nil
		time.Sleep(3 * time.Second)
		expectCalls(t, "well again", doOften(t, lb, clients, 197), 197, 0)
		expectCalls(t, "and level", doOften(t, lb, clients, 200), 100, 100)
	})
}

func TestLBClientGivesNoClientUp(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		clients := balanced("a b")
		clients[0].(*fakeBalanced).answer = func(time.Time) error { return errors.New("fault") }
		clients[1].(*fakeBalanced).pending = failover.MaxFailures
		lb := &LBClient{Clients: clients}
		// each failure weighs as much as one pending request, up to the limit
		expectCalls(t, "with a busy client", doOften(t, lb, clients, 2*failover.MaxFailures), failover.MaxFailures, failover.MaxFailures)
		clients[1].(*fakeBalanced).pending = failover.MaxFailures + 1
		expectCalls(t, "with an overloaded client", doOften(t, lb, clients, 10), 10, 0)
	})
}

func TestLBClientAsksTheHealthCheck(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		req, resp := AcquireRequest(), AcquireResponse()
		fault := errors.New("fault")
		clients := balanced("a b")
		clients[0].(*fakeBalanced).answer = func(time.Time) error { return fault }
		asked := 0
		lb := &LBClient{Clients: clients, HealthCheck: func(r *Request, s *Response, err error) bool {
			asked++
			if r != req || s != resp {
				t.Error("the check got another request or response")
			}
			// the failing client counts as healthy, the other one does not
			return err == fault
		}}
		for range 10 {
			_ = lb.Do(req, resp)
		}
		expectCalls(t, "with a check", []int64{clients[0].(*fakeBalanced).calls.Load(), clients[1].(*fakeBalanced).calls.Load()}, 9, 1)
		if asked != 10 {
			t.Errorf("the check was asked %d times", asked)
		}
	})
}

func TestLBClientSetChanges(t *testing.T) {
	clients := balanced("a b c")
	lb := &LBClient{Clients: clients[:2:2]}
	_ = doOften(t, lb, clients, 20)
	if n := lb.AddClient(clients[2]); n != 3 {
		t.Errorf("%d clients", n)
	}
	// the added client starts with the load of the others
	expectCalls(t, "with a third", doOften(t, lb, clients, 9), 3, 3, 3)
	if n := lb.RemoveClients(func(c BalancingClient) bool { return c == clients[0] }); n != 2 {
		t.Errorf("%d clients", n)
	}
	expectCalls(t, "without the first", doOften(t, lb, clients, 10), 0, 5, 5)
}

func TestLBClientUnderLoad(t *testing.T) {
	lb := &LBClient{Clients: balanced("a b c")}
	var all sync.WaitGroup
	for i := range 3000 {
		all.Go(func() {
			switch i % 10 {
			case 0:
				lb.AddClient(&fakeBalanced{name: "new", answer: func(time.Time) error {
					runtime.Gosched()
					return errors.New("fault")
				}})
			case 1:
				removed := false
				lb.RemoveClients(func(c BalancingClient) bool {
					remove := !removed && c.(*fakeBalanced).name == "new"
					removed = removed || remove
					return remove
				})
			default:
				if err := lb.Do(nil, nil); err == ErrNoAvailableClients {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := lb.RemoveClients(func(c BalancingClient) bool { return c.(*fakeBalanced).name == "new" }); n != 3 {
		t.Errorf("%d clients are left", n)
	}
	if n := lb.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending at the end", n)
	}
}

func TestLBClientAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	lb := &LBClient{Clients: balanced("a b c")}
	if n := testing.AllocsPerRun(100, func() { _ = lb.Do(nil, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
