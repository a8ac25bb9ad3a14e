package otelfasthttp

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// The methods that the conventions know. Others are _OTHER, since clients can invent any number
// of them.
var methods = [...]string{"_OTHER", "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"}

var methodAttributes = func() (all [len(methods)]attribute.KeyValue) {
	for i, name := range methods {
		all[i] = semconv.HTTPRequestMethodKey.String(name)
	}
	return all
}()

// method is an index of methods.
type method uint8

func methodOf(name []byte) method {
	for i := 1; i < len(methods); i++ {
		if methods[i] == string(name) {
			return method(i)
		}
	}
	return 0
}

// spanName is the name of a span without a route.
func (m method) spanName() string {
	if m == 0 {
		return "HTTP"
	}
	return methods[m]
}

// version is the version of HTTP.
type version uint8

const (
	versionUnknown version = iota
	version10
	version11
	version2
	version3
)

var versionAttributes = [...]attribute.KeyValue{
	version10: semconv.NetworkProtocolVersion("1.0"),
	version11: semconv.NetworkProtocolVersion("1.1"),
	version2:  semconv.NetworkProtocolVersion("2"),
	version3:  semconv.NetworkProtocolVersion("3"),
}

var schemeAttributes = [...]attribute.KeyValue{semconv.URLScheme("http"), semconv.URLScheme("https")}

// scheme returns the index of schemeAttributes.
func scheme(secure bool) int {
	if secure {
		return 1
	}
	return 0
}

// maxTexts is how many values a span has at most.
const maxTexts = 6

// texts puts the values of attributes into one string, so that they take one piece of memory.
type texts struct {
	buf  []byte
	ends [maxTexts]int
	n    int
}

// end ends a value that was appended to buf, and makes it valid UTF-8; see validText.
func (t *texts) end() {
	from := 0
	if t.n > 0 {
		from = t.ends[t.n-1]
	}
	if value := t.buf[from:]; !utf8.Valid(value) {
		valid := validText(string(value))
		t.buf = append(t.buf[:from], valid...)
	}
	t.ends[t.n] = len(t.buf)
	t.n++
}

func (t *texts) add(value []byte) {
	t.buf = append(t.buf, value...)
	t.end()
}

func (t *texts) addString(value string) {
	t.buf = append(t.buf, value...)
	t.end()
}

// strings returns the values. Those that were not added are empty.
func (t *texts) strings() (values [maxTexts]string) {
	all, from := string(t.buf), 0
	for i, end := range t.ends[:t.n] {
		values[i] = all[from:end]
		from = end
	}
	return values
}

// scratch is memory for the attributes of a span, which the API copies.
type scratch struct {
	texts texts
	attrs []attribute.KeyValue
	shard uint // for the metrics of clients: usually one for each processor
}

var (
	scratches = sync.Pool{New: func() any { return &scratch{shard: uint(nextShard.Add(1))} }}
	nextShard atomic.Uint32
)

// maxScratch is the size of the largest buffer to keep.
const maxScratch = 4 << 10

func (s *scratch) release() {
	if cap(s.texts.buf) > maxScratch {
		s.texts.buf = nil
	}
	s.texts.buf, s.texts.n = s.texts.buf[:0], 0
	clear(s.attrs)
	s.attrs = s.attrs[:0]
	scratches.Put(s)
}

// splitHost splits a host into its address, without brackets, and its port, which is 0 if it has
// none.
func splitHost(host []byte) (address []byte, port int) {
	address = host
	for i := len(host) - 1; i >= 0; i-- {
		if c := host[i]; c == ':' {
			n, err := strconv.ParseUint(string(host[i+1:]), 10, 16)
			if err == nil || i == len(host)-1 {
				address, port = host[:i], int(n)
			}
			break
		} else if c == ']' {
			break
		}
	}
	if n := len(address); n >= 2 && address[0] == '[' && address[n-1] == ']' {
		address = address[1 : n-1]
	}
	return address, port
}

// secretWords are parts of the names of arguments whose values are secrets. secretNames are whole
// names; the conventions have four of them.
var (
	secretWords = []string{"token", "secret", "passw", "signature", "credential", "apikey", "session"}
	secretNames = []string{"awsaccesskeyid", "sig", "key", "code", "auth", "jwt", "pwd"}
)

// RedactQuery replaces the values of arguments with REDACTED if their names look like names of
// secrets: the names in the conventions, such as Signature and sig, and names with a word such as
// token, secret or passw in them.
func RedactQuery(query string) string {
	var out strings.Builder
	kept := 0 // how much of query is in out
	for at := 0; at < len(query); {
		end := strings.IndexAny(query[at:], "&;")
		if end < 0 {
			end = len(query)
		} else {
			end += at
		}
		if equals := strings.IndexByte(query[at:end], '='); equals >= 0 && isSecret(query[at:at+equals]) && at+equals+1 < end {
			out.WriteString(query[kept : at+equals+1])
			out.WriteString("REDACTED")
			kept = end
		}
		at = end + 1
	}
	if kept == 0 {
		return query
	}
	out.WriteString(query[kept:])
	return out.String()
}

// isSecret reports whether the argument with this encoded name has a secret value.
func isSecret(name string) bool {
	plain := make([]byte, 0, 64)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '%' && i+2 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
			}
		}
		switch {
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c|0x20)
		case c == '-' || c == '_' || c == '.' || c == '+':
		default:
			plain = append(plain, c)
		}
	}
	for _, secret := range secretNames {
		if string(plain) == secret {
			return true
		}
	}
	for _, word := range secretWords {
		if strings.Contains(string(plain), word) {
			return true
		}
	}
	return false
}

// validText makes a text valid UTF-8: exporters refuse a whole batch because of one invalid text.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// errorType returns the class of an error, of which there are few.
func errorType(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return semconv.ErrorType(err).Value.AsString()
}

// errorTypeOfStatus returns the error.type of a status.
func errorTypeOfStatus(status int) string {
	if status >= 400 && status < 600 {
		return statusTexts[status-400]
	}
	return strconv.Itoa(status)
}

var statusTexts = func() (all [200]string) {
	for i := range all {
		all[i] = strconv.Itoa(400 + i)
	}
	return all
}()
