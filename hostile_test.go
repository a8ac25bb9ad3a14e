package fasthttp

import (
	"bufio"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/httpdate"
	"github.com/valyala/fasthttp/internal/servertest"
)

// counted makes texts of about size bytes by repeating format with 0, 1, 2 and so
// on.
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

// headed makes texts with head in front.
func headed(head string, make func(size int) string) func(size int) string {
	return func(size int) string { return head + make(size) }
}

// hostile are inputs that a sender can make as long as a limit allows, and the
// functions that read them.
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
	{"a boundary after quotes", headed(`multipart/form-data; x=`, repeated(`"\`)), boundaryOf},
	{"a boundary after an open quote", headed(`multipart/form-data; x="`, repeated(`\"`)), boundaryOf},
	{"a boundary after quotes that are never closed", headed(`multipart/form-data; x="`, repeated(`;\"`)), boundaryOf},
	{"a boundary after many parameters", headed(`multipart/form-data`, repeated(`;x="a"`)), boundaryOf},
	{"parameters of a field", headed("a", repeated(`;x="\""`)), func(in string) {
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
	{"attributes of a cookie", headed("a=b", repeated("; x=y")), func(in string) {
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
	{"a path of dots", headed("/", repeated("a/../")), parsedURI},
	{"a path of slashes", headed("/", repeated("/./")), parsedURI},
	{"a path that goes up", headed("/", repeated("../")), parsedURI},
	{"a path of escaped dots", headed("/a", repeated("/%2e%2E/b")), parsedURI},
	{"a host of signs", headed("http://", repeated("a@:")), parsedURI},
	{"a host of brackets", headed("http://[", repeated("[:")), parsedURI},
	{"fields of a head", counted("X-%d: a\r\n"), func(in string) {
		var h ResponseHeader
		readLongHead(&h.head, http1.Response, "HTTP/1.1 200 OK\r\n"+in+"\r\n")
	}},
	{"lines of a field that is set", repeated("X: a\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		h.Set("X", "c")
	}},
	{"lines of a field that is removed", repeated("X: a\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		h.Del("X")
	}},
	{"lines of a field that is removed in any case", repeated("X: a\r\nx: b\r\n"), func(in string) {
		var h RequestHeader
		h.DisableNormalizing()
		readField(&h, in+"Y: b")
		h.head.DelAnyCase(http1.Request, "X")
	}},
	{"lines of a known field that is removed", repeated("Accept-Ranges: a\r\n"), func(in string) {
		var h ResponseHeader
		readLongHead(&h.head, http1.Response, "HTTP/1.1 200 OK\r\n"+in+"\r\n")
		h.head.RemoveID(field.AcceptRanges)
	}},
	{"lines of options that are taken back", repeated("Connection: close, x\r\nConnection: close\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		h.ResetConnectionClose()
	}},
	{"lines of cookies", repeated("Cookie: a=b\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		h.Cookie("c")
	}},
	{"lines of cookies that are set", repeated("Set-Cookie: a=b\r\n"), func(in string) {
		var h ResponseHeader
		readLongHead(&h.head, http1.Response, "HTTP/1.1 200 OK\r\n"+in+"\r\n")
		h.PeekCookie("a")
		h.DelCookie("a")
	}},
	{"arguments that are removed", repeated("a=1&b&"), func(in string) {
		var a Args
		a.Parse(in)
		a.Set("a", "b")
		a.Del("a")
	}},
	{"connection options", repeated("close, x, "), func(in string) {
		var h RequestHeader
		readField(&h, "Connection: "+in)
	}},
	{"transfer codings", repeated("identity, "), func(in string) {
		var h ResponseHeader
		readLongHead(&h.head, http1.Response, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+in+"identity\r\n\r\n")
	}},
	{"a byte range", headed("bytes=", repeated("0-1,")), func(in string) { _, _, _ = ParseByteRange([]byte(in), 100) }},
	{"addresses of proxies", repeated("10.0.0.2, "), clientBehind(plainTrust, "X-Forwarded-For")},
	{"lines of addresses", counted("10.0.0.2\r\nX-%x: y\r\nX-Forwarded-For: "), clientBehind(plainTrust, "X-Forwarded-For")},
	{"no addresses", repeated(" ,"), clientBehind(plainTrust, "X-Forwarded-For")},
	{"elements of Forwarded", repeated(`for="10.0.0.2";x="\\\",", `), clientBehind(standardTrust, "Forwarded")},
	{"quotes in Forwarded", repeated(`\"`), clientBehind(standardTrust, "Forwarded")},
	{"backslashes in Forwarded", headed(`"`, func(size int) string { return strings.Repeat(`\`, size) + `"` }), clientBehind(standardTrust, "Forwarded")},
	{"parameters of Forwarded", repeated(`;x="a"`), clientBehind(standardTrust, "Forwarded")},
	{"ranges of a file", headed("bytes=", repeated("0-1,")), rangesOfFile},
	{"a range of a file", headed("bytes=0-", repeated("9")), rangesOfFile},
	{"blanks around the ranges of a file", headed("bytes=0-1,", repeated(" \t")), rangesOfFile},
	{"entity tags that are never closed", repeated(`,W/"`), matchedTags},
	{"types that are accepted", repeated("text/html;q=0.1;a=b, "), acceptedTypes},
	{"a path of files", headed("/", repeated("a/./b//")), nameOfFile},
	{"a path of hidden files", headed("/", repeated(".well-known/")), nameOfFile},
	{"a path of suffixes", headed("/", repeated(".fasthttp.gz.tmp")), nameOfFile},
	{"a media type", headed("application/", repeated("x+")), func(in string) { coding.DefaultTypes.Has([]byte(in)) }},
	{"a date", headed("Mon, ", repeated(" 0")), func(in string) { _, _ = ParseHTTPDate([]byte(in)) }},
	{"a number", repeated("9"), func(in string) { _, _ = ParseUint([]byte(in)) }},
	{"a fraction", headed("0.", repeated("9")), func(in string) { _, _ = ParseUfloat([]byte(in)) }},
	{"parts of a form", counted("--b\r\nContent-Disposition: form-data; name=a%d\r\n\r\n\r\n"), readForm},
	{"parts of one name", repeated("--b\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n\r\n"), readForm},
	{"a form of what is no boundary", headed(partHead+"\r\n\r\n", repeated("\r\n--\r\n-\r\n--a\r\n--bb")), readForm},
	{"a form of line ends", headed(partHead+"\r\n\r\n", repeated("\r\n")), readForm},
	{"a preamble of a form", repeated("--bb\r\n--\r\n"), readForm},
	{"a boundary of hyphens", headed(partHead+"\r\n\r\n", repeated("\r\n"+strings.Repeat("-", 71))), func(in string) {
		formOf(strings.Repeat("-", 70), in)
	}},
	{"fields of a part", headed("--b\r\n", counted("X-%d: a\r\n")), readForm},
	{"lines of a field of a part", headed("--b\r\n", repeated("X: a\r\n")), readForm},
	{"folds of a field of a part", headed(partHead, repeated("\r\n a")), readForm},
	{"parameters of a part", headed(partHead, counted("; x%d=a")), readForm},
	{"quoted parameters of a part", headed(partHead+`; x="`, repeated(`\"`)), readForm},
	{"parameters of a part in pieces", headed(partHead, counted("; x*%d=a")), readForm},
	{"parameters of a part in escaped pieces", headed(partHead+"; x*0*=''%41", counted("; x%d*=''%%41")), readForm},
	{"a file name of a part", headed(partHead+`; filename="`, repeated(`/\\`)), readForm},
	{"members of a gzip body", repeated(string(AppendGzipBytes(nil, []byte("a")))), decodedFrom("gzip")},
	{"empty members of a gzip body", repeated(string(AppendGzipBytes(nil, nil))), decodedFrom("gzip")},
	{"a gzip member with a long name", headed("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03", repeated("a")), decodedFrom("gzip")},
	{"a gzip body of zeros", packedZeros(coding.Gzip), decodedFrom("gzip")},
	{"empty blocks of a deflate body", headed("\x78\x9c", repeated("\x00\x00\x00\xff\xff")), decodedFrom("deflate")},
	{"blocks of a raw deflate body", repeated("\x02\x08\x20\x80\x00"), decodedFrom("deflate")},
	{"frames of a zstd body", repeated(string(AppendZstdBytes(nil, []byte("a")))), decodedFrom("zstd")},
	{"frames of a zstd body that are skipped", repeated("\x50\x2a\x4d\x18\x01\x00\x00\x00a"), decodedFrom("zstd")},
	{"blocks of a zstd body", headed("\x28\xb5\x2f\xfd\x00\x58", repeated("\x00\x00\x00")), decodedFrom("zstd")},
	{"blocks of a brotli body", headed("\x6b\x00", repeated("\x00\x00\x08a")), decodedFrom("br")},
	{"metadata of a brotli body", headed("\x6b\x00", repeated("\x06")), decodedFrom("br")},
	{"noise as a brotli body", noiseText, decodedFrom("br")},
	{"codings of a body", repeated("identity, "), func(in string) { decodedFrom(in)("a") }},
	{"codings that are accepted, on many lines", repeated("Accept-Encoding: gzip;q=0.1\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		chosenCodings(h.PeekAll(HeaderAcceptEncoding)...)
		h.HasAcceptEncoding("br")
	}},
	{"qualities of a coding", headed("gzip", repeated(";q=0.1")), chosenCoding},
	{"quoted codings", repeated(`a="\",;", `), chosenCoding},
	{"spaces between codings", repeated(" ,\t"), chosenCoding},
	{"entity tags", repeated(`"a", `), matchedTags},
	{"weak entity tags", repeated(`W/"a",`), matchedTags},
	{"commas before entity tags", repeated(", "), matchedTags},
	{"an entity tag without an end", headed(`"`, repeated(`a`)), matchedTags},
	{"lines of entity tags", repeated("If-None-Match: \"a\", \"b\"\r\n"), func(in string) {
		var h RequestHeader
		readField(&h, in+"Y: b")
		files.EvalPreconditions(&h.head.List, hostileValidator)
	}},
	{"ranges", headed("bytes=", counted("%d-,")), parsedRanges},
	{"spaces of ranges", headed("bytes=0-1,", repeated(" \t")), parsedRanges},
	{"a range of digits", headed("bytes=", repeated("9")), parsedRanges},
	{"a range of hyphens", headed("bytes=", repeated("-")), parsedRanges},
	{"words of a date", repeated("Mon "), datedBy},
	{"a date of digits", repeated("1"), datedBy},
	{"numbers of a date", repeated("1-"), datedBy},
	{"times of a date", repeated("00:00:00 "), datedBy},
	{"spaces of a date", headed("Mon,", repeated("  ")), datedBy},
	{"a day of letters", repeated("a"), datedBy},
	{"a fraction of a date", headed("Mon, 02 Jan 2006 15:04:05.", repeated("0")), datedBy},
	{"semicolons of cookies", repeated("; ;"), parsedCookies},
	{"quotes of cookies", repeated(`a="b; "`), parsedCookies},
	{"signs of cookies", repeated("=,= "), parsedCookies},
	{"a query", headed("http://h/?", counted("a%d=%%41&")), parsedURI},
	{"a fragment", headed("http://h/#", repeated("#?/%")), parsedURI},
	{"a scheme", repeated("a:"), parsedURI},
	{"user information", headed("http://", repeated("%41:")), parsedURI},
	{"a host of escapes", headed("http://", repeated("%41")), parsedURI},
	{"a host of dots", headed("http://", repeated("a.")), parsedURI},
	{"a host of capitals", headed("http://", repeated("A")), parsedURI},
	{"a zone of an address", headed("http://[fe80::1%25", repeated("a")), parsedURI},
	{"an address of colons", headed("http://[", repeated(":")), parsedURI},
	{"a port of zeros", headed("http://h:", repeated("0")), parsedURI},
	{"backslashes in a path", headed("/", repeated(`\..\/`)), parsedURI},
	{"a relative reference", repeated("../a/./"), parsedURI},
	{"a Host field", repeated("a.-"), readHost},
	{"a Host field of an address", headed("[", repeated("1:")), readHost},
	{"expectations", repeated("100-continue, "), func(in string) {
		var h RequestHeader
		readField(&h, "Expect: "+in)
	}},
	{"chunks", repeated("1\r\na\r\n"), func(in string) {
		var req Request
		if err := req.Read(bufio.NewReader(strings.NewReader("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + in + "0\r\n\r\n"))); err != nil {
			panic(err)
		}
	}},
}

// clientBehind finds the client of a request through proxies that have set a field.
func clientBehind(trusted TrustedProxies, name string) func(in string) {
	return func(in string) {
		var ctx RequestCtx
		ctx.Init(nil, proxyPeer, nil)
		ctx.s.trust = newProxyTrust(&trusted)
		readField(&ctx.Request.Header, name+": "+in)
		ctx.ClientIP()
		ctx.ClientScheme()
		ctx.ClientHost()
	}
}

func boundaryOf(in string) {
	var h RequestHeader
	h.SetContentType(in)
	h.MultipartFormBoundary()
}

func rangesOfFile(in string) { _, _ = files.ParseRanges(nil, []byte(in), 1000) }

var noFiles = files.New(&files.Settings{FS: fstest.MapFS{}, GenerateIndexPages: true, SkipCache: true})

// acceptedTypes chooses between a page for browsers and a page for programs, as for
// a directory.
func acceptedTypes(in string) {
	n, err := noFiles.Find(nil, files.EndsInSlash, []byte("/"))
	if err != nil {
		panic(err)
	}
	var h RequestHeader
	h.Set(HeaderAccept, in)
	noFiles.Choose(n, &h.head.List, false)
}

// nameOfFile does the work on a path before a file is opened.
func nameOfFile(in string) {
	_, _ = files.Name(in, true)
	_, _ = noFiles.Find([]byte(in), files.EndsInName, nil)
}

// parsedURI parses a URI as the target of a request, and as a reference to another
// URI.
func parsedURI(in string) {
	var u URI
	_ = u.Parse([]byte("h"), []byte(in))
	u.FullURI()
	u.QueryArgs()
	u.LastPathSegment()
	if err := u.Parse(nil, []byte("http://h/a/b?c")); err != nil {
		panic(err)
	}
	u.Update(in)
	u.RequestURI()
}

func readHost(in string) { http1.ValidHost([]byte(in)) }

// partHead is the start of a form.
const partHead = "--b\r\nContent-Disposition: form-data; name=a"

func readForm(in string) { formOf("b", in) }

func formOf(boundary, in string) {
	for _, end := range []string{"", "\r\n\r\nvalue\r\n--b--\r\n"} {
		var req Request
		req.Header.SetMultipartFormBoundary(boundary)
		req.SetBodyRaw([]byte(in + end))
		_, _ = req.MultipartForm()
		req.RemoveMultipartFormFiles()
	}
}

// decodedFrom decodes bodies with the codings, under the limit of a server.
func decodedFrom(codings string) func(in string) {
	return func(in string) {
		var req Request
		req.Header.SetContentEncoding(codings)
		req.SetBodyRaw([]byte(in))
		req.body.Limit = DefaultMaxRequestBodySize
		_, _ = req.BodyUncompressed()
	}
}

// packedZeros returns size bytes of encoded zeros. The decoded content is a thousand
// times as large.
func packedZeros(c coding.Coding) func(size int) string {
	return func(size int) string { return string(zeros(c, 900*size))[:size*8/10] }
}

func noiseText(size int) string { return string(servertest.Noise(size)) }

func chosenCoding(in string) { chosenCodings([]byte(in)) }

// chosenCodings chooses codings for the lines of an Accept-Encoding field.
func chosenCodings(lines ...[]byte) {
	var accepted coding.Accepted
	for _, line := range lines {
		accepted.Add(line)
	}
	accepted.Choose(coding.SetOf(coding.Deflate, coding.Gzip, coding.Zstd, coding.Brotli))
}

var hostileValidator = files.Validator{ETag: []byte(`"etag"`), Modified: time.Unix(1_000_000_000, 0)}

func matchedTags(in string) {
	var h RequestHeader
	for _, name := range []string{HeaderIfMatch, HeaderIfNoneMatch, HeaderIfRange} {
		h.Set(name, in)
		files.EvalPreconditions(&h.head.List, hostileValidator)
		files.RangeApplies(&h.head.List, hostileValidator, time.Now())
		h.Del(name)
	}
}

func parsedRanges(in string) {
	_, _ = files.ParseRanges(nil, []byte(in), 1<<20)
	_, _, _ = ParseByteRange([]byte(in), 1<<20)
}

// datedBy parses a date in all fields that have dates.
func datedBy(in string) {
	_, _ = ParseHTTPDate([]byte(in))
	httpdate.ParseCookie([]byte(in))
	var h RequestHeader
	for _, name := range []string{HeaderIfModifiedSince, HeaderIfUnmodifiedSince, HeaderIfRange} {
		h.Set(name, in)
		files.EvalPreconditions(&h.head.List, hostileValidator)
		files.RangeApplies(&h.head.List, hostileValidator, time.Now())
		h.Del(name)
	}
}

func parsedCookies(in string) {
	var c Cookie
	_ = c.Parse(in)
	_ = c.Parse("a=b; expires=" + in)
	var h RequestHeader
	readField(&h, "Cookie: "+in)
	h.Cookie("c")
	h.DelCookie("c")
	var resp ResponseHeader
	readLongHead(&resp.head, http1.Response, "HTTP/1.1 200 OK\r\nSet-Cookie: "+in+"\r\n\r\n")
	resp.PeekCookie("c")
}

// readLongHead reads a head without the limits of length and of fields, as with a
// large ReadBufferSize.
func readLongHead(h *header.Header, role http1.Role, head string) {
	var parser http1.Head
	h.Begin(&parser)
	parser.Limits = http1.Limits{Head: 2 * len(head), Line: 2 * len(head), Fields: len(head)}
	if n, err := h.Feed(role, &parser, []byte(head)); err != nil || n != len(head) {
		panic(fmt.Sprint("a head was not read: ", n, err))
	}
}

// readField reads a request head with a field, and does the work that a header
// postpones until a program asks for the field.
func readField(h *RequestHeader, line string) {
	readLongHead(&h.head, http1.Request, "POST / HTTP/1.1\r\nHost: h\r\n"+line+"\r\n\r\n")
	h.PeekAll(HeaderTrailer)
	for range h.All() {
	}
}

// An input of ten times the length may take 25 times the processor time: an input that no
// longer fits into the processor's cache has taken 17 times. If the time grows with the length
// to the power of 1.5, it takes 31 times. There are several attempts: a busy machine is slow
// in some of them, but worse growth shows in all.
func TestHostileInputsTakeTimeInProportion(t *testing.T) {
	if testing.Short() || servertest.RaceDetector {
		t.Skip("it measures times")
	}
	// inputs of megabytes would make the garbage collector run all the time, and a part of its
	// work would count
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	const small = 10 << 10
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{small, 10 * small} {
				short, long := c.make(size), c.make(10*size)
				if had, took, ok := proportional(c.run, short, long); !ok {
					t.Fatalf("%d bytes take %v, and %d take %v", len(short), had, len(long), took)
				}
			}
		})
	}
}

// memoryPerByte is how many bytes may be allocated for a received byte, including freed ones. The
// largest users are lists of pairs with a byte or two of text, and the maps of mime/multipart,
// whose limits bound their number. docs/security.md has a table.
const memoryPerByte = 70

// decodedPerByte is the same for bodies that are decoded: their decoded content has a separate
// limit.
const decodedPerByte = 300

func TestHostileInputsTakeMemoryInProportion(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector takes memory")
	}
	for _, c := range hostile {
		bound := memoryPerByte
		if strings.HasSuffix(c.name, "body of zeros") {
			bound = decodedPerByte
		}
		in := c.make(64 << 10)
		// memory of other goroutines counts as well, so the least measurement is used
		least := uint64(math.MaxUint64)
		for range 4 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.run(in)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if perByte := float64(least) / float64(len(in)); perByte > float64(bound) {
			t.Errorf("%s: %.1f bytes for a byte received, want %d at most", c.name, perByte, bound)
		}
	}
}

// The test detects growth worse than linear.
func TestTimeOutOfProportionShows(t *testing.T) {
	if testing.Short() || servertest.RaceDetector {
		t.Skip("it measures times")
	}
	var sum int
	squared := func(in string) {
		for i := range len(in) {
			sum += strings.Count(in[:i], "b")
		}
	}
	if had, took, ok := proportional(squared, strings.Repeat("a", 10<<10), strings.Repeat("a", 100<<10)); ok {
		t.Errorf("10 KiB take %v, and 100 KiB take %v", had, took)
	}
}

// proportional reports whether run takes as long as the ratio of the lengths allows, and
// the times of its last attempt.
func proportional(run func(string), short, long string) (had, took time.Duration, ok bool) {
	const factor = 2.5
	// the error of the clock, and of the first use of memory, in measurements of
	// microseconds
	const noise = 50 * time.Microsecond
	for far, tries := 0, 0; far < 3 && tries < 20; tries++ {
		had = fastest(func() { run(short) }, 0)
		bound := time.Duration(factor * float64(len(long)) / float64(len(short)) * float64(had+noise))
		if took = fastest(func() { run(long) }, bound); took <= bound {
			return had, took, true
		}
		if took > 3*bound {
			far++
		}
	}
	return had, took, false
}

// fastest returns the least time that f takes in some attempts. It stops early if f
// takes long, or no longer than enough.
func fastest(f func(), enough time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := time.Hour
	for range 3 {
		begin := processorTime()
		f()
		if best = min(best, processorTime()-begin); best > 200*time.Millisecond || best <= enough {
			break
		}
	}
	return best
}

func TestTrailerNamesAreBounded(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if err := h.SetTrailer(counted("a%d,")(1000)[:len("a0,")*10+len("a10,")*54-1]); err != nil {
			t.Errorf("%d names: %v", http1.MaxTrailerNames, err)
		}
		if err := h.AddTrailer("A0, a63"); err != nil {
			t.Errorf("names that were added before: %v", err)
		}
		if err := h.AddTrailer("one-more"); err != ErrBadTrailer {
			t.Errorf("one name more: %v", err)
		}
		if n := len(h.PeekTrailerKeys()); n != http1.MaxTrailerNames {
			t.Errorf("%d names", n)
		}
	})
	var h RequestHeader
	readField(&h, "Trailer: "+counted("x-%x,")(60<<10))
	if n := len(h.PeekTrailerKeys()); n != http1.MaxTrailerNames {
		t.Errorf("%d names of a peer", n)
	}
	var req Request
	section := strings.ReplaceAll(counted("a%d: 1\n")(500), "\n", "\r\n")
	err := req.Read(bufio.NewReader(strings.NewReader(
		"POST / HTTP/1.1\r\nHost: h\r\nTrailer: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + section + "\r\n")))
	if fields := strings.Count(section, "\n"); err != nil || fields <= http1.MaxTrailerNames || len(req.Header.PeekTrailerKeys()) != fields+1 {
		t.Errorf("a trailer section of %d fields: %v", fields, err)
	}
}
