package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestRetryHooksAreAsked(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
	var asked []int
	var errs []error
	hc := hostFor(p)
	hc.MaxIdemponentCallAttempts = 4
	hc.RetryIfErr = func(_ *Request, attempts int, err error) (bool, bool) {
		asked, errs = append(asked, attempts), append(errs, err)
		return false, attempts < 3
	}
	if err := hc.Do(requestTo(t, MethodPost, p.URL("/")), nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	if len(asked) != 3 || asked[0] != 1 || asked[2] != 3 || errs[0] != io.EOF {
		t.Errorf("asked after %v, with %v", asked, errs)
	}
	p.Counts(3, 3)

	hc = hostFor(p)
	upstreams := 0
	hc.RetryIfErrUpstream = func(_ *Request, attempts int, _ error, upstream string) (bool, bool) {
		upstreams++
		if upstream != p.Addr() {
			t.Errorf("upstream is %q, want %q", upstream, p.Addr())
		}
		return false, true
	}
	hc.RetryIfErr = func(*Request, int, error) (bool, bool) {
		t.Error("RetryIfErr was asked beside RetryIfErrUpstream")
		return false, false
	}
	if err := hc.Do(requestTo(t, MethodPost, p.URL("/")), nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	if upstreams != DefaultMaxIdemponentCallAttempts-1 {
		t.Errorf("asked %d times", upstreams)
	}
}

// The client repeats a request by default only if its method is idempotent.
func TestIdempotentMethodsAreSentAgain(t *testing.T) {
	for method, again := range map[string]bool{
		MethodGet: true, MethodHead: true, MethodPut: true, MethodOptions: true, MethodTrace: true, MethodQuery: true,
		MethodPost: false, MethodPatch: false, "query": false, "OWN": false,
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil && c.Number > 1 {
				c.Send("HTTP/1.1 204 No Content\r\n\r\n")
				c.UntilClosed()
			}
		})
		err := hostFor(p).Do(requestTo(t, method, p.URL("/")), nil)
		if (err == nil) != again {
			t.Errorf("%s: %v", method, err)
		}
		want := int32(1)
		if again {
			want = 2
		}
		p.Counts(want, want)
	}
}

func TestRetryIf(t *testing.T) {
	for _, again := range []bool{true, false} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
		hc := hostFor(p)
		hc.MaxIdemponentCallAttempts = 3
		hc.RetryIf = func(*Request) bool { return again }
		_ = hc.Do(requestTo(t, MethodPost, p.URL("/")), nil)
		_ = hc.Do(requestTo(t, MethodGet, p.URL("/")), nil)
		if again {
			p.Counts(6, 6)
		} else {
			p.Counts(2, 2)
		}
	}
}

