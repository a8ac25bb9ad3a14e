package fasthttp

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// short is a timeout that is meant to pass.
const short = 30 * time.Millisecond

// silent is a peer that takes requests and never answers.
func silent(t testing.TB) *peer {
	return newPeer(t, func(c *peerConn) { c.untilClosed() })
}

// Known failure 33: when the call returns, nobody writes to the response or reads
// the request any more. The race detector would tell.
func TestClientLeavesMessagesAloneAfterTimeout(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			time.Sleep(3 * time.Millisecond)
			c.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Late: yes\r\n\r\nlate!")
		}
	})
	hc := p.host()
	req, resp := requestTo(t, MethodPost, p.url("/")), responseFor(t)
	body := []byte("the body of the caller")
	for range 50 {
		req.SetBodyRaw(body)
		err := hc.DoTimeout(req, resp, 2*time.Millisecond)
		for i := range body {
			body[i] = 'x'
		}
		resp.Reset()
		resp.SetBodyString("mine")
		if err == nil {
			continue
		}
		if err != error(ErrTimeout) {
			t.Fatalf("got %v, want ErrTimeout", err)
		}
		if string(resp.Body()) != "mine" {
			t.Fatalf("the response became %q", resp.Body())
		}
	}
}

// Known failure 34: the deadline covers every stage of a call.
func TestClientDeadlineCoversEveryStage(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	hanging := func(string) (net.Conn, error) {
		<-never
		return nil, errors.New("too late")
	}
	stages := map[string]func(p *peer, hc *HostClient){
		"waiting for a connection": func(p *peer, hc *HostClient) {
			hc.MaxConns = 1
			cc, err := hc.AcquireConn(0, false)
			mustDo(t, err)
			t.Cleanup(func() { hc.CloseConn(cc) })
		},
		"dialing":                func(_ *peer, hc *HostClient) { hc.Dial = hanging },
		"TLS":                    func(_ *peer, hc *HostClient) { hc.IsTLS = true },
		"waiting for the answer": func(*peer, *HostClient) {},
	}
	calls := map[string]func(hc *HostClient, req *Request, resp *Response) error{
		"DoTimeout": func(hc *HostClient, req *Request, resp *Response) error { return hc.DoTimeout(req, resp, short) },
		"DoDeadline": func(hc *HostClient, req *Request, resp *Response) error {
			return hc.DoDeadline(req, resp, time.Now().Add(short))
		},
		"SetTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			req.SetTimeout(short)
			return hc.Do(req, resp)
		},
		"context": func(hc *HostClient, req *Request, resp *Response) error {
			ctx, cancel := context.WithTimeout(context.Background(), short)
			defer cancel()
			return hc.DoContext(ctx, req, resp)
		},
	}
	for stage, prepare := range stages {
		for name, call := range calls {
			t.Run(stage+"/"+name, func(t *testing.T) {
				p := silent(t)
				hc := &HostClient{Addr: p.addr()}
				prepare(p, hc)
				req := requestTo(t, MethodGet, "/")
				req.Header.SetHost("example.com")
				var err error
				soon(t, "the call", func() { err = call(hc, req, responseFor(t)) })
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a timeout", err)
				}
			})
		}
	}
}

// A connection that is there too late is used by the next call.
func TestClientKeepsConnectionThatCameTooLate(t *testing.T) {
	p := answering(t, respOK)
	hc := p.host()
	gate := make(chan struct{})
	hc.Dial = func(addr string) (net.Conn, error) {
		<-gate
		return net.Dial("tcp4", addr)
	}
	req, resp := requestTo(t, MethodGet, p.url("/")), responseFor(t)
	if err := hc.DoTimeout(req, resp, short); err != error(ErrTimeout) {
		t.Fatalf("got %v, want ErrTimeout", err)
	}
	close(gate)
	eventually(t, "the late connection idle", func() bool { return hc.IdleConnsCount() == 1 })
	mustDo(t, hc.Do(req, resp))
	p.counts(1, 1)
}

func TestClientReadTimeout(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		c.request()
		c.untilClosed()
	})
	hc := p.host()
	hc.ReadTimeout = short
	if err := hc.Do(requestTo(t, MethodGet, p.url("/")), responseFor(t)); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	p.counts(1, 1)
}

