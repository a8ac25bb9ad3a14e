package fasthttp

import (
	"bytes"
	"errors"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp/internal/ascii"
)

var errIPv4 = errors.New("fasthttp: malformed IPv4 address")

// AppendIPv4 appends ip in dotted decimal form to dst and returns the extended
// slice. Where ip is no IPv4 address a text that says so is appended.
func AppendIPv4(dst []byte, ip net.IP) []byte {
	ip = ip.To4()
	if ip == nil {
		return append(dst, "non-v4 ip passed to AppendIPv4"...)
	}
	for i, part := range ip {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = ascii.AppendUint(dst, int(part))
	}
	return dst
}

// ParseIPv4 reads all of ipStr as an IPv4 address in dotted decimal form. The
// result has four bytes and lies in dst if that has a length of four, or none
// and room for four; otherwise it is new. Numbers have no leading zeros, which
// some software takes for octal. With an error dst is returned as it was.
func ParseIPv4(dst net.IP, ipStr []byte) (net.IP, error) {
	var parts [net.IPv4len]byte
	rest := ipStr
	for i := range parts {
		end := len(rest)
		if i < len(parts)-1 {
			if end = bytes.IndexByte(rest, '.'); end < 0 {
				return dst, errIPv4
			}
		}
		n, ok := ascii.ParseUint(rest[:end])
		if !ok || n > 255 || end > 1 && rest[0] == '0' {
			return dst, errIPv4
		}
		parts[i] = byte(n)
		rest = rest[min(end+1, len(rest)):]
	}
	if len(dst) == 0 && cap(dst) >= len(parts) {
		dst = dst[:len(parts)]
	}
	if len(dst) != len(parts) {
		dst = make(net.IP, len(parts))
	}
	copy(dst, parts[:])
	return dst, nil
}

// translated are the IPv6 addresses that stand for IPv4 ones (RFC 6052 section 2.1).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// hostOf returns the address that stands for all those that one host may have: of
// IPv6 that is the first one of its network of 64 bits (RFC 4291 section 2.5.4), any
// address of which is at the disposal of whoever has one. All link-local addresses are
// in one such network, so they stand for themselves.
func hostOf(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	switch {
	case !ip.Is6() || ip.IsLinkLocalUnicast():
		return ip
	case translated.Contains(ip):
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	network, _ := ip.WithZone("").Prefix(64)
	return network.Addr()
}
