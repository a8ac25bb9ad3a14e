package proxied

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

const (
	// MaxSize is the size of the longest accepted header. The addresses have 232
	// bytes at most. The extensions after them, such as the certificate of a client,
	// could have up to 64 KiB.
	MaxSize = 4 << 10

	// maxText is the size of the longest header of version 1 (section 2.1).
	maxText = 107

	// minText is the size of the shortest header of version 1, "PROXY UNKNOWN\r\n",
	// which is shorter than any of version 2.
	minText = 15
)

var (
	// ErrMalformed means that a connection does not begin with a valid header.
	ErrMalformed = errors.New("malformed header of the PROXY protocol")
	// ErrTooLarge means that a header is larger than MaxSize.
	ErrTooLarge = errors.New("too large a header of the PROXY protocol")
	// ErrChecksum means that a header does not match its checksum.
	ErrChecksum = errors.New("wrong checksum in a header of the PROXY protocol")
)

// Header holds a header's information about the connection of the client. If the
// header has none, both addresses are invalid, and the addresses of the connection
// itself apply: the proxy checks whether the server is alive, or its client has no IP
// address.
type Header struct {
	Source      netip.AddrPort // the address of the client
	Destination netip.AddrPort // the address to which the client has connected
}

// Size returns the size of the header at the start of b. If it is more than len(b),
// the header is not complete, and the result is its least possible size: the caller
// may read up to so many bytes and call Size again. If b cannot become a header, Size
// returns an error at once.
func Size(b []byte) (int, error) {
	switch {
	case len(b) == 0:
		return minText, nil
	case b[0] == signature[0]:
		return binarySize(b)
	default:
		return textSize(b)
	}
}

// Parse parses a header. b is the header and nothing else: len(b) is the result of
// Size.
func Parse(b []byte) (Header, error) {
	if b[0] == signature[0] {
		return parseBinary(b)
	}
	return parseText(string(b))
}

// The beginnings of a header of version 1.
const (
	prefixText    = "PROXY "
	prefixTCP4    = "PROXY TCP4 "
	prefixTCP6    = "PROXY TCP6 "
	prefixUnknown = "PROXY UNKNOWN"
)

// textSpaces is the number of spaces in a header of version 1 with addresses.
const textSpaces = 5

func textSize(b []byte) (int, error) {
	n := min(len(b), len(prefixText))
	if string(b[:n]) != prefixText[:n] {
		return 0, ErrMalformed
	}
	size := minText
	if end := ascii.IndexLineBreak(b); end < len(b) {
		if b[end] != '\r' || end+1 < len(b) && b[end+1] != '\n' {
			return 0, ErrMalformed
		}
		size = end + len("\r\n")
	} else if len(b) >= minText {
		left, err := leastLeft(b)
		if err != nil {
			return 0, err
		}
		size = len(b) + left
	}
	if size > maxText {
		return 0, ErrMalformed
	}
	return size, nil
}

// leastLeft returns how many bytes of a header of version 1 are missing at least, if
// it has no line break yet: each of its parts has at least one byte.
func leastLeft(b []byte) (int, error) {
	text := bytesconv.String(b)
	left := len("\r\n")
	switch {
	case strings.HasPrefix(text, prefixUnknown):
		return left, nil
	case !strings.HasPrefix(text, prefixTCP4) && !strings.HasPrefix(text, prefixTCP6):
		return 0, ErrMalformed
	}
	if b[len(b)-1] == ' ' {
		left++
	}
	return left + 2*max(textSpaces-strings.Count(text, " "), 0), nil
}

// parseText parses a header of version 1 (section 2.1).
func parseText(text string) (h Header, err error) {
	line, ended := strings.CutSuffix(text, "\r\n")
	if rest, found := strings.CutPrefix(line, prefixUnknown); ended && found && (rest == "" || rest[0] == ' ') {
		return Header{}, nil
	}
	is4 := strings.HasPrefix(line, prefixTCP4)
	if !ended || !is4 && !strings.HasPrefix(line, prefixTCP6) {
		return Header{}, ErrMalformed
	}
	var parts [4]string
	rest := line[len(prefixTCP4):]
	for i := range parts {
		var more bool
		parts[i], rest, more = strings.Cut(rest, " ")
		if more != (i < len(parts)-1) {
			return Header{}, ErrMalformed
		}
	}
	var ok, ok2 bool
	h.Source, ok = textAddress(parts[0], parts[2], is4)
	h.Destination, ok2 = textAddress(parts[1], parts[3], is4)
	if !ok || !ok2 {
		return Header{}, ErrMalformed
	}
	return h, nil
}

