// Package altsvc parses and writes the field Alt-Svc (RFC 7838). It does no I/O. Start with Parse.
package altsvc

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
)

// The limits of Parse.
const (
	// MaxSize is the largest value in bytes.
	MaxSize = 4096
	// MaxServices is how many services are returned. Other ones are ignored.
	MaxServices = 16
	// DefaultMaxAge is how long a service may be used that has no ma.
	DefaultMaxAge = 24 * time.Hour
	// maxSeconds limits ma.
	maxSeconds = 1 << 31
)

// ErrMalformed is the error of a value not of Alt-Svc, or too large.
var ErrMalformed = errors.New("http3: malformed Alt-Svc")

// Service is an alternative service.
type Service struct {
	Protocol string // of TLS (ALPN), such as "h3"
	Host     string // empty for the host of the origin
	Port     uint16
	MaxAge   time.Duration
}

// Parse parses a value of the field. clear is set if all services that are known are to be
// forgotten.
func Parse(value string) (services []Service, clear bool, err error) {
	if len(value) > MaxSize {
		return nil, false, ErrMalformed
	}
	p := parser{strings.Trim(value, " \t")}
	if p.rest == "clear" {
		return nil, true, nil
	}
	for {
		s, ok := p.service()
		if !ok {
			return nil, false, ErrMalformed
		}
		if len(services) < MaxServices {
			services = append(services, s)
		}
		p.blanks()
		if p.rest == "" {
			return services, false, nil
		}
		// a list may have empty elements (RFC 9110 section 5.6.1)
		if !p.take(',') {
			return nil, false, ErrMalformed
		}
		for p.blanks(); p.take(','); p.blanks() {
		}
		if p.rest == "" {
			return services, false, nil
		}
	}
}

// Append appends a value with one service.
func Append(dst []byte, s Service) []byte {
	dst = append(dst, s.Protocol...)
	dst = append(dst, '=', '"')
	dst = append(dst, s.Host...)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, uint64(s.Port), 10)
	dst = append(dst, `"; ma=`...)
	return strconv.AppendInt(dst, int64(s.MaxAge/time.Second), 10)
}

// parser has the rest of a value.
type parser struct{ rest string }

func (p *parser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take takes a byte, if it is next.
func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// token takes a token, which may be empty.
func (p *parser) token() (token string) {
	n := 0
	for n < len(p.rest) && ascii.Is(p.rest[n], ascii.Token) {
		n++
	}
	token, p.rest = p.rest[:n], p.rest[n:]
	return token
}

// quoted takes a quoted string.
func (p *parser) quoted() (text string, ok bool) {
	if !p.take('"') {
		return "", false
	}
	var b strings.Builder
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return b.String(), true
		case c == '\\' && p.rest != "":
			c = p.rest[0]
			p.rest = p.rest[1:]
		}
		if c < ' ' && c != '\t' || c == 0x7f {
			return "", false
		}
		b.WriteByte(c)
	}
	return "", false
}

// service takes a service with its parameters.
func (p *parser) service() (s Service, ok bool) {
	id := p.token()
	if s.Protocol, ok = decodeID(id); !ok || !p.take('=') {
		return s, false
	}
	authority, ok := p.quoted()
	if !ok || !s.setAuthority(authority) {
		return s, false
	}
	s.MaxAge = DefaultMaxAge
	for {
		p.blanks()
		if !p.take(';') {
			return s, true
		}
		p.blanks()
		name := p.token()
		if name == "" || !p.take('=') {
			return s, false
		}
		value := p.token()
		if value == "" {
			if value, ok = p.quoted(); !ok {
				return s, false
			}
		}
		if name != "ma" {
			continue
		}
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return s, false
		}
		s.MaxAge = time.Duration(min(seconds, maxSeconds)) * time.Second
	}
}

// setAuthority sets host and port.
func (s *Service) setAuthority(authority string) bool {
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '+' {
		return false
	}
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == ':':
		default:
			return false
		}
	}
	s.Host, s.Port = host, uint16(n)
	return true
}

// decodeID decodes a protocol-id (RFC 7838 section 3).
func decodeID(id string) (string, bool) {
	if !strings.Contains(id, "%") {
		return id, id != ""
	}
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		c := id[i]
		if c == '%' {
			if i+2 >= len(id) {
				return "", false
			}
			n, err := strconv.ParseUint(id[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			c = byte(n)
			i += 2
		}
		b.WriteByte(c)
	}
	return b.String(), true
}
