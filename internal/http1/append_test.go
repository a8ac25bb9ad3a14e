package http1

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// clean is a simple version of the sanitiser.
func clean(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(text)
}

func everyByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// known failure 53
func TestTextLosesLineBreaksAndNothingElse(t *testing.T) {
	for _, text := range []string{
		"", "plain", "a\tb", " \t ", "\r", "\n", "\x00", "\r\n", "a\r\nSet-Cookie: x=y", "tail\r\n", "\r\n\r\nGET / HTTP/1.1\r\n\r\n",
		"\x01\x02\x1f\x7f\x80\xff", "\v\f\x85\u2028", "%0d%0a", "1234567\n1234567\r1234567\x00", "1234567\t\n", everyByte(),
		strings.Repeat("\x00", 100), strings.Repeat("long text without any break ", 50),
	} {
		for _, before := range []string{"", "x\r\n", "1234567"} {
			given := []byte(text)
			if got, want := string(AppendText([]byte(before), given)), before+clean(text); got != want {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
			if string(given) != text {
				t.Errorf("the text of the caller was changed from %q to %q", text, given)
			}
		}
		b := []byte(text)
		if Clean(b); string(b) != clean(text) {
			t.Errorf("Clean(%q) = %q", text, b)
		}
	}
}

func TestEveryByteOfATextIsLookedAt(t *testing.T) {
	for size := range 40 {
		for at := range size {
			for _, c := range []byte{'\r', '\n', 0, '\t', 0x1f, 0x7f, 0x80, 0x8a, 0x8d} {
				b := bytes.Repeat([]byte{'x'}, size)
				b[at] = c
				if got := string(AppendText(nil, b)); got != clean(string(b)) {
					t.Fatalf("%q: %q", b, got)
				}
			}
		}
	}
}

func TestFieldLines(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"Name", "value", "Name: value\r\n"},
		{"nAmE", "", "nAmE: \r\n"},
		{"!#$%&'*+-.^_`|~09", "\xff", "!#$%&'*+-.^_`|~09: \xff\r\n"},
		{"A", " b ", "A:  b \r\n"},
		{"A", "b\r\nC: d", "A: b  C: d\r\n"},
		{"A", "b\x00\n\r", "A: b   \r\n"},
		{"A", everyByte(), "A: " + clean(everyByte()) + "\r\n"},
		// a name other than a token makes no line
		{"", "x", ""},
		{"A ", "x", ""},
		{" A", "x", ""},
		{"A:", "x", ""},
		{"A: b\r\nC", "x", ""},
		{"A\r", "x", ""},
		{"A\n", "x", ""},
		{"A\x00", "x", ""},
		{"A\x7f", "x", ""},
		{"A\xff", "x", ""},
		{"A(", "x", ""},
		{"A\"", "x", ""},
		{"A,", "x", ""},
		{"\xc3\x84", "x", ""},
	} {
		if got := string(AppendField([]byte("before"), []byte(c.name), []byte(c.value))); got != "before"+c.want {
			t.Errorf("%q, %q: %q", c.name, c.value, got)
		}
	}
	for i := range 256 {
		name := []byte{'a', byte(i), 'z'}
		want := ascii.Is(byte(i), ascii.Token)
		if got := len(AppendField(nil, name, nil)) > 0; got != want {
			t.Errorf("name %q: written %v, want %v", name, got, want)
		}
	}
}

