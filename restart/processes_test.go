//go:build unix

package restart

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/restarttest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// The processes of the tests run the test binary. These variables make it a server.
const (
	// roleEnv decides how a process replaces another one: it serves, exits, refuses to be ready,
	// is ready when gateEnv, a named pipe, is opened, ends the process before it and waits for
	// its own end, or does not end before the pipe is closed.
	roleEnv = "FASTHTTP_RESTART_TEST_ROLE"
	gateEnv = "FASTHTTP_RESTART_TEST_GATE"
	// listenEnv are the arguments of Listen, "tcp 127.0.0.1:0" each, separated by commas.
	listenEnv = "FASTHTTP_RESTART_TEST_LISTEN"
	// certEnv is the folder with the certificate; without it there is no TLS.
	certEnv = "FASTHTTP_RESTART_TEST_CERT"
	// releaseEnv is the text of /release.
	releaseEnv = "FASTHTTP_RESTART_TEST_RELEASE"
	// shutdownEnv is the ShutdownTimeout, or empty.
	shutdownEnv = "FASTHTTP_RESTART_TEST_SHUTDOWN"
	// portableEnv is set for the portable engine.
	portableEnv = "FASTHTTP_RESTART_TEST_PORTABLE"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	// a test that fails ends its processes
	time.AfterFunc(5*time.Minute, func() { os.Exit(4) })
	if err := serve(os.Getenv(roleEnv), os.Getenv(listenersEnv) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is the program of a process.
func serve(role string, replaces bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if role == "exits" && replaces {
		os.Exit(3)
	}
	if role == "stays" {
		signal.Ignore(syscall.SIGTERM)
		_, err := os.ReadFile(os.Getenv(gateEnv))
		return err
	}
	var lns []net.Listener
	for part := range strings.SplitSeq(os.Getenv(listenEnv), ",") {
		network, addr, _ := strings.Cut(part, " ")
		ln, err := Listen(network, addr)
		if err != nil {
			return err
		}
		lns = append(lns, ln)
	}
	upgrader := &websocket.Upgrader{}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/echo" {
			_ = upgrader.Upgrade(ctx, echo)
			return
		}
		if string(ctx.Path()) == "/release" {
			_, _ = ctx.WriteString(os.Getenv(releaseEnv))
			return
		}
		_, _ = ctx.Write(ctx.PostBody())
	}}
	if limit := os.Getenv(shutdownEnv); limit != "" {
		var err error
		if s.ShutdownTimeout, err = time.ParseDuration(limit); err != nil {
			return err
		}
	}
	if os.Getenv(portableEnv) != "" {
		s.Engine = fasthttp.EnginePortable
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	r := &Runner{Server: s, IdleTime: idleTime, Ready: func(ctx context.Context) error {
		switch {
		case role == "refuses" && replaces:
			return errors.New("not today")
		case role == "waits" && replaces:
			gate, err := os.Open(os.Getenv(gateEnv))
			if err != nil {
				return err
			}
			_ = gate.Close()
		case role == "ends" && replaces:
			if err := syscall.Kill(os.Getppid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return errors.Join(ctx.Err(), restarttest.Announce(os.Stdout, lns[0].Addr()))
		}
		return restarttest.Announce(os.Stdout, lns[0].Addr())
	}}
	if dir := os.Getenv(certEnv); dir != "" {
		return r.RunTLS(ctx, filepath.Join(dir, "cert"), filepath.Join(dir, "key"), lns...)
	}
	return r.Run(ctx, lns...)
}

func echo(c *websocket.Conn) {
	for {
		kind, data, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, data) != nil {
			return
		}
	}
}

// command returns a command whose environment is as the one of a service manager for this
// process: $$ in a variable is its id.
func command(role, listen string, env ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", strings.Join(append(env, `exec "$0"`), " "), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, listenEnv+"="+listen)
	return cmd
}

