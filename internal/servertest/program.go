package servertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A Program is a server that main calls: it serves until its context ends, and writes to stdout.
type Program func(ctx context.Context, stdout io.Writer) error

// Start runs the program until the end of the test.
func (run Program) Start(t testing.TB) *RunningProgram {
	t.Helper()
	// without the context of the test, which ends before the cleanups
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stdout, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, w)
		_ = w.CloseWithError(fmt.Errorf("the program has ended: %w", err))
		done <- err
	}()
	p := &RunningProgram{Cancel: cancel}
	p.End = sync.OnceFunc(func() {
		cancel()
		if err := Receive(t, "the end of the program", done); err != nil {
			t.Errorf("run returned %v", err)
		}
	})
	t.Cleanup(p.End)
	r := bufio.NewReader(stdout)
	line, err := r.ReadString('\n')
	Must(t, err)
	p.Words = strings.Fields(line)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return p
}

// EndsAtOnce checks that the program ends if a signal has arrived before it begins.
func (run Program) EndsAtOnce(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Must(t, run(ctx, io.Discard))
}

// A RunningProgram is a Program that has written its first line.
type RunningProgram struct {
	// Words are the words of that line.
	Words []string
	// Cancel ends the context of the program.
	Cancel func()
	// End does the same, and checks that the program ends without an error.
	End func()
}

// Addr is the last word, the address that the program listens on.
func (p *RunningProgram) Addr() string { return p.Words[len(p.Words)-1] }
