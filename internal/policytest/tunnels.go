package policytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TunnelTransport is a way of tunnels to a server: streams of CONNECT and extended CONNECT
// requests (RFC 8441, RFC 9220).
type TunnelTransport struct {
	Name string // of its subtests
	// Start starts a server, which is shut down when the test ends.
	Start func(t *testing.T, s *fasthttp.Server) TunnelServer
}

// TunnelServer is a running server with a client.
type TunnelServer struct {
	URL string // of the server, without a path
	// Client is a client of the server, in any form.
	Client interface {
		DoTimeout(req *fasthttp.Request, resp *fasthttp.Response, timeout time.Duration) error
		DoContext(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) error
	}
	Conns func() int // counts the client's connections
}

// Connect returns an extended CONNECT, or a CONNECT if protocol is empty.
func (ts TunnelServer) Connect(protocol string) *fasthttp.Request {
	req := new(fasthttp.Request)
	if protocol == "" {
		req.SetRequestURI(ts.URL + "/") // its host is the target
		req.Header.SetMethod("CONNECT")
	} else {
		req.SetRequestURI(ts.URL + "/a?b=c")
		req.Header.SetConnectProtocol(protocol)
	}
	return req
}

// Open opens a tunnel, which ends with the test.
func (ts TunnelServer) Open(t testing.TB, protocol string) net.Conn {
	t.Helper()
	resp := &fasthttp.Response{StreamBody: true}
	servertest.Must(t, ts.Client.DoTimeout(ts.Connect(protocol), resp, servertest.Patience))
	return tunnelOf(t, resp)
}

func tunnelOf(t testing.TB, resp *fasthttp.Response) net.Conn {
	t.Helper()
	nc, ok := resp.BodyStream().(net.Conn)
	if !ok || resp.StatusCode() != 200 {
		t.Fatalf("got %s with a %T", resp.Header.String(), resp.BodyStream())
	}
	// without the time limit of the call
	servertest.Must(t, nc.SetDeadline(time.Time{}))
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// ResetTunnel ends a tunnel of a server at once.
func ResetTunnel(nc net.Conn) {
	_ = nc.(interface{ UnsafeConn() net.Conn }).UnsafeConn().(interface{ Reset() error }).Reset()
}

// TunnelsTo returns a server whose tunnels handle serves.
func TunnelsTo(handle func(nc net.Conn)) *fasthttp.Server {
	return &fasthttp.Server{
		HTTP2:   fasthttp.HTTP2Config{ExtendedConnect: true},
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.Hijack(handle) },
	}
}

// RunTunnels tests tunnels by every transport.
func RunTunnels(t *testing.T, transports []TunnelTransport) {
	t.Parallel()
	for _, by := range transports {
		for name, test := range map[string]func(t *testing.T, by TunnelTransport){
			"both ways": testTunnels, "closed after their bytes": testClosedTunnels,
			"deadlines": testTunnelDeadlines, "cut": testCutTunnels,
		} {
			t.Run(by.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, by)
			})
		}
	}
}

// Tunnels carry any bytes both ways at once, beyond the windows, and each direction ends for
// itself.
func testTunnels(t *testing.T, by TunnelTransport) {
	reported := make(chan fasthttp.SentResponse, 10)
	ts := by.Start(t, &fasthttp.Server{
		HTTP2:        fasthttp.HTTP2Config{ExtendedConnect: true},
		ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) { reported <- sent },
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyString("not sent")
			if protocol := ctx.ConnectProtocol(); protocol != nil && (string(protocol) != "upper/1" || string(ctx.RequestURI()) != "/a?b=c" || string(ctx.Path()) != "/a") {
				t.Errorf("got %s %s", protocol, ctx.RequestURI())
			}
			ctx.Hijack(func(nc net.Conn) {
				if nc.RemoteAddr().String() != ctx.RemoteAddr().String() || nc.LocalAddr().String() != ctx.LocalAddr().String() || !ctx.IsConnect() {
					t.Errorf("the connection is from %v to %v", nc.RemoteAddr(), nc.LocalAddr())
				}
				shout(t, nc)
			})
		},
	})
	for _, protocol := range []string{"", "upper/1"} {
		nc := ts.Open(t, protocol)
		if sent := servertest.Receive(t, "ResponseSent", reported); sent.StatusCode != 200 || sent.Err != nil {
			t.Errorf("reported %+v", sent)
		}
		text := servertest.Numbered(3 << 20)
		written := make(chan error, 1)
		go func() {
			_, err := io.WriteString(nc, text)
			written <- errors.Join(err, nc.(interface{ CloseWrite() error }).CloseWrite())
		}()
		got, err := io.ReadAll(nc)
		if want := strings.ToUpper(text) + " the end"; string(got) != want || err != nil {
			t.Errorf("%q: %d of %d bytes, %v", protocol, len(got), len(want), err)
		}
		servertest.Must(t, servertest.Receive(t, "the end of writing", written))
		if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write after CloseWrite: %v", err)
		}
		servertest.Must(t, nc.Close())
		if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
		if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read after Close: %v", err)
		}
	}
	if n := ts.Conns(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// shout answers a tunnel with its bytes in upper case, and ends it after its peer has.
func shout(t *testing.T, nc net.Conn) {
	b := make([]byte, 10_000)
	for {
		n, err := nc.Read(b)
		if _, failed := nc.Write(bytes.ToUpper(b[:n])); failed != nil {
			t.Error(failed)
			return
		}
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			_, _ = nc.Write([]byte(" the end"))
			return
		}
	}
}

