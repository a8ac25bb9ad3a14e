package fasthttp

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/servertest"
)

// listenOn accepts connections on a loopback address until the test ends, and
// returns their port. It skips the test if the system does not have the address.
func listenOn(t *testing.T, addr string) (port string) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("%s cannot be listened on here: %v", addr, err)
	}
	acceptUntilTheEnd(t, ln)
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

// acceptUntilTheEnd accepts connections until the test ends.
func acceptUntilTheEnd(t *testing.T, ln net.Listener) {
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		servertest.Soon(t, "the listener", accepting.Wait)
	})
}

// listenBeside is listenOn for a port that another address refuses.
func listenBeside(t *testing.T, addr, other string) (port string) {
	t.Helper()
	servertest.Eventually(t, "a port that is free", func() bool {
		port = servertest.FreePort(t, other)
		ln, err := net.Listen("tcp", net.JoinHostPort(addr, port))
		if errors.Is(err, syscall.EADDRINUSE) {
			return false
		}
		if err != nil {
			t.Skipf("%s cannot be listened on here: %v", addr, err)
		}
		acceptUntilTheEnd(t, ln)
		return true
	})
	return port
}

func upstreamOf(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*ErrDialWithUpstream](err)
	if !ok {
		t.Fatalf("the error %v (%T) is no ErrDialWithUpstream", err, err)
	}
	return e.Upstream
}

func TestDialerConnectsOverBothVersions(t *testing.T) {
	port4, port6 := listenBeside(t, "127.0.0.1", "::1"), listenBeside(t, "::1", "127.0.0.1")
	d := &TCPDialer{Resolver: servertest.ResolvesTo("127.0.0.1", "::1")}
	for _, c := range []struct {
		name string
		dial func(string) (net.Conn, error)
		addr string
		want string
	}{
		{"IPv4 by name", d.Dial, "name.test:" + port4, "127.0.0.1:" + port4},
		{"IPv4 literal", d.Dial, "127.0.0.1:" + port4, "127.0.0.1:" + port4},
		{"no host", d.Dial, ":" + port4, "127.0.0.1:" + port4},
		{"dual stack, IPv4 answers", d.DialDualStack, "name.test:" + port4, "127.0.0.1:" + port4},
		{"dual stack, IPv6 answers", d.DialDualStack, "name.test:" + port6, "[::1]:" + port6},
		{"dual stack, IPv6 literal", d.DialDualStack, "[::1]:" + port6, "[::1]:" + port6},
		{"IPv6 alone", func(addr string) (net.Conn, error) {
			return d.DialContext(t.Context(), "tcp6", addr)
		}, "name.test:" + port6, "[::1]:" + port6},
		{"function", Dial, "127.0.0.1:" + port4, "127.0.0.1:" + port4},
		{"function for both", DialDualStack, "[::1]:" + port6, "[::1]:" + port6},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := c.dial(c.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if got := conn.RemoteAddr().String(); got != c.want {
				t.Errorf("connected to %s, want %s", got, c.want)
			}
		})
	}
}