// manager receives notifications as a service manager does.
type manager struct {
	env  string // for the environment of a process
	said chan string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	name := filepath.Join(shortDir(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &manager{"NOTIFY_SOCKET=" + name, make(chan string, 10_000)}
	go func() {
		buf := make([]byte, 1000)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			m.said <- string(buf[:n])
		}
	}()
	return m
}

// expect waits for a notification, and fails the test if there is another one before it. Unless
// it is expected, WATCHDOG is no other one.
func (m *manager) expect(t *testing.T, prefix string) string {
	t.Helper()
	for {
		select {
		case got := <-m.said:
			if strings.HasPrefix(got, prefix) {
				return got
			}
			if got != "WATCHDOG=1" {
				t.Fatalf("notified %q instead of %q", got, prefix)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("no %q", prefix)
		}
	}
}

// restart replaces the process that serves.
func restart(t *testing.T, c *restarttest.Chain, m *manager) {
	t.Helper()
	old, addr := c.PID, c.Addr
	c.Signal(t, syscall.SIGUSR2)
	m.expect(t, "RELOADING=1")
	c.Next(t)
	if got := m.expect(t, "READY=1"); got != "READY=1\nMAINPID="+strconv.Itoa(c.PID) {
		t.Errorf("notified %q, but %d serves", got, c.PID)
	}
	if c.Addr != addr || c.PID == old {
		t.Errorf("process %d on %s follows %d on %s", c.PID, c.Addr, old, addr)
	}
}

// shortDir is t.TempDir, whose name may be too long for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "restart")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// plantCertificate writes a certificate for 127.0.0.1 into a folder, and returns the
// configuration of clients that trust no other one.
func plantCertificate(t *testing.T, dir string) *tls.Config {
	t.Helper()
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	servertest.Must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "cert"), cert, 0o600), os.WriteFile(filepath.Join(dir, "key"), key, 0o600)))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return &tls.Config{RootCAs: roots}
}

// idleTime is Runner.IdleTime of the processes.
const idleTime = time.Second

// TestNoRequestFailsDuringRestarts restarts servers while clients use them. FASTHTTP_RESTARTS is
// how often, 3 times if it is not set.
func TestNoRequestFailsDuringRestarts(t *testing.T) {
	restarts := 3
	if text := os.Getenv("FASTHTTP_RESTARTS"); text != "" {
		restarts, _ = strconv.Atoi(text)
	}
	for name, network := range map[string]string{"TCP": "tcp", "TCP, portable engine": "tcp", "TLS": "tcp", "UNIX": "unix"} {
		t.Run(name, func(t *testing.T) {
			m, dir := newManager(t), shortDir(t)
			to := restarttest.Target{Network: network, IdleTime: idleTime}
			listen := "tcp 127.0.0.1:0"
			if network == "unix" {
				listen = "unix " + filepath.Join(dir, "socket")
			}
			cmd := command("serves", listen)
			cmd.Env = append(cmd.Env, m.env)
			if name == "TCP, portable engine" {
				cmd.Env = append(cmd.Env, portableEnv+"=1")
			}
			if name == "TLS" {
				to.TLS = plantCertificate(t, dir)
				cmd.Env = append(cmd.Env, certEnv+"="+dir)
			}
			c := restarttest.Start(t, cmd)
			if got := m.expect(t, "READY=1"); got != "READY=1" {
				t.Errorf("notified %q", got)
			}
			to.Addr = c.Addr
			load := restarttest.StartLoad(t, to, 5)
			for range restarts {
				load.Progress(50)
				restart(t, c, m)
			}
			load.Progress(50)
			// a process that has made room for another one closes its sockets after IdleTime
			servertest.Eventually(t, "sockets closed by the server", func() bool { return t.Failed() || load.GoneAway.Load() >= 5 })
			load.Stop()
			c.End(t)
			t.Logf("%d restarts: %v", restarts, load)
			if _, err := os.Stat(filepath.Join(dir, "socket")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of the socket is left: %v", err)
			}
		})
	}
}

// TestRestartFollowsASymbolicLink has a program whose name is a symbolic link, which leads to another
// file at the restart.
func TestRestartFollowsASymbolicLink(t *testing.T) {
	m, dir := newManager(t), t.TempDir()
	current, next := filepath.Join(dir, "current"), filepath.Join(dir, "next")
	self, err := os.Executable()
	servertest.Must(t, err)
	servertest.Must(t, os.Symlink(self, current))
	servertest.Must(t, os.WriteFile(next, []byte("#!/bin/sh\n"+releaseEnv+"=next exec '"+self+"'\n"), 0o700))
	cmd := command("serves", "tcp 127.0.0.1:0")
	cmd.Args[len(cmd.Args)-1] = current
	cmd.Env = append(cmd.Env, m.env)
	c := restarttest.Start(t, cmd)
	m.expect(t, "READY=1")
	servertest.Must(t, os.Symlink(next, current+".new"))
	servertest.Must(t, os.Rename(current+".new", current))
	restart(t, c, m)
	// the process before may accept a few connections more
	servertest.Eventually(t, "an answer of the next release", func() bool {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get("http://" + c.Addr + "/release")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return err == nil && string(answer) == "next"
	})
	c.End(t)
}

