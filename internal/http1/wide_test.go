package http1

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// parsed is everything that a parser makes of a head.
type parsed struct {
	head   Head
	fields field.List
	text   []byte // with its names normalised
	n      int
	err    error
}

// parseWith parses a head with or without wide instructions. Spare bytes of memory follow
// the text, and must not matter. The text is first parsed without its last missing bytes.
func parseWith(use bool, role Role, settings Head, text string, spare, missing int) *parsed {
	defer func(saved bool) { wide = saved }(wide)
	wide = use
	p := &parsed{head: settings}
	room := []byte(text + strings.Repeat("a: b\r\n", spare/6+1))
	p.text = room[: len(text) : len(text)+spare]
	p.fields.Entries = make([]field.Entry, 0, 4)
	p.head.Reset()
	if len(text) > missing {
		p.n, p.err = p.head.parse(role, p.text[:len(text)-missing], &p.fields)
	}
	if p.n == 0 && p.err == nil {
		p.n, p.err = p.head.parse(role, p.text, &p.fields)
	}
	if rest := room[len(text) : len(text)+spare]; string(rest) != strings.Repeat("a: b\r\n", spare/6+1)[:spare] {
		panic("the bytes after the text were changed")
	}
	return p
}

// parse is Parse or ParseTrailers.
func (h *Head) parse(role Role, b []byte, fields *field.List) (n int, err error) {
	if role == trailers {
		return h.ParseTrailers(b, fields)
	}
	return h.Parse(role, b, fields)
}

