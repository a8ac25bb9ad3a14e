package integrationtests

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lateCalls are calls that time out at about the time of their responses, or before: calls
// with odd numbers are answered after they have returned. Each channel is closed at that
// moment.
type lateCalls [50]chan struct{}

func newLateCalls() *lateCalls {
	var l lateCalls
	for i := range l {
		l[i] = make(chan struct{})
	}
	return &l
}

// isLate reports whether a call is answered after it has returned.
func (l *lateCalls) isLate(i int) bool { return i%2 == 1 }

// await waits until the call for a path may be answered.
func (l *lateCalls) await(path string) {
	if i, err := strconv.Atoi(strings.TrimPrefix(path, "/")); err == nil && l.isLate(i) {
		<-l[i]
	}
}

// limit returns the timeout of a call.
func (l *lateCalls) limit(i int) time.Duration {
	return time.Duration(i)*100*time.Microsecond + time.Microsecond
}

// Known failure 33: after a call has returned, the client neither writes to the
// response nor reads the request. The race detector reports a violation.
func TestClientLeavesMessagesAloneAfterTimeout(t *testing.T) {
	t.Parallel()
	late := newLateCalls()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for r := c.Request(); r != nil; r = c.Request() {
			late.await(r.URL.Path)
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Late: yes\r\n\r\nlate!")
		}
	})
	hc := hostFor(p)
	req, resp := requestTo(t, fasthttp.MethodPost, p.URL("/")), responseFor(t)
	body := []byte("the body of the caller")
	for i := range late {
		req.SetRequestURI(p.URL("/" + strconv.Itoa(i)))
		req.SetBodyRaw(body)
		err := hc.DoTimeout(req, resp, late.limit(i))
		close(late[i])
		for i := range body {
			body[i] = 'x'
		}
		resp.Reset()
		resp.SetBodyString("mine")
		if err != error(fasthttp.ErrTimeout) && (err != nil || late.isLate(i)) {
			t.Fatalf("got %v, want ErrTimeout", err)
		}
		if string(resp.Body()) != "mine" {
			t.Fatalf("the response became %q", resp.Body())
		}
	}
}

// Known failure 34: the deadline covers every stage of a call.
func TestClientDeadlineCoversEveryStage(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	hanging := func(string) (net.Conn, error) {
		<-never
		return nil, errors.New("too late")
	}
	stages := map[string]func(p *servertest.Peer, hc *fasthttp.HostClient){
		"waiting for a connection": func(p *servertest.Peer, hc *fasthttp.HostClient) {
			hc.MaxConns = 1
			cc, err := hc.AcquireConn(0, false)
			servertest.Must(t, err)
			t.Cleanup(func() { hc.CloseConn(cc) })
		},
		"dialing":                func(_ *servertest.Peer, hc *fasthttp.HostClient) { hc.Dial = hanging },
		"TLS":                    func(_ *servertest.Peer, hc *fasthttp.HostClient) { hc.IsTLS = true },
		"waiting for the answer": func(*servertest.Peer, *fasthttp.HostClient) {},
	}
	calls := map[string]func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) error{
		"DoTimeout": func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) error {
			return hc.DoTimeout(req, resp, servertest.Short)
		},
		"DoDeadline": func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) error {
			return hc.DoDeadline(req, resp, time.Now().Add(servertest.Short))
		},
		"SetTimeout": func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) error {
			req.SetTimeout(servertest.Short)
			return hc.Do(req, resp)
		},
		"context": func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) error {
			ctx, cancel := context.WithTimeout(context.Background(), servertest.Short)
			defer cancel()
			return hc.DoContext(ctx, req, resp)
		},
	}
	for stage, prepare := range stages {
		for name, call := range calls {
			t.Run(stage+"/"+name, func(t *testing.T) {
				p := servertest.Silent(t)
				hc := &fasthttp.HostClient{Addr: p.Addr()}
				prepare(p, hc)
				req := requestTo(t, fasthttp.MethodGet, "/")
				req.Header.SetHost("example.com")
				var err error
				servertest.Soon(t, "the call", func() { err = call(hc, req, responseFor(t)) })
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a timeout", err)
				}
			})
		}
	}
}

// failWhileDialing makes calls whose dial never ends, until one has begun to dial before its time
// was over. The dial holds its place.
func failWhileDialing(t *testing.T, hc *fasthttp.HostClient, call func(limit time.Duration) error) {
	t.Helper()
	servertest.Doubling(t, func(limit time.Duration) error {
		if err := call(limit); err != error(fasthttp.ErrTimeout) {
			t.Fatalf("got %v, want ErrTimeout", err)
		}
		if hc.ConnsCount() == 0 {
			return errors.New("the time was over before the dial")
		}
		return nil
	})
}

// If a dial succeeds after the timeout of its call, the next call uses the
// connection.
func TestClientKeepsConnectionThatCameTooLate(t *testing.T) {
	t.Parallel()
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	gate := make(chan struct{})
	hc.Dial = func(addr string) (net.Conn, error) {
		<-gate
		return net.Dial("tcp4", addr)
	}
	req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)
	failWhileDialing(t, hc, func(limit time.Duration) error { return hc.DoTimeout(req, resp, limit) })
	close(gate)
	servertest.Eventually(t, "the late connection idle", func() bool { return hc.IdleConnsCount() == 1 })
	servertest.Must(t, hc.Do(req, resp))
	p.Counts(1, 1)
}

func TestClientReadTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var requests atomic.Int32
		hc := clientInBubble(t, func(c *servertest.PeerConn) {
			c.Request()
			requests.Add(1)
			c.UntilClosed()
		})
		hc.ReadTimeout = time.Minute
		begun := time.Now()
		err := hc.Do(requestTo(t, fasthttp.MethodGet, "http://peer/"), responseFor(t))
		if took := time.Since(begun); err != error(fasthttp.ErrTimeout) || took != time.Minute {
			t.Errorf("got %v after %v, want ErrTimeout after a minute", err, took)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("the peer has got %d requests", n)
		}
	})
}

func TestClientWriteTimeout(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { <-hold })
	defer close(hold)
	hc := hostFor(p)
	hc.WriteTimeout = servertest.Short
	req := requestTo(t, fasthttp.MethodPost, p.URL("/"))
	req.SetBodyRaw(make([]byte, 64<<20))
	if err := hc.Do(req, responseFor(t)); err != error(fasthttp.ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}

// The deadline of a call does not apply to the next call on the connection.
func TestClientDeadlineIsTakenAway(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var conns, requests atomic.Int32
		hc := clientInBubble(t, func(c *servertest.PeerConn) {
			conns.Add(1)
			for c.Request() != nil {
				requests.Add(1)
				if c.Body == "slow" {
					time.Sleep(time.Hour) // bubble: the argument of inBubble
				}
				c.Send(servertest.OK)
			}
		})
		req, resp := requestTo(t, fasthttp.MethodPost, "http://peer/"), responseFor(t)
		for range 3 {
			req.SetBodyString("fast")
			servertest.Must(t, hc.DoTimeout(req, resp, time.Minute))
			req.SetBodyString("slow")
			servertest.Must(t, hc.Do(req, resp))
		}
		if conns.Load() != 1 || requests.Load() != 6 {
			t.Errorf("%d connections and %d requests, want 1 and 6", conns.Load(), requests.Load())
		}
	})
}

func TestClientTimeoutThatIsOver(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	client := &fasthttp.Client{}
	defer client.CloseIdleConnections()
	req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)
	past := time.Now().Add(-time.Second)
	for name, err := range map[string]error{
		"HostClient.DoTimeout(0)":  hc.DoTimeout(req, resp, 0),
		"HostClient.DoTimeout(-1)": hc.DoTimeout(req, resp, -1),
		"HostClient.DoDeadline":    hc.DoDeadline(req, resp, past),
		"Client.DoTimeout(-1)":     client.DoTimeout(req, resp, -1),
		"Client.DoDeadline":        client.DoDeadline(req, resp, past),
	} {
		if err != error(fasthttp.ErrTimeout) {
			t.Errorf("%s: got %v, want ErrTimeout", name, err)
		}
	}
	if _, _, err := client.GetTimeout(nil, p.URL("/"), 0); err != error(fasthttp.ErrTimeout) {
		t.Errorf("GetTimeout: got %v, want ErrTimeout", err)
	}
	if _, _, err := client.GetDeadline(nil, p.URL("/"), past); err != error(fasthttp.ErrTimeout) {
		t.Errorf("GetDeadline: got %v, want ErrTimeout", err)
	}
	p.Counts(0, 0)
}

func TestClientTimeoutIsKnownByItsKinds(t *testing.T) {
	for _, err := range []error{fasthttp.ErrTimeout, fasthttp.ErrTLSHandshakeTimeout} {
		timeout, ok := errors.AsType[net.Error](err)
		if !ok || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fasthttp.ErrTimeout) {
			t.Errorf("%v is not known as a timeout", err)
		}
	}
}

// If a context ends, the call ends at any stage with the error of the context.
func TestClientContextEndsTheCall(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	cause := errors.New("changed my mind")
	stages := map[string]func(hc *fasthttp.HostClient){
		"waiting for a connection": func(hc *fasthttp.HostClient) {
			hc.MaxConns = 1
			cc, err := hc.AcquireConn(0, false)
			servertest.Must(t, err)
			t.Cleanup(func() { hc.CloseConn(cc) })
		},
		"dialing": func(hc *fasthttp.HostClient) {
			hc.DialTimeout = func(string, time.Duration) (net.Conn, error) {
				<-never
				return nil, io.EOF
			}
		},
		"TLS":     func(hc *fasthttp.HostClient) { hc.IsTLS = true },
		"reading": func(*fasthttp.HostClient) {},
		"retry": func(hc *fasthttp.HostClient) {
			hc.Dial = func(string) (net.Conn, error) { return nil, io.ErrClosedPipe }
			hc.RetryIfErr = fasthttp.RetryWithBackoff(fasthttp.Backoff{Base: time.Hour, Limit: time.Hour})
		},
	}
	for stage, prepare := range stages {
		t.Run(stage, func(t *testing.T) {
			p := servertest.Silent(t)
			hc := &fasthttp.HostClient{Addr: p.Addr()}
			prepare(hc)
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(servertest.Short, func() { cancel(cause) })
			req := requestTo(t, fasthttp.MethodGet, "/")
			req.Header.SetHost("example.com")
			var err error
			servertest.Soon(t, "the call", func() { err = hc.DoContext(ctx, req, responseFor(t)) })
			if stage == "retry" {
				if err == nil {
					t.Error("the call succeeded")
				}
				return
			}
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("got %v, want the error of the context", err)
			}
		})
	}
}

func TestClientContextThatHasEnded(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	client := &fasthttp.Client{}
	if err := client.DoContext(ctx, requestTo(t, fasthttp.MethodGet, p.URL("/")), nil); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, _, err := client.GetContext(ctx, nil, p.URL("/")); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	p.Counts(0, 0)
}

// If a context ends after its call, the idle connection stays open.
func TestClientContextLeavesIdleConnectionAlone(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		servertest.Must(t, hc.DoContext(ctx, req, resp))
		cancel()
		servertest.Must(t, hc.Do(req, resp))
	}
	p.Counts(1, 40)
}