func TestDialerErrorsNameTheUpstreamAndTheCause(t *testing.T) {
	noSuchHost := &net.DNSError{Err: "no such host", Name: "name.test", IsNotFound: true}
	failing := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) { return nil, noSuchHost }}
	refusing := servertest.FreePort(t)
	canceled, cancel := context.WithCancelCause(t.Context())
	wentAway := errors.New("went away")
	cancel(wentAway)
	for _, c := range []struct {
		name     string
		resolver Resolver
		dial     func(d *TCPDialer, addr string) (net.Conn, error)
		addr     string
		upstream string
		cause    error
	}{
		{"refused", servertest.ResolvesTo("127.0.0.1"), (*TCPDialer).Dial, "name.test:" + refusing, "127.0.0.1:" + refusing, syscall.ECONNREFUSED},
		{"unknown name", failing, (*TCPDialer).Dial, "name.test:80", "name.test:80", noSuchHost},
		{"no address", servertest.ResolvesTo(), (*TCPDialer).Dial, "name.test:80", "name.test:80", dial.ErrNoAddress},
		{"no IPv4 address", servertest.ResolvesTo("::1"), (*TCPDialer).Dial, "name.test:80", "name.test:80", dial.ErrNoAddress},
		{"IPv6 literal", nil, (*TCPDialer).Dial, "[::1]:80", "[::1]:80", dial.ErrNoAddress},
		{"no time", servertest.ResolvesTo("127.0.0.1"), func(d *TCPDialer, addr string) (net.Conn, error) {
			return d.DialTimeout(addr, 0)
		}, "name.test:80", "name.test:80", ErrDialTimeout},
		{"time before now", servertest.ResolvesTo("127.0.0.1"), func(d *TCPDialer, addr string) (net.Conn, error) {
			return d.DialDualStackTimeout(addr, -time.Second)
		}, "name.test:80", "name.test:80", context.DeadlineExceeded},
		{"canceled", servertest.ResolvesTo("127.0.0.1"), func(d *TCPDialer, addr string) (net.Conn, error) {
			return d.DialContext(canceled, "tcp", addr)
		}, "name.test:80", "name.test:80", wentAway},
		{"network", servertest.ResolvesTo("127.0.0.1"), func(d *TCPDialer, addr string) (net.Conn, error) {
			return d.DialContext(t.Context(), "udp", addr)
		}, "name.test:80", "name.test:80", net.UnknownNetworkError("udp")},
		{"panic", &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) { panic(wentAway) }},
			(*TCPDialer).Dial, "name.test:80", "name.test:80", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := c.dial(&TCPDialer{Resolver: c.resolver}, c.addr)
			if err == nil {
				_ = conn.Close()
				t.Fatal("it connected")
			}
			if got := upstreamOf(t, err); got != c.upstream {
				t.Errorf("upstream %q, want %q", got, c.upstream)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("the error is %v, which does not wrap %v", err, c.cause)
			}
			if !strings.Contains(err.Error(), c.upstream) {
				t.Errorf("the text %q does not name %s", err, c.upstream)
			}
		})
	}
	for _, addr := range []string{"name.test", "name.test:80:90", "[::1", ""} {
		if _, err := new(TCPDialer).Dial(addr); err == nil {
			t.Errorf("dialing %q did not fail", addr)
		} else if _, ok := errors.AsType[*net.AddrError](err); !ok {
			t.Errorf("dialing %q: %v, want a net.AddrError", addr, err)
		}
	}
}

func TestDialerReportsEveryAddressThatFailed(t *testing.T) {
	port := servertest.FreePort(t, "127.0.0.1", "127.0.0.2", "::1")
	for network, addresses := range map[string][]string{
		"tcp4": {"127.0.0.1", "127.0.0.2"},
		"tcp":  {"127.0.0.1", "127.0.0.2", "::1"},
	} {
		d := &TCPDialer{Resolver: servertest.ResolvesTo(addresses...)}
		_, err := d.DialContext(t.Context(), network, "name.test:"+port)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, want refused", network, err)
		}
		upstreamOf(t, err)
		for _, a := range addresses {
			if !strings.Contains(err.Error(), net.JoinHostPort(a, port)) {
				t.Errorf("%s: %q does not name %s", network, err, a)
			}
		}
	}
}

func TestDialerBeginsWithAnotherAddressEachTime(t *testing.T) {
	port := listenOn(t, "127.0.0.1:0")
	var dialed []string
	d := &TCPDialer{
		Resolver: servertest.ResolvesTo("127.0.0.2", "127.0.0.1", "127.0.0.3"),
		Control: func(network, address string, _ syscall.RawConn) error {
			dialed = append(dialed, network+" "+address)
			return nil
		},
	}
	for range 3 {
		conn, err := d.Dial("name.test:" + port)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	a := func(last string) string { return "tcp4 127.0.0." + last + ":" + port }
	if want := []string{a("2"), a("1"), a("1"), a("3"), a("2"), a("1")}; !slices.Equal(dialed, want) {
		t.Errorf("dialed %q, want %q", dialed, want)
	}
}

func TestDialerHeedsTheLocalAddress(t *testing.T) {
	port := listenOn(t, "127.0.0.1:0")
	d := &TCPDialer{
		Resolver:  servertest.ResolvesTo("::1", "127.0.0.1"),
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)},
	}
	conn, err := d.DialDualStack("name.test:" + port)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got := conn.LocalAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.9" {
		t.Errorf("dialed from %s", got)
	}
}

