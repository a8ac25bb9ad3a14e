package fasthttp

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

type chainKey struct{}

// plainTripper is a RoundTripper without RoundTripContext.
type plainTripper func(hc *HostClient, req *Request, resp *Response) (retry bool, err error)

func (p plainTripper) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	return p(hc, req, resp)
}

func TestChainRoundTrippersCallsTheFirstFirst(t *testing.T) {
	var calls []any
	named := func(name string) func(RoundTripperContext) RoundTripper {
		return func(next RoundTripperContext) RoundTripper {
			return RoundTripFunc(func(ctx context.Context, hc *HostClient, req *Request, resp *Response) (bool, error) {
				calls = append(calls, name, ctx.Value(chainKey{}))
				return next.RoundTripContext(context.WithValue(ctx, chainKey{}, name), hc, req, resp)
			})
		}
	}
	plain := func(next RoundTripperContext) RoundTripper {
		return plainTripper(func(hc *HostClient, req *Request, resp *Response) (bool, error) {
			calls = append(calls, "plain")
			return next.RoundTrip(hc, req, resp)
		})
	}
	failure := errors.New("failure")
	base := RoundTripFunc(func(ctx context.Context, _ *HostClient, _ *Request, _ *Response) (bool, error) {
		calls = append(calls, "base", ctx.Value(chainKey{}))
		return false, failure
	})
	for _, tc := range []struct {
		wrap []func(RoundTripperContext) RoundTripper
		want []any
	}{
		{nil, []any{"base", "call"}},
		{[]func(RoundTripperContext) RoundTripper{named("a"), named("b")}, []any{"a", "call", "b", "a", "base", "b"}},
		{[]func(RoundTripperContext) RoundTripper{named("a"), plain, named("b")}, []any{"a", "call", "plain", "b", "call", "base", "b"}},
	} {
		calls = nil
		c := &Client{Transport: ChainRoundTrippers(base, tc.wrap...)}
		req := &Request{}
		req.SetRequestURI("http://example.com/")
		err := c.DoContext(context.WithValue(context.Background(), chainKey{}, "call"), req, nil)
		if !errors.Is(err, failure) || !slices.Equal(calls, tc.want) {
			t.Errorf("%v, calls %v, want %v", err, calls, tc.want)
		}
	}
}

func TestChainRoundTrippersDoesNotAllocate(t *testing.T) {
	pass := func(next RoundTripperContext) RoundTripper {
		return RoundTripFunc(func(ctx context.Context, hc *HostClient, req *Request, resp *Response) (bool, error) {
			return next.RoundTripContext(ctx, hc, req, resp)
		})
	}
	base := plainTripper(func(*HostClient, *Request, *Response) (bool, error) { return false, nil })
	chain := ChainRoundTrippers(base, pass, pass)
	hc, req, resp := &HostClient{}, &Request{}, &Response{}
	if n := testing.AllocsPerRun(100, func() { _, _ = chain.RoundTrip(hc, req, resp) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPipelineClientTimeoutLimitsCalls(t *testing.T) {
	t.Parallel()
	servertest.Bubble(t, func(t *testing.T) {
		peer := pipelinePeerInMemory(t, func(c *servertest.PeerConn) { c.Request() })
		c := peer.client()
		c.Timeout = time.Minute
		req := &Request{}
		req.SetRequestURI("http://example.com/")
		for _, own := range []time.Duration{0, time.Second, time.Hour} {
			req.SetTimeout(own)
			want := c.Timeout
			if own > 0 {
				want = min(want, own)
			}
			began := time.Now()
			if err := c.Do(req, nil); err != ErrTimeout || time.Since(began) != want {
				t.Errorf("timeout %v: %v after %v", own, err, time.Since(began))
			}
		}
	})
}

// through returns a client that sends each request by another one of the same server.
func through(peer *servertest.Peer, send func(other *HostClient, req *Request, resp *Response) error) *HostClient {
	other := &HostClient{Addr: peer.Addr()}
	return &HostClient{Addr: peer.Addr(), Transport: RoundTripFunc(func(_ context.Context, _ *HostClient, req *Request, resp *Response) (bool, error) {
		err := send(other, req, resp)
		return err != nil, err
	})}
}

// A request whose stream another client has used up is not sent without its content.
func TestUsedUpStreamIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var heads atomic.Int32
	peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		if c.Head() {
			heads.Add(1)
		}
	})
	c := through(peer, (*HostClient).Do)
	req := &Request{}
	req.SetRequestURI(peer.URL("/"))
	req.Header.SetMethod(MethodPut)
	req.SetBodyStream(strings.NewReader("content"), 7)
	if err := c.Do(req, nil); err == nil || errors.Is(err, errBodyConsumed) {
		t.Errorf("the error is %v", err)
	}
	if n := heads.Load(); n != 1 {
		t.Errorf("the request was sent %d times", n)
	}
}

