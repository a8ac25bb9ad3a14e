package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// ResponseHeaderTimeout limits the head of a response, not its body.
func TestResponseHeaderTimeout(t *testing.T) {
	const headTime = time.Second
	serve := func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			switch req.URL.Path {
			case "/silent":
				c.UntilClosed()
			case "/half":
				c.Send("HTTP/1.1 200 OK\r\nContent-Le")
				c.UntilClosed()
			case "/hints":
				time.Sleep(headTime - 1) // bubble: callInBubble
				c.Send("HTTP/1.1 103 Early Hints\r\n\r\n")
				c.UntilClosed()
			case "/body":
				time.Sleep(headTime - 1) // bubble: callInBubble
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				time.Sleep(2 * headTime) // bubble: callInBubble
				c.Send("ok")
			case "/endless":
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				c.UntilClosed()
			default:
				c.Send(servertest.OK)
			}
		}
	}
	for _, streamed := range []bool{false, true} {
		callInBubble(t, serve, func(t *testing.T, hc *HostClient) {
			hc.ResponseHeaderTimeout = headTime
			hc.StreamResponseBody = streamed
			hc.MaxIdemponentCallAttempts = 1
			for _, path := range []string{"/silent", "/half", "/hints"} {
				resp := responseFor(t)
				takesTime(t, path, headTime, func() {
					if err := hc.Do(requestTo(t, MethodGet, "http://peer.test"+path), resp); err != error(ErrTimeout) {
						t.Errorf("%s: got %v", path, err)
					}
				})
				_ = resp.CloseBodyStream()
			}
			// one body takes longer than the timeout of the head, another one takes too
			// long
			resp := responseFor(t)
			servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://peer.test/"), resp))
			_ = resp.Body()
			takesTime(t, "/body", 3*headTime-1, func() {
				servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://peer.test/body"), resp))
				if string(resp.Body()) != "ok" {
					t.Errorf("got %q", resp.Body())
				}
			})
			hc.ReadTimeout = 3 * headTime
			resp = responseFor(t)
			takesTime(t, "/endless", hc.ReadTimeout, func() {
				err := hc.Do(requestTo(t, MethodGet, "http://peer.test/endless"), resp)
				if streamed {
					servertest.Must(t, err)
					_, err = io.ReadAll(resp.BodyStream())
				}
				if err != error(ErrTimeout) {
					t.Errorf("streamed %v: the body: got %v", streamed, err)
				}
			})
			_ = resp.CloseBodyStream()
		})
	}
}

