package fasthttp

import (
	"net"
	"net/netip"
	"testing"
)

func TestIPv4IsAppended(t *testing.T) {
	for want, ip := range map[string]net.IP{
		"1.2.3.4":                        net.IPv4(1, 2, 3, 4),
		"255.0.10.1":                     net.IPv4(255, 0, 10, 1).To4(),
		"0.0.0.0":                        net.IPv4zero,
		"non-v4 ip passed to AppendIPv4": net.IPv6loopback,
	} {
		if got := string(AppendIPv4([]byte("<"), ip)); got != "<"+want {
			t.Errorf("%q, want %q", got, "<"+want)
		}
	}
	for _, ip := range []net.IP{nil, {}, {1, 2, 3}} {
		if got := string(AppendIPv4(nil, ip)); got != "non-v4 ip passed to AppendIPv4" {
			t.Errorf("%v: %q", []byte(ip), got)
		}
	}
}

func TestIPv4IsParsed(t *testing.T) {
	for _, text := range []string{"0.0.0.0", "1.2.3.4", "255.255.255.255", "123.45.67.89", "10.0.100.20"} {
		ip, err := ParseIPv4(nil, []byte(text))
		if err != nil || len(ip) != 4 || ip.String() != text {
			t.Errorf("%q: %v, %v", text, ip, err)
		}
	}
	for _, text := range []string{
		"", "1", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.5", "1.2.3.4.", "256.1.1.1", "1.2.3.999", "1.2.3.99999999999999999999", "-1.2.3.4", " 1.2.3.4",
		"1.2.3.4 ", "a.b.c.d", "1.2.3.0x4", "1.2.3.4:80", "::1", "01.2.3.4", "1.2.3.00",
	} {
		old := net.IP{9, 9, 9, 9}
		if ip, err := ParseIPv4(old, []byte(text)); err == nil || ip.String() != "9.9.9.9" {
			t.Errorf("%q: %v, %v", text, ip, err)
		}
	}
}

func TestParseIPv4UsesMemoryOfFourBytesOnly(t *testing.T) {
	four, empty := make(net.IP, 4), make(net.IP, 0, 16)
	for _, dst := range []net.IP{four, empty} {
		if ip, _ := ParseIPv4(dst, []byte("1.2.3.4")); &ip[:1][0] != &dst[:1][0] {
			t.Errorf("%d bytes: not used", len(dst))
		}
	}
	// such as net.IPv4zero, which must not be overwritten
	sixteen := net.IPv4(5, 6, 7, 8)
	if ip, err := ParseIPv4(sixteen, []byte("1.2.3.4")); err != nil || ip.String() != "1.2.3.4" || sixteen.String() != "5.6.7.8" {
		t.Errorf("%v, %v, %v", ip, err, sixteen)
	}
	text, dst := []byte("192.168.100.200"), make([]byte, 0, 16)
	n := testing.AllocsPerRun(100, func() {
		ip, _ := ParseIPv4(four, text)
		dst = AppendIPv4(dst[:0], ip)
		_, _ = ParseIPv4(four, text[:3])
	})
	if n != 0 || string(dst) != string(text) {
		t.Errorf("%v allocations, %q", n, dst)
	}
}

func FuzzParseIPv4(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "01.2.3.4", "1.2.3", "256.1.1.1", "::1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ip, err := ParseIPv4(nil, []byte(s))
		want, wantErr := netip.ParseAddr(s)
		if (err == nil) != (wantErr == nil && want.Is4()) {
			t.Fatalf("%q: %v, %v; net/netip says %v, %v", s, ip, err, want, wantErr)
		}
		if err == nil && string(AppendIPv4(nil, ip)) != want.String() {
			t.Fatalf("%q: %v, want %v", s, ip, want)
		}
	})
}
