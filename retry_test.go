package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestRetryHooksAreAsked(t *testing.T) {
	p := newPeer(t, func(c *peerConn) { c.request() })
	var asked []int
	var errs []error
	hc := p.host()
	hc.MaxIdemponentCallAttempts = 4
	hc.RetryIfErr = func(_ *Request, attempts int, err error) (bool, bool) {
		asked, errs = append(asked, attempts), append(errs, err)
		return false, attempts < 3
	}
	if err := hc.Do(requestTo(t, MethodPost, p.url("/")), nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	if len(asked) != 3 || asked[0] != 1 || asked[2] != 3 || errs[0] != io.EOF {
		t.Errorf("asked after %v, with %v", asked, errs)
	}
	p.counts(3, 3)

	hc = p.host()
	upstreams := 0
	hc.RetryIfErrUpstream = func(_ *Request, attempts int, _ error, upstream string) (bool, bool) {
		upstreams++
		if upstream != p.addr() {
			t.Errorf("upstream is %q, want %q", upstream, p.addr())
		}
		return false, true
	}
	hc.RetryIfErr = func(*Request, int, error) (bool, bool) {
		t.Error("RetryIfErr was asked beside RetryIfErrUpstream")
		return false, false
	}
	if err := hc.Do(requestTo(t, MethodPost, p.url("/")), nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	if upstreams != DefaultMaxIdemponentCallAttempts-1 {
		t.Errorf("asked %d times", upstreams)
	}
}

// A request is sent again by itself only where its method promises that this does
// no harm.
func TestIdempotentMethodsAreSentAgain(t *testing.T) {
	for method, again := range map[string]bool{
		MethodGet: true, MethodHead: true, MethodPut: true, MethodOptions: true, MethodTrace: true, MethodQuery: true,
		MethodPost: false, MethodPatch: false, "query": false, "OWN": false,
	} {
		p := newPeer(t, func(c *peerConn) {
			if c.request() != nil && c.number > 1 {
				c.write("HTTP/1.1 204 No Content\r\n\r\n")
				c.untilClosed()
			}
		})
		err := p.host().Do(requestTo(t, method, p.url("/")), nil)
		if (err == nil) != again {
			t.Errorf("%s: %v", method, err)
		}
		want := int32(1)
		if again {
			want = 2
		}
		p.counts(want, want)
	}
}

func TestRetryIf(t *testing.T) {
	for _, again := range []bool{true, false} {
		p := newPeer(t, func(c *peerConn) { c.request() })
		hc := p.host()
		hc.MaxIdemponentCallAttempts = 3
		hc.RetryIf = func(*Request) bool { return again }
		_ = hc.Do(requestTo(t, MethodPost, p.url("/")), nil)
		_ = hc.Do(requestTo(t, MethodGet, p.url("/")), nil)
		if again {
			p.counts(6, 6)
		} else {
			p.counts(2, 2)
		}
	}
}

// The time begins anew where the hook wants so.
func TestRetryResetsTimeout(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		c.request()
		if c.number < 3 {
			c.untilClosed()
			return
		}
		c.write(respOK)
	})
	hc := p.host()
	hc.RetryIfErr = func(_ *Request, _ int, err error) (bool, bool) { return true, err == error(ErrTimeout) }
	mustDo(t, hc.DoTimeout(requestTo(t, MethodPost, p.url("/")), responseFor(t), 100*time.Millisecond))
	p.counts(3, 3)
	hc.CloseIdleConnections()

	silentPeer := silent(t)
	hc = silentPeer.host()
	hc.RetryIfErr = func(*Request, int, error) (bool, bool) { return false, true }
	if err := hc.DoTimeout(requestTo(t, MethodGet, silentPeer.url("/")), nil, short); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	silentPeer.counts(1, 0)
}

// A body that was read from a stream is not sent a second time, empty.
func TestRetryNotAfterBodyStream(t *testing.T) {
	p := newPeer(t, func(c *peerConn) { c.request() })
	hc := p.host()
	hc.RetryIfErr = func(*Request, int, error) (bool, bool) { return false, true }
	req := requestTo(t, MethodPut, p.url("/"))
	req.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("once") })
	if err := hc.Do(req, nil); err != ErrConnectionClosed {
		t.Errorf("got %v, want ErrConnectionClosed", err)
	}
	p.counts(1, 1)
}

func TestRetryWithBackoffOfDialing(t *testing.T) {
	p := answering(t, respOK)
	hc := p.host()
	dials := 0
	hc.Dial = func(addr string) (net.Conn, error) {
		if dials++; dials < 4 {
			return nil, errors.New("refused")
		}
		return net.Dial("tcp4", addr)
	}
	hc.RetryIfErr = RetryWithBackoff(time.Microsecond, time.Millisecond)
	mustDo(t, hc.Do(requestTo(t, MethodPost, p.url("/")), nil))
	if dials != 4 {
		t.Errorf("%d dials", dials)
	}
}

func TestRetryWithBackoffLeavesTakenPostAlone(t *testing.T) {
	p := newPeer(t, func(c *peerConn) { c.request() })
	hc := p.host()
	hc.RetryIfErr = RetryWithBackoff(time.Microsecond, time.Millisecond)
	_ = hc.Do(requestTo(t, MethodPost, p.url("/")), nil)
	p.counts(1, 1)
	_ = hc.Do(requestTo(t, MethodGet, p.url("/")), nil)
	p.counts(6, 6)
}

// A wait that would outlast the call is not begun.
func TestRetryWithBackoffKeepsToDeadline(t *testing.T) {
	hc := &HostClient{Addr: "nowhere", Dial: func(string) (net.Conn, error) { return nil, io.ErrClosedPipe }}
	hc.RetryIfErr = RetryWithBackoff(time.Hour, 2*time.Hour)
	soon(t, "the call", func() {
		if err := hc.DoTimeout(requestTo(t, MethodGet, "http://nowhere/"), nil, time.Millisecond); err == nil {
			t.Error("the call succeeded")
		}
	})
}

// refusing makes an error of every response.
type refusing struct{}

func (refusing) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	_, err := DefaultTransport.RoundTrip(hc, req, resp)
	return true, errors.Join(err, io.ErrNoProgress)
}

// The hook is told of the address also if the attempt has failed behind the
// response, on a new connection and on one that was used before.
func TestRetryHookIsToldOfTheAddressAfterAResponse(t *testing.T) {
	p := answering(t, respOK)
	hc := p.host()
	hc.Transport = refusing{}
	var asked []string
	hc.RetryIfErrUpstream = func(_ *Request, attempts int, _ error, upstream string) (bool, bool) {
		asked = append(asked, upstream)
		return false, attempts < 3
	}
	if err := hc.Do(requestTo(t, MethodGet, p.url("/")), responseFor(t)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
	if addr := p.addr(); len(asked) != 3 || asked[0] != addr || asked[1] != addr || asked[2] != addr {
		t.Errorf("the hook was told of %q, want %q three times", asked, addr)
	}
	p.counts(1, 3)
}
