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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/netio"
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
// starts, which gets SIGTERM then. Once the new process serves, the end of ctx shortens the second step,
// and the new process continues. It returns the errors of Server.Run, and an error if one of the
// listeners cannot be handed over.
func (r *Runner) Run(ctx context.Context, lns ...net.Listener) error {
	return r.run(ctx, lns, r.Server.Serve)
}

// RunTLS is Run for HTTPS with the certificate of the files, which are read again when they have
// changed: see fasthttp.TLSReloader. A certificate of Server.TLSConfig that fits the client is
// preferred. If one of the names is empty, only TLSConfig is used, and it is an error if that has
// no certificate. Clients cannot resume the sessions of TLS that began in the old process, unless
// TLSConfig has the keys.
func (r *Runner) RunTLS(ctx context.Context, certFile, keyFile string, lns ...net.Listener) error {
	if err := r.secure(certFile, keyFile); err != nil {
		closeAll(lns)
		return err
	}
	return r.run(ctx, lns, func(ln net.Listener) error { return r.Server.ServeTLS(ln, "", "") })
}

// life is one call of Run.
type life struct {
	*Runner
	lns      []net.Listener
	names    []string // of the listeners, for a new process
	served   chan error
	serving  int // calls of Serve
	restarts chan os.Signal
	leaving  atomic.Bool
}

func (r *Runner) run(ctx context.Context, lns []net.Listener, serve func(net.Listener) error) error {
	if r.Server.Handler == nil || len(lns) == 0 {
		return r.Server.Run(ctx, lns...) // which returns the error
	}
	signals := r.Signals
	if signals == nil {
		signals = []os.Signal{syscall.SIGHUP, syscall.SIGUSR2}
	}
	restarts := make(chan os.Signal, 1)
	signal.Notify(restarts, signals...)
	defer signal.Stop(restarts)
	names, err := legacy.handedOver(lns)
	if err != nil {
		closeAll(lns)
		return err
	}
	l := &life{Runner: r, lns: lns, names: names, served: make(chan error, len(lns)), serving: len(lns), restarts: restarts}
	l.announceCloses()
	serving, ended := context.WithCancel(ctx)
	defer ended()
	var left atomic.Int32
	left.Store(int32(len(lns)))
	for _, ln := range lns {
		go func() {
			err := serve(ln)
			if left.Add(-1) == 0 || err != nil {
				// Ready must not wait for a server that does not serve
				ended()
			}
			l.served <- err
		}()
	}
	if r.Ready != nil {
		if err := r.Ready(serving); err != nil {
			return l.stop(ctx, fmt.Errorf("restart: the process is not ready: %w", err))
		}
	}
	replaces, err := legacy.announce()
	if err == nil && !replaces {
		// the old process sends this when it has heard of this one
		err = Notify("READY=1")
	}
	if err != nil {
		r.logf("restart: %v", err)
	}
	return l.supervise(ctx)
}

// successor is the outcome of starting a new process.
type successor struct {
	pid  int
	err  error        // why it does not serve
	gone <-chan error // delivers the end of a process that does not serve
}

// supervise serves until ctx ends, the server fails, or a new process has taken over.
func (l *life) supervise(ctx context.Context) error {
	watchdog, stop := l.watchdog()
	defer stop()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := l.restarts         // nil while a new process starts
	var successors chan successor // nil while none starts
	var failure successor         // its gone is nil unless a process that does not serve has to end
	leave := func(failed error) error {
		cancel()
		if successors != nil {
			next := <-successors
			if next.err == nil {
				return l.yield(ctx, next.pid, failed)
			}
			failure = next
		}
		err := l.stop(ctx, failed)
		if failure.gone != nil {
			<-failure.gone
		}
		return err
	}
	for {
		select {
		case err := <-l.served:
			if l.serving--; l.serving == 0 || err != nil {
				return leave(err)
			}
		case <-ctx.Done():
			return leave(nil)
		case <-watchdog:
			l.notify("WATCHDOG=1")
		case <-signals:
			l.notify(reloading())
			signals, successors = nil, make(chan successor, 1)
			go func(outcome chan<- successor) { outcome <- l.start(starting, l.names, l.lns) }(successors)
		case next := <-successors:
			if next.err == nil {
				return l.yield(ctx, next.pid, nil)
			}
			successors, failure = nil, next
		case err := <-failure.gone:
			l.logf("restart: the new process does not serve, and this one goes on: %v", errors.Join(failure.err, err))
			l.notify("READY=1\nSTATUS=The last restart has failed")
			signals, failure = l.restarts, successor{}
		}
	}
}

// yield leaves the service to a new process, and ends this one. If ctx has ended at the same time,
// the new process has to end, too: the service manager may not know it yet. If ctx ends later, the new
// process must not end: a signal that hurries the old one would end the service.
func (l *life) yield(ctx context.Context, pid int, failed error) error {
	l.notify("READY=1\nMAINPID=" + strconv.Itoa(pid))
	if ctx.Err() != nil {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	} else {
		l.passOn(pid)
	}
	l.leaving.Store(true)
	return errors.Join(l.drain(ctx), l.end(ctx, failed))
}

