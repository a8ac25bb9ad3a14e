package http1

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// dump returns the values of a head as text, to compare them.
func dump(h *Head, b []byte, fields *field.List) string {
	text := func(s field.Span) string { return string(b[s.Off : s.Off+s.Len]) }
	var out strings.Builder
	fmt.Fprintf(&out, "%s|%s|%s|%d|%s|%d|%d|%x", text(h.Method), text(h.Target), text(h.Version), h.Status, text(h.Reason), h.Minor, h.ContentLength, h.Flags)
	for i := range fields.Entries {
		e := fields.Entries[i]
		fmt.Fprintf(&out, "\n%s %s=%s", e.ID, text(e.Name), text(e.Value))
	}
	return out.String()
}

// feed parses raw as a head: whole if step is 0, else with step more bytes at each call.
func feed(role Role, raw string, step int) (n int, said string, err error) {
	h := &Head{KeepAll: true}
	fields := new(field.List)
	// slices.Clip makes a span beyond the text panic
	b := slices.Clip([]byte(raw))
	size := len(b)
	if step > 0 {
		size = min(step, len(b))
	}
	for {
		n, err = h.Parse(role, b[:size:size], fields)
		if n > 0 || err != nil || size == len(b) {
			return n, dump(h, b, fields), err
		}
		size = min(size+step, len(b))
	}
}

// check runs a case whole and in pieces of every size. The results must be equal.
func check(t *testing.T, role Role, raw string) (n int, said string, err error) {
	t.Helper()
	n, said, err = feed(role, raw, 0)
	for _, step := range []int{1, 2, 3, 7, 64} {
		n2, said2, err2 := feed(role, raw, step)
		if err != nil {
			if err2 != err {
				t.Errorf("%q: whole: %v; in pieces of %d: %v", raw, err, step, err2)
			}
			continue
		}
		if n2 != n || said2 != said || err2 != nil {
			t.Errorf("%q: whole: %d %s; in pieces of %d: %d %s %v", raw, n, said, step, n2, said2, err2)
		}
	}
	return n, said, err
}

