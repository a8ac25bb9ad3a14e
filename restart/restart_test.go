//go:build unix

package restart

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// The processes of the tests run the test binary. This variable makes it a server.
const roleEnv = "FASTHTTP_RESTART_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	// a test that fails ends its processes
	time.AfterFunc(5*time.Minute, func() { os.Exit(4) })
	if role == "broken" && os.Getenv(listenersEnv) != "" {
		os.Exit(3)
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is the program of a process.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ln, err := Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("process %d listens on %s\n", os.Getpid(), ln.Addr())
	upgrader := &websocket.Upgrader{}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/echo" {
			_ = upgrader.Upgrade(ctx, echo)
			return
		}
		_, _ = ctx.Write(ctx.PostBody())
	}}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return (&Runner{Server: s, IdleTime: time.Second}).Run(ctx, ln)
}

func echo(c *websocket.Conn) {
	for {
		kind, data, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, data) != nil {
			return
		}
	}
}

// chain is a process and the processes that replace it.
type chain struct {
	lines *bufio.Reader
	first *exec.Cmd
	pid   int // the process that serves
	addr  string
}

func start(t *testing.T, role string, env ...string) *chain {
	t.Helper()
	c := &chain{first: exec.Command(os.Args[0])}
	c.first.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
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

// next waits for a process that listens.
func (c *chain) next(t *testing.T) {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no process listens: %v", err)
	}
	if _, err := fmt.Sscanf(line, "process %d listens on %s\n", &c.pid, &c.addr); err != nil {
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

// notifications listens as a service manager does.
func notifications(t *testing.T) (env string, next func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "restart") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := dir + "/notify"
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return "NOTIFY_SOCKET=" + name, func() string {
		t.Helper()
		buf := make([]byte, 1000)
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

// TestNoRequestFailsDuringRestarts restarts a server while clients use it. FASTHTTP_RESTARTS is how
// often, 4 times if it is not set.
func TestNoRequestFailsDuringRestarts(t *testing.T) {
	restarts := 4
	if text := os.Getenv("FASTHTTP_RESTARTS"); text != "" {
		restarts, _ = strconv.Atoi(text)
	}
	env, next := notifications(t)
	c := start(t, "server", env)
	if got := next(); got != "READY=1" {
		t.Errorf("notified %q", got)
	}
	var stop atomic.Bool
	var calls [3]atomic.Int64
	var wg sync.WaitGroup
	addr := c.addr // the address stays the same
	for i, use := range []func(addr string, stop *atomic.Bool, calls *atomic.Int64) error{postHTTP1, postHTTP2, echoes} {
		for range 8 {
			wg.Go(func() {
				if err := use(addr, &stop, &calls[i]); err != nil {
					t.Errorf("client of kind %d: %v", i, err)
				}
			})
		}
	}
	progress := func(n int64) {
		t.Helper()
		for i := range calls {
			before := calls[i].Load()
			servertest.Eventually(t, "more calls", func() bool { return t.Failed() || calls[i].Load() >= before+n })
		}
	}
	for range restarts {
		progress(100)
		old := c.pid
		_ = syscall.Kill(old, syscall.SIGUSR2)
		if got := next(); !strings.HasPrefix(got, "RELOADING=1") {
			t.Errorf("notified %q", got)
		}
		c.next(t)
		if got := next(); got != "READY=1\nMAINPID="+strconv.Itoa(c.pid) {
			t.Errorf("notified %q, but %d serves", got, c.pid)
		}
		if c.addr != addr || c.pid == old {
			t.Errorf("process %d on %s follows %d on %s", c.pid, c.addr, old, addr)
		}
	}
	progress(100)
	// a process that has made room for another one closes its sockets after IdleTime
	servertest.Eventually(t, "sockets closed by the server", func() bool { return t.Failed() || goneAway.Load() >= 8 })
	stop.Store(true)
	wg.Wait()
	c.end(t)
	t.Logf("%d restarts: %d requests of HTTP/1.1, %d of HTTP/2, %d messages, %d sockets closed with 1001",
		restarts, calls[0].Load(), calls[1].Load(), calls[2].Load(), goneAway.Load())
}

func postHTTP1(addr string, stop *atomic.Bool, calls *atomic.Int64) error {
	return post(addr, false, stop, calls)
}

func postHTTP2(addr string, stop *atomic.Bool, calls *atomic.Int64) error {
	return post(addr, true, stop, calls)
}

// post makes calls of a method that clients do not repeat.
func post(addr string, http2 bool, stop *atomic.Bool, calls *atomic.Int64) error {
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: &p}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	for !stop.Load() {
		resp, err := client.Post("http://"+addr+"/", "text/plain", strings.NewReader("content"))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || string(body) != "content" {
			return fmt.Errorf("status %d, %q: %w", resp.StatusCode, body, err)
		}
		calls.Add(1)
	}
	return nil
}

// goneAway counts the WebSockets that servers have ended with 1001.
var goneAway atomic.Int64

// echoes sends messages. A connection may only end with 1001.
func echoes(addr string, stop *atomic.Bool, calls *atomic.Int64) error {
	for !stop.Load() {
		c, _, err := (&websocket.Dialer{}).Dial("ws://"+addr+"/echo", nil)
		if err != nil {
			return err
		}
		err = echoOn(c, stop, calls)
		_ = c.Close()
		if websocket.IsCloseError(err, websocket.CloseGoingAway) {
			goneAway.Add(1)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func echoOn(c *websocket.Conn, stop *atomic.Bool, calls *atomic.Int64) error {
	for !stop.Load() {
		// if the server has closed, the read has its status
		sent := c.WriteMessage(websocket.TextMessage, []byte("message"))
		_, data, err := c.ReadMessage()
		if err != nil {
			return err
		}
		if sent != nil || string(data) != "message" {
			return errors.Join(sent, fmt.Errorf("got %q", data))
		}
		calls.Add(1)
	}
	return nil
}

func TestOldProcessGoesOnIfTheNewOneFails(t *testing.T) {
	env, next := notifications(t)
	c := start(t, "broken", env)
	next()
	for range 2 {
		_ = syscall.Kill(c.pid, syscall.SIGHUP)
		for _, want := range []string{"RELOADING=1", "READY=1\nSTATUS="} {
			if got := next(); !strings.HasPrefix(got, want) {
				t.Errorf("notified %q instead of %q", got, want)
			}
		}
		resp, err := http.Get("http://" + c.addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	c.end(t)
}

func TestEnvironmentIsValidated(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want []string
		ok   bool
	}{
		{nil, nil, true},
		{map[string]string{listenersEnv: "tcp+%3A80&unix+%2Fa%26b"}, []string{"tcp :80", "unix /a&b"}, true},
		{map[string]string{listenersEnv: "tcp"}, nil, false},
		{map[string]string{listenersEnv: "tcp+%zz"}, nil, false},
		{map[string]string{listenersEnv: "unix+"}, nil, false},
		{map[string]string{listenersEnv: strings.Repeat("tcp+a&", maxInherited) + "tcp+a"}, nil, false},
		{map[string]string{"LISTEN_FDS": "2", "LISTEN_PID": "7"}, []string{"", ""}, true},
		{map[string]string{"LISTEN_FDS": "2", "LISTEN_PID": "8"}, nil, true},
		{map[string]string{"LISTEN_FDS": "2"}, nil, true},
		{map[string]string{"LISTEN_FDS": "-1", "LISTEN_PID": "7"}, nil, false},
		{map[string]string{"LISTEN_FDS": "9999", "LISTEN_PID": "7"}, nil, false},
		{map[string]string{"LISTEN_FDS": "x", "LISTEN_PID": "7"}, nil, false},
	} {
		got, err := inheritedNames(func(name string) string { return tc.env[name] }, 7)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) || (err == nil) != tc.ok {
			t.Errorf("%v: %q, %v", tc.env, got, err)
		}
	}
}

func TestListenTakesTheSocketOfTheAddress(t *testing.T) {
	open := func(network, addr string) net.Listener {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		return ln
	}
	loop, anywhere := open("tcp4", "127.0.0.1:0"), open("tcp4", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(anywhere.Addr().String())
	h := &heirloom{read: true, listeners: []inherited{{ln: loop}, {ln: anywhere}}}
	if ln, err := h.listen("tcp", ":"+port); err != nil || ln != anywhere {
		t.Errorf("%v, %v", ln, err)
	}
	if ln, err := h.listen("tcp4", loop.Addr().String()); err != nil || ln != loop {
		t.Errorf("%v, %v", ln, err)
	}
	if _, err := h.names([]net.Listener{open("tcp", "127.0.0.1:0")}); err == nil {
		t.Error("a listener that is not of Listen has a name")
	}
	if names, err := h.names([]net.Listener{anywhere}); err != nil || names[0] != "tcp+%3A"+port {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := Listen("udp", ":0"); err == nil {
		t.Error("a listener of udp")
	}
}

func TestDescriptorsThatDoNotListenAreRefused(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := listenerOf(int(f.Fd())); err == nil {
		t.Error("a file is a listener")
	}
}

func TestNotifyValidatesItsSocket(t *testing.T) {
	for _, name := range []string{"relative", "@", "/"} {
		t.Setenv("NOTIFY_SOCKET", name)
		if Notify("READY=1") == nil {
			t.Errorf("no error with %q", name)
		}
	}
}

func TestWatchdogTime(t *testing.T) {
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
		ok        bool
	}{
		{"", "", 0, true},
		{"4000000", "", 2 * time.Second, true},
		{"4000000", strconv.Itoa(os.Getpid()), 2 * time.Second, true},
		{"4000000", "1", 0, true},
		{"-1", "", 0, false},
		{"x", "", 0, false},
	} {
		t.Setenv("WATCHDOG_USEC", tc.usec)
		t.Setenv("WATCHDOG_PID", tc.pid)
		if d, err := watchdogTime(); d != tc.want || (err == nil) != tc.ok {
			t.Errorf("%q, %q: %v, %v", tc.usec, tc.pid, d, err)
		}
	}
}
