package accesslog_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// status sends a request, and returns the status; 0 if there is no response, or it is cut off.
func status(t *testing.T, s *roottest.Server, method, path, body string, fields ...string) int {
	t.Helper()
	resp, _, err := s.Ask(t, method, path, body, fields...)
	if err != nil {
		return 0
	}
	return resp.StatusCode
}

// output is where a log is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// take returns the lines that were written since the last call.
func (o *output) take() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines = strings.SplitAfter(o.text.String(), "\n")
	o.text.Reset()
	return lines[:len(lines)-1]
}

// next waits for a line, which must be the only one.
func (o *output) next(t *testing.T, l *accesslog.Log) string {
	t.Helper()
	var all []string
	servertest.Eventually(t, "a line", func() bool {
		servertest.Must(t, l.Flush(context.Background()))
		all = append(all, o.take()...)
		return len(all) > 0
	})
	if len(all) != 1 {
		t.Errorf("got the lines %q, want one", all)
	}
	return all[0]
}
