//go:build unix

package restart

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp"
)

// Run serves on the listeners, which are from Listen, as Server.Run does, and reports to the old
// process, if there is one, and to systemd that this process serves. When it gets one of Signals,
// it starts a new process with the same program and hands the listeners over. When that one
// serves, this one drains its connections in this order, and Run returns nil:
//
//   - It accepts no more connections.
//   - For IdleTime, each response of HTTP/1.1 has "Connection: close", and the first one of an
//     HTTP/2 connection is followed by GOAWAY.
//   - The server is shut down: connections without a request are closed, HTTP/2 connections get
//     GOAWAY, and WebSockets the status 1001.
//
// If ctx ends, Run shuts the server down and returns as Server.Run does, also while a new process
// starts, which is killed then. It returns the errors of Server.Run, and
// an error if one of the listeners cannot be handed over.
func (r *Runner) Run(ctx context.Context, lns ...net.Listener) error {
	signals := r.Signals
	if signals == nil {
		signals = []os.Signal{syscall.SIGHUP, syscall.SIGUSR2}
	}
	restarts := make(chan os.Signal, 1)
	signal.Notify(restarts, signals...)
	defer signal.Stop(restarts)
	names, err := legacy.names(lns)
	if err != nil {
		for _, ln := range lns {
			_ = ln.Close()
		}
		return err
	}

	var leaving atomic.Bool
	r.announceCloses(&leaving)
	served := make(chan error, len(lns))
	for _, ln := range lns {
		go func() { served <- r.Server.Serve(ln) }()
	}
	running := len(lns)
	end := func(failed error) error { return r.end(ctx, lns, served, running, failed) }
	replaces, err := legacy.announce()
	if err == nil && !replaces {
		// the old process sends this when it has heard of this one
		err = Notify("READY=1")
	}
	watchdog, dogErr := watchdogTime()
	if err := errors.Join(err, dogErr); err != nil {
		r.logf("restart: %v", err)
	}
	for {
		select {
		case err := <-served:
			if running--; running == 0 || err != nil {
				r.notify("STOPPING=1")
				return end(err)
			}
		case <-ctx.Done():
			r.notify("STOPPING=1")
			return end(nil)
		case <-after(watchdog):
			r.notify("WATCHDOG=1")
		case <-restarts:
			r.notify(reloading())
			pid, err := r.start(ctx, names, lns)
			if err != nil {
				r.logf("restart: the new process does not serve, and this one goes on: %v", err)
				r.notify("READY=1\nSTATUS=The last restart has failed")
				continue
			}
			r.notify("READY=1\nMAINPID=" + strconv.Itoa(pid))
			leaving.Store(true)
			return errors.Join(r.drain(ctx, lns), end(nil))
		}
	}
}

// after is time.After, except that it never fires after 0.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

func (r *Runner) notify(state string) {
	if err := Notify(state); err != nil {
		r.logf("%v", err)
	}
}

// announceCloses makes the handler announce that connections close, once leaving is set.
func (r *Runner) announceCloses(leaving *atomic.Bool) {
	handler := r.Server.Handler
	if handler == nil {
		return // which is an error of Serve
	}
	r.Server.Handler = func(ctx *fasthttp.RequestCtx) {
		handler(ctx)
		// Connection: close would spoil the response that switches to another protocol
		if leaving.Load() && !ctx.Hijacked() && ctx.Response.StatusCode() != fasthttp.StatusSwitchingProtocols {
			ctx.SetConnectionClose()
		}
	}
}

// drain stops accepting connections, and waits until the open ones have ended, or for
// IdleTime.
func (r *Runner) drain(ctx context.Context, lns []net.Listener) error {
	var failed error
	for _, ln := range lns {
		if u, ok := ln.(*net.UnixListener); ok {
			// the file is the one of the new process
			u.SetUnlinkOnClose(false)
		}
		failed = errors.Join(failed, ln.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, r.idleTime())
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for r.Server.GetOpenConnectionsCount() > 0 && ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return failed
}

// end shuts the server down, within its ShutdownTimeout, and waits for the running calls of Serve.
func (r *Runner) end(ctx context.Context, lns []net.Listener, served <-chan error, running int, failed error) error {
	limit := r.Server.ShutdownTimeout
	if limit == 0 {
		limit = defaultShutdownTimeout
	}
	ctx = context.WithoutCancel(ctx)
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	err := r.Server.ShutdownWithContext(ctx)
	// a Serve that begins only now would serve
	for _, ln := range lns {
		_ = ln.Close()
	}
	for ; running > 0; running-- {
		if e := <-served; e != nil && !errors.Is(e, net.ErrClosed) {
			failed = errors.Join(failed, e)
		}
	}
	if err == nil {
		// that Serve may have accepted connections
		err = r.Server.ShutdownWithContext(ctx)
	}
	return errors.Join(failed, err)
}

// start starts a new process, and waits until it serves.
func (r *Runner) start(ctx context.Context, names []string, lns []net.Listener) (pid int, err error) {
	files := make([]*os.File, 0, len(lns)+1)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, ln := range lns {
		f, err := copyOf(ln)
		if err != nil {
			return 0, err
		}
		files = append(files, f)
	}
	ready, child, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = ready.Close() }()
	files = append(files, child)
	name, err := os.Executable()
	if err != nil {
		return 0, err
	}
	args := r.Args
	if args == nil {
		args = os.Args[1:]
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), listenersEnv+"="+strings.Join(names, "&"))
	cmd.ExtraFiles = files
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// if the new process ends, no other process holds this end of the pipe
	_ = child.Close()
	_ = ready.SetReadDeadline(time.Now().Add(r.startTimeout()))
	release := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })
	defer release()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		_ = cmd.Process.Kill()
		return 0, errors.Join(fmt.Errorf("restart: no report of process %d: %w", cmd.Process.Pid, err), <-ended)
	}
	return cmd.Process.Pid, nil
}

// copyOf returns the socket of a listener for a new process to inherit. It does not use the method
// File: starting a process with such a file sets the socket to blocking mode, for this process,
// too.
func copyOf(ln net.Listener) (*os.File, error) {
	socket, ok := ln.(syscall.Conn)
	if !ok {
		return nil, errors.New("restart: a listener has no descriptor: " + ln.Addr().String())
	}
	c, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := c.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}