func textAddress(ip, port string, is4 bool) (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Is4() != is4 || addr.Zone() != "" {
		return netip.AddrPort{}, false
	}
	n, ok := ascii.ParseUint(bytesconv.Bytes(port))
	if !ok || n > 0xffff || port[0] == '0' && port != "0" {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(n)), true
}

const (
	// signature is the beginning of each header of version 2 (section 2.2).
	signature = "\r\n\r\n\x00\r\nQUIT\n"

	// fixedSize is the size of the part before the addresses: the signature, the
	// version with the command, the family with the protocol, and the size of the
	// rest.
	fixedSize = 16
)

// The values of the fields after the signature.
const (
	version2 = 2

	commandLocal = 0
	commandProxy = 1

	familyNone = 0
	familyIPv4 = 1
	familyIPv6 = 2
	familyUnix = 3

	protocolNone     = 0
	protocolDatagram = 2 // after it, none is defined
)

// addressSizes are the sizes of the two addresses with their ports, by family.
var addressSizes = [...]int{familyNone: 0, familyIPv4: 12, familyIPv6: 36, familyUnix: 216}

func binarySize(b []byte) (int, error) {
	n := min(len(b), len(signature))
	if string(b[:n]) != signature[:n] {
		return 0, ErrMalformed
	}
	if len(b) < fixedSize {
		return fixedSize, nil
	}
	version, command, family, protocol := b[12]>>4, b[12]&0xf, b[13]>>4, b[13]&0xf
	unknown := family > familyUnix || protocol > protocolDatagram
	if version != version2 || command > commandProxy || unknown && command != commandLocal {
		// the family of a connection that the proxy makes for itself does not matter (section 2.2)
		return 0, ErrMalformed
	}
	size := fixedSize + int(binary.BigEndian.Uint16(b[14:]))
	if size > MaxSize {
		return 0, ErrTooLarge
	}
	return size, nil
}

// parseBinary parses a header of version 2 (section 2.2). If the proxy connects for
// itself, or for a client whose addresses it cannot name, parseBinary ignores the
// rest, as the specification requires.
func parseBinary(b []byte) (h Header, err error) {
	family, protocol := b[13]>>4, b[13]&0xf
	if b[12]&0xf == commandLocal || family == familyNone || protocol == protocolNone {
		return Header{}, nil
	}
	rest := b[fixedSize:]
	size := addressSizes[family]
	if len(rest) < size {
		return Header{}, ErrMalformed
	}
	if err = checkExtensions(b, fixedSize+size); err != nil {
		return Header{}, err
	}
	switch family {
	case familyIPv4:
		h.Source = address(rest[:4], rest[8:])
		h.Destination = address(rest[4:8], rest[10:])
	case familyIPv6:
		h.Source = address(rest[:16], rest[32:])
		h.Destination = address(rest[16:32], rest[34:])
	}
	return h, nil
}

func address(ip, port []byte) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port))
}

const (
	// extensionHead is the size of the type and the length of an extension.
	extensionHead = 3

	// typeChecksum is the type of the extension with the checksum of the whole
	// header (section 2.2.3).
	typeChecksum = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkExtensions checks that the bytes after the addresses, from the position at on,
// are a sequence of extensions that ends with the header. It also checks the checksum
// if there is one.
func checkExtensions(b []byte, at int) error {
	checked := false
	for at < len(b) {
		if len(b)-at < extensionHead {
			return ErrMalformed
		}
		kind, size := b[at], int(binary.BigEndian.Uint16(b[at+1:]))
		at += extensionHead
		if size > len(b)-at {
			return ErrMalformed
		}
		if kind == typeChecksum {
			if checked || size != crc32.Size {
				return ErrMalformed
			}
			checked = true
			if binary.BigEndian.Uint32(b[at:]) != checksum(b, at) {
				return ErrChecksum
			}
		}
		at += size
	}
	return nil
}

// checksum returns the checksum of a header. The checksum itself is in the header at
// the position, and counts as zero.
func checksum(b []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, b[:at])
	sum = crc32.Update(sum, castagnoli, make([]byte, crc32.Size))
	return crc32.Update(sum, castagnoli, b[at+crc32.Size:])
}