// checkWide compares the parsers with and without wide instructions.
func checkWide(t *testing.T, text string) {
	t.Helper()
	for role := Request; role <= trailers; role++ {
		for _, settings := range []Head{{}, {KeepNames: true}, {KeepAll: true}, {Limits: Limits{Fields: 3}}, {Spaces: true, Limits: Limits{Fields: 1000}}} {
			for _, spare := range []int{0, 3, 64} {
				for _, missing := range []int{0, 1, len(text) / 3} {
					got := parseWith(true, role, settings, text, spare, missing)
					want := parseWith(false, role, settings, text, spare, missing)
					switch {
					case got.n != want.n || got.err != want.err:
						t.Errorf("%q with role %d: %d, %v, want %d, %v", text, role, got.n, got.err, want.n, want.err)
					case got.err == nil && !bytes.Equal(got.text[:got.n], want.text[:want.n]):
						t.Errorf("%q with role %d: the text is %q, want %q", text, role, got.text, want.text)
					case got.err == nil && got.head != want.head:
						t.Errorf("%q with role %d: %+v, want %+v", text, role, got.head, want.head)
					case got.err == nil && !equalEntries(got.fields.Entries, want.fields.Entries):
						t.Errorf("%q with role %d: fields %v, want %v", text, role, got.fields.Entries, want.fields.Entries)
					}
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}

func equalEntries(a, b []field.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// wideSeeds are heads with each form of line, and each size of name and value.
func wideSeeds() (seeds []string) {
	const request, response = "GET /a?b HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n"
	for _, c := range benchHeads {
		seeds = append(seeds, c.raw)
	}
	all := []string{request, response}
	for id := field.Unknown + 1; id <= field.XXssProtection; id++ {
		for _, name := range []string{id.String(), strings.ToLower(id.String()), strings.ToUpper(id.String()), id.String() + "x"} {
			for i := range all {
				all[i] += name + ": keep-alive\r\n"
			}
			seeds = append(seeds, request+name+": 1\r\n"+name+": 23\r\nHost: b\r\n\r\n", name+": trailer\r\n\r\n")
		}
	}
	seeds = append(seeds, all[0]+"\r\n", all[1]+"\r\n")
	for _, line := range []string{"Te: a\r\n", "cookie: a=b\r\n", "X: a\r\n"} {
		seeds = append(seeds, request+strings.Repeat(line, 510)+"\r\n")
	}
	for _, n := range []int{4095, 4096, 1 << 16} {
		seeds = append(seeds, request+"Te: "+strings.Repeat("v", n)+"\r\n\r\n", request+"Te"+strings.Repeat("v", n)+": a\r\n\r\n")
	}
	for n := range 72 {
		value := strings.Repeat("v", n)
		seeds = append(seeds,
			request+"Accept: "+value+"\r\nCookie: "+value+"\r\n\r\n",
			request+"Connection: "+value+"\r\nHost: h"+value+"\r\n\r\n",
			request+"X-"+value+": a\r\nTe: a\r\n\r\n")
	}
	for _, line := range []string{
		"Accept:\x7f", "Accept: \x7f", "Accept: a\x00b", "Accept: a\tb", "Accept: a ", "Accept: a\t", "Accept:  a", "Accept:a", "Accept:", "Accept: ",
		"Accept : a", " Accept: a", ": a", "Accept", "Accept: \xff\x80", "\xffccept: a", "Accept: a\rb", "Accept\t: a", "Te\x00: a", "Accept: a\n", "Accept: a\r", "Accept: a\r\n b", "Accept: a\r\n\tb",
		"Connection: keep-alivf", "Connection: keep-alivex", "Connection: keep-alive, close", "Connection: keep-ali", "Connection: Keep-Alive", "Connection: close", "Content-Length: 1", "Content-Length: x", "Transfer-Encoding: chunked",
		"Content-Type: a\r\nContent-Type: b", "Content-Type:\r\nContent-Type: b", "Host: a\r\nHost: b", "te: a\r\nTE: a\r\ntE: b", "@ost: a", "Host@: a",
		"Expect: 100-continue", "Trailer: Etag", "Set-Cookie: a=b\r\nset-cookie: c=d", "Server: a\r\nServer: b", "Content-Encoding: gzip", "age: 1",
	} {
		for _, start := range []string{request, response, ""} {
			seeds = append(seeds, start+line+"\r\nAccept-Language: en\r\n\r\n", start+"Accept-Language: en\r\n"+line+"\r\n\r\n", start+line)
		}
	}
	return seeds
}

func TestWideLinesEqualOthers(t *testing.T) {
	if !wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	for _, text := range wideSeeds() {
		checkWide(t, text)
	}
}

// Names that differ from a known one in a bit, or in a few letters, so that some of them have
// its place in the table of names.
func TestWideLinesKnowNames(t *testing.T) {
	if !wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for id := field.Unknown + 1; id <= field.XXssProtection; id++ {
		name := []byte(id.String())
		for bit := range 8 * len(name) {
			name[bit/8] ^= 1 << (bit % 8)
			checkName(t, name)
			name[bit/8] ^= 1 << (bit % 8)
		}
		for range 600 {
			other := append([]byte(nil), name...)
			for range 3 {
				other[random.IntN(len(other))] = byte('a' + random.IntN(26))
			}
			checkName(t, other)
		}
	}
}

// checkName compares the parsers for a line with a name.
func checkName(t *testing.T, name []byte) {
	t.Helper()
	text := "GET / HTTP/1.1\r\n" + string(name) + ": keep-alive\r\nHost: a\r\n\r\n"
	for _, settings := range []Head{{}, {KeepNames: true}} {
		got, want := parseWith(true, Request, settings, text, 64, 0), parseWith(false, Request, settings, text, 64, 0)
		if got.n != want.n || got.err != want.err || got.err == nil && (!bytes.Equal(got.text, want.text) ||
			got.head != want.head || !equalEntries(got.fields.Entries, want.fields.Entries)) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestWideLinesAreUsed fails if a head of a browser is left to the parser without wide
// instructions, which would be slow and right.
func TestWideLinesAreUsed(t *testing.T) {
	if !wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	h, fields := new(Head), new(field.List)
	b := append(make([]byte, 0, 4096), benchHeads[1].raw...)
	h.Limits.fill()
	h.next, _ = h.requestLine(b)
	if err := h.wideLines(Request, b, fields); err != nil || string(b[h.next:]) != "\r\n" {
		t.Errorf("%q was left, error %v", b[h.next:], err)
	}
}

func FuzzWideLines(f *testing.F) {
	if !wide {
		f.Skip("this processor has no wide instructions that are used")
	}
	for _, c := range benchHeads {
		f.Add(c.raw)
	}
	f.Fuzz(checkWide)
}
