package uri

import "strings"

// AddPort adds the default port of the scheme to addr, 443 if isTLS is true and 80
// otherwise, if addr has no port. An IPv6 address must be in brackets, "[::1]" or
// "[::1%lo0]". Any other text is returned unchanged.
func AddPort(addr string, isTLS bool) string {
	if addr == "" || hasPort(addr) {
		return addr
	}
	port := ":80"
	if isTLS {
		port = ":443"
	}
	return strings.TrimSuffix(addr, ":") + port
}

// hasPort reports whether addr has a port, or cannot be given one.
func hasPort(addr string) bool {
	rest := addr
	if addr[0] == '[' {
		end := strings.LastIndexByte(addr, ']')
		if end < 0 {
			return true
		}
		if rest = addr[end+1:]; rest != "" && rest[0] != ':' {
			return true
		}
	}
	switch colon := strings.IndexByte(rest, ':'); {
	case colon < 0:
		return false
	case colon == len(rest)-1:
		// a colon alone means the default port
		return false
	}
	return true
}
