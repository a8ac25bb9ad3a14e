package overload

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/internal/progress"
)

// TestMain lets the test binary run as a server.
func TestMain(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

// The figures mean nothing on a machine with other work, so only their presence is checked.
func TestRunMeasuresEachKindOfWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the client needs epoll")
	}
	if _, ok := any(new(fasthttp.Server)).(interface{ SetMaxQueueTime(time.Duration) }); !ok {
		t.Skip("the server cannot limit the time in its queue")
	}
	r, err := Run(t.Context(), Options{Rounds: 1, Lasts: 20 * time.Millisecond, Conns: 20}, progress.NewLines(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if n, all := r.Failed(); n != 0 || len(r.Rows) != all {
		t.Fatalf("%d of %d failed: %q", n, all, r.Failures)
	}
	for _, row := range r.Rows {
		if row.Capacity <= 0 || row.Normal.Served <= 0 || row.Without.Refused != 0 || row.With.P99 <= 0 {
			t.Errorf("the row is %+v", row)
		}
		if text := r.Markdown(); !strings.Contains(text, "| "+row.Work+" | ") {
			t.Errorf("%q is missing in %s", row.Work, text)
		}
	}
}

func TestResponsesAreParsed(t *testing.T) {
	const whole = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\nbusy"
	for n := range whole {
		if _, all := parse([]byte(whole[:n])); all {
			t.Fatalf("%q is whole", whole[:n])
		}
	}
	if status, all := parse([]byte(whole)); status != 503 || !all {
		t.Errorf("the status is %d, %v", status, all)
	}
}
