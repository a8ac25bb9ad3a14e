package fasthttp

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/hostmap"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Each host has its own HostClient, even if many hosts share a slot in the table of
// known hosts. A host has separate clients with and without TLS.
func TestKnownHostsAreNotMixedUp(t *testing.T) {
	client := &Client{}
	const n = 4 * hostmap.Size
	of := make(map[*HostClient]string)
	for round := range 3 {
		for i := range n {
			for _, isTLS := range []bool{false, true} {
				host := fmt.Sprintf("host%d.example", i)
				if i%8 == 0 {
					host = fmt.Sprintf("h%d", i)
				}
				hc, err := client.hostClient([]byte(host), isTLS)
				if err != nil {
					t.Fatal(err)
				}
				hc.pending.Release()
				name := fmt.Sprint(host, isTLS)
				if had, seen := of[hc]; seen != (round > 0) || seen && had != name {
					t.Fatalf("round %d: the client of %s is that of %q", round, name, had)
				}
				of[hc] = name
				if hc.Addr != AddMissingPort(host, isTLS) || hc.IsTLS != isTLS {
					t.Fatalf("the client of %s is for %s, %v", name, hc.Addr, hc.IsTLS)
				}
			}
		}
	}
	if taken := client.hosts.Cached(); taken < hostmap.Size/2 {
		t.Errorf("%d hosts have %d of %d places", 2*n, taken, hostmap.Size)
	}
}

// A Client drops a host between two calls, never during one. The next call makes the host
// again, while other calls continue.
func TestHostsAreDroppedBetweenCalls(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	client := &Client{Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", p.Addr()) }}
	defer client.CloseIdleConnections()
	over := make(chan struct{})
	var callers, sweeper sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			host := fmt.Appendf(nil, "host%d.test", i%2)
			for range 2000 {
				hc, err := client.hostClient(host, false)
				if err != nil {
					t.Error(err)
					return
				}
				if hc.pending.Removed() {
					t.Errorf("a call has got a host that was dropped: %d", hc.pending.Count())
				}
				hc.lastUse.Store(int64(clock.Elapsed() - 2*hostmap.SweepInterval))
				hc.pending.Release()
			}
		})
	}
	sweeper.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				client.hosts.Sweep()
			}
		}
	})
	callers.Wait()
	close(over)
	sweeper.Wait()
	client.hosts.Sweep()
	if n := len(client.hosts.All()); n != 0 {
		t.Errorf("%d hosts are left", n)
	}
	if n := client.hosts.Cached(); n != 0 {
		t.Errorf("%d hosts are known that were dropped", n)
	}
	if _, _, err := client.Get(nil, "http://host1.test/"); err != nil {
		t.Error(err)
	}
}

// A HostClient that its Client has dropped still serves callers that hold it.
func TestDroppedHostServesItsHolder(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	var held *HostClient
	client := &Client{
		Dial:            func(string) (net.Conn, error) { return net.Dial("tcp4", p.Addr()) },
		ConfigureClient: func(hc *HostClient) error { held = hc; return nil },
	}
	if _, _, err := client.Get(nil, "http://host.test/"); err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	held.lastUse.Store(int64(clock.Elapsed() - 2*hostmap.SweepInterval))
	client.hosts.Sweep()
	if !held.pending.Removed() {
		t.Fatal("the host is still there")
	}
	if _, _, err := held.Get(nil, "http://host.test/"); err != nil {
		t.Error(err)
	}
	if n := held.PendingRequests(); n != 0 {
		t.Errorf("%d calls are pending", n)
	}
	held.CloseIdleConnections()
}
