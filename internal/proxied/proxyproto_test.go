package proxied

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"
)

// binaryHeader returns a header of version 2.
func binaryHeader(versionAndCommand, familyAndProtocol byte, rest ...string) string {
	body := strings.Join(rest, "")
	b := append([]byte(signature), versionAndCommand, familyAndProtocol)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(body)))) + body
}

// extension returns an extension of a header of version 2.
func extension(kind byte, value string) string {
	return string(binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(value)))) + value
}

// withChecksum sets the checksum of a header, of which the last extension is the
// checksum, and returns the header.
func withChecksum(header string) string {
	b := []byte(header)
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(b[len(b)-4:], sum)
	return string(b)
}

const (
	ends4 = "\xc0\x00\x02\x01" + "\xc6\x33\x64\x02" + "\x04\xd2" + "\x01\xbb"
	zeros = "\x00\x00\x00\x00"
)

var (
	ends6   = "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x01" + "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x02" + "\x04\xd2" + "\x01\xbb"
	paths   = strings.Repeat("/", 216)
	client  = Header{netip.MustParseAddrPort("192.0.2.1:1234"), netip.MustParseAddrPort("198.51.100.2:443")}
	client6 = Header{netip.MustParseAddrPort("[2001:db8::1]:1234"), netip.MustParseAddrPort("[2001:db8::2]:443")}
)