// ResponseHeaderTimeout begins when the request is written. It has no effect if the
// head has arrived before that.
func TestResponseHeaderTimeoutBesideTheRequest(t *testing.T) {
	const headTime = time.Second
	serve := func(c *servertest.PeerConn) {
		for req, err := http.ReadRequest(c.R); err == nil; req, err = http.ReadRequest(c.R) {
			early := req.URL.Path == "/early"
			if early {
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if !early {
				c.UntilClosed()
				return
			}
			time.Sleep(2 * headTime) // bubble: callInBubble
			c.Send("ok")
		}
	}
	for _, streamed := range []bool{false, true} {
		for path, want := range map[string]struct {
			err   error
			after time.Duration
		}{"/early": {nil, 4 * headTime}, "/silent": {ErrTimeout, 3 * headTime}} {
			callInBubble(t, serve, func(t *testing.T, hc *HostClient) {
				hc.ResponseHeaderTimeout, hc.StreamResponseBody = headTime, streamed
				req, resp := requestTo(t, MethodPost, "http://peer.test"+path), responseFor(t)
				pr, pw := io.Pipe()
				req.SetBodyStream(pr, -1)
				go func() {
					_, _ = io.WriteString(pw, "begin")
					time.Sleep(2 * headTime)
					_ = pw.Close()
				}()
				takesTime(t, path, want.after, func() {
					if err := hc.Do(req, resp); err != want.err {
						t.Errorf("%s: got %v, want %v", path, err, want.err)
					}
					if want.err == nil && string(resp.Body()) != "ok" {
						t.Errorf("%s: got %q", path, resp.Body())
					}
				})
			})
		}
	}
}

func TestTLSHandshakeTimeout(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, (*servertest.PeerConn).UntilClosed)
	for _, client := range []*Client{{TLSHandshakeTimeout: servertest.Short}, {ConfigureClient: func(hc *HostClient) error { hc.TLSHandshakeTimeout = servertest.Short; return nil }}} {
		servertest.Soon(t, "the handshake", func() {
			err := client.Do(requestTo(t, MethodGet, "https://"+p.Addr()+"/"), nil)
			if err != error(ErrTLSHandshakeTimeout) {
				t.Errorf("got %v, want ErrTLSHandshakeTimeout", err)
			}
		})
		if n := client.ConnsCount(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	}
}

func TestDialContext(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	type key struct{}
	dials := 0
	client := &Client{
		MaxIdleConnDuration: servertest.Never,
		DialTimeout:         func(string, time.Duration) (net.Conn, error) { return nil, errors.New("the wrong one") },
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			if _, limited := ctx.Deadline(); ctx.Value(key{}) != "value" || network != "tcp" || addr != p.Addr() || !limited {
				t.Errorf("dialed %s %s with %v", network, addr, ctx)
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), key{}, "value"), servertest.Patience)
	defer cancel()
	resp := responseFor(t)
	for range 2 {
		servertest.Must(t, client.DoContext(ctx, requestTo(t, MethodGet, p.URL("/")), resp))
	}
	// a connection outlives the context that dialed it
	cancel()
	servertest.Must(t, client.Do(requestTo(t, MethodGet, p.URL("/")), resp))
	if string(resp.Body()) != "ok" || dials != 1 {
		t.Errorf("got %q with %d dials", resp.Body(), dials)
	}
	client.CloseIdleConnections()

	// a call that ends cancels its dial
	started := make(chan struct{}, 1)
	hc := &HostClient{Addr: "path/of a socket", DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		if addr != "path/of a socket" {
			t.Errorf("dialed %q", addr)
		}
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	for _, canceled := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		req := requestTo(t, MethodGet, "http://h/")
		want := context.Canceled
		if !canceled {
			req.SetTimeout(servertest.Short)
			want = context.DeadlineExceeded
		}
		servertest.Soon(t, "the dial", func() {
			go func() {
				<-started
				if canceled {
					cancel()
				}
			}()
			if err := hc.DoContext(ctx, req, nil); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
		cancel()
	}
	hc.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	if err := hc.Do(requestTo(t, MethodGet, "http://h/"), nil); err != errNoConn {
		t.Errorf("got %v, want errNoConn", err)
	}
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// An address that does not answer leaves time for the addresses after it.
func TestSilentAddressesShareTheTime(t *testing.T) {
	for _, tt := range []struct {
		addr, dialed  string
		timeout, took time.Duration
		fails         bool
	}{
		{addr: "silent:1,a:2", timeout: 4 * time.Second, took: 2 * time.Second, dialed: "[silent:1 a:2]"},
		{addr: "silent:1,silent:2,a:3", timeout: 3 * time.Second, took: 2 * time.Second, dialed: "[silent:1 silent:2 a:3]"},
		{addr: "refuses:1,silent:2,a:3", timeout: 2 * time.Second, took: time.Second, dialed: "[refuses:1 silent:2 a:3]"},
		// no share is too small
		{addr: "silent:1,a:2", timeout: 600 * time.Millisecond, took: 500 * time.Millisecond, dialed: "[silent:1 a:2]"},
		{addr: "silent:1,a:2", timeout: 100 * time.Millisecond, took: 100 * time.Millisecond, dialed: "[silent:1]", fails: true},
		// the last one has all that is left
		{addr: "silent:1", timeout: 4 * time.Second, took: 4 * time.Second, dialed: "[silent:1]", fails: true},
		{addr: "refuses:1,silent:2", timeout: 4 * time.Second, took: 4 * time.Second, dialed: "[refuses:1 silent:2]", fails: true},
	} {
		for _, withContext := range []bool{true, false} {
			callInBubble(t, func(c *servertest.PeerConn) {
				if c.Request() != nil {
					c.OK("ok")
				}
			}, func(t *testing.T, hc *HostClient) {
				var dialed []string
				connect := hc.DialContext
				hc.Addr, hc.DialContext = tt.addr, func(ctx context.Context, network, addr string) (net.Conn, error) {
					dialed = append(dialed, addr)
					switch addr[0] {
					case 's':
						<-ctx.Done()
						return nil, ctx.Err()
					case 'r':
						return nil, errors.New("refused")
					}
					return connect(ctx, network, addr)
				}
				if !withContext {
					dial := hc.DialContext
					hc.DialTimeout, hc.DialContext = func(addr string, timeout time.Duration) (net.Conn, error) {
						ctx, cancel := context.WithTimeout(context.Background(), timeout)
						defer cancel()
						return dial(ctx, "tcp", addr)
					}, nil
				}
				takesTime(t, tt.addr, tt.took, func() {
					err := hc.DoTimeout(requestTo(t, MethodGet, "http://any/"), nil, tt.timeout)
					if tt.fails && err != ErrTimeout || !tt.fails && err != nil {
						t.Errorf("%s within %v: got %v", tt.addr, tt.timeout, err)
					}
				})
				if got := fmt.Sprint(dialed); got != tt.dialed {
					t.Errorf("%s within %v: dialed %s, want %s", tt.addr, tt.timeout, got, tt.dialed)
				}
			})
		}
	}
}