// All requests of a call that is redirected have its context, and its hook.
func TestRedirectsWithinACall(t *testing.T) {
	t.Parallel()
	peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Expect("GET /")
		c.Send(servertest.Head("HTTP/1.1 302 Found", "Location: /next", "Content-Length: 0"))
		c.Expect("GET /next")
		c.Send(servertest.Head("HTTP/1.1 103 Early Hints"))
		c.UntilClosed()
	})
	c := through(peer, func(other *HostClient, req *Request, resp *Response) error { return other.DoRedirects(req, resp, 1) })
	informed, ended := make(chan int, 1), make(chan error, 1)
	req := &Request{OnInform: func(h *ResponseHeader) error {
		informed <- h.StatusCode()
		return nil
	}}
	req.SetRequestURI(peer.URL("/"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- c.DoContext(ctx, req, nil) }()
	if status := servertest.Receive(t, "the informational response", informed); status != StatusEarlyHints {
		t.Errorf("informed of %d", status)
	}
	cancel()
	if err := servertest.Receive(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// A call that another client makes ends with the context of the outer one.
func TestPipelinedRequestsWithinACall(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Expect("GET /")
		asked <- struct{}{}
		c.UntilClosed()
	})
	other := &PipelineClient{Addr: peer.Addr()}
	c := through(peer, func(_ *HostClient, req *Request, resp *Response) error { return other.Do(req, resp) })
	ended := make(chan error, 1)
	req := &Request{}
	req.SetRequestURI(peer.URL("/"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { ended <- c.DoContext(ctx, req, nil) }()
	servertest.Receive(t, "the request", asked)
	cancel()
	if err := servertest.Receive(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// oneCookie is a jar that has a cookie, and panics where it is told to.
type oneCookie struct{ reading, storing bool }

func (j oneCookie) Cookies(*URI) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if yield("jar", "secret") && j.reading {
			panic("a mistake of the jar")
		}
	}
}

func (j oneCookie) SetCookies(*URI, []string) {
	if j.storing {
		panic("a mistake of the jar")
	}
}

// A request that the caller uses again, perhaps for another host, must not keep the cookies of the
// jar, whatever ends the call.
func TestPanicLeavesNoCookiesOfTheJarInTheRequest(t *testing.T) {
	answering := plainTripper(func(_ *HostClient, _ *Request, resp *Response) (bool, error) {
		resp.Header.Set("Set-Cookie", "a=b")
		return false, nil
	})
	for name, c := range map[string]*HostClient{
		"Transport": {
			Jar: oneCookie{},
			Transport: plainTripper(func(_ *HostClient, req *Request, _ *Response) (bool, error) {
				panic(string(req.Header.Cookie("jar")))
			}),
		},
		"RetryIf": {
			Jar:       oneCookie{},
			Transport: plainTripper(func(*HostClient, *Request, *Response) (bool, error) { return true, io.EOF }),
			RetryIf:   func(req *Request) bool { panic(string(req.Header.Cookie("jar"))) },
		},
		"CookieJar.Cookies":    {Jar: oneCookie{reading: true}, Transport: answering},
		"CookieJar.SetCookies": {Jar: oneCookie{storing: true}, Transport: answering},
	} {
		req := &Request{}
		req.SetRequestURI("http://example.com/")
		req.Header.SetCookie("own", "mine")
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			c.Addr = "example.com:80"
			err := c.Do(req, nil)
			t.Errorf("%s: got %v", name, err)
		}()
		if got := string(req.Header.Peek(HeaderCookie)); got != "own=mine" {
			t.Errorf("%s: the request has the cookies %q", name, got)
		}
	}
}
