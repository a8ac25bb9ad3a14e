package peers

import (
	"net"
	"net/netip"
	"testing"
)

func TestHostOfAnAddress(t *testing.T) {
	for ip, want := range map[string]string{
		"10.1.2.3":                 "10.1.2.3",
		"::ffff:10.1.2.3":          "10.1.2.3",
		"64:ff9b::10.1.2.3":        "10.1.2.3",
		"64:ff9b::1:a01:203":       "64:ff9b:0:0:1::",
		"2001:db8:1:2:3:4:5:6":     "2001:db8:1:2::",
		"2001:db8:1:2:3:4:5:6%eth": "2001:db8:1:2::",
		"::1":                      "::",
		"fe80::1%eth0":             "fe80::1%eth0",
		"fe80::2%eth0":             "fe80::2%eth0",
		"fd00::1":                  "fd00::",
	} {
		if got := HostOf(netip.MustParseAddr(ip)); got.String() != want {
			t.Errorf("%s counts as %v, want %s", ip, got, want)
		}
	}
	if got := HostOf(netip.Addr{}); got.IsValid() {
		t.Errorf("no address counts as %v", got)
	}
}

func TestCounterHoldsNoHostWithoutAConnection(t *testing.T) {
	var c Counter
	one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for i, want := range []bool{true, true, false} {
		if got := c.Acquire(one, 2); got != want {
			t.Errorf("connection %d: %v, want %v", i, got, want)
		}
	}
	if !c.Acquire(other, 1) {
		t.Error("another host is refused")
	}
	if hosts, conns := c.Len(); hosts != 2 || conns != 3 {
		t.Errorf("%d hosts with %d connections, want 2 with 3", hosts, conns)
	}
	c.Release(one)
	c.Release(one)
	c.Release(other)
	if hosts, conns := c.Len(); hosts != 0 || conns != 0 {
		t.Errorf("%d hosts with %d connections are left", hosts, conns)
	}
}

func TestSetOfPeers(t *testing.T) {
	s := NewSet([]netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104"), netip.MustParsePrefix("2001:db8::/32")}, true)
	for addr, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}:             true,
		&net.TCPAddr{IP: net.IPv4(11, 1, 2, 3)}:             false,
		&net.TCPAddr{IP: net.ParseIP("2001:db8::1")}:        true,
		&net.UDPAddr{IP: net.ParseIP("2001:db8::1")}:        true,
		&net.UnixAddr{Name: "socket", Net: "unix"}:          true,
		&net.IPAddr{IP: net.ParseIP("2001:db8::1")}:         false,
		&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "a"}: false,
	} {
		if got := s.Has(addr); got != want {
			t.Errorf("%v is in the set: %v, want %v", addr, got, want)
		}
	}
	if s := NewSet(nil, false); s.Has(&net.UnixAddr{}) || s.Has(nil) {
		t.Error("the empty set has peers")
	}
}

// HostOf may be called again with its result.
func TestHostOfAHost(t *testing.T) {
	for _, ip := range []string{"192.0.2.1", "2001:db8::1", "64:ff9b::102:304", "64:ff9b:0:0:1::5", "64:ff9b::", "::1", "fe80::1", "::ffff:1.2.3.4", "::5:0:0:1"} {
		host := HostOf(netip.MustParseAddr(ip))
		if again := HostOf(host); again != host {
			t.Errorf("%s: the host %s is that of %s", ip, again, host)
		}
	}
	for _, ip := range []string{"64:ff9b:0:0:1::5", "64:ff9b::ffff:0:0:1"} {
		if got := HostOf(netip.MustParseAddr(ip)); got != HostOf(netip.MustParseAddr("64:ff9b:0:0:1::")) {
			t.Errorf("%s: got %s", ip, got)
		}
	}
}
