package uri

import (
	"net"
	"strings"
	"testing"
)

func TestPortIsAdded(t *testing.T) {
	for _, tc := range []struct{ addr, plain, tls string }{
		{"", "", ""},
		{"a", "a:80", "a:443"},
		{"a:", "a:80", "a:443"},
		{"a:1", "a:1", "a:1"},
		{":1", ":1", ":1"},
		{"1.2.3.4", "1.2.3.4:80", "1.2.3.4:443"},
		{"1.2.3.4:8080", "1.2.3.4:8080", "1.2.3.4:8080"},
		{"[::1]", "[::1]:80", "[::1]:443"},
		{"[::1]:", "[::1]:80", "[::1]:443"},
		{"[::1]:1", "[::1]:1", "[::1]:1"},
		{"[::1%lo0]", "[::1%lo0]:80", "[::1%lo0]:443"},
		{"[::1%lo0]:80", "[::1%lo0]:80", "[::1%lo0]:80"},
		{"::1", "::1", "::1"},
		{"fe80::1%eth0", "fe80::1%eth0", "fe80::1%eth0"},
		{"a:b:c", "a:b:c", "a:b:c"},
		{"a:b:", "a:b:", "a:b:"},
		{"[::1", "[::1", "[::1"},
		{"[::1]x", "[::1]x", "[::1]x"},
	} {
		if got := AddPort(tc.addr, false); got != tc.plain {
			t.Errorf("%q: %q, want %q", tc.addr, got, tc.plain)
		}
		if got := AddPort(tc.addr, true); got != tc.tls {
			t.Errorf("%q over TLS: %q, want %q", tc.addr, got, tc.tls)
		}
	}
}

func FuzzAddPort(f *testing.F) {
	for _, s := range []string{"a", "a:1", "[::1]", "[::1]:", "::1", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		got := AddPort(addr, false)
		if again := AddPort(got, true); got != addr && again != got {
			t.Fatalf("%q: %q, then %q", addr, got, again)
		}
		if got != addr && !strings.HasPrefix(got, strings.TrimSuffix(addr, ":")) {
			t.Fatalf("%q: %q", addr, got)
		}
		if strings.ContainsAny(addr, "[]") {
			return
		}
		if _, port, err := net.SplitHostPort(got); addr != "" && strings.Count(addr, ":") < 2 && (err != nil || port == "") {
			t.Fatalf("%q: %q has port %q, %v", addr, got, port, err)
		}
	})
}