func TestRequestHeads(t *testing.T) {
	const get = "GET / HTTP/1.1\r\n"
	for _, c := range []struct {
		raw  string
		err  error
		said string // method, target and so on; then the fields
	}{
		{raw: get + "\r\n", said: "GET|/|HTTP/1.1|0||1|0|0"},
		{raw: "POST /a?b=%zz HTTP/1.0\r\nhost: x\r\nContent-length:  12 \t\r\n\r\n", said: "POST|/a?b=%zz|HTTP/1.0|0||0|12|401\nHost Host=x\nContent-Length Content-Length=12"},
		{raw: get + "x-CUSTOM-nAme:\ta\tb \r\nEmpty:\r\n\r\n", said: "GET|/|HTTP/1.1|0||1|0|0\n X-Custom-Name=a\tb\n Empty="},
		{raw: "GET /\xc3\xa9 HTTP/1.7\r\nA: \xff\r\n\r\n", said: "GET|/\xc3\xa9|HTTP/1.7|0||1|0|0\n A=\xff"},
		{raw: "M!#$%&'*+-.^_`|~9 * HTTP/1.1\r\n\r\n", said: "M!#$%&'*+-.^_`|~9|*|HTTP/1.1|0||1|0|0"},
		{raw: get + "Connection: Close , UPGRADE\r\nconnection: keep-alive\r\n\r\n", said: "GET|/|HTTP/1.1|0||1|0|e0\nConnection Connection=Close , UPGRADE\nConnection Connection=keep-alive"},
		{raw: get + "Transfer-Encoding: Chunked\r\n\r\n", said: "GET|/|HTTP/1.1|0||1|0|6\nTransfer-Encoding Transfer-Encoding=Chunked"},

		// known failure 7
		{raw: "GET / HTTP/2.0\r\n\r\n", err: ErrMajorVersion},
		{raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", err: ErrMajorVersion},
		{raw: "GET / HTTP/0.9\r\n\r\n", err: ErrMajorVersion},
		{raw: "GET / HTTP/11.1\r\n\r\n", err: ErrVersion},
		{raw: "GET / http/1.1\r\n\r\n", err: ErrVersion},
		{raw: "GET / HTTP/1.x\r\n\r\n", err: ErrVersion},
		{raw: "GET / HTTP/1.10\r\n\r\n", err: ErrLineEnd},
		{raw: "GET /\r\n\r\n", err: ErrRequestLine},
		// known failure 9
		{raw: get + "Transfer-Encoding: chunked, gzip\r\n\r\n", err: ErrTransferEncoding},
		{raw: get + "Transfer-Encoding: chunked, chunked\r\n\r\n", err: ErrTransferEncoding},
		{raw: get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", err: ErrTransferEncoding},
		{raw: get + "Transfer-Encoding: chunked;q=1\r\n\r\n", err: ErrTransferEncoding},
		{raw: get + "Transfer-Encoding: \x0bchunked\r\n\r\n", err: ErrFieldValue},
		{raw: get + "Transfer-Encoding: ,\r\n\r\n", err: ErrTransferEncoding},
		{raw: get + "Transfer-Encoding:\r\n\r\n", err: ErrTransferEncoding},
		// known failure 11
		{raw: get + "Content-Length: 21000000000000000000\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: +1\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: -1\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: 0x1\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: 1_0\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: 1,1\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: 1 1\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length:\r\n\r\n", err: ErrContentLength},
		{raw: get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", err: ErrDuplicateContentLength},
		{raw: get + "Content-Length: 1\r\ncontent-length: 1\r\n\r\n", err: ErrDuplicateContentLength},
		// known failure 12
		{raw: "GET / HTTP/1.1\nHost: x\n\n", err: ErrLineEnd},
		{raw: get + "Host: x\n\r\n", err: ErrLineEnd},
		{raw: get + "Host: x\r\n\n", err: ErrLineEnd},
		{raw: get + "Host: x\ry\r\n\r\n", err: ErrLineEnd},
		{raw: get + "\rHost: x\r\n\r\n", err: ErrLineEnd},
		{raw: get + "Host\n: x\r\n\r\n", err: ErrFieldName},
		{raw: "GET / HTTP/1.1\rX: y\r\n\r\n", err: ErrLineEnd},
		// known failure 13
		{raw: get + "A: b\r\n c\r\n\r\n", err: ErrFold},
		{raw: get + "A: b\r\n\tc: d\r\n\r\n", err: ErrFold},
		{raw: get + " A: b\r\n\r\n", err: ErrFold},
		// known failure 15
		{raw: "GET  / HTTP/1.1\r\n\r\n", err: ErrExtraWhitespace},
		{raw: "GET /  HTTP/1.1\r\n\r\n", err: ErrExtraWhitespace},
		{raw: "GET / HTTP/1.1 \r\n\r\n", err: ErrExtraWhitespace},
		{raw: "GET\t/ HTTP/1.1\r\n\r\n", err: ErrRequestLine},
		{raw: "GET /\t HTTP/1.1\r\n\r\n", err: ErrTarget},
		{raw: "GET /a b HTTP/1.1\r\n\r\n", err: ErrVersion},
		{raw: "GET  HTTP/1.1\r\n\r\n", err: ErrEmptyTarget},
		{raw: "GET /\x7f HTTP/1.1\r\n\r\n", err: ErrTarget},
		{raw: " GET / HTTP/1.1\r\n\r\n", err: ErrMissingMethod},
		{raw: "G\xc3T / HTTP/1.1\r\n\r\n", err: ErrRequestLine},
		// known failure 16
		{raw: get + "A\x00: b\r\n\r\n", err: ErrFieldName},
		{raw: get + "A : b\r\n\r\n", err: ErrFieldName},
		{raw: get + ": b\r\n\r\n", err: ErrFieldName},
		{raw: get + "A(: b\r\n\r\n", err: ErrFieldName},
		{raw: get + "A\xff: b\r\n\r\n", err: ErrFieldName},
		{raw: get + "A: b\x00c\r\n\r\n", err: ErrFieldValue},
		{raw: get + "A: b\x1bc\r\n\r\n", err: ErrFieldValue},
		{raw: get + "A: b\x7fc\r\n\r\n", err: ErrFieldValue},
		{raw: get + "no colon\r\n\r\n", err: ErrFieldName},
	} {
		n, said, err := check(t, Request, c.raw)
		if err != c.err && (err == nil || c.err == nil || !errors.Is(err, c.err)) {
			t.Errorf("%q: error %v, want %v", c.raw, err, c.err)
			continue
		}
		if c.err == nil && (n != len(c.raw) || said != c.said) {
			t.Errorf("%q: read %d of %d:\n%s\nwant\n%s", c.raw, n, len(c.raw), said, c.said)
		}
	}
}

func TestResponseHeads(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		raw  string
		err  error
		said string
	}{
		{raw: ok + "\r\n", said: "||HTTP/1.1|200|OK|1|0|0"},
		{raw: "HTTP/1.0 404 Not  Found \r\nSERVER: x\r\n\r\n", said: "||HTTP/1.0|404|Not  Found |0|0|0\nServer Server=x"},
		{raw: "HTTP/1.1 200\r\n\r\n", said: "||HTTP/1.1|200||1|0|0"},
		{raw: "HTTP/1.1 200 \r\n\r\n", said: "||HTTP/1.1|200||1|0|0"},
		{raw: "HTTP/1.1 200 OK\nA: b\n\n", said: "||HTTP/1.1|200|OK|1|0|0\n A=b"},
		// known failure 13: folds become spaces
		{raw: ok + "A: b\r\n\t c\r\n  d\r\nE: f\r\n\r\n", said: "||HTTP/1.1|200|OK|1|0|0\n A=b    c    d\n E=f"},
		{raw: ok + "A:\r\n b\r\n\r\n", said: "||HTTP/1.1|200|OK|1|0|0\n A=b"},
		// common deviations from the RFC
		{raw: "HTTP/1.1   200 OK\r\n\r\n", said: "||HTTP/1.1|200|OK|1|0|0"},
		{raw: ok + "SERVER : x\r\nX-own  : y\r\n\r\n", said: "||HTTP/1.1|200|OK|1|0|0\nServer Server=x\n X-Own=y"},
		{raw: ok + "content-length : 5\r\n\r\n", said: "||HTTP/1.1|200|OK|1|5|1\nContent-Length Content-Length=5"},
		{raw: ok + "x own-name: y\r\n\r\n", said: "||HTTP/1.1|200|OK|1|0|20\n x own-name=y"},
		{raw: ok + "x\t: y\r\n\r\n", err: ErrFieldName},
		{raw: ok + " x: y\r\n\r\n", err: ErrFold},
		{raw: ok + " : y\r\n\r\n", err: ErrFold},
		{raw: ok + "x y\r\n\r\n", err: ErrFieldName},
		{raw: "HTTP/1.1  2 0 OK\r\n\r\n", err: ErrNonNumeric},
		{raw: "HTTP/1.1 \t200 OK\r\n\r\n", err: ErrNonNumeric},
		{raw: "HTTP/1.1" + strings.Repeat(" ", 1000) + "200 OK\r\n\r\n", err: ErrNonNumeric},
		{raw: "HTTP/2.0 200 OK\r\n\r\n", err: ErrMajorVersion},
		{raw: "HTTP/1.1200 OK\r\n\r\n", err: ErrStatusLineSpace},
		{raw: "HTTP/1.1 20x OK\r\n\r\n", err: ErrNonNumeric},
		{raw: "HTTP/1.1 2000 OK\r\n\r\n", err: ErrStatusCode},
		{raw: "HTTP/1.1 200OK\r\n\r\n", err: ErrStatusCode},
		{raw: "ICY 200 OK\r\n\r\n", err: ErrStatusLine},
		{raw: "HTTP/1.1 200 O\x00K\r\n\r\n", err: ErrFieldValue},
		{raw: ok + "A: b\rc\r\n\r\n", err: ErrLineEnd},
		{raw: ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", err: ErrDuplicateContentLength},
	} {
		n, said, err := check(t, Response, c.raw)
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%q: error %v, want %v", c.raw, err, c.err)
			}
			continue
		}
		if err != nil || n != len(c.raw) {
			t.Errorf("%q: read %d of %d: %v", c.raw, n, len(c.raw), err)
		}
		if said != c.said {
			t.Errorf("%q:\n%s\nwant\n%s", c.raw, said, c.said)
		}
	}
}

func TestIncompleteHeadsNeedMore(t *testing.T) {
	for role, raw := range map[Role]string{
		Request:  "GET /path HTTP/1.1\r\nHost: example.com\r\nX: y\r\n\r\n",
		Response: "HTTP/1.1 200 OK\r\nServer: x\r\nX: y\r\n\r\n",
	} {
		for size := range len(raw) {
			if n, _, err := feed(role, raw[:size], 0); n != 0 || err != nil {
				t.Errorf("%q: %d, %v", raw[:size], n, err)
			}
		}
		if n, _, err := feed(role, raw+"GET ", 0); n != len(raw) || err != nil {
			t.Errorf("%q: %d, %v", raw, n, err)
		}
	}
}

func TestHeadLimits(t *testing.T) {
	line := func(n int) string { return "GET /" + strings.Repeat("a", n) + " HTTP/1.1\r\n" }
	fields := func(n int) string { return "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", n) + "\r\n" }
	for _, c := range []struct {
		name string
		raw  string
		err  error
	}{
		{"longest line", line(DefaultMaxLine-len("GET / HTTP/1.1")) + "\r\n", nil},
		{"line too long", line(DefaultMaxLine-len("GET / HTTP/1.1")+1) + "\r\n", ErrLongRequestLine},
		{"line without end", line(DefaultMaxLine)[:DefaultMaxLine+1], ErrLongRequestLine},
		{"most fields", fields(DefaultMaxFields), nil},
		{"too many fields", fields(DefaultMaxFields + 1), ErrManyFields},
		{"head too long", "GET / HTTP/1.1\r\nA: " + strings.Repeat("b", DefaultMaxHead) + "\r\n\r\n", ErrLongHead},
		{"head without end", "GET / HTTP/1.1\r\nA: " + strings.Repeat("b", DefaultMaxHead), ErrLongHead},
	} {
		n, _, err := feed(Request, c.raw, 0)
		if err != c.err || err == nil && n != len(c.raw) {
			t.Errorf("%s: %d, %v, want %v", c.name, n, err, c.err)
		}
		if n2, _, err2 := feed(Request, c.raw, 1000); n2 != n || err2 != err {
			t.Errorf("%s in pieces: %d, %v", c.name, n2, err2)
		}
	}
}