// TestRestartReadsTheCertificateAgain has a certificate that was renewed before a restart.
func TestRestartReadsTheCertificateAgain(t *testing.T) {
	m, dir := newManager(t), t.TempDir()
	config := plantCertificate(t, dir)
	cmd := command("serves", "tcp 127.0.0.1:0")
	cmd.Env = append(cmd.Env, m.env, certEnv+"="+dir)
	c := restarttest.Start(t, cmd)
	m.expect(t, "READY=1")
	for range 2 {
		// the process before may accept a few connections more
		servertest.Eventually(t, "the certificate of today", func() bool {
			conn, err := tls.Dial("tcp", c.Addr, config)
			if err != nil {
				return false
			}
			_ = conn.Close()
			return true
		})
		config = plantCertificate(t, dir)
		restart(t, c, m)
	}
	c.End(t)
}

// TestOldProcessGoesOnIfTheNewOneFails has new processes that exit and such that are not ready.
// Neither may remove the file of the socket.
func TestOldProcessGoesOnIfTheNewOneFails(t *testing.T) {
	for _, role := range []string{"exits", "refuses"} {
		t.Run(role, func(t *testing.T) {
			m, path := newManager(t), filepath.Join(shortDir(t), "socket")
			cmd := command(role, "unix "+path)
			cmd.Env = append(cmd.Env, m.env)
			c := restarttest.Start(t, cmd)
			m.expect(t, "READY=1")
			for range 2 {
				c.Signal(t, syscall.SIGHUP)
				m.expect(t, "RELOADING=1")
				if role == "refuses" {
					// the new process, which the manager does not believe
					m.expect(t, "STOPPING=1")
				}
				m.expect(t, "READY=1\nSTATUS=")
				getUnix(t, path)
			}
			c.End(t)
		})
	}
}

func getUnix(t *testing.T, path string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://localhost/")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// TestSocketsOfSystemd starts a process with two sockets, and replaces it. The file of a socket
// is not its own: the service manager keeps listening.
func TestSocketsOfSystemd(t *testing.T) {
	m, path := newManager(t), filepath.Join(shortDir(t), "socket")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	addr := tcp.Addr().String()
	cmd := command("serves", "tcp "+addr+",unix "+path, "LISTEN_FDS=2", "LISTEN_PID=$$")
	cmd.Env = append(cmd.Env, m.env)
	for _, ln := range []net.Listener{unix, tcp} {
		f, err := ln.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	unix.(*net.UnixListener).SetUnlinkOnClose(false)
	_, _ = unix.Close(), tcp.Close()
	c := restarttest.Start(t, cmd)
	m.expect(t, "READY=1")
	for range 2 {
		if c.Addr != addr {
			t.Errorf("the process listens on %s", c.Addr)
		}
		getUnix(t, path)
		restart(t, c, m)
	}
	getUnix(t, path)
	c.End(t)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestWatchdog has a manager that must hear of the process that serves, also while a new one
// starts, and of that one afterwards.
func TestWatchdog(t *testing.T) {
	m, gate := newManager(t), filepath.Join(t.TempDir(), "gate")
	servertest.Must(t, syscall.Mkfifo(gate, 0o600))
	cmd := command("waits", "tcp 127.0.0.1:0", "WATCHDOG_USEC=50000", "WATCHDOG_PID=$$")
	cmd.Env = append(cmd.Env, m.env, gateEnv+"="+gate)
	c := restarttest.Start(t, cmd)
	lives := func() {
		t.Helper()
		for range 3 {
			m.expect(t, "WATCHDOG=1")
		}
	}
	for range 2 {
		m.expect(t, "READY=1")
		lives()
		c.Signal(t, syscall.SIGHUP)
		m.expect(t, "RELOADING=1")
		lives()
		f, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		c.Next(t)
	}
	m.expect(t, "READY=1")
	lives()
	c.End(t)
}

// TestEndWhileANewProcessStarts ends a process that waits for a new one, which does not end by
// itself: both must go. The new one has as much time as the shutdown.
func TestEndWhileANewProcessStarts(t *testing.T) {
	servertest.Doubling(t, func(limit time.Duration) error {
		m, gate := newManager(t), filepath.Join(t.TempDir(), "gate")
		servertest.Must(t, syscall.Mkfifo(gate, 0o600))
		cmd := command("waits", "tcp 127.0.0.1:0")
		cmd.Env = append(cmd.Env, m.env, gateEnv+"="+gate, shutdownEnv+"="+(time.Second+limit).String())
		c := restarttest.Start(t, cmd)
		m.expect(t, "READY=1")
		c.Signal(t, syscall.SIGHUP)
		m.expect(t, "RELOADING=1")
		c.Signal(t, syscall.SIGTERM)
		err := c.Wait(t)
		m.expect(t, "STOPPING=1")
		t.Logf("with %v: %v", limit, err)
		return err
	})
}

// busy makes a process serve one listener, and returns a connection that has had a response.
func busy(t *testing.T, l *life) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	l.lns, l.served, l.serving = []net.Listener{ln}, make(chan error, 1), 1
	go func() { l.served <- l.Server.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	servertest.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(servertest.Get("/")))
	servertest.Must(t, err)
	_, err = conn.Read(make([]byte, 1))
	servertest.Must(t, err)
	return conn
}

// TestEndDoesNotWaitForANewProcess ends a process while a new one starts, and does not end: the
// server is shut down meanwhile.
func TestEndDoesNotWaitForANewProcess(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	servertest.Must(t, syscall.Mkfifo(gate, 0o600))
	t.Setenv(roleEnv, "stays")
	t.Setenv(gateEnv, gate)
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, ShutdownTimeout: servertest.Never}
	r := &Runner{Server: s, Args: []string{}, StartTimeout: servertest.Never}
	l := &life{Runner: r, names: []string{"tcp+"}, restarts: make(chan os.Signal, 1)}
	conn := busy(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.supervise(ctx) }()
	l.restarts <- syscall.SIGHUP
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.OpenFile(gate, os.O_WRONLY, 0)
		opened <- f
	}()
	f := servertest.Receive(t, "a new process that ignores signals", opened)
	cancel()
	// the server closes a connection without a request
	_ = conn.SetReadDeadline(time.Now().Add(servertest.Patience))
	_, err := io.Copy(io.Discard, conn)
	_ = f.Close()
	if err != nil {
		t.Errorf("the server is not shut down: %v", err)
	}
	servertest.Must(t, servertest.Receive(t, "the end", ended))
}

