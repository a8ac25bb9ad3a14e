package tcplisten

import (
	"errors"
	"net"
	"testing"
)

func TestListenerTakesConnections(t *testing.T) {
	for _, network := range []string{"tcp", "tcp4", "tcp6"} {
		t.Run(network, func(t *testing.T) {
			host := "127.0.0.1"
			if network == "tcp6" {
				host = "[::1]"
				needsIPv6(t)
			}
			ln := listen(t, &Config{}, network, host+":0")
			if _, ok := ln.(*net.TCPListener); !ok {
				t.Errorf("the listener is a %T, want a *net.TCPListener", ln)
			}
			exchange(t, ln)
		})
	}
}

// Programs compare the texts.
func TestListenerErrorTexts(t *testing.T) {
	for _, c := range []struct{ network, addr, want string }{
		{"tcp4", "127.0.0.1", "address 127.0.0.1: missing port in address"},
		{"tcp4", "127.0.0.1:99999", "address 99999: invalid port"},
		{"tcp6", "[::1", "address [::1: missing ']' in address"},
		{"udp", "127.0.0.1:0", "unknown network udp"},
	} {
		ln, err := new(Config).NewListener(c.network, c.addr)
		if err == nil {
			_ = ln.Close()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %s: %v, want %s", c.network, c.addr, err, c.want)
		}
	}
}

func TestListenerRefusesOtherNetworks(t *testing.T) {
	for _, network := range []string{"", "udp", "unix", "tcp5", "TCP"} {
		ln, err := new(Config).NewListener(network, "127.0.0.1:0")
		if err == nil {
			_ = ln.Close()
			t.Errorf("%q was accepted", network)
			continue
		}
		if _, ok := errors.AsType[net.UnknownNetworkError](err); !ok {
			t.Errorf("%q: %v, want an UnknownNetworkError", network, err)
		}
	}
}

func TestListenerRefusesBadAddresses(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:70000", "[::1]:0"} {
		if ln, err := new(Config).NewListener("tcp4", addr); err == nil {
			_ = ln.Close()
			t.Errorf("%q was accepted", addr)
		}
	}
}

func TestAddressesAreNotSharedUnlessAskedFor(t *testing.T) {
	ln := listen(t, &Config{}, "tcp4", "127.0.0.1:0")
	second, err := new(Config).NewListener("tcp4", ln.Addr().String())
	if err == nil {
		_ = second.Close()
		t.Fatal("two listeners have the same address")
	}
	if _, ok := errors.AsType[*OptionError](err); ok {
		t.Errorf("the error blames an option: %v", err)
	}
}

func needsIPv6(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this system has no IPv6: %v", err)
	}
	_ = ln.Close()
}

func listen(t *testing.T, cfg *Config, network, addr string) net.Listener {
	t.Helper()
	ln, err := cfg.NewListener(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// exchange sends data to ln and waits for an answer.
func exchange(t *testing.T, ln net.Listener) {
	t.Helper()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 4)
		if _, err := c.Read(buf); err == nil {
			_, _ = c.Write([]byte("pong"))
		}
	}()
	c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "pong" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
}
