package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/wsload"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) {
	wsload.Main()
	os.Exit(m.Run())
}

// start starts a server, and returns its address.
func start(t *testing.T, l library, job serving.Job) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.serveJob(ln, job)
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		servertest.Receive(t, "the end of the server", ended)
	})
	return ln.Addr().String()
}

// TestEveryLibraryAnswers puts a little of every load on every library; the load checks the
// answers.
func TestEveryLibraryAnswers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the load needs epoll")
	}
	const short = 50 * time.Millisecond
	for _, l := range libraries {
		t.Run(strings.ReplaceAll(l.name, "/", " "), func(t *testing.T) {
			addr := start(t, l, serving.Job{})
			for name, load := range map[string]wsload.Load{
				"echo":      {Kind: wsload.Echo, Conns: 4, Size: 125, Depth: 1},
				"in flight": {Kind: wsload.Echo, Conns: 4, Size: 125, Depth: 16},
				"large":     {Kind: wsload.Echo, Conns: 2, Size: 64 << 10, Depth: 1},
				"broadcast": {Kind: wsload.Broadcast, Conns: 5, Size: 125},
			} {
				load.Addr = addr
				await.Longer(t, short, func(length time.Duration) error {
					load.Time = length
					sockets, err := wsload.Start(t.Context(), rig.Anywhere, load)
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					r, err := sockets.Run(t.Context())
					if err = errors.Join(err, sockets.Stop()); err != nil || r.Messages < load.Conns {
						return fmt.Errorf("%s: %+v, %v", name, r, err)
					}
					return nil
				})
			}
		})
	}
}

// TestEveryLibrarySpeaksTLS has idle sockets, each of which has had an answer.
func TestEveryLibrarySpeaksTLS(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the load is for linux")
	}
	id, err := rig.NewIdentity(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range libraries {
		t.Run(strings.ReplaceAll(l.name, "/", " "), func(t *testing.T) {
			addr := start(t, l, serving.Job{Cert: id.Cert, Key: id.Key})
			load := wsload.Load{Kind: wsload.Idle, Addr: addr, Conns: 3, Size: 125, Time: time.Second, TLS: true}
			sockets, err := wsload.Start(t.Context(), rig.Anywhere, load)
			if err != nil {
				t.Fatal(err)
			}
			if err := sockets.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