func TestNamesAreKeptOnDemand(t *testing.T) {
	h := &Head{KeepNames: true, KeepAll: true}
	var fields field.List
	b := []byte("GET / HTTP/1.1\r\nhOST: x\r\nx-Y: z\r\n\r\n")
	if _, err := h.Parse(Request, b, &fields); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "hOST: x\r\nx-Y: z") || fields.Entries[0].ID != field.Host {
		t.Errorf("%q, id %v", b, fields.Entries[0].ID)
	}
}

func TestEmptyLinesBeforeARequest(t *testing.T) {
	for raw, want := range map[string]int{"": 0, "\r": 0, "\r\n": 2, "\r\nGET": 2, "\r\n\r\nGET": 4, "\r\n\r\n\r\nGET": 4, "\n": 0, "GET": 0} {
		if n := SkipEmptyLines([]byte(raw)); n != want {
			t.Errorf("%q: %d, want %d", raw, n, want)
		}
	}
}

func TestTrailerSections(t *testing.T) {
	for _, c := range []struct {
		raw string
		n   int
		err error
	}{
		{raw: "\r\n", n: 2},
		{raw: "A: b\r\nContent-Length: x\r\n\r\nGET", n: 27},
		{raw: "A: b\r\n"},
		{raw: "A: b\n\r\n", err: ErrLineEnd},
		{raw: "A: " + strings.Repeat("b", MaxTrailers), err: ErrLongTrailers},
		{raw: strings.Repeat("A: b\r\n", MaxTrailerFields+1), err: ErrManyTrailers},
	} {
		h := &Head{Limits: Limits{Head: MaxTrailers, Fields: MaxTrailerFields}}
		n, err := h.ParseTrailers([]byte(c.raw), new(field.List))
		if n != c.n || err != c.err && !errors.Is(err, c.err) {
			t.Errorf("%.30q: %d, %v, want %d, %v", c.raw, n, err, c.n, c.err)
		}
	}
}

