package fasthttp

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// blockedVariable makes TestServerOfABlockingListener serve, in a separate process: if the
// event loop blocks, no deadline inside that process fires.
const blockedVariable = "FASTHTTP_TEST_BLOCKED"

// TestServerOfABlockingListener is the process under test. It does nothing in a
// usual run.
func TestServerOfABlockingListener(t *testing.T) {
	if os.Getenv(blockedVariable) == "" {
		t.Skip("is run by TestListenerInBlockingMode")
	}
	ts := startServer(t, eventEngine, &Server{Handler: echo})
	ask := func(target string) {
		c := ts.Dial()
		c.Get(target)
		c.Expect(200, servertest.Echoed("GET", target, ""))
		_ = c.Close()
	}
	ask("/before")
	for range 3 {
		// O_NONBLOCK belongs to the socket, not to the descriptor
		f, err := ts.Listener.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Fd()
		cmd := exec.Command("true")
		cmd.ExtraFiles = []*os.File{f}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		ask("/meanwhile")
		runtime.GC()
		_ = f.Close()
	}
	runtime.GC()
	ts.Stop()
	if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	fmt.Println("the server has ended")
}

// eventEngine is the event engine, for tests that need it.
var eventEngine = servertest.Engines[1]

func TestListenerInBlockingMode(t *testing.T) {
	// for many steps, each of which may take long
	ctx, cancel := context.WithTimeout(t.Context(), 5*servertest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestServerOfABlockingListener$", "-test.v")
	cmd.Env = append(os.Environ(), blockedVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestClosedListenerFreesItsPort(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: echo})
		if !ts.Engine.Sockets {
			t.Skip("only sockets have ports")
		}
		addr := ts.Listener.Addr().String()
		ln, served := ts.Listener, ts.Served
		var ends []<-chan error
		for i := range 20 {
			c := ts.Dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			if err := ln.Close(); err != nil {
				t.Fatal(err)
			}
			next, err := net.Listen("tcp4", addr)
			if err != nil {
				t.Fatalf("attempt %d: %v", i, err)
			}
			ends = append(ends, served)
			ended := make(chan error, 1)
			ln, served = next, ended
			go func() {
				if ts.Engine.TLS {
					cert, key := servertest.Certificate()
					ended <- ts.S.ServeTLSEmbed(next, cert, key)
				} else {
					ended <- ts.S.Serve(next)
				}
			}()
		}
		_ = ln.Close()
		for _, ended := range append(ends, served) {
			if err := servertest.Receive(t, "return of Serve", ended); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	})
}

// TestShutdownUnderAFlood has clients connect faster than the server can accept.
func TestShutdownUnderAFlood(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var accepted atomic.Int32
		ts := start(&Server{
			Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") },
			ConnState: func(_ net.Conn, state ConnState) {
				if state == StateNew {
					accepted.Add(1)
					// the clients have their turns
					for range 100 {
						runtime.Gosched()
					}
				}
			},
		})
		var stop atomic.Bool
		var clients sync.WaitGroup
		defer clients.Wait()
		defer stop.Store(true)
		dialer := ts.Dialer
		if addr := ts.Listener.Addr().String(); ts.Engine.Sockets && !ts.Engine.TLS {
			// if the accept queue is full, the system tries again after a second
			dialer = func() (net.Conn, error) { return net.DialTimeout("tcp4", addr, 50*time.Millisecond) }
		}
		for range 16 {
			clients.Go(func() {
				for !stop.Load() {
					nc, err := dialer()
					if err != nil {
						// the client continues to connect after errors
						runtime.Gosched()
						continue
					}
					if tcp, ok := nc.(*net.TCPConn); ok {
						_ = tcp.SetLinger(0)
					}
					_ = nc.Close()
				}
			})
		}
		servertest.Eventually(t, "the flood", func() bool { return accepted.Load() > 10 })
		ctx, cancel := context.WithTimeout(t.Context(), servertest.Short)
		defer cancel()
		servertest.Soon(t, "ShutdownWithContext, while clients go on connecting,", func() { _ = ts.S.ShutdownWithContext(ctx) })
		if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}
