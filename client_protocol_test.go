package fasthttp

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/servertest"
)

// sharedProtocol responds to many concurrent requests on one connection.
type sharedProtocol struct {
	cc      *clientConn
	room    atomic.Int32
	most    *atomic.Int32 // the highest number of concurrent requests
	under   atomic.Int32
	arrived *sync.WaitGroup // released when all requests have arrived
}

func (p *sharedProtocol) roundTrip(hc *HostClient, req *Request, resp *Response, _ time.Duration) (bool, error) {
	n := p.under.Add(1)
	for most := p.most.Load(); n > most && !p.most.CompareAndSwap(most, n); most = p.most.Load() {
	}
	p.arrived.Done()
	p.arrived.Wait()
	resp.Reset()
	resp.SetBodyString(string(req.URI().Path()))
	p.under.Add(-1)
	p.room.Add(1)
	hc.pool.Put(p.cc, clock.Elapsed())
	return false, nil
}

func (p *sharedProtocol) pooled() {}

func (p *sharedProtocol) reserve() bool {
	if p.room.Add(-1) >= 0 {
		return true
	}
	p.room.Add(1)
	return false
}

func (p *sharedProtocol) Close() error { return p.cc.line.Net.Close() }

// If a protocol accepts several requests at once, one connection carries all of them, and
// counts once.
func TestClientSharesAConnection(t *testing.T) {
	const calls = 8
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
	hc := hostFor(p)
	hc.MaxConns = 1
	servertest.Must(t, hc.ready())
	if g, ok := hc.pool.TryGet(connpool.Any); !ok || g.Found {
		t.Fatal("no connection is free")
	}
	cc, _, err := hc.connect(&callState{})
	servertest.Must(t, err)
	var most atomic.Int32
	var arrived, wg sync.WaitGroup
	arrived.Add(calls)
	shared := &sharedProtocol{cc: cc, most: &most, arrived: &arrived}
	shared.room.Store(calls)
	cc.protocol = shared
	hc.pool.Share(cc)
	for i := range calls {
		wg.Go(func() {
			var req Request
			var resp Response
			req.SetRequestURI(p.URL(fmt.Sprint("/", i)))
			if err := hc.Do(&req, &resp); err != nil || string(resp.Body()) != fmt.Sprint("/", i) {
				t.Errorf("call %d: %q, %v", i, resp.Body(), err)
			}
		})
	}
	servertest.Soon(t, "all goroutines", wg.Wait)
	// the peer may not have accepted it yet
	servertest.Eventually(t, "the connection at the peer", func() bool { return p.Conns.Load() == 1 })
	if most.Load() != calls || hc.ConnsCount() != 1 {
		t.Errorf("%d requests at a time, %d connections in the pool, %d at the peer", most.Load(), hc.ConnsCount(), p.Conns.Load())
	}
	hc.pool.Put(cc, clock.Elapsed())
	hc.CloseIdleConnections()
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestClientProtocolIsWhatWasNegotiated(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	cc := adoptConn(a, "pipe", 0)
	if cc.shared || cc.protocol.reserve() {
		t.Error("another caller may use the connection")
	}
	for negotiated, want := range map[string]bool{"": true, "http/1.1": true, "h2": false, "spdy/3": false} {
		if err := agreeOnHTTP1(negotiated); (err == nil) != want {
			t.Errorf("%q: %v", negotiated, err)
		}
	}
}