func TestParsingAHeadDoesNotAllocate(t *testing.T) {
	raw := []byte("GET /foo/bar HTTP/1.1\r\nHost: google.com\r\nUser-Agent: aaa bbb\r\nReferer: http://google.com/\r\nX-Other: y\r\nCookie: a=b\r\n\r\n")
	h := new(Head)
	fields := &field.List{Entries: make([]field.Entry, 0, 16)}
	allocs := testing.AllocsPerRun(100, func() {
		h.Reset()
		fields.Reset()
		if n, err := h.Parse(Request, raw, fields); n != len(raw) || err != nil {
			t.Error(n, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func fuzzHead(f *testing.F, role Role, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, step uint8) {
		n, said, err := feed(role, string(raw), 0)
		framing := errors.Is(err, ErrCodingInHTTP10) || errors.Is(err, ErrUnsupportedCoding)
		if n > len(raw) || err != nil && n > 0 != framing {
			t.Fatalf("%d of %d bytes, %v", n, len(raw), err)
		}
		n2, said2, err2 := feed(role, string(raw), int(step)+1)
		if n2 != n || (err2 == nil) != (err == nil) || err == nil && said2 != said {
			t.Fatalf("whole: %d %q %v; in pieces: %d %q %v", n, said, err, n2, said2, err2)
		}
		if n > 0 && role == Request {
			for _, line := range strings.Split(string(raw[:n]), "\r\n") {
				if strings.ContainsAny(line, "\r\n\x00\x7f") {
					t.Fatalf("line %q was accepted", line)
				}
			}
		}
	})
}

func FuzzParseRequest(f *testing.F) {
	fuzzHead(f, Request, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "0 0000000000000000000000 ", "POST /a HTTP/1.0\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", "\r\nGET * HTTP/2.0\r\n\xff: a\r\n b\r\n\r\n")
}

func FuzzParseResponse(f *testing.F) {
	fuzzHead(f, Response, "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "HTTP/1.0 304\nA: b\n\n", "HTTP/1.1 999 \r\nSet-Cookie: a\r\n\r\n")
}

func BenchmarkParseRequest(b *testing.B) {
	raw := []byte("GET /foo/bar?baz HTTP/1.1\r\nHost: google.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\nReferer: http://example.com/aaa?bbb=ccc\r\nCookie: foo=bar; baz=baraz; aa=aakslsdweriwereowriewroire\r\n\r\n")
	h := new(Head)
	fields := new(field.List)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		h.Reset()
		fields.Reset()
		if n, err := h.Parse(Request, raw, fields); n == 0 || err != nil {
			b.Fatal(err)
		}
	}
}
