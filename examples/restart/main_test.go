//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/restarttest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The processes of the test run the test binary. A variable in the environment makes it act as
// the example.
const addrEnv = "RESTART_TEST_ADDR"

func TestMain(m *testing.M) {
	addr := os.Getenv(addrEnv)
	if addr == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	// a test that fails ends its processes
	time.AfterFunc(5*time.Minute, func() { os.Exit(4) })
	if err := run(ctx, addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop()
	os.Exit(0)
}

// TestNoRequestFailsDuringRestarts has clients of HTTP/1.1 and HTTP/2, and WebSockets.
func TestNoRequestFailsDuringRestarts(t *testing.T) {
	dir, err := os.MkdirTemp("", "restart") // t.TempDir may be too long for a socket
	servertest.Must(t, err)
	defer os.RemoveAll(dir)
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "socket")} {
		t.Run(network, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), addrEnv+"="+addr)
			c := restarttest.Start(t, cmd)
			to := restarttest.Target{Network: network, Addr: c.Addr, IdleTime: 5 * time.Second} // which stays the same
			load := restarttest.StartLoad(t, to, 10)
			for range 2 {
				load.Progress(100)
				old := c.PID
				c.Signal(t, syscall.SIGHUP)
				c.Next(t)
				if c.PID == old || c.Addr != to.Addr {
					t.Errorf("process %d on %s follows %d on %s", c.PID, c.Addr, old, to.Addr)
				}
			}
			load.Progress(100)
			servertest.Eventually(t, "WebSockets closed by the old processes", func() bool { return load.GoneAway.Load() >= 10 || t.Failed() })
			load.Stop()
			c.End(t)
			t.Log(load)
		})
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) {
	servertest.Program(func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, "127.0.0.1:0", stdout)
	}).EndsAtOnce(t)
}