var headers = []struct {
	name string
	in   string
	want Header
	err  error
}{
	// version 1: the examples and the limits of section 2.1
	{"1: IPv4", "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\r\n", client, nil},
	{"1: longest IPv4", "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
		Header{netip.MustParseAddrPort("255.255.255.255:65535"), netip.MustParseAddrPort("255.255.255.255:65535")}, nil},
	{"1: shortest IPv4", "PROXY TCP4 0.0.0.0 1.1.1.1 0 1\r\n",
		Header{netip.MustParseAddrPort("0.0.0.0:0"), netip.MustParseAddrPort("1.1.1.1:1")}, nil},
	{"1: IPv6", "PROXY TCP6 2001:db8::1 2001:DB8::2 1234 443\r\n", client6, nil},
	{"1: longest IPv6", "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		Header{netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"), netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")}, nil},
	{"1: shortest IPv6", "PROXY TCP6 :: :: 0 0\r\n", Header{netip.MustParseAddrPort("[::]:0"), netip.MustParseAddrPort("[::]:0")}, nil},
	{"1: unknown", "PROXY UNKNOWN\r\n", Header{}, nil},
	{"1: unknown with anything", "PROXY UNKNOWN any thing\x7f at all\r\n", Header{}, nil},
	{"1: longest unknown", "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n", Header{}, nil},
	{"1: too long", "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535 \r\n", Header{}, ErrMalformed},
	{"1: unknown run on", "PROXY UNKNOWNS\r\n", Header{}, ErrMalformed},
	{"1: other family", "PROXY UDP4 192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: lower case", "PROXY tcp4 192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: lower case name", "proxy TCP4 192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: no family", "PROXY \r\n", Header{}, ErrMalformed},
	{"1: two spaces", "PROXY TCP4  192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: space at the end", "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443 \r\n", Header{}, ErrMalformed},
	{"1: tab", "PROXY TCP4\t192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: a part is missing", "PROXY TCP4 192.0.2.1 198.51.100.2 1234\r\n", Header{}, ErrMalformed},
	{"1: a part too many", "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443 1\r\n", Header{}, ErrMalformed},
	{"1: no part", "PROXY TCP4     \r\n", Header{}, ErrMalformed},
	{"1: IPv6 for IPv4", "PROXY TCP4 2001:db8::1 2001:db8::2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: IPv4 for IPv6", "PROXY TCP6 192.0.2.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: both families", "PROXY TCP4 192.0.2.1 2001:db8::2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: zone", "PROXY TCP6 fe80::1%lo fe80::2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: brackets", "PROXY TCP6 [2001:db8::1] 2001:db8::2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: leading zero in an address", "PROXY TCP4 192.0.02.1 198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},
	{"1: leading zero in a port", "PROXY TCP4 192.0.2.1 198.51.100.2 01234 443\r\n", Header{}, ErrMalformed},
	{"1: zero twice", "PROXY TCP4 192.0.2.1 198.51.100.2 00 443\r\n", Header{}, ErrMalformed},
	{"1: large port", "PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n", Header{}, ErrMalformed},
	{"1: very large port", "PROXY TCP4 192.0.2.1 198.51.100.2 18446744073709551617 443\r\n", Header{}, ErrMalformed},
	{"1: signed port", "PROXY TCP4 192.0.2.1 198.51.100.2 +1 443\r\n", Header{}, ErrMalformed},
	{"1: LF alone", "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\n", Header{}, ErrMalformed},
	{"1: CR alone", "PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\rX", Header{}, ErrMalformed},
	{"1: LF alone of an unknown one", "PROXY UNKNOWN a\nb\r\n", Header{}, ErrMalformed},
	{"1: NUL", "PROXY TCP4 192.0.2.1\x00198.51.100.2 1234 443\r\n", Header{}, ErrMalformed},

	{"a request", "GET / HTTP/1.1\r\n", Header{}, ErrMalformed},
	{"a request that begins as a header does", "PROPFIND / HTTP/1.1\r\n", Header{}, ErrMalformed},
	{"a handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03aaaaa", Header{}, ErrMalformed},
	{"empty lines", "\r\n\r\nGET / HTTP/1.1\r\n", Header{}, ErrMalformed},

	// version 2: section 2.2
	{"2: IPv4", binaryHeader(0x21, 0x11, ends4), client, nil},
	{"2: IPv4 datagrams", binaryHeader(0x21, 0x12, ends4), client, nil},
	{"2: IPv6", binaryHeader(0x21, 0x21, ends6), client6, nil},
	{"2: paths", binaryHeader(0x21, 0x31, paths), Header{}, nil},
	{"2: local", binaryHeader(0x20, 0x00), Header{}, nil},
	{"2: local with addresses", binaryHeader(0x20, 0x11, ends4), Header{}, nil},
	{"2: local with anything", binaryHeader(0x20, 0x21, "anything"), Header{}, nil},
	{"2: local with an unknown family", binaryHeader(0x20, 0x41, ends4), Header{}, nil},
	{"2: local with an unknown protocol", binaryHeader(0x20, 0xff), Header{}, nil},
	{"2: no family", binaryHeader(0x21, 0x01, "anything"), Header{}, nil},
	{"2: no protocol", binaryHeader(0x21, 0x10, ends4), Header{}, nil},
	{"2: neither", binaryHeader(0x21, 0x00), Header{}, nil},
	{"2: extensions", binaryHeader(0x21, 0x11, ends4, extension(2, "example.org"), extension(4, ""), extension(0xe4, "a")), client, nil},
	{"2: checksum", withChecksum(binaryHeader(0x21, 0x11, ends4, extension(2, "example.org"), extension(3, zeros))), client, nil},
	{"2: largest", binaryHeader(0x21, 0x11, ends4, extension(4, strings.Repeat("x", MaxSize-16-12-3))), client, nil},
	{"2: wrong checksum", binaryHeader(0x21, 0x11, ends4, extension(3, zeros)), Header{}, ErrChecksum},
	{"2: short checksum", binaryHeader(0x21, 0x11, ends4, extension(3, "\x00")), Header{}, ErrMalformed},
	{"2: two checksums", withChecksum(withChecksum(binaryHeader(0x21, 0x11, ends4, extension(3, zeros), extension(3, zeros)))), Header{}, ErrChecksum},
	{"2: too large", binaryHeader(0x21, 0x11, ends4, strings.Repeat("x", MaxSize)), Header{}, ErrTooLarge},
	{"2: version 1", binaryHeader(0x11, 0x11, ends4), Header{}, ErrMalformed},
	{"2: version 3", binaryHeader(0x31, 0x11, ends4), Header{}, ErrMalformed},
	{"2: unknown command", binaryHeader(0x22, 0x11, ends4), Header{}, ErrMalformed},
	{"2: unknown family", binaryHeader(0x21, 0x41, ends4), Header{}, ErrMalformed},
	{"2: unknown protocol", binaryHeader(0x21, 0x13, ends4), Header{}, ErrMalformed},
	{"2: too short for IPv4", binaryHeader(0x21, 0x11, ends4[1:]), Header{}, ErrMalformed},
	{"2: too short for IPv6", binaryHeader(0x21, 0x21, ends6[1:]), Header{}, ErrMalformed},
	{"2: too short for paths", binaryHeader(0x21, 0x31, paths[1:]), Header{}, ErrMalformed},
	{"2: half an extension", binaryHeader(0x21, 0x11, ends4, "\x04\x00"), Header{}, ErrMalformed},
	{"2: extension beyond the end", binaryHeader(0x21, 0x11, ends4, "\x04\x00\x02x"), Header{}, ErrMalformed},
	{"2: other signature", strings.Replace(binaryHeader(0x21, 0x11, ends4), "QUIT", "QUIP", 1), Header{}, ErrMalformed},
}

// parse reads a header in steps, each time as many bytes as Size returns, and returns
// the bytes after it.
func parse(in []byte) (h Header, rest []byte, err error) {
	for n := 0; ; {
		size, err := Size(in[:n])
		switch {
		case err != nil:
			return Header{}, nil, err
		case size <= n:
			h, err = Parse(in[:n])
			return h, in[n:], err
		case size > len(in):
			return Header{}, nil, errShort
		}
		n = size
	}
}

var errShort = errors.New("the header is not complete")

func TestHeadersAreReadAsSpecified(t *testing.T) {
	const behind = "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nPROXY TCP4 a b c d\r\n"
	for _, c := range headers {
		h, rest, err := parse([]byte(c.in + behind))
		if h != c.want || err != c.err {
			t.Errorf("%s: got %v, %v, want %v, %v", c.name, h, err, c.want, c.err)
		}
		if err == nil && string(rest) != behind {
			t.Errorf("%s: %q is left", c.name, rest)
		}
	}
}

// A part of a valid header is never an error: Size asks for more. A part of an invalid
// one may be rejected at any point.
func TestHeadersMayComeInPieces(t *testing.T) {
	for _, c := range headers {
		for n := range len(c.in) {
			size, err := Size([]byte(c.in[:n]))
			if c.err == nil && (err != nil || size <= n || size > len(c.in)) {
				t.Errorf("%s: the first %d of %d bytes: %d, %v", c.name, n, len(c.in), size, err)
			}
		}
	}
}

// If a connection does not begin with a header, Size must not ask for more bytes.
func TestOtherProtocolsAreRefusedAtOnce(t *testing.T) {
	for _, in := range []string{"G", "\x16", "PO", "PROXY TCP4 192\n", "PROXY TCP5 192.", "\r\n\r\nG", "\n", "PROXZ"} {
		if _, err := Size([]byte(in)); err != ErrMalformed {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// A header is read in few steps, and no step reads beyond it.
func TestSizeAsksForMuchAtATime(t *testing.T) {
	for _, c := range headers {
		if c.err != nil || strings.HasPrefix(c.in, prefixUnknown) {
			continue
		}
		steps := 0
		for n := 0; n < len(c.in); steps++ {
			n, _ = Size([]byte(c.in[:n]))
		}
		if steps > 20 {
			t.Errorf("%s: %d steps", c.name, steps)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, c := range headers {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		h, rest, err := parse(in)
		if err != nil {
			if h != (Header{}) {
				t.Errorf("%v beside %v", h, err)
			}
			return
		}
		if h.Source.IsValid() != h.Destination.IsValid() || h.Source.Addr().BitLen() != h.Destination.Addr().BitLen() {
			t.Errorf("half an address: %v", h)
		}
		header := in[:len(in)-len(rest)]
		if len(header) > MaxSize {
			t.Errorf("a header of %d bytes", len(header))
		}
		if header[0] == 'P' && (len(header) > maxText || !bytes.HasSuffix(header, []byte("\r\n"))) {
			t.Errorf("a line of %d bytes: %q", len(header), header)
		}
		// the header is the same whatever follows it, and in whatever pieces it
		// arrives
		size, err := Size(in)
		again, err2 := Parse(header)
		if size != len(header) || err != nil || again != h || err2 != nil {
			t.Errorf("%d, %v, %v, %v in one piece, want %d, %v", size, err, again, err2, len(header), h)
		}
		for n := range header {
			if size, err := Size(header[:n]); err != nil || size <= n || size > len(header) {
				t.Errorf("the first %d of %d bytes: %d, %v", n, len(header), size, err)
			}
		}
	})
}
