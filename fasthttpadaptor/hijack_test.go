package fasthttpadaptor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestHijackedConnectionBelongsToTheHandler(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		over := make(chan struct{})
		c := start(func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			path := r.URL.Path
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("Hijack: %v", err)
				return
			}
			defer conn.Close()
			if _, err := w.Write([]byte("x")); err != http.ErrHijacked {
				t.Errorf("Write: %v", err)
			}
			if _, _, err := http.NewResponseController(w).Hijack(); err != http.ErrHijacked {
				t.Errorf("Hijack again: %v", err)
			}
			fmt.Fprintf(rw, "this is %s\n", path)
			_ = rw.Flush()
			line, err := rw.ReadString('\n')
			if err != nil {
				t.Errorf("reading: %v", err)
			}
			fmt.Fprintf(conn, "you said %s", line)
		})
		// bytes that arrive together with the request are not lost
		send(t, c, "GET /path HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhel")
		expect(t, c, "this is /path\n")
		send(t, c, "lo\n")
		expect(t, c, "you said hello\n")
		servertest.Receive(t, "the end of the handler", over)
		if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

func TestHijackedConnectionOutlivesTheHandler(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		conns := make(chan net.Conn, 1)
		readers := make(chan io.Reader, 1)
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Errorf("Hijack: %v", err)
			}
			readers <- rw
			conns <- conn
		})
		send(t, c, get)
		conn := servertest.Receive(t, "the connection", conns)
		send(t, c, "ping")
		expect(t, servertest.Receive(t, "the reader", readers), "ping")
		send(t, conn, "pong")
		expect(t, c, "pong")
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestHeaderMayBeWrittenBeforeHijack(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Errorf("Hijack: %v", err)
				return
			}
			defer conn.Close()
			_, _ = io.Copy(conn, io.LimitReader(rw, 4))
		})
		send(t, c, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got %v, %v", resp, err)
		}
		send(t, c, "ping")
		expect(t, r, "ping")
	})
}

type arithmetic struct{}

func (arithmetic) Double(n int, twice *int) error { *twice = 2 * n; return nil }

// net/rpc requests its protocol with CONNECT and a path.
func TestServerOfPackageRPC(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		s := rpc.NewServer()
		if err := s.RegisterName("Arithmetic", arithmetic{}); err != nil {
			t.Fatal(err)
		}
		c := start(s.ServeHTTP)
		send(t, c, "CONNECT "+rpc.DefaultRPCPath+" HTTP/1.0\r\n\r\n")
		expect(t, c, "HTTP/1.0 200 Connected to Go RPC\n\n")
		client := rpc.NewClient(c)
		for n := range 10 {
			var twice int
			if err := client.Call("Arithmetic.Double", n, &twice); err != nil || twice != 2*n {
				t.Fatalf("twice %d is %d, %v", n, twice, err)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A handler sends the response itself, so logs have its status from elsewhere.
func TestAnUpgradeByHijackIsLoggedWithItsStatus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fields string
		write  int
		want   int // for Server.ResponseSent: nothing is known of other responses
		logged int
	}{
		"an upgrade":                     {"Connection: Upgrade\r\nUpgrade: websocket\r\n", 0, 101, 101},
		"an upgrade with a header first": {"Connection: Upgrade\r\nUpgrade: websocket\r\n", 101, 101, 101},
		"another status":                 {"", 202, 0, 202},
		"no upgrade":                     {"", 0, 0, 200},
	} {
		t.Run(name, func(t *testing.T) {
			logged, sent := make(chan int, 1), make(chan fasthttp.SentResponse, 1)
			over := make(chan struct{})
			handler := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				defer close(over)
				if tt.write != 0 {
					w.WriteHeader(tt.write)
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Errorf("Hijack: %v", err)
					return
				}
				_ = conn.Close()
			})
			ln := fasthttputil.NewInmemoryListener()
			s := &fasthttp.Server{
				Handler: func(ctx *fasthttp.RequestCtx) {
					handler(ctx)
					logged <- ctx.Response.StatusCode()
				},
				ResponseSent: func(_ *fasthttp.RequestCtx, r fasthttp.SentResponse) { sent <- r },
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			c, err := ln.Dial()
			servertest.Must(t, err)
			send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n"+tt.fields+"\r\n")
			if got := servertest.Receive(t, "the log", logged); got != tt.logged {
				t.Errorf("status %d is logged, want %d", got, tt.logged)
			}
			if got := servertest.Receive(t, "the report", sent); got.StatusCode != tt.want || got.Err != nil {
				t.Errorf("status %d is reported, %v, want %d", got.StatusCode, got.Err, tt.want)
			}
			// the handler may still be about to write to the connection
			servertest.Receive(t, "the end of the handler", over)
			_ = c.Close()
			servertest.ShutDown(t, s)
			servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
		})
	}
}
