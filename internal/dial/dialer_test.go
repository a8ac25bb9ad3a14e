package dial

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

// book is a Resolver that returns the same addresses for all names.
type book []string

func (b book) LookupIPAddr(context.Context, string) (found []net.IPAddr, err error) {
	for _, ip := range b {
		found = append(found, net.IPAddr{IP: net.ParseIP(ip)})
	}
	return found, nil
}

// errHost is the error for refused hosts.
var errHost = errors.New("no host")

// config returns a Config that resolves to the addresses, and does not wrap errors.
func config(addresses ...string) *Config {
	return &Config{
		Resolver: book(addresses), Keep: time.Minute,
		Host: func(host string) (string, error) {
			if host == "bad" {
				return "", errHost
			}
			return host, nil
		},
		Report: func(_ context.Context, _ string, err error) (bool, error) { return false, err },
	}
}

func TestTargets(t *testing.T) {
	both := config("192.0.2.1", "2001:db8::1")
	from4, from6, fromAny := config("192.0.2.1", "2001:db8::1"), config("192.0.2.1", "2001:db8::1"), config("192.0.2.1")
	from4.Net.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	from6.Net.LocalAddr = &net.TCPAddr{IP: net.IPv6loopback}
	fromAny.Net.LocalAddr = &net.TCPAddr{Port: 1}
	unresolved := config()
	unresolved.Resolver = nil
	for name, tt := range map[string]struct {
		c             *Config
		network, addr string
		want          []string
		err           error
	}{
		"both":              {both, "tcp", "a.test:80", []string{"192.0.2.1:80", "[2001:db8::1]:80"}, nil},
		"IPv4":              {both, "tcp4", "a.test:80", []string{"192.0.2.1:80"}, nil},
		"IPv6":              {both, "tcp6", "a.test:80", []string{"[2001:db8::1]:80"}, nil},
		"from IPv4":         {from4, "tcp", "a.test:80", []string{"192.0.2.1:80"}, nil},
		"from IPv6":         {from6, "tcp", "a.test:80", []string{"[2001:db8::1]:80"}, nil},
		"from a port":       {fromAny, "tcp", "a.test:80", []string{"192.0.2.1:80"}, nil},
		"literal":           {config(), "tcp4", "127.0.0.1:80", []string{"127.0.0.1:80"}, nil},
		"literal of IPv6":   {config(), "tcp4", "[::1]:80", nil, ErrNoAddress},
		"no host":           {both, "tcp", ":80", []string{":80"}, nil},
		"no resolver":       {unresolved, "tcp4", "a.test:80", []string{"a.test:80"}, nil},
		"no address":        {config(), "tcp", "a.test:80", nil, ErrNoAddress},
		"a host that fails": {both, "tcp", "bad:80", nil, errHost},
	} {
		var d Dialer
		got, err := d.Targets(t.Context(), tt.c, tt.network, tt.addr)
		if err != tt.err || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, tt.want, tt.err)
		}
	}
	var d Dialer
	if _, err := d.Targets(t.Context(), both, "tcp", "no port"); err == nil {
		t.Error("an address without a port has targets")
	}
}

func TestDialersHaveSeats(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := config()
	c.Concurrency = 1
	var d Dialer
	if conn, err := d.Dial(t.Context(), c, "tcp4", ln.Addr().String()); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	if err := d.acquireSlot(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Dial(ctx, c, "tcp4", ln.Addr().String()); err != context.Canceled {
		t.Errorf("the error without a seat is %v", err)
	}
	d.releaseSlot()
	if _, err := d.Dial(t.Context(), c, "tcp4", "bad:80"); err != errHost {
		t.Errorf("the error of a host is %v", err)
	}
	if n := len(d.slots); n != 0 {
		t.Errorf("%d seats are taken", n)
	}
}