// Bytes that a side has written before it closes arrive, although the other side has read none yet.
func testClosedTunnels(t *testing.T, by TunnelTransport) {
	text := servertest.Numbered(16_000)
	ahead, received := make(chan struct{}, 1), make(chan string, 1)
	ts := by.Start(t, TunnelsTo(func(nc net.Conn) {
		_, _ = io.WriteString(nc, text)
		servertest.Receive(t, "the end of the client", ahead)
		b, err := io.ReadAll(nc)
		if err != nil {
			t.Error(err)
		}
		received <- string(b)
	}))
	nc := ts.Open(t, "a")
	b := make([]byte, len(text))
	if _, err := io.ReadFull(nc, b); string(b) != text || err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nc, text); err != nil {
		t.Fatal(err)
	}
	servertest.Must(t, nc.Close())
	ahead <- struct{}{}
	if got := servertest.Receive(t, "the bytes", received); got != text {
		t.Errorf("%d bytes", len(got))
	}
}

// Deadlines of both sides, also while a Read or a Write waits.
func testTunnelDeadlines(t *testing.T, by TunnelTransport) {
	conns, done := make(chan net.Conn, 1), make(chan struct{})
	defer close(done)
	ts := by.Start(t, TunnelsTo(func(nc net.Conn) {
		conns <- nc
		servertest.Receive(t, "the end", done)
	}))
	client := ts.Open(t, "a")
	checkDeadlines(t, servertest.Receive(t, "the tunnel", conns), client)
	client = ts.Open(t, "a")
	checkDeadlines(t, client, servertest.Receive(t, "the tunnel", conns))
}

// checkDeadlines checks the deadlines of one side of a tunnel.
func checkDeadlines(t *testing.T, nc, peer net.Conn) {
	b := make([]byte, 1)
	expire := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	pass := func(from, to net.Conn) {
		t.Helper()
		if _, err := from.Write([]byte("a")); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(to, b); err != nil {
			t.Error(err)
		}
	}
	ended := make(chan error, 1)
	read := func() {
		_, err := nc.Read(b)
		ended <- err
	}
	servertest.Must(t, nc.SetReadDeadline(time.Now().Add(servertest.Short)))
	for range 2 {
		n, err := nc.Read(b)
		if expire("a read", err); n != 0 {
			t.Errorf("%d bytes", n)
		}
	}
	servertest.Must(t, nc.SetReadDeadline(time.Now().Add(servertest.Never)))
	go read()
	servertest.Must(t, nc.SetReadDeadline(time.Unix(1, 0)))
	expire("a read that waits", servertest.Receive(t, "the read", ended))
	// the tunnel is as good as before
	servertest.Must(t, nc.SetDeadline(time.Time{}))
	pass(nc, peer)
	pass(peer, nc)
	// more than fits into windows and buffers
	large := make([]byte, 64<<20)
	go func() {
		_, err := nc.Write(large)
		ended <- err
	}()
	// meanwhile the other direction works
	pass(peer, nc)
	servertest.Must(t, nc.SetWriteDeadline(time.Now().Add(servertest.Short)))
	expire("a write that waits", servertest.Receive(t, "the write", ended))
	_, err := nc.Write(b)
	expire("a write after a part of another", err)
	servertest.Must(t, nc.SetDeadline(time.Time{}))
	go read()
	servertest.Must(t, nc.Close())
	if err := servertest.Receive(t, "the read", ended); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read and Close: %v", err)
	}
	if err := nc.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a deadline after Close: %v", err)
	}
}

// A reset by the server, and the end of the call's context or time, fail both directions.
func testCutTunnels(t *testing.T, by TunnelTransport) {
	ended := make(chan error, 1)
	ts := by.Start(t, &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
		cut := string(ctx.ConnectProtocol()) == "reset"
		ctx.Hijack(func(nc net.Conn) {
			_, err := nc.Read(make([]byte, 1))
			if cut {
				ResetTunnel(nc)
				return
			}
			ended <- err
		})
	}})
	nc := ts.Open(t, "reset")
	if _, err := nc.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("a read after a reset by the server: %v", err)
	}
	if _, err := nc.Write([]byte("a")); err == nil {
		t.Error("a write after a reset by the server")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := &fasthttp.Response{StreamBody: true}
	servertest.Must(t, ts.Client.DoContext(ctx, ts.Connect("a"), resp))
	nc = resp.BodyStream().(net.Conn)
	cancel()
	if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a read, and the context has ended: %v", err)
	}
	if _, err := nc.Write(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a write, and the context has ended: %v", err)
	}
	servertest.Must(t, resp.CloseBodyStream())
	if err := servertest.Receive(t, "the end", ended); err == nil || err == io.EOF {
		t.Errorf("the server gets %v", err)
	}
	resp = &fasthttp.Response{StreamBody: true}
	if err := ts.Client.DoTimeout(ts.Connect("a"), resp, 10*servertest.Short); err != nil {
		// the machine is slow
		t.Logf("a tunnel with a short timeout: %v", err)
		return
	}
	if _, err := resp.BodyStream().(net.Conn).Read(make([]byte, 1)); !errors.Is(err, fasthttp.ErrTimeout) {
		t.Errorf("a read, and the time of the call is over: %v", err)
	}
	servertest.Must(t, resp.CloseBodyStream())
	servertest.Receive(t, "the end", ended)
}