// TestNewProcessMayEndItsRequests ends a process while a new one, which may have requests, is not
// ready: it gets a signal that it can handle.
func TestNewProcessMayEndItsRequests(t *testing.T) {
	m := newManager(t)
	cmd := command("ends", "tcp 127.0.0.1:0")
	cmd.Env = append(cmd.Env, m.env)
	c := restarttest.Start(t, cmd)
	m.expect(t, "READY=1")
	c.Signal(t, syscall.SIGHUP)
	m.expect(t, "RELOADING=1")
	c.Next(t) // its line after the signal
	c.Ended(t)
}

// TestNewProcessOfAnEndedOneEnds has a new process that was ready at the moment at which the old
// one was told to end.
func TestNewProcessOfAnEndedOneEnds(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	servertest.Must(t, cmd.Start())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := &life{Runner: &Runner{Server: &fasthttp.Server{}}}
	servertest.Must(t, l.yield(ctx, cmd.Process.Pid, nil))
	if err := cmd.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the process ends with %v", err)
	}
}

// TestSignalDuringAStartIsForTheNewProcess asks for another restart while a new process starts, which
// may have read its configuration already.
func TestSignalDuringAStartIsForTheNewProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	servertest.Must(t, cmd.Start())
	l := &life{Runner: &Runner{Server: &fasthttp.Server{}}, restarts: make(chan os.Signal, 1)}
	l.restarts <- syscall.SIGUSR2
	servertest.Must(t, l.yield(t.Context(), cmd.Process.Pid, nil))
	if err := cmd.Wait(); err == nil || !strings.HasPrefix(err.Error(), "signal: user defined signal 2") {
		t.Errorf("the process ends with %v", err)
	}
}

// TestSignalAfterTheHandOverEndsTheOldProcess ends a process while it drains a connection: the new
// process must serve on.
func TestSignalAfterTheHandOverEndsTheOldProcess(t *testing.T) {
	next := exec.Command("sleep", "600")
	servertest.Must(t, next.Start())
	ctx, cancel := context.WithCancel(t.Context())
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	l := &life{Runner: &Runner{Server: s, IdleTime: time.Hour}}
	busy(t, l)
	ended := make(chan error, 1)
	go func() { ended <- l.yield(ctx, next.Process.Pid, nil) }()
	servertest.Eventually(t, "the hand-over", l.leaving.Load)
	cancel()
	servertest.Must(t, servertest.Receive(t, "the end of the old process", ended))
	servertest.Must(t, next.Process.Kill())
	if err := next.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the new process ends with %v", err)
	}
}
