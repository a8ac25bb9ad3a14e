package closedloop

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

const wait = 20 * time.Millisecond

// start starts a server that delays its responses for WaitPath. It counts all
// requests, and those for WaitPath.
func start(t *testing.T) (addr string, all, waited *atomic.Int64) {
	t.Helper()
	all, waited = new(atomic.Int64), new(atomic.Int64)
	job := serving.Job{Wait: wait}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		if r.URL.Path == serving.WaitPath {
			waited.Add(1)
		}
		job.Slow(r.URL.Path)
		_, _ = io.WriteString(w, serving.Body)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), all, waited
}

func TestEveryConnectionIsBusyAllTheTime(t *testing.T) {
	await.Longer(t, 10*wait, func(length time.Duration) error {
		addr, all, _ := start(t)
		load := Load{Addr: addr, Conns: 8, Path: serving.WaitPath, Every: 1, Warm: wait, Time: length}
		r, err := load.run(nil)
		if err != nil {
			return err
		}
		if int64(r.Sent) != all.Load() {
			t.Errorf("%d sent, %d came", r.Sent, all.Load())
		}
		if most := 8 / wait.Seconds(); r.Rate > 1.1*most {
			t.Errorf("%.0f requests a second, but at most %.0f are possible", r.Rate, most)
		}
		if r.P50 < wait || r.P99 < r.P50 {
			t.Errorf("half of them took %v, 99 %% %v", r.P50, r.P99)
		}
		if r.Rate <= 0 {
			return errors.New("no answer came in time")
		}
		return nil
	})
}

func TestOneOfEveryIsForThePath(t *testing.T) {
	await.Longer(t, 50*wait, func(length time.Duration) error {
		addr, all, waited := start(t)
		load := Load{Addr: addr, Conns: 4, Path: serving.WaitPath, Every: 5, Time: length}
		r, err := load.run(nil)
		if err != nil {
			return err
		}
		if want := (all.Load() + 4) / 5; waited.Load() != want {
			t.Errorf("%d of %d waited, want %d", waited.Load(), all.Load(), want)
		}
		if r.P50 >= r.P99 || r.P99 < wait {
			return fmt.Errorf("half of them took %v, 99 %% %v", r.P50, r.P99)
		}
		return nil
	})
}

func TestRequestsThatNobodyAnswersInTimeCountAsLong(t *testing.T) {
	addr, _, _ := start(t)
	load := Load{Addr: addr, Conns: 1, Path: serving.WaitPath, Every: 1, Time: wait / 4}
	r, err := load.run(nil)
	if err != nil || r.Rate != 0 || r.P99 < wait {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Long", strings.Repeat("x", 2000))
		},
	} {
		server := httptest.NewServer(handler)
		load := Load{Addr: server.Listener.Addr().String(), Conns: 2, Path: "/", Every: 1, Time: wait}
		if r, err := load.run(nil); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
		server.Close()
	}
}
