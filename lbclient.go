package fasthttp

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp/internal/failover"
)

// DefaultLBClientTimeout is how long LBClient.Do may take, unless LBClient.Timeout is
// set.
const DefaultLBClientTimeout = time.Second

// ErrNoAvailableClients reports that an LBClient has no client for a request.
var ErrNoAvailableClients = errors.New("fasthttp: no available clients")

// BalancingClient is a client to which an LBClient gives requests. HostClient,
// PipelineClient and LBClient itself implement it.
type BalancingClient interface {
	// DoDeadline sends req and fills resp, before the deadline.
	DoDeadline(req *Request, resp *Response, deadline time.Time) error
	// PendingRequests returns the number of requests in progress.
	PendingRequests() int
}

// LBClient spreads requests over clients. A request goes to the client with the fewest
// requests in progress, and among equals to the one that was given the fewest.
//
// Each failure of a client within the last three seconds counts as one more request in
// progress there, up to 300, so that other clients are preferred. The client still gets
// requests while the other clients are busier than that, and gets its share again as
// the failures grow old.
//
// The fields must not be changed after first use, nor the LBClient copied. Its methods
// may be called concurrently.
type LBClient struct {
	_ noCopy

	// HealthCheck reports after each request whether its client is healthy, given the
	// result of the client. By default a client is healthy unless err is set.
	HealthCheck func(req *Request, resp *Response, err error) bool

	// Clients are the clients to begin with. AddClient and RemoveClients change
	// the set later on, and leave this field as it is.
	Clients []BalancingClient

	// Timeout is how long Do may take, and DoContext with a context that has no
	// deadline: DefaultLBClientTimeout by default.
	Timeout time.Duration

	set failover.Set[BalancingClient]
}

// members returns the current clients.
func (cc *LBClient) members() *failover.Set[BalancingClient] {
	cc.set.Start(cc.Clients)
	return &cc.set
}

// Do gives the request to the least loaded client, which must respond within Timeout.
// It returns the errors of DoDeadline.
func (cc *LBClient) Do(req *Request, resp *Response) error {
	return cc.DoTimeout(req, resp, cc.timeout())
}

func (cc *LBClient) timeout() time.Duration {
	if cc.Timeout <= 0 {
		return DefaultLBClientTimeout
	}
	return cc.Timeout
}

// DoTimeout gives the request to the least loaded client, which must respond within
// timeout. It returns the errors of DoDeadline.
func (cc *LBClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return cc.DoDeadline(req, resp, time.Now().Add(timeout))
}

// DoDeadline gives the request to the least loaded client, which must respond before
// deadline. It returns ErrNoAvailableClients if there is no client, and otherwise the
// error of the client.
func (cc *LBClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return cc.do(noContext, req, resp, deadline)
}

// DoContext gives the request to the least loaded client, which must respond before ctx
// ends, and within Timeout if ctx has no deadline. A client whose type is not from this
// package gets ctx if it has the same DoContext method; otherwise it gets only the
// deadline.
//
// It returns the errors of DoDeadline, or the error of ctx if ctx has ended. If ctx is
// canceled, that does not count as a failure of the client.
func (cc *LBClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if ctx == nil {
		return cc.Do(req, resp)
	}
	if ctx.Err() != nil {
		return req.refused(contextError(ctx))
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(cc.timeout())
	}
	return cc.do(ctx, req, resp, deadline)
}

// do is all forms of Do. ctx may be nil.
func (cc *LBClient) do(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	m := cc.members().LeastLoaded()
	if m == nil {
		return req.refused(ErrNoAvailableClients)
	}
	m.Begin()
	defer m.End()
	err := doWith(ctx, m.Client, req, resp, deadline)
	if err != nil && ctx != nil && errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	if !cc.isHealthy(req, resp, err) {
		m.Fail(time.Now())
	}
	return err
}

// PendingRequests returns the number of requests in progress.
func (cc *LBClient) PendingRequests() int { return cc.members().Running() }

// AddClient adds a client and returns how many there are now.
func (cc *LBClient) AddClient(c BalancingClient) int { return cc.members().Add(c) }

// RemoveClients removes the clients for which rc returns true, and returns how many are
// left. Requests that were given to them continue. rc must not call AddClient or
// RemoveClients.
func (cc *LBClient) RemoveClients(rc func(BalancingClient) bool) int {
	return cc.members().Remove(rc)
}

func (cc *LBClient) isHealthy(req *Request, resp *Response, err error) bool {
	if cc.HealthCheck == nil {
		return err == nil
	}
	return cc.HealthCheck(req, resp, err)
}

// doWith gives client a request. ctx may be nil.
func doWith(ctx context.Context, client BalancingClient, req *Request, resp *Response, deadline time.Time) error {
	if ctx == nil {
		return client.DoDeadline(req, resp, deadline)
	}
	switch c := client.(type) {
	case *HostClient:
		return c.call(ctx, req, resp, deadline)
	case *PipelineClient:
		return c.do(ctx, req, resp, deadline)
	case *LBClient:
		return c.do(ctx, req, resp, deadline)
	case contextDoer:
		if by, limited := ctx.Deadline(); limited && !by.After(deadline) {
			return c.DoContext(ctx, req, resp)
		}
		return doWithin(ctx, c, req, resp, deadline)
	}
	return client.DoDeadline(req, resp, deadline)
}

// contextDoer is a client whose calls end with a context.
type contextDoer interface {
	DoContext(ctx context.Context, req *Request, resp *Response) error
}

// doWithin gives client a request with a context that ends at the deadline, or with the call. If the
// body of the response is a stream, it is read after the call, until the deadline.
func doWithin(ctx context.Context, client contextDoer, req *Request, resp *Response, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	streams := false
	defer func() {
		if !streams {
			cancel()
		}
	}()
	err := client.DoContext(ctx, req, resp)
	streams = err == nil && resp != nil && resp.body.Stream != nil
	return err
}
