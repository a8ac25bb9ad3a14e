//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// The processes of the test run the test binary. A variable in the environment makes it act as
// the example.
const roleEnv = "RESTART_TEST_ADDR"

func TestMain(m *testing.M) {
	addr := os.Getenv(roleEnv)
	if addr == "" {
		os.Exit(m.Run())
	}
	if addr == "broken" && os.Getenv(inheritEnv) == "1" {
		os.Exit(3)
	}
	if addr == "broken" {
		addr = "127.0.0.1:0"
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	// a test that fails ends its processes
	time.AfterFunc(2*time.Minute, func() { os.Exit(4) })
	if err := run(ctx, addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop()
	os.Exit(0)
}

// chain is a process and the processes that replace it.
type chain struct {
	lines *bufio.Reader
	first *exec.Cmd
	pid   int // the id of the process that serves
	addr  string
}

func start(t *testing.T, addr string) *chain {
	t.Helper()
	c := &chain{first: exec.Command(os.Args[0])}
	c.first.Env = append(os.Environ(), roleEnv+"="+addr)
	// the pipe is closed when all of them have ended
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	c.first.Stdout, c.first.Stderr = w, os.Stderr
	if err := c.first.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	c.lines = bufio.NewReader(r)
	c.next(t)
	return c
}

// next waits for a process to serve.
func (c *chain) next(t *testing.T) {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no process serves: %v", err)
	}
	if _, err := fmt.Sscanf(line, "restart: process %d listens on %s\n", &c.pid, &c.addr); err != nil {
		t.Fatalf("unexpected %q", line)
	}
	pid := c.pid
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGTERM) })
}

// end ends the process that serves, and waits until all are gone.
func (c *chain) end(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(c.pid, syscall.SIGTERM)
	if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
		t.Errorf("at the end there is %q, %v", rest, err)
	}
	if err := c.first.Wait(); err != nil {
		t.Errorf("the first process: %v", err)
	}
}

func TestNoRequestFailsDuringRestarts(t *testing.T) {
	const clients, restarts = 200, 5
	c := start(t, "127.0.0.1:0")
	addr := c.addr // the address stays the same

	var stop atomic.Bool
	var answered atomic.Int64
	var wg sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	for i := range clients {
		wg.Go(func() {
			for !stop.Load() {
				// half of them use each connection once only
				if err := ask(client, addr, i%2 == 0); err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for range restarts {
		before, old := answered.Load(), c.pid
		if err := syscall.Kill(c.pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		c.next(t)
		if c.pid == old {
			t.Errorf("process %d has replaced itself", old)
		}
		// the new process must serve requests before it is replaced
		servertest.Eventually(t, "answers of the new process", func() bool { return answered.Load() >= before+2*clients || t.Failed() })
	}
	stop.Store(true)
	wg.Wait()
	transport.CloseIdleConnections()
	t.Logf("%d requests were answered", answered.Load())
	c.end(t)
}

func ask(client *http.Client, addr string, once bool) error {
	// the client never sends a POST twice, so no lost request is hidden
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/", nil)
	if err != nil {
		return err
	}
	req.Close = once
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	return nil
}

func TestProcessGoesOnWhereItsSuccessorFails(t *testing.T) {
	c := start(t, "broken")
	if err := syscall.Kill(c.pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := ask(http.DefaultClient, c.addr, true); err != nil {
			t.Error(err)
		}
	}
	c.end(t)
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "127.0.0.1:0", io.Discard); err != nil {
		t.Errorf("run returned %v", err)
	}
}
