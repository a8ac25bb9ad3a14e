package steady

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// If a request is late because of a slow one before it, its time begins when it was due.
func TestLateRequestsCountFromWhenTheyWereDue(t *testing.T) {
	const slow = 50 * time.Millisecond
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if first {
			first = false
			time.Sleep(slow) // real time: the load measures it over a socket
		}
		_, _ = io.WriteString(w, serving.Body)
	}))
	defer server.Close()
	times, err := Run(t.Context(), Load{Conns: 1, Rate: 200, Time: 4 * time.Second / 200}, func() (*probe.Conn, error) {
		return probe.Dial("", server.Listener.Addr().String(), "/")
	})
	if err != nil || len(times) != 4 {
		t.Fatalf("%v, %v", times, err)
	}
	// they were due after 5, 10 and 15 ms
	for i, took := range times {
		if due := time.Duration(i) * 5 * time.Millisecond; took < slow-due {
			t.Errorf("request %d took %v", i, took)
		}
	}
}