func TestClientWriteTimeout(t *testing.T) {
	hold := make(chan struct{})
	p := newPeer(t, func(c *peerConn) { <-hold })
	defer close(hold)
	hc := p.host()
	hc.WriteTimeout = short
	req := requestTo(t, MethodPost, p.url("/"))
	req.SetBodyRaw(make([]byte, 64<<20))
	if err := hc.Do(req, responseFor(t)); err != error(ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}

// A deadline does not outlast its call.
func TestClientDeadlineIsTakenAway(t *testing.T) {
	p := newPeer(t, func(c *peerConn) {
		for c.request() != nil {
			if c.body == "slow" {
				time.Sleep(2 * short)
			}
			c.write(respOK)
		}
	})
	hc := p.host()
	req, resp := requestTo(t, MethodPost, p.url("/")), responseFor(t)
	for range 3 {
		req.SetBodyString("fast")
		mustDo(t, hc.DoTimeout(req, resp, short))
		req.SetBodyString("slow")
		mustDo(t, hc.Do(req, resp))
	}
	p.counts(1, 6)
}

func TestClientTimeoutThatIsOver(t *testing.T) {
	p := answering(t, respOK)
	hc := p.host()
	client := &Client{}
	defer client.CloseIdleConnections()
	req, resp := requestTo(t, MethodGet, p.url("/")), responseFor(t)
	past := time.Now().Add(-time.Second)
	for name, err := range map[string]error{
		"HostClient.DoTimeout(0)":  hc.DoTimeout(req, resp, 0),
		"HostClient.DoTimeout(-1)": hc.DoTimeout(req, resp, -1),
		"HostClient.DoDeadline":    hc.DoDeadline(req, resp, past),
		"Client.DoTimeout(-1)":     client.DoTimeout(req, resp, -1),
		"Client.DoDeadline":        client.DoDeadline(req, resp, past),
	} {
		if err != error(ErrTimeout) {
			t.Errorf("%s: got %v, want ErrTimeout", name, err)
		}
	}
	if _, _, err := client.GetTimeout(nil, p.url("/"), 0); err != error(ErrTimeout) {
		t.Errorf("GetTimeout: got %v, want ErrTimeout", err)
	}
	if _, _, err := client.GetDeadline(nil, p.url("/"), past); err != error(ErrTimeout) {
		t.Errorf("GetDeadline: got %v, want ErrTimeout", err)
	}
	p.counts(0, 0)
}

func TestClientTimeoutIsKnownByItsKinds(t *testing.T) {
	for _, err := range []error{ErrTimeout, ErrTLSHandshakeTimeout} {
		timeout, ok := errors.AsType[net.Error](err)
		if !ok || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrTimeout) {
			t.Errorf("%v is not known as a timeout", err)
		}
	}
}

// The end of a context ends the call, at every stage, with the error of the
// context.
func TestClientContextEndsTheCall(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	cause := errors.New("changed my mind")
	stages := map[string]func(hc *HostClient){
		"waiting for a connection": func(hc *HostClient) {
			hc.MaxConns = 1
			cc, err := hc.AcquireConn(0, false)
			mustDo(t, err)
			t.Cleanup(func() { hc.CloseConn(cc) })
		},
		"dialing": func(hc *HostClient) {
			hc.DialTimeout = func(string, time.Duration) (net.Conn, error) {
				<-never
				return nil, io.EOF
			}
		},
		"TLS":     func(hc *HostClient) { hc.IsTLS = true },
		"reading": func(*HostClient) {},
		"retry": func(hc *HostClient) {
			hc.Dial = func(string) (net.Conn, error) { return nil, io.ErrClosedPipe }
			hc.RetryIfErr = RetryWithBackoff(time.Hour, time.Hour)
		},
	}
	for stage, prepare := range stages {
		t.Run(stage, func(t *testing.T) {
			p := silent(t)
			hc := &HostClient{Addr: p.addr()}
			prepare(hc)
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(short, func() { cancel(cause) })
			req := requestTo(t, MethodGet, "/")
			req.Header.SetHost("example.com")
			var err error
			soon(t, "the call", func() { err = hc.DoContext(ctx, req, responseFor(t)) })
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
	p := answering(t, respOK)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	client := &Client{}
	if err := client.DoContext(ctx, requestTo(t, MethodGet, p.url("/")), nil); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, _, err := client.GetContext(ctx, nil, p.url("/")); err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	p.counts(0, 0)
}

// A context that is not needed any more leaves the connection alone.
func TestClientContextLeavesIdleConnectionAlone(t *testing.T) {
	p := answering(t, respOK)
	hc := p.host()
	req, resp := requestTo(t, MethodGet, p.url("/")), responseFor(t)
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		mustDo(t, hc.DoContext(ctx, req, resp))
		cancel()
		mustDo(t, hc.Do(req, resp))
	}
	p.counts(1, 40)
}
