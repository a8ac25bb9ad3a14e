package fasthttp

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/http1"
)

// counted returns format for 0, 1, 2 and so on, of about size bytes together.
func counted(format string) func(size int) string {
	return func(size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
}

func repeated(s string) func(size int) string {
	return func(size int) string { return strings.Repeat(s, size/len(s)+1) }
}

// behind returns what is made of a text by putting head in front of it.
func behind(head string, make func(size int) string) func(size int) string {
	return func(size int) string { return head + make(size) }
}

// hostile are inputs that whoever sends them can make as long as a limit allows,
// and what reads them.
var hostile = []struct {
	name string
	make func(size int) string
	run  func(in string)
}{
	{"names for a trailer", counted("x-%x,"), func(in string) {
		var h ResponseHeader
		_ = h.SetTrailer(in)
	}},
	{"a Trailer field", counted("x-%x,"), func(in string) {
		var h RequestHeader
		readField(&h, "Trailer: "+in)
	}},
	{"one name for a trailer", repeated("a,"), func(in string) {
		var h RequestHeader
		readField(&h, "Trailer: "+in)
	}},
	{"a boundary behind quotes", behind(`multipart/form-data; x=`, repeated(`"\`)), boundaryOf},
	{"a boundary behind an open quote", behind(`multipart/form-data; x="`, repeated(`\"`)), boundaryOf},
	{"a boundary behind quotes that are never closed", behind(`multipart/form-data; x="`, repeated(`;\"`)), boundaryOf},
	{"a boundary behind many parameters", behind(`multipart/form-data`, repeated(`;x="a"`)), boundaryOf},
	{"parameters of a field", behind("a", repeated(`;x="\""`)), func(in string) {
		VisitHeaderParams([]byte(in), func(_, _ []byte) bool { return true })
	}},
	{"codings that are accepted", repeated("a;q=0.1, "), func(in string) {
		var h RequestHeader
		h.Set(HeaderAcceptEncoding, in)
		h.HasAcceptEncoding("gzip")
	}},
	{"cookies", counted("c%d=1; "), func(in string) {
		var h RequestHeader
		readField(&h, "Cookie: "+in)
		h.Cookie("c0")
	}},
	{"attributes of a cookie", behind("a=b", repeated("; x=y")), func(in string) {
		var c Cookie
		_ = c.Parse(in)
	}},
	{"arguments", counted("a%d=1&"), func(in string) {
		var a Args
		a.Parse(in)
	}},
	{"a query of escapes", repeated("%zz%4"), func(in string) {
		var a Args
		a.Parse(in)
	}},
	{"a path of dots", behind("/", repeated("a/../")), parsedURI},
	{"a path of slashes", behind("/", repeated("/./")), parsedURI},
	{"a path that goes up", behind("/", repeated("../")), parsedURI},
	{"a path of escaped dots", behind("/a", repeated("/%2e%2E/b")), parsedURI},
	{"a host of signs", behind("http://", repeated("a@:")), parsedURI},
	{"a host of brackets", behind("http://[", repeated("[:")), parsedURI},
	{"fields of a head", counted("X-%d: a\r\n"), func(in string) {
		var h ResponseHeader
		readLongHead(&h.header, http1.Response, "HTTP/1.1 200 OK\r\n"+in+"\r\n")
	}},
	{"connection options", repeated("close, x, "), func(in string) {
		var h RequestHeader
		readField(&h, "Connection: "+in)
	}},
	{"transfer codings", repeated("identity, "), func(in string) {
		var h ResponseHeader
		readLongHead(&h.header, http1.Response, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+in+"identity\r\n\r\n")
	}},
	{"a byte range", behind("bytes=", repeated("0-1,")), func(in string) { _, _, _ = ParseByteRange([]byte(in), 100) }},
	{"ranges of a file", behind("bytes=", repeated("0-1,")), rangesOfFile},
	{"a range of a file", behind("bytes=0-", repeated("9")), rangesOfFile},
	{"blanks around the ranges of a file", behind("bytes=0-1,", repeated(" \t")), rangesOfFile},
	{"entity tags", repeated(`W/"a", `), matchedTags},
	{"entity tags that are never closed", repeated(`,W/"`), matchedTags},
	{"types that are accepted", repeated("text/html;q=0.1;a=b, "), func(in string) { prefersJSON([]byte(in)) }},
	{"a path of files", behind("/", repeated("a/./b//")), nameOfFile},
	{"a path of hidden files", behind("/", repeated(".well-known/")), nameOfFile},
	{"a path of suffixes", behind("/", repeated(".fasthttp.gz.tmp")), nameOfFile},
	{"a media type", behind("application/", repeated("x+")), func(in string) { defaultTypes.has([]byte(in)) }},
	{"a date", behind("Mon, ", repeated(" 0")), func(in string) { _, _ = ParseHTTPDate([]byte(in)) }},
	{"a number", repeated("9"), func(in string) { _, _ = ParseUint([]byte(in)) }},
	{"a fraction", behind("0.", repeated("9")), func(in string) { _, _ = ParseUfloat([]byte(in)) }},
	{"chunks", repeated("1\r\na\r\n"), func(in string) {
		var req Request
		if err := req.Read(bufio.NewReader(strings.NewReader("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + in + "0\r\n\r\n"))); err != nil {
			panic(err)
		}
	}},
}

func boundaryOf(in string) {
	var h RequestHeader
	h.SetContentType(in)
	h.MultipartFormBoundary()
}

func rangesOfFile(in string) { _, _ = parseRanges(nil, []byte(in), 1000) }

func matchedTags(in string) {
	var h RequestHeader
	h.Set(HeaderIfNoneMatch, in)
	judge(&h, validator{etag: []byte(`"b"`)})
}

// nameOfFile does what is done with a path before anything is opened.
func nameOfFile(in string) {
	for _, windows := range []bool{false, true} {
		if name, err := fileName(in, windows); err == nil {
			isHiddenPath(name)
			isReservedName(name)
		}
	}
}

func parsedURI(in string) {
	var u URI
	_ = u.Parse([]byte("h"), []byte(in))
	u.FullURI()
}

// readLongHead reads a head, however long it is and however many fields it has:
// whoever sets ReadBufferSize moves these limits.
func readLongHead(h *header, role http1.Role, head string) {
	h.begin()
	h.head.Limits = http1.Limits{Head: 2 * len(head), Line: 2 * len(head), Fields: len(head)}
	if n, err := h.feed(role, []byte(head)); err != nil || n != len(head) {
		panic(fmt.Sprint("a head was not read: ", n, err))
	}
}

// readField reads a request head with a field, and does what is put off until a
// header is asked.
func readField(h *RequestHeader, field string) {
	readLongHead(&h.header, http1.Request, "POST / HTTP/1.1\r\nHost: h\r\n"+field+"\r\n\r\n")
	h.PeekAll(HeaderTrailer)
	for range h.All() {
	}
}

// Whoever sends ten times as much takes ten times as much of the processor, and
// no more than a third beyond that. What is worse than proportional is so each
// time; a machine with other work is so now and then.
func TestHostileInputsTakeTimeInProportion(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("it measures times")
	}
	const small = 10 << 10
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{small, 10 * small} {
				if proportional(t, c.run, c.make(size), c.make(10*size)); t.Failed() {
					return
				}
			}
		})
	}
}

// proportional fails the test if run takes longer with long than its length lets
// expect from what it takes with short.
func proportional(t *testing.T, run func(string), short, long string) {
	t.Helper()
	const factor = 1.3
	// what the clock and the memory that is touched for the first time make of
	// microseconds
	const noise = 50 * time.Microsecond
	var had, took time.Duration
	for range 20 {
		had, took = fastest(func() { run(short) }), fastest(func() { run(long) })
		bound := time.Duration(factor * float64(len(long)) / float64(len(short)) * float64(had+noise))
		if took <= bound {
			return
		}
		if took > 3*bound {
			break
		}
	}
	t.Errorf("%d bytes take %v, and %d take %v", len(short), had, len(long), took)
}

// fastest returns how long f takes if nothing else is in its way. What takes long
// is not tried again.
func fastest(f func()) time.Duration {
	best := time.Hour
	for range 5 {
		begin := time.Now()
		f()
		if best = min(best, time.Since(begin)); best > 200*time.Millisecond {
			break
		}
	}
	return best
}

func TestTrailerNamesAreBounded(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if err := h.SetTrailer(counted("a%d,")(1000)[:len("a0,")*10+len("a10,")*54-1]); err != nil {
			t.Errorf("%d names: %v", maxTrailerNames, err)
		}
		if err := h.AddTrailer("A0, a63"); err != nil {
			t.Errorf("names that are there already: %v", err)
		}
		if err := h.AddTrailer("one-more"); err != ErrBadTrailer {
			t.Errorf("one name more: %v", err)
		}
		if n := len(h.PeekTrailerKeys()); n != maxTrailerNames {
			t.Errorf("%d names", n)
		}
	})
	var h RequestHeader
	readField(&h, "Trailer: "+counted("x-%x,")(60<<10))
	if n := len(h.PeekTrailerKeys()); n != maxTrailerNames {
		t.Errorf("%d names of a peer", n)
	}
	var req Request
	section := strings.ReplaceAll(counted("a%d: 1\n")(500), "\n", "\r\n")
	err := req.Read(bufio.NewReader(strings.NewReader(
		"POST / HTTP/1.1\r\nHost: h\r\nTrailer: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + section + "\r\n")))
	if fields := strings.Count(section, "\n"); err != nil || fields <= maxTrailerNames || len(req.Header.PeekTrailerKeys()) != fields+1 {
		t.Errorf("a trailer section of %d fields: %v", fields, err)
	}
}
