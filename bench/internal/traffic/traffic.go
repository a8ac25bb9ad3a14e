// Package traffic generates messages for benchmarks, in which no two in a row are equal:
// requests as browsers, programs and probes send them, requests as a proxy forwards them, and
// the responses of an API.
//
// The texts and their order are always the same. They depend only on the seeds in this
// package, so that runs on different days measure the same work. Start reading at Visitors.
package traffic

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The number of texts of each kind: too many for their fields to stay in a small cache of a
// server, and few enough for their bytes to stay in the cache of a processor's core.
const (
	visitors = 256
	proxied  = 1024
	posts    = 256
	answers  = 256
	calls    = 256
)

// source generates the parts of messages.
type source struct{ *rand.Rand }

func newSource(seed uint64) source {
	return source{rand.New(rand.NewPCG(seed, 0x5f2b9c1d7a3e))}
}

// pick returns one of all.
func (s source) pick(all ...string) string { return all[s.IntN(len(all))] }

// chance returns true for percent of 100 calls, on average.
func (s source) chance(percent int) bool { return s.IntN(100) < percent }

// between returns a number from low to high.
func (s source) between(low, high int) int { return low + s.IntN(high-low+1) }

// hex returns hexadecimal digits.
func (s source) hex(digits int) string {
	b := make([]byte, (digits+1)/2)
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return hex.EncodeToString(b)[:digits]
}

const tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// token returns size characters of base64.
func (s source) token(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = tokenChars[s.IntN(len(tokenChars))]
	}
	return string(b)
}

func (s source) uuid() string {
	return strings.Join([]string{s.hex(8), s.hex(4), "4" + s.hex(3), "a" + s.hex(3), s.hex(12)}, "-")
}

func (s source) traceparent() string { return "00-" + s.hex(32) + "-" + s.hex(16) + "-01" }

// address returns the address of a client, sometimes an IPv6 address.
func (s source) address() string {
	if s.chance(25) {
		return fmt.Sprintf("2001:db8:%s:%s::%s", s.hex(4), s.hex(3), s.hex(4))
	}
	return fmt.Sprintf("%s.%d", s.pick("192.0.2", "198.51.100", "203.0.113"), s.between(1, 254))
}

func (s source) number(low, high int) string { return strconv.Itoa(s.between(low, high)) }

// begin is the first second of all dates.
var begin = time.Date(2026, time.November, 13, 8, 0, 0, 0, time.UTC)

func date(at time.Time) string { return at.Format("Mon, 02 Jan 2006 15:04:05 GMT") }

// bearer returns a token of three parts, as identity providers issue.
func (s source) bearer() string {
	return "Bearer eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9." + s.token(s.between(120, 220)) + "." + s.token(86)
}

// message is the text of an unfinished message.
type message struct{ b []byte }

func request(method, target string) *message {
	return &message{b: []byte(method + " " + target + " HTTP/1.1\r\n")}
}

// add adds field lines, which are pairs of a name and a value, except for those with an empty
// value.
func (m *message) add(pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			m.b = append(m.b, pair[0]+": "+pair[1]+"\r\n"...)
		}
	}
}

// end returns the message with a body; it adds no field to the head.
func (m *message) end(body []byte) []byte {
	m.b = append(m.b, "\r\n"...)
	return append(m.b, body...)
}

// words are the words in the texts of bodies.
var words = []string{
	"red", "blue", "leather", "boots", "small", "large", "waterproof", "sold out", "café", "delivery on Monday",
	"gift", "size 42", "\\\"best price\\\"", "two of three", "returned", "in stock", "a/b", "ships from Köln",
}

// object returns JSON of size bytes or a little more.
func (s source) object(size int) []byte {
	b := fmt.Appendf(nil, `{"id":%d,"ok":%v`, s.between(1, 1_000_000), s.chance(50))
	for i := 0; len(b) < size-1; i++ {
		name := s.pick("name", "price", "note", "tags", "count", "color", "owner")
		switch left := size - 1 - len(b); {
		case left < 40:
			b = fmt.Appendf(b, `,"pad":%q`, strings.Repeat("x", max(0, left-9)))
		case name == "price" || name == "count":
			b = fmt.Appendf(b, `,"%s%d":%d.%02d`, name, i, s.between(0, 999), s.between(0, 99))
		case name == "tags":
			b = fmt.Appendf(b, `,"%s%d":["%s","%s"]`, name, i, s.pick("new", "sale"), s.pick("men", "women", "kids"))
		default:
			b = fmt.Appendf(b, `,"%s%d":"%s"`, name, i, s.pick(words...))
		}
	}
	return append(b, '}')
}

// spread returns n messages, none of which is like the one before: it makes such a message again.
func spread(n int, make func(i int) []byte, alike func(a, b []byte) bool) [][]byte {
	all := [][]byte{make(0)}
	for len(all) < n {
		m := make(len(all))
		last := len(all) == n-1
		if alike(m, all[len(all)-1]) || last && alike(m, all[0]) {
			continue
		}
		all = append(all, m)
	}
	return all
}

// sameFields reports whether two messages have the same head after the start line.
func sameFields(a, b []byte) bool { return fields(a) == fields(b) }

func fields(m []byte) string {
	_, rest, _ := strings.Cut(string(m), "\r\n")
	head, _, _ := strings.Cut(rest, "\r\n\r\n")
	return head
}
