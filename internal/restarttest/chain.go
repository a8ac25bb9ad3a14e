//go:build unix

package restarttest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Announce writes the line by which a Chain knows that a process serves.
func Announce(w io.Writer, addr net.Addr) error {
	_, err := fmt.Fprintf(w, "restart: process %d listens on %s\n", os.Getpid(), addr)
	return err
}

// Chain is a process and the processes that replace it.
type Chain struct {
	PID  int    // the process that serves
	Addr string // the address that it has announced

	lines *bufio.Reader
	first *exec.Cmd
}

// Start starts the first process, and waits for its line. Its standard output is read by the
// Chain.
func Start(t *testing.T, first *exec.Cmd) *Chain {
	t.Helper()
	c := &Chain{first: first}
	// the pipe is closed when all processes have ended
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	first.Stdout, first.Stderr = w, os.Stderr
	err = first.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(r)
	c.Next(t)
	return c
}

// Next waits for the line of the next process.
func (c *Chain) Next(t *testing.T) {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no process serves: %v", err)
	}
	if _, err := fmt.Sscanf(line, "restart: process %d listens on %s\n", &c.PID, &c.Addr); err != nil {
		t.Fatalf("unexpected %q", line)
	}
	pid := c.PID
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGTERM) })
}

// Signal sends a signal to the process that serves.
func (c *Chain) Signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(c.PID, sig); err != nil {
		t.Fatal(err)
	}
}

// End ends the process that serves, and waits until all are gone.
func (c *Chain) End(t *testing.T) {
	t.Helper()
	c.Signal(t, syscall.SIGTERM)
	c.Ended(t)
}

// Ended waits until all processes are gone.
func (c *Chain) Ended(t *testing.T) {
	t.Helper()
	if err := c.Wait(t); err != nil {
		t.Errorf("the first process: %v", err)
	}
}

// Wait is Ended that returns how the first process has ended.
func (c *Chain) Wait(t *testing.T) error {
	t.Helper()
	if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
		t.Errorf("at the end there is %q, %v", rest, err)
	}
	return c.first.Wait()
}