// The timeout begins again if the hook asks for it.
func TestRetryResetsTimeout(t *testing.T) {
	const timeout = time.Second
	attempts := 0
	serve := func(c *servertest.PeerConn) {
		c.Request()
		if attempts++; c.Number < 3 {
			c.UntilClosed()
			return
		}
		time.Sleep(timeout - 1) // bubble: callInBubble
		c.Send(servertest.OK)
		c.UntilClosed()
	}
	for _, tt := range []struct {
		resets   bool
		want     error
		after    time.Duration
		attempts int
	}{
		{true, nil, 3*timeout - 1, 3},
		{false, ErrTimeout, timeout, 1},
	} {
		attempts = 0
		callInBubble(t, serve, func(t *testing.T, hc *HostClient) {
			hc.RetryIfErr = func(_ *Request, _ int, err error) (bool, bool) { return tt.resets, err == error(ErrTimeout) }
			takesTime(t, "the call", tt.after, func() {
				if err := hc.DoTimeout(requestTo(t, MethodPost, "http://peer.test/"), responseFor(t), timeout); err != tt.want {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
		if attempts != tt.attempts {
			t.Errorf("%d attempts, want %d", attempts, tt.attempts)
		}
	}
}

// The client does not repeat a request after its body stream was read.
func TestRetryNotAfterBodyStream(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
	hc := hostFor(p)
	hc.RetryIfErr = func(*Request, int, error) (bool, bool) { return false, true }
	req := requestTo(t, MethodPut, p.URL("/"))
	req.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("once") })
	if err := hc.Do(req, nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	p.Counts(1, 1)
}

func TestRetryWithBackoffOfDialing(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	dials := 0
	hc.Dial = func(addr string) (net.Conn, error) {
		if dials++; dials < 4 {
			return nil, errors.New("refused")
		}
		return net.Dial("tcp4", addr)
	}
	hc.RetryIfErr = RetryWithBackoff(Backoff{Base: time.Microsecond, Limit: time.Millisecond})
	servertest.Must(t, hc.Do(requestTo(t, MethodPost, p.URL("/")), nil))
	if dials != 4 {
		t.Errorf("%d dials", dials)
	}
}

func TestRetryWithBackoffLeavesTakenPostAlone(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
	hc := hostFor(p)
	hc.RetryIfErr = RetryWithBackoff(Backoff{Base: time.Microsecond, Limit: time.Millisecond})
	_ = hc.Do(requestTo(t, MethodPost, p.URL("/")), nil)
	p.Counts(1, 1)
	_ = hc.Do(requestTo(t, MethodGet, p.URL("/")), nil)
	p.Counts(6, 6)
}

// TestBackoffHasUsualWaits checks the bounds of the waits, with the settings of a program and
// without.
func TestBackoffHasUsualWaits(t *testing.T) {
	for _, c := range []struct {
		waits    Backoff
		attempts int
		most     time.Duration
	}{
		{Backoff{}, 1, 100 * time.Millisecond},
		{Backoff{}, 3, 400 * time.Millisecond},
		{Backoff{}, 60, 10 * time.Second},
		{Backoff{Base: time.Second}, 2, 2 * time.Second},
		{Backoff{Limit: time.Millisecond}, 1, time.Millisecond},
		{Backoff{Base: -1}, 5, 0},
	} {
		servertest.Bubble(t, func(t *testing.T) {
			retry := RetryWithBackoff(c.waits)
			var longest time.Duration
			for range 200 {
				start := time.Now()
				if _, again := retry(new(Request), c.attempts, io.EOF); !again {
					t.Fatalf("%+v: no further attempt", c.waits)
				}
				longest = max(longest, time.Since(start))
			}
			if longest > c.most || longest < c.most/2 {
				t.Errorf("%+v, attempt %d: waits of up to %v, not %v", c.waits, c.attempts, longest, c.most)
			}
		})
	}
}

// A wait that would end after the deadline of the call does not begin.
func TestRetryWithBackoffKeepsToDeadline(t *testing.T) {
	hc := &HostClient{Addr: "nowhere", Dial: func(string) (net.Conn, error) { return nil, io.ErrClosedPipe }}
	hc.RetryIfErr = RetryWithBackoff(Backoff{Base: time.Hour, Limit: 2 * time.Hour})
	servertest.Soon(t, "the call", func() {
		if err := hc.DoTimeout(requestTo(t, MethodGet, "http://nowhere/"), nil, time.Millisecond); err == nil {
			t.Error("the call succeeded")
		}
	})
}

// refusing returns an error for every response.
type refusing struct{}

func (refusing) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	_, err := DefaultTransport.RoundTrip(hc, req, resp)
	return true, errors.Join(err, io.ErrNoProgress)
}

// The hook gets the address even if the attempt fails after the response, on a fresh
// and on a reused connection.
func TestRetryHookIsToldOfTheAddressAfterAResponse(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	hc.Transport = refusing{}
	var asked []string
	hc.RetryIfErrUpstream = func(_ *Request, attempts int, _ error, upstream string) (bool, bool) {
		asked = append(asked, upstream)
		return false, attempts < 3
	}
	if err := hc.Do(requestTo(t, MethodGet, p.URL("/")), responseFor(t)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
	if addr := p.Addr(); len(asked) != 3 || asked[0] != addr || asked[1] != addr || asked[2] != addr {
		t.Errorf("the hook was told of %q, want %q three times", asked, addr)
	}
	p.Counts(1, 3)
}