func TestKnownFieldLines(t *testing.T) {
	if got := string(AppendKnown(nil, field.SetCookie, []byte("a=b\r\nX: y"))); got != "Set-Cookie: a=b  X: y\r\n" {
		t.Errorf("%q", got)
	}
	if got := string(AppendKnown([]byte("x"), field.Te, nil)); got != "xTe: \r\n" {
		t.Errorf("%q", got)
	}
	// without a name it makes no line
	if got := AppendKnown(nil, field.Unknown, []byte("v")); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestStartLines(t *testing.T) {
	for _, c := range []struct {
		version string
		status  int
		reason  string
		want    string
	}{
		{"HTTP/1.1", 200, "OK", "HTTP/1.1 200 OK\r\n"},
		{"HTTP/1.0", 404, "", "HTTP/1.0 404 \r\n"},
		{"HTTP/1.1", 999, "a\tb\xff", "HTTP/1.1 999 a\tb\xff\r\n"},
		{"HTTP/1.1\r\n", 200, "OK\r\nSet-Cookie: a=b\x00", "HTTP/1.1   200 OK  Set-Cookie: a=b \r\n"},
	} {
		if got := string(AppendStatusLine([]byte("x"), []byte(c.version), c.status, []byte(c.reason))); got != "x"+c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A parser in either role parses the values that were written.
func TestHeadsThatAreWrittenAreReadBack(t *testing.T) {
	b := []byte("POST /a?b=c HTTP/1.1\r\n")
	b = AppendKnown(b, field.Host, []byte("example.com"))
	b = AppendField(b, []byte("X-Y"), []byte("z\r\nInjected: 1"))
	b = append(b, "\r\n"...)
	n, said, err := check(t, Request, string(b))
	if want := "POST|/a?b=c|HTTP/1.1|0||1|0|400\nHost Host=example.com\n X-Y=z  Injected: 1"; n != len(b) || said != want || err != nil {
		t.Errorf("%d, %s, %v", n, said, err)
	}
	b = AppendStatusLine(nil, []byte("HTTP/1.1"), 503, []byte("Service\r\nUnavailable"))
	b = AppendKnown(b, field.Connection, []byte("close"))
	b = append(b, "\r\n"...)
	n, said, err = check(t, Response, string(b))
	if want := "||HTTP/1.1|503|Service  Unavailable|1|0|20\nConnection Connection=close"; n != len(b) || said != want || err != nil {
		t.Errorf("%d, %s, %v", n, said, err)
	}
}

// FuzzField writes a field line and parses it. A value may contain control
// characters other than CR, LF and NUL, which are written unchanged; the parser
// rejects them.
func FuzzField(f *testing.F) {
	f.Add([]byte("Name"), []byte("value"))
	f.Add([]byte("x-y"), []byte(" a\r\nB: c\x00\t"))
	f.Add([]byte("Content-Length"), []byte("12"))
	f.Add([]byte("bad name"), []byte("\x01"))
	f.Fuzz(func(t *testing.T, name, value []byte) {
		given := string(value)
		line := AppendField([]byte("x"), name, value)
		if string(value) != given {
			t.Fatalf("the caller's value changed to %q", value)
		}
		if !ascii.IsToken(name) {
			if string(line) != "x" {
				t.Fatalf("a line for the name %q: %q", name, line)
			}
			return
		}
		if want := "x" + string(name) + ": " + clean(given) + "\r\n"; string(line) != want {
			t.Fatalf("%q, want %q", line, want)
		}
		for role, start := range map[Role]string{Request: "GET / HTTP/1.1\r\n", Response: "HTTP/1.1 200 OK\r\n", trailers: ""} {
			h := &Head{KeepNames: true, KeepAll: true, Limits: Limits{Head: 1 << 30}}
			var fields field.List
			// a second line shows if the first one ends in the right place
			raw := append([]byte(start), line[1:]...)
			raw = append(raw, "Last: one\r\n\r\n"...)
			n, err := 0, error(nil)
			if role == trailers {
				n, err = h.ParseTrailers(raw, &fields)
			} else {
				n, err = h.Parse(role, raw, &fields)
			}
			if !ascii.All([]byte(clean(given)), ascii.FieldByte) {
				if err == nil {
					t.Fatalf("a control character was accepted in %q", raw)
				}
				continue
			}
			switch id := field.Lookup(name); {
			case err != nil && role != trailers && (id == field.ContentLength || id == field.TransferEncoding):
				continue
			case err != nil || n != len(raw) || len(fields.Entries) != 2:
				t.Fatalf("%q: %d, %v, %d fields", raw, n, err, len(fields.Entries))
			}
			fields.Block = raw
			if string(fields.Name(0)) != string(name) || string(fields.Value(0)) != strings.Trim(clean(given), " \t") {
				t.Fatalf("%q: read as %q: %q", raw, fields.Name(0), fields.Value(0))
			}
			if string(fields.Name(1)) != "Last" || string(fields.Value(1)) != "one" {
				t.Fatalf("%q: the second line is %q: %q", raw, fields.Name(1), fields.Value(1))
			}
		}
	})
}

func TestAppendingDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 1024)
	name, value, dirty := []byte("X-Name"), []byte("some value"), []byte("some\r\nvalue\x00")
	allocs := testing.AllocsPerRun(100, func() {
		b := AppendStatusLine(dst, []byte("HTTP/1.1"), 200, value)
		b = AppendField(b, name, dirty)
		b = AppendField(b, dirty, value)
		b = AppendKnown(b, field.ContentType, value)
		b = AppendChunkStart(b, 1<<20)
		b = AppendChunkEnd(b)
		b = AppendLastChunk(b)
		if len(b) == 0 {
			t.Error("nothing was appended")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkAppendField(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	value := make([]byte, 60)
	for i := range value {
		value[i] = byte('a' + r.IntN(26))
	}
	name, dst := []byte("X-Custom-Name"), make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if got := AppendField(dst, name, value); len(got) != len(name)+len(value)+4 {
			b.Fatal(len(got))
		}
	}
}
