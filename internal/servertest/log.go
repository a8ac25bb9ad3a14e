package servertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Log is a Logger that keeps the lines.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Printf keeps a line.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// All returns all lines.
func (l *Log) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// WaitFor waits for a line that contains all the parts, and returns it.
func (l *Log) WaitFor(t testing.TB, parts ...string) (line string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("a log line with %q", parts), func() bool {
		for _, line = range l.All() {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return true
			}
		}
		return false
	})
	return line
}

// CheckEmpty checks that nothing was logged.
func (l *Log) CheckEmpty(t testing.TB) {
	t.Helper()
	if lines := l.All(); len(lines) > 0 {
		t.Errorf("logged: %q", lines)
	}
}

// LoggerFunc is a Logger that calls a function.
type LoggerFunc func(format string, args ...any)

// Printf calls f.
func (f LoggerFunc) Printf(format string, args ...any) { f(format, args...) }
