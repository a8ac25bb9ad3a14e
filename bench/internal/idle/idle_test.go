package idle

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

func TestConnectionsFitTheDescriptors(t *testing.T) {
	tests := []struct {
		asked, procs, limit int
		want                int // 0 if refused
	}{
		{0, 1, 20_000, 19_000},
		{0, 8, 20_000, 18_000},
		{19_000, 1, 20_000, 19_000},
		{19_000, 8, 20_000, 0},
		{19_001, 1, 20_000, 0},
		{10, 1, 20_000, 10},
		{0, 1, 1 << 30, usualConns},
		{100_000, 1, 1 << 30, 100_000},
		{0, 1, 1024, 24},
		{0, 1, 256, 0},
	}
	for _, test := range tests {
		got, err := connsFor(test.asked, test.procs, test.limit)
		if (err == nil) != (test.want > 0) || got != test.want {
			t.Errorf("%+v: %d, %v", test, got, err)
		}
	}
}

func TestCrowdsAddUp(t *testing.T) {
	tests := []struct {
		conns, limit, crowds int
	}{
		{1, 20_000, 1},
		{19_000, 20_000, 1},
		{19_001, 20_000, 2},
		{8 * 18_000, 20_000, 8},
		{100_000, 1 << 20, 2},
		{MostConns * MostProcs, 1 << 20, 192},
	}
	for _, test := range tests {
		all := crowds(test.conns, test.limit, HTTP1)
		sum := 0
		var networks []int
		for _, c := range all {
			sum += c.Conns
			networks = append(networks, c.Network)
			if c.Conns > test.limit-spareFiles {
				t.Errorf("%+v: a crowd of %d", test, c.Conns)
			}
			for _, i := range []int{0, sources - 1, sources, c.Conns - 1} {
				if ip := net.ParseIP(c.source(i)); ip == nil || !ip.IsLoopback() {
					t.Errorf("%+v: connection %d comes from %s", test, i, c.source(i))
				}
			}
		}
		if sum != test.conns || len(all) != test.crowds {
			t.Errorf("%+v: %d connections in %d crowds", test, sum, len(all))
		}
		if slices.Sort(networks); len(slices.Compact(networks)) != len(all) {
			t.Errorf("%+v: crowds share a network", test)
		}
	}
}

func TestCrowdOpensItsConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux has a whole network of loopback addresses")
	}
	from := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		from <- host
		_, _ = io.WriteString(w, serving.Body)
	}))
	defer server.Close()
	c := crowd{Addr: server.Listener.Addr().String(), Network: 7, Conns: 40}
	ctx, end := context.WithCancel(t.Context())
	conns, err := c.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range c.Conns {
		seen[await.Receive(t, "a client", from)] = true
	}
	for i := range c.Conns {
		if !seen[c.source(i)] {
			t.Errorf("nothing came from %s", c.source(i))
		}
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	end()
	if _, err := c.open(ctx); err == nil {
		t.Error("it opened connections after its end")
	}
}

func usage(resident int64, heap, stack uint64, goroutines, descriptors int) rig.Usage {
	return rig.Usage{
		Memory:      serving.Memory{Goroutines: goroutines, HeapInUse: heap, StackInUse: stack},
		Resident:    resident,
		Descriptors: descriptors,
	}
}

func TestCompareSharesGrowthAmongConnections(t *testing.T) {
	before := []rig.Usage{usage(1000, 500, 300, 5, 10), usage(2000, 600, 300, 5, 10)}
	after := []rig.Usage{usage(5000, 900, 200, 5, 60), usage(6000, 1000, 300, 65, 70)}
	got, err := compare(before, after, 110)
	want := sample{resident: 8000. / 110, heap: 800. / 110, stack: -100. / 110, goroutines: 60. / 110, total: 11000}
	if err != nil || math.Abs(got.resident-want.resident) > 1e-9 || math.Abs(got.heap-want.heap) > 1e-9 ||
		math.Abs(got.stack-want.stack) > 1e-9 || math.Abs(got.goroutines-want.goroutines) > 1e-9 || got.total != want.total {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, conns := range []int{50, 300} {
		if _, err := compare(before, after, conns); err == nil {
			t.Errorf("110 open connections passed for %d", conns)
		}
	}
}
