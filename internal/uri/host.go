package uri

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/urlencoded"
	"golang.org/x/net/idna"
)

// hostNameBytes holds the valid bytes of a host name, each in lower case: the bytes of
// RFC 3986 section 3.2.2, and all bytes outside of ASCII, which are often written
// without the required escapes. Other bytes map to 0.
var hostNameBytes = func() (t [256]byte) {
	for i := range t {
		if c := byte(i); c >= 0x80 || ascii.Is(c, ascii.HostByte) {
			t[i] = ascii.Lower(c)
		}
	}
	for _, c := range []byte(":%[]") {
		t[c] = 0
	}
	return t
}()

// normalizeHost checks a host with its port, converts it to lower case and removes its
// escapes (see decodeHost), in place. It returns the new length.
func normalizeHost(host []byte) (n int, err error) {
	i := 0
	for i < len(host) && hostNameBytes[host[i]] != 0 {
		host[i] = hostNameBytes[host[i]]
		i++
	}
	switch {
	case i == len(host):
		return i, nil
	case i == 0 && host[0] == '[':
		return normalizeAddress(host)
	}
	escaped := false
	for i < len(host) {
		c := host[i]
		switch {
		case hostNameBytes[c] != 0:
			host[i] = hostNameBytes[c]
			i++
		case c == '%':
			escape := host[i:min(i+len("%XX"), len(host))]
			// only the percent sign and bytes outside of ASCII need escapes
			if urlencoded.HasBadEscape(escape) || ascii.HexValue(escape[1]) < 8 && string(escape) != "%25" {
				return len(host), BadEscape(escape)
			}
			i += len(escape)
			escaped = true
		case c == ':':
			if !http1.ValidPort(host[i+1:]) {
				return len(host), ErrPort
			}
			i = len(host)
		default:
			return len(host), BadHostByte(host[i : i+1])
		}
	}
	if escaped {
		return decodeHost(host), nil
	}
	return len(host), nil
}

// isPlainHost reports whether host is a name in lower-case letters, digits, hyphens and
// dots, as nearly all are. It is false for names of fewer than eight bytes.
func isPlainHost(host []byte) bool {
	return ascii.IsPlainPath(host) && ascii.IndexByte(host, '/') == len(host)
}

// decodeHost decodes the escapes of a name, in place, and returns the new length. It
// keeps the escape of a percent sign: the bare sign would begin an escape.
func decodeHost(host []byte) (n int) {
	for i := 0; i < len(host); n++ {
		if host[i] == '%' && ascii.HexValue(host[i+1]) >= 8 {
			host[n] = ascii.HexValue(host[i+1])<<4 | ascii.HexValue(host[i+2])
			i += len("%XX")
			continue
		}
		host[n] = host[i]
		i++
	}
	return n
}

// normalizeAddress is normalizeHost for an address in brackets.
func normalizeAddress(host []byte) (n int, err error) {
	if !http1.ValidHost(host) {
		zone := bytes.IndexByte(host, '%')
		if zone >= 0 && !bytes.HasPrefix(host[zone:], []byte("%25")) {
			return len(host), BadEscape(host[zone:min(zone+len("%XX"), len(host))])
		}
		return len(host), ErrAddress
	}
	return lowerHost(host), nil
}

// lowerHost converts a host to lower case, in place, and returns the new length. It
// decodes the zone of an address, but keeps its case, since the names of network
// interfaces are case-sensitive.
func lowerHost(host []byte) (n int) {
	zone := bytes.IndexByte(host, '%')
	if len(host) == 0 || host[0] != '[' || zone < 0 {
		ascii.ToLower(host)
		return len(host)
	}
	ascii.ToLower(host[:zone])
	if bytes.HasPrefix(host[zone:], []byte("%25")) {
		return len(urlencoded.AppendDecodedPath(host[:zone], host[zone:]))
	}
	return len(host)
}

// appendHost appends a host in written form: with its zone encoded (RFC 6874 section
// 2).
func appendHost(dst, host []byte) []byte {
	if len(host) > 0 && host[0] == '[' {
		zone, end := bytes.IndexByte(host, '%'), bytes.LastIndexByte(host, ']')
		if 0 < zone && zone < end {
			// in a malformed host anything may precede the zone
			dst = append(urlencoded.AppendVisible(dst, host[:zone]), "%25"...)
			dst = urlencoded.AppendArg(dst, host[zone+1:end])
			host = host[end:]
		}
	}
	return urlencoded.AppendVisible(dst, host)
}

// HostField returns host in the form for the field Host: without the zone of an
// address, which means nothing to the peer (RFC 6874 section 4), and in ASCII. It
// returns host itself if nothing has to change.
func HostField(host []byte) ([]byte, error) {
	if len(host) > 0 && host[0] != '[' && ascii.IsASCII(host) {
		return host, nil
	}
	return otherHostField(host)
}

// otherHostField is HostField for hosts other than plain names.
func otherHostField(host []byte) ([]byte, error) {
	if len(host) > 0 && host[0] == '[' {
		zone, end := bytes.IndexByte(host, '%'), bytes.LastIndexByte(host, ']')
		if 0 < zone && zone < end {
			host = append(append([]byte(nil), host[:zone]...), host[end:]...)
		}
		return host, nil
	}
	text, err := ASCIIHost(bytesconv.String(host))
	return bytesconv.Bytes(text), err
}

// maxUnicodeName is the largest size of a name to convert to A-labels, in bytes. A name
// has 253 characters at most in DNS (RFC 1035 section 2.3.4), each of which is at most
// four bytes. The time to convert a label grows with the square of its size.
const maxUnicodeName = 1024

// ASCIIHost returns a host, with or without a port, in the form that DNS, TLS and HTTP
// use: labels with other characters than ASCII become A-labels (RFC 5890 section
// 2.3.2.1).
func ASCIIHost(host string) (string, error) {
	if ascii.IsASCII(bytesconv.Bytes(host)) {
		return host, nil
	}
	name, port := host, ""
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		name, port = host[:colon], host[colon:]
	}
	if len(name) > maxUnicodeName {
		return host, BadHostByte(name[:maxQuoted])
	}
	name, err := idna.Lookup.ToASCII(name)
	if err != nil || !utf8.ValidString(host) {
		return host, BadHostByte(host)
	}
	return name + port, nil
}
