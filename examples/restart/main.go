//go:build unix

// Command restart replaces itself by a new process when it gets SIGHUP, without losing a
// request: replace the binary, send the signal, and the new binary serves.
//
// The new process inherits the listening socket, so that no connection is ever refused. When
// it serves, the old process accepts no more connections, closes its open connections after
// their next response, and exits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

const (
	// inheritEnv is set in the environment of a process that replaces another one.
	inheritEnv = "RESTART_INHERIT"
	// the descriptors that a new process inherits, after standard input, output and error
	listenerFD = 3
	readyFD    = 4

	// startTime is how long a new process may take until it serves, and drainTime how long the
	// old process waits for its connections to end.
	startTime = 30 * time.Second
	drainTime = 10 * time.Second
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends or another process has taken over.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	restart := make(chan os.Signal, 1)
	signal.Notify(restart, syscall.SIGHUP)
	defer signal.Stop(restart)

	ln, err := listen(addr)
	if err != nil {
		return err
	}
	var leaving atomic.Bool
	server := &fasthttp.Server{
		Name: "restart",
		Handler: func(ctx *fasthttp.RequestCtx) {
			if leaving.Load() {
				ctx.SetConnectionClose()
			}
			fmt.Fprintf(ctx, "Hello from process %d\n", os.Getpid())
		},
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	fmt.Fprintf(stdout, "restart: process %d listens on %s\n", os.Getpid(), ln.Addr())
	if err := sayReady(); err != nil {
		return err
	}
	for {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			err := server.Shutdown()
			// Serve would serve if it began after that
			_ = ln.Close()
			return errors.Join(err, <-served)
		case <-restart:
			if err := startSuccessor(ln.(*net.TCPListener)); err != nil {
				// this process continues to serve
				log.Printf("restart: the new process does not serve: %v", err)
				continue
			}
			leaving.Store(true)
			return leave(ctx, server, ln, served)
		}
	}
}

// leave ends a process that was replaced. A client may be about to send a request on an idle
// connection. So a connection is closed only after a response has announced the close, or
// after a long idle time.
func leave(ctx context.Context, server *fasthttp.Server, ln net.Listener, served <-chan error) error {
	// the socket stays open in the new process
	if err := ln.Close(); err != nil {
		return err
	}
	if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for server.GetOpenConnectionsCount() > 0 && ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return server.Shutdown()
}

// listen returns the listener inherited from the process before this one, or a new one.
func listen(addr string) (net.Listener, error) {
	if os.Getenv(inheritEnv) != "1" {
		return net.Listen("tcp", addr)
	}
	f := os.NewFile(listenerFD, "listener")
	defer f.Close()
	return net.FileListener(f)
}

// sayReady signals the process before this one that it may end.
func sayReady() error {
	if os.Getenv(inheritEnv) != "1" {
		return nil
	}
	f := os.NewFile(readyFD, "ready")
	defer f.Close()
	_, err := f.Write([]byte{1})
	return err
}

// copyOf returns the socket of ln for a new process to inherit. It does not use ln.File:
// starting a process with that file sets the socket to blocking mode, for this process,
// too.
func copyOf(ln *net.TCPListener) (*os.File, error) {
	c, err := ln.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := c.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

// startSuccessor starts a new process with the listener, and waits until it
// serves.
func startSuccessor(ln *net.TCPListener) error {
	socket, err := copyOf(ln)
	if err != nil {
		return err
	}
	defer socket.Close()
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()

	name, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(name, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inheritEnv+"=1")
	cmd.ExtraFiles = []*os.File{socket, readyWriter}
	err = cmd.Start()
	// if the new process ends, no other process holds this end of the pipe
	_ = readyWriter.Close()
	if err != nil {
		return err
	}
	_ = ready.SetReadDeadline(time.Now().Add(startTime))
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		_ = cmd.Process.Kill()
		return errors.Join(err, cmd.Wait())
	}
	return cmd.Process.Release()
}
