//go:build linux

package integrationtests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	// starvedVariable names the engine of a server. The server runs in its own
	// process, because the limit is one of processes.
	starvedVariable = "FASTHTTP_TEST_STARVED"
	// starvedRoom is the number of descriptors that the process may open.
	starvedRoom = 20
)

// TestStarvedServer is the process with few descriptors. It does nothing in a usual
// run.
func TestStarvedServer(t *testing.T) {
	name := os.Getenv(starvedVariable)
	i := slices.IndexFunc(servertest.Engines, func(e servertest.Engine) bool { return e.Name == name })
	if i < 0 {
		t.Skip("is run by TestServerOutOfDescriptors")
	}
	s := &fasthttp.Server{Logger: starvedLog{}, Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/hijack" {
			ctx.Hijack(func(nc net.Conn) { _, _ = io.WriteString(nc, "hijacked") })
		}
		echo(ctx)
	}}
	ts := startServer(t, servertest.Engines[i], s)
	// after the first response, the server has opened the descriptors that it needs
	// for itself
	c := ts.Dial()
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	limit := syscall.Rlimit{Cur: uint64(servertest.OpenFiles(t) + starvedRoom), Max: 1 << 12}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("serving %s\n", ts.Listener.Addr())
	// the end of the input ends the process
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// starvedLog writes to the test that runs the process.
type starvedLog struct{}

func (starvedLog) Printf(format string, args ...any) {
	fmt.Printf("log: %s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

// starve starts the process, and returns its address and its log.
func starve(t *testing.T, e servertest.Engine) (addr string, log *servertest.Log) {
	t.Helper()
	addr, log, _ = serveApart(t, 6*servertest.Patience, "TestStarvedServer", starvedVariable+"="+e.Name)
	return addr, log
}

// startTest starts a test in its own process, with variables in its environment, and
// returns its input and output.
func startTest(ctx context.Context, t *testing.T, test string, env ...string) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	cmd = exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// serveApart runs a test with a server in its own process until this test ends. It
// returns the address of the server, its log, and its process id.
func serveApart(t *testing.T, limit time.Duration, test string, env ...string) (addr string, log *servertest.Log, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	cmd, in, out := startTest(ctx, t, test, env...)
	log = &servertest.Log{}
	said := &servertest.Log{}
	addrs := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if line, ok := strings.CutPrefix(lines.Text(), "log: "); ok {
				log.Printf("%s", line)
			} else if addr, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
				addrs <- addr
			} else {
				said.Printf("%s", lines.Text())
			}
		}
	})
	t.Cleanup(func() {
		_ = in.Close()
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process with the server: %v\n%.3000s", err, strings.Join(said.All(), "\n"))
		}
		cancel()
	})
	return servertest.Receive(t, "the address of the server", addrs), log, cmd.Process.Pid
}

// A server without free descriptors serves its open connections, logs the error once, and
// continues when descriptors are free.
func TestServerOutOfDescriptors(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.Engines {
		// the limit does not depend on the layers above TCP
		if !strings.HasSuffix(e.Name, "/tcp") {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			begun := time.Now()
			addr, log := starve(t, e)
			dial := func() *servertest.Conn {
				nc, err := net.Dial("tcp4", addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = nc.Close() })
				return servertest.NewConn(t, nc)
			}
			var all []*servertest.Conn
			for range starvedRoom + 20 {
				c := dial()
				all = append(all, c)
				c.Get("/1")
			}
			log.WaitFor(t, "too many open files")
			served := starvedRoom / 2
			for range 3 {
				for _, c := range all[:served] {
					c.Expect(200, servertest.Echoed("GET", "/1", ""))
					c.Get("/1")
				}
			}
			// a handover needs one more descriptor, which the server has reserved
			all[0].Expect(200, servertest.Echoed("GET", "/1", ""))
			all[0].Get("/hijack")
			if b, err := io.ReadAll(all[0].R); !strings.HasSuffix(string(b), "hijacked") {
				t.Errorf("the hijacked connection gave %q, %v", b, err)
			}
			for _, c := range all[:served] {
				_ = c.Close()
			}
			for i, c := range all[served:] {
				c.Expect(200, servertest.Echoed("GET", "/1", ""))
				if i%2 == 0 {
					// a connection that closes makes room for another one
					_ = c.Close()
				}
			}
			checkSaidOnce(t, log, "cannot accept connections", begun)

			// short connections keep the server at its limit
			var wg sync.WaitGroup
			for range starvedRoom + 10 {
				wg.Go(func() {
					for range 5 {
						c := dial()
						c.Get("/2")
						if _, err := servertest.ReadResponse(c.R, "GET"); err != nil {
							t.Errorf("no answer: %v", err)
						}
						_ = c.Close()
					}
				})
			}
			wg.Wait()
			checkSaidOnce(t, log, "cannot accept connections", begun)
		})
	}
}

// checkSaidOnce checks that a log has few lines with text. The server may log the
// line again after ten seconds.
func checkSaidOnce(t *testing.T, log *servertest.Log, text string, since time.Time) {
	t.Helper()
	lines := slices.DeleteFunc(log.All(), func(line string) bool { return !strings.Contains(line, text) })
	few := 4 + int(time.Since(since)/(10*time.Second))
	if len(lines) > few {
		t.Errorf("said %d times: %.300q", len(lines), lines[:few])
	}
}

// Listeners that share an address may belong to one server or to several.
func TestServerOnListenersThatShareAPort(t *testing.T) {
	t.Parallel()
	const listeners = 3
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		ctl := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if ctl != nil {
			return ctl
		}
		return err
	}}
	for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
		s := &fasthttp.Server{Handler: echo, Engine: engine}
		served := make(chan error, listeners)
		addr := "127.0.0.1:0"
		for range listeners {
			ln, err := config.Listen(t.Context(), "tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			addr = ln.Addr().String()
			go func() { served <- s.Serve(ln) }()
		}
		var all []*servertest.Conn
		for range 30 {
			nc, err := net.Dial("tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
			c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
			all = append(all, c)
			c.Get("/")
		}
		for _, c := range all {
			c.Expect(200, servertest.Echoed("GET", "/", ""))
		}
		servertest.ShutDown(t, s)
		for range listeners {
			if err := servertest.Receive(t, "return of Serve", served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
		for _, c := range all {
			c.ExpectEnd()
			_ = c.Close()
		}
	}
}