// passOn sends the new process a signal that has arrived while it started: it may have started
// before the change that the signal is for.
func (l *life) passOn(pid int) {
	select {
	case sig := <-l.restarts:
		if sig, ok := sig.(syscall.Signal); ok {
			_ = syscall.Kill(pid, sig)
		}
	default:
	}
}

// watchdog returns the ticks at which the service manager wants to hear of this process.
func (r *Runner) watchdog() (ticks <-chan time.Time, stop func()) {
	every, err := watchdogTime()
	if err != nil {
		r.logf("%v", err)
	}
	if every <= 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(every)
	return ticker.C, ticker.Stop
}

func (r *Runner) notify(state string) {
	if err := Notify(state); err != nil {
		r.logf("%v", err)
	}
}

// announceCloses makes the handler announce that connections close, once leaving is set.
func (l *life) announceCloses() {
	handler := l.Server.Handler
	l.Server.Handler = func(ctx *fasthttp.RequestCtx) {
		handler(ctx)
		// Connection: close would spoil the response that switches to another protocol
		if l.leaving.Load() && !ctx.Hijacked() && ctx.Response.StatusCode() != fasthttp.StatusSwitchingProtocols {
			ctx.SetConnectionClose()
		}
	}
}

// drain stops accepting connections, and waits until the open ones have ended, or for
// IdleTime.
func (l *life) drain(ctx context.Context) error {
	var failed error
	for _, ln := range l.lns {
		if u, ok := ln.(*net.UnixListener); ok {
			// the file is the one of the new process
			u.SetUnlinkOnClose(false)
		}
		failed = errors.Join(failed, ln.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, l.idleTime())
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for l.Server.GetOpenConnectionsCount() > 0 && ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return failed
}

// stop tells the service manager that this process ends, and ends it.
func (l *life) stop(ctx context.Context, failed error) error {
	l.notify("STOPPING=1")
	return l.end(ctx, failed)
}

// end shuts the server down, within its ShutdownTimeout, and waits for the calls of Serve.
func (l *life) end(ctx context.Context, failed error) error {
	limit := l.Server.ShutdownTimeout
	if limit == 0 {
		limit = defaultShutdownTimeout
	}
	ctx = context.WithoutCancel(ctx)
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	err := l.Server.ShutdownWithContext(ctx)
	// a Serve that begins only now would serve
	closeAll(l.lns)
	for ; l.serving > 0; l.serving-- {
		if e := <-l.served; e != nil && !errors.Is(e, net.ErrClosed) {
			failed = errors.Join(failed, e)
		}
	}
	if err == nil {
		// that Serve may have accepted connections
		err = l.Server.ShutdownWithContext(ctx)
	}
	return errors.Join(failed, err)
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}

// start starts a new process, and waits until it serves.
func (r *Runner) start(ctx context.Context, names []string, lns []net.Listener) successor {
	cmd, ready, err := r.startProcess(names, lns)
	if err != nil {
		gone := make(chan error)
		close(gone)
		return successor{err: err, gone: gone}
	}
	defer func() { _ = ready.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	_ = ready.SetReadDeadline(time.Now().Add(r.startTimeout()))
	release := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })
	defer release()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		gone := make(chan error, 1)
		go func() { gone <- r.dismiss(cmd, ended) }()
		return successor{err: fmt.Errorf("restart: no report of process %d: %w", cmd.Process.Pid, err), gone: gone}
	}
	return successor{pid: cmd.Process.Pid}
}

// startProcess starts a new process, and returns the pipe for its report. No other process than
// that holds the other end: the pipe also reports its end.
func (r *Runner) startProcess(names []string, lns []net.Listener) (cmd *exec.Cmd, ready *os.File, err error) {
	files := make([]*os.File, 0, len(lns)+1)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, ln := range lns {
		f, err := copyOf(ln)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	if errProgram != nil {
		return nil, nil, errProgram
	}
	ready, child, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	files = append(files, child)
	args := r.Args
	if args == nil {
		args = os.Args[1:]
	}
	cmd = exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), listenersEnv+"="+strings.Join(names, "&"))
	// the watchdog will watch the new process
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "WATCHDOG_PID=") })
	cmd.ExtraFiles = files
	if err := cmd.Start(); err != nil {
		_ = ready.Close()
		return nil, nil, err
	}
	return cmd, ready, nil
}

// dismiss ends a process, which may already have requests.
func (r *Runner) dismiss(cmd *exec.Cmd, ended <-chan error) error {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	limit := r.Server.ShutdownTimeout
	if limit <= 0 {
		limit = defaultShutdownTimeout
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		_ = cmd.Process.Kill()
		return <-ended
	}
}

// copyOf returns the socket of a listener for a new process to inherit.
func copyOf(ln net.Listener) (*os.File, error) {
	socket, ok := ln.(syscall.Conn)
	if !ok {
		return nil, errors.New("restart: a listener has no descriptor: " + ln.Addr().String())
	}
	return netio.CopySocket(socket)
}
