package tlsload

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// server counts the actions of its clients.
type server struct {
	addr                        string
	accepted, requests, resumed atomic.Int64
	conns                       chan struct{} // a value follows each connection, unless it is full
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{conns: make(chan struct{}, 100)}
	hs := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if r.TLS.DidResume {
			s.resumed.Add(1)
		}
		_, _ = io.WriteString(w, serving.Body)
	}))
	hs.Config.ErrorLog = nil
	hs.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
			select {
			case s.conns <- struct{}{}:
			default:
			}
		}
	}
	hs.TLS = new(tls.Config)
	hs.StartTLS()
	t.Cleanup(hs.Close)
	s.addr = hs.Listener.Addr().String()
	return s
}

const short = 100 * time.Millisecond

func TestHandshakesAreWhatTheyAreCalled(t *testing.T) {
	for _, kind := range []Kind{Full, Resumed} {
		await.Longer(t, 10*short, func(length time.Duration) error {
			s := start(t)
			r, err := Run(t.Context(), rig.Anywhere, Load{Kind: kind, Addr: s.addr, Conns: 4, Warm: short / 2, Time: length})
			if err != nil || r.Done < 4 || r.Rate <= 0 || r.P50 <= 0 || r.P99 < r.P50 {
				return fmt.Errorf("%s: %+v, %v", kind, r, err)
			}
			want, resumed := int64(r.Done), int64(0)
			if kind == Resumed {
				want, resumed = want+1, want
			}
			if s.requests.Load() != want || s.resumed.Load() != resumed || s.accepted.Load() != want {
				t.Errorf("%s: %d done; %d requests, %d resumed, %d connections", kind, r.Done, s.requests.Load(), s.resumed.Load(), s.accepted.Load())
			}
			return nil
		})
	}
}

func TestSteadyClientsKeepTheirConnections(t *testing.T) {
	s := start(t)
	r, err := Run(t.Context(), rig.Anywhere, Load{Kind: Steady, Addr: s.addr, Conns: 4, Rate: 400, Time: short})
	if err != nil || r.Done != 40 || r.P99 < r.P50 || r.P50 <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if s.accepted.Load() != 4 || s.requests.Load() != 40+4 {
		t.Errorf("%d connections, %d requests", s.accepted.Load(), s.requests.Load())
	}
}

func TestFloodsGoOnUntilTheyAreStopped(t *testing.T) {
	for _, kind := range []Kind{HalfOpen, Hellos} {
		s := start(t)
		flood, err := Start(t.Context(), rig.Anywhere, Load{Kind: kind, Addr: s.addr, Conns: 8, Rate: 200})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for range 16 {
			await.Receive(t, "a connection of "+string(kind), s.conns)
		}
		r, err := flood.Stop(context.WithoutCancel(t.Context()))
		if err != nil || r.Done < 8 || r.Rate <= 0 {
			t.Errorf("%s: %+v, %v, %d connections", kind, r, err, s.accepted.Load())
		}
		// the server may have to accept the rest yet
		for int64(r.Done) > s.accepted.Load()+8 {
			await.Receive(t, "a connection of "+string(kind), s.conns)
		}
		if s.requests.Load() != 0 {
			t.Errorf("%s: %d requests", kind, s.requests.Load())
		}
	}
}