func TestDialerControlCanRefuseAnAddress(t *testing.T) {
	port := listenOn(t, "127.0.0.1:0")
	forbidden := errors.New("forbidden")
	d := &TCPDialer{Control: func(string, string, syscall.RawConn) error { return forbidden }}
	for _, dial := range []func(string) (net.Conn, error){d.Dial, d.DialDualStack} {
		if _, err := dial("127.0.0.1:" + port); !errors.Is(err, forbidden) {
			t.Errorf("dialing ended with %v", err)
		}
	}
	d.Control = func(string, string, syscall.RawConn) error { panic("hook") }
	if _, err := d.DialDualStack("127.0.0.1:" + port); err == nil || !strings.Contains(err.Error(), "hook") {
		t.Errorf("a panic of the hook became %v", err)
	}
}

func TestDialerLeavesNamesToTheSystem(t *testing.T) {
	port := listenOn(t, "127.0.0.1:0")
	resolver := servertest.ResolvesTo("127.0.0.2")
	d := &TCPDialer{Resolver: resolver, DisableDNSResolution: true}
	conn, err := d.Dial("localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if n := resolver.Lookups.Load(); n != 0 {
		t.Errorf("the resolver was asked %d times", n)
	}
}

func TestDialerNeverHasMoreDialsThanSeats(t *testing.T) {
	port := listenOn(t, "127.0.0.1:0")
	const all, seats = 50, 3
	var now, most atomic.Int64
	goOn := make(chan struct{})
	d := &TCPDialer{
		Concurrency: seats,
		Control: func(string, string, syscall.RawConn) error {
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); {
				seen = most.Load()
			}
			<-goOn
			now.Add(-1)
			return nil
		},
	}
	var dials sync.WaitGroup
	for range all {
		dials.Go(func() {
			conn, err := d.DialTimeout("127.0.0.1:"+port, servertest.Never)
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		})
	}
	for n := range int64(all) {
		servertest.Eventually(t, "dials in all seats", func() bool { return now.Load() >= min(seats, all-n) })
		goOn <- struct{}{}
	}
	servertest.Soon(t, "the dials", dials.Wait)
	if n := most.Load(); n != seats {
		t.Errorf("%d dials at the same time, want %d", n, seats)
	}
}

func TestTheTimeIsUpOnlyForTheWholeDial(t *testing.T) {
	wentAway, refused := errors.New("went away"), errors.New("refused")
	timeout := &net.OpError{Op: "dial", Net: "tcp4", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		name     string
		after    time.Duration // if the dial has a second
		cancel   bool
		err      error
		cause    error
		timedOut bool
	}{
		{"refused", 0, false, refused, refused, false},
		{"an attempt had no more time", 500 * time.Millisecond, false, timeout, timeout, false},
		{"the dial has no more time", time.Second, false, timeout, ErrDialTimeout, true},
		{"refused when the time was up", time.Second, false, refused, ErrDialTimeout, true},
		{"canceled", 0, true, context.Canceled, wentAway, false},
		{"refused and canceled", 0, true, refused, wentAway, false},
	} {
		servertest.Bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ctx, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			if c.cancel {
				cancel(wentAway)
			}
			time.Sleep(c.after)
			synctest.Wait()
			timedOut, err := reportDial(ctx, "127.0.0.1:80", c.err)
			if upstreamOf(t, err) != "127.0.0.1:80" || errors.Unwrap(err) != c.cause || timedOut != c.timedOut {
				t.Errorf("%s: %v, timed out %v, want %v, %v", c.name, err, timedOut, c.cause, c.timedOut)
			}
		})
	}
}

// The network may report a timeout before the context reports its deadline.
func TestATimeoutOfTheNetworkIsTheOneOfTheDial(t *testing.T) {
	late := lateContext{t.Context(), time.Now()}
	timedOut, err := reportDial(late, "127.0.0.1:80", os.ErrDeadlineExceeded)
	if !timedOut || !errors.Is(err, ErrDialTimeout) {
		t.Errorf("%v, timed out %v", err, timedOut)
	}
}

// lateContext has a deadline that has passed, but reports no error yet.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }
