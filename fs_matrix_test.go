package fasthttp

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// rangeModel has, by hand, the ranges of each Range field of the matrix, as first
// and last bytes. It is nil if the field is malformed, and empty if no range can be
// satisfied.
var rangeModel = map[string]func(size int) [][2]int{
	"":                  func(int) [][2]int { return nil },
	"items=0-1":         func(int) [][2]int { return nil },
	"bytes=0-4":         func(int) [][2]int { return [][2]int{{0, 4}} },
	"bytes=-5":          func(n int) [][2]int { return [][2]int{{n - 5, n - 1}} },
	"bytes=7-":          func(n int) [][2]int { return [][2]int{{7, n - 1}} },
	"bytes=0-1,8-9":     func(int) [][2]int { return [][2]int{{0, 1}, {8, 9}} },
	"bytes=8-9, 0-1":    func(int) [][2]int { return [][2]int{{8, 9}, {0, 1}} },
	"bytes=0-5,3-9":     func(int) [][2]int { return [][2]int{{0, 9}} },
	"bytes=99999999-":   func(int) [][2]int { return [][2]int{} },
	"bytes=1-2,999999-": func(int) [][2]int { return [][2]int{{1, 2}} },
}

// expected is the response that RFC 9110 requires.
type expected struct {
	status int
	coding string
	ranges [][2]int
}

// expect follows sections 13.2.2, 12.5.3 and 14.2 for a file with a weak tag. Ranges
// apply only to the plain content.
func expect(tags map[string]string, fields map[string]string, size int) expected {
	e := expected{status: 200}
	if _, ok := fields["Range"]; !ok && fields["Accept-Encoding"] != "" {
		e.coding = "gzip"
	}
	e.status = conditionModel{tags[e.coding], modelTime}.status(fields)
	if e.status != 200 {
		return e
	}
	ranges := rangeModel[fields["Range"]](size)
	if value, ok := fields["If-Range"]; ok && ranges != nil && !(conditionModel{tags[""], modelTime}).rangeApplies(value) {
		ranges = nil
	}
	switch {
	case ranges == nil:
	case len(ranges) == 0:
		e.status = 416
	default:
		e.status, e.ranges = 206, ranges
	}
	return e
}

// axis is a field of the requests of the matrix, and its values. An empty value
// leaves the field out.
type axis struct {
	name   string
	values []string
}

// matrix returns the axes for a file. tags are the tags of its content by coding.
func matrix(tags map[string]string) []axis {
	return []axis{
		{"Range", slices.Collect(maps.Keys(rangeModel))},
		{"Accept-Encoding", []string{"", "gzip"}},
		{"If-None-Match", []string{"", "*", `"no"`, tags[""], tags["gzip"], `"no", ` + tags[""]}},
		{"If-Modified-Since", []string{"", "same", "before"}},
		{"If-Match", []string{"", tags[""]}},
		{"If-Range", []string{"", "same", "after", tags[""]}},
	}
}

// combinations yields the fields of each request of a matrix.
func combinations(axes []axis) iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		if len(axes) == 0 {
			yield(map[string]string{})
			return
		}
		first := axes[0]
		for rest := range combinations(axes[1:]) {
			for _, value := range first.values {
				fields := maps.Clone(rest)
				if value != "" {
					fields[first.name] = value
				}
				if !yield(fields) {
					return
				}
			}
		}
	}
}

// TestMatrix combines conditions, ranges, codings and methods.
func TestMatrix(t *testing.T) {
	t.Parallel()
	small, large := strings.Repeat("0123456789", 100), long[:files.MaxSmall+1]
	root := plant(t, map[string]string{"small.txt": small, "large.txt": large})
	cached := &FS{Root: root}
	memory := &FS{FS: mapOf(root, "small.txt", "large.txt")}
	type row struct {
		name, target, text string
		fs                 *FS
	}
	for _, c := range servertest.Some(t, []row{
		{"small and cached", "/small.txt", small, cached},
		{"large and cached", "/large.txt", large, cached},
		{"small and in memory", "/small.txt", small, memory},
		{"large and in memory", "/large.txt", large, memory},
	}) {
		t.Run(c.name, func(t *testing.T) {
			c.fs.AcceptByteRange, c.fs.GenerateETag, c.fs.Compress = true, true, true
			h := c.fs.NewRequestHandler()
			tags := map[string]string{
				"":     askFor(t, h, "GET", c.target).get("Etag"),
				"gzip": askFor(t, h, "GET", c.target, "Accept-Encoding", "gzip").get("Etag"),
			}
			for coding, tag := range tags {
				modelTagSets[tag] = []string{tag}
				modelTagSets[`"no", `+tag] = []string{`"no"`, tag}
				if tag == "" {
					t.Fatalf("no tag of %q", coding)
				}
			}
			for fields := range combinations(matrix(tags)) {
				want := expect(tags, fields, len(c.text))
				for _, method := range []string{"GET", "HEAD"} {
					what := fmt.Sprintf("%s %q", method, fields)
					checkMatrix(t, what, h, method, c.target, fields, want, tags, c.text)
				}
			}
		})
	}
}

func checkMatrix(t *testing.T, what string, h RequestHandler, method, target string, fields map[string]string, want expected, tags map[string]string, text string) {
	t.Helper()
	var list []string
	for name, value := range fields {
		if date, ok := modelDates[value]; ok {
			value = string(AppendHTTPDate(nil, date))
		}
		list = append(list, name, value)
	}
	a := askFor(t, h, method, target, list...)
	if a.status != want.status {
		t.Fatalf("%s: got %d, want %d", what, a.status, want.status)
	}
	switch want.status {
	case 412:
		return
	case 416:
		if got := a.get("Content-Range"); got != fmt.Sprintf("bytes */%d", len(text)) {
			t.Fatalf("%s: Content-Range is %q", what, got)
		}
		return
	}
	if a.get("Etag") != tags[want.coding] || a.get("Vary") != "Accept-Encoding" {
		t.Fatalf("%s: Etag is %s, Vary %s", what, a.get("Etag"), a.get("Vary"))
	}
	if want.status == 304 {
		if a.body != "" || a.get("Content-Encoding") != "" {
			t.Fatalf("%s: 304 with content:\n%s", what, a.header)
		}
		return
	}
	if got := a.get("Content-Encoding"); got != want.coding || a.get("Accept-Ranges") != "bytes" {
		t.Fatalf("%s: the coding is %q, want %q", what, got, want.coding)
	}
	if method == "HEAD" {
		if a.body != "" {
			t.Fatalf("%s: a body of %d bytes", what, len(a.body))
		}
		same := askFor(t, h, "GET", target, list...)
		length := a.header.ContentLength()
		if length != len(same.body) {
			t.Fatalf("%s: the length is %d, that of GET %d", what, length, len(same.body))
		}
		same.header.SetContentLength(length)
		for _, h := range []*ResponseHeader{a.header, same.header} {
			// the date may change between the two
			h.head.SetState(header.NoDefaultDate, true)
		}
		if len(want.ranges) < 2 && a.header.String() != same.header.String() {
			t.Fatalf("%s: the header is\n%s, that of GET\n%s", what, a.header, same.header)
		}
		return
	}
	switch len(want.ranges) {
	case 0:
		// decoding takes most of the time, and the same content occurs many times
		known := len(decodedBefore[text]) > 0 && decodedBefore[text] == a.body
		if want.coding == "" && a.body != text || want.coding != "" && !known && a.decode(t) != text {
			t.Fatalf("%s: the content is another one", what)
		}
		if want.coding != "" {
			decodedBefore[text] = a.body
		}
	case 1:
		r := want.ranges[0]
		if got := a.get("Content-Range"); a.body != text[r[0]:r[1]+1] || got != fmt.Sprintf("bytes %d-%d/%d", r[0], r[1], len(text)) {
			t.Fatalf("%s: Content-Range %q with %.100q", what, got, a.body)
		}
	default:
		checkParts(t, what, a, want.ranges, text)
	}
}

// decodedBefore maps encoded content to its decoded content.
var decodedBefore = map[string]string{}

func checkParts(t *testing.T, what string, a fileAnswer, ranges [][2]int, text string) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(string(a.header.ContentType()))
	if err != nil || kind != "multipart/byteranges" || a.get("Content-Range") != "" {
		t.Fatalf("%s: the type is %q, %v", what, kind, err)
	}
	r := multipart.NewReader(bytes.NewReader([]byte(a.body)), params["boundary"])
	for _, want := range ranges {
		part, err := r.NextRawPart()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := io.ReadAll(part)
		contentRange := fmt.Sprintf("bytes %d-%d/%d", want[0], want[1], len(text))
		if err != nil || string(got) != text[want[0]:want[1]+1] || part.Header.Get("Content-Range") != contentRange || part.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("%s: %v with %q", what, part.Header, got)
		}
	}
	if _, err := r.NextRawPart(); err != io.EOF {
		t.Fatalf("%s: %v after the last part", what, err)
	}
}

func TestRangesAreIgnoredUnlessAccepted(t *testing.T) {
	h := (&FS{Root: plant(t, map[string]string{"a.txt": "0123456789"})}).NewRequestHandler()
	a := askFor(t, h, "GET", "/a.txt", "Range", "bytes=0-1")
	a.check(t, "range", 200, "0123456789")
	if a.get("Accept-Ranges") != "" {
		t.Error("ranges are announced")
	}
}

// Known failure 48.
func TestRangesOfAnEmptyFileAreNotSatisfiable(t *testing.T) {
	h := FSHandler(plant(t, map[string]string{"empty": ""}), 0)
	for _, value := range []string{"bytes=-1", "bytes=0-", "bytes=0-0", "bytes=-1,-2"} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := askFor(t, h, method, "/empty", "Range", value); a.status != 416 || a.get("Content-Range") != "bytes */0" {
				t.Errorf("%s %s: got %d %q", method, value, a.status, a.get("Content-Range"))
			}
		}
	}
}

func TestRangesOfFilesThatCannotBeReadAnywhere(t *testing.T) {
	h := (&FS{FS: onlyReadable{mapOf(plant(t, map[string]string{"a.txt": long}), "a.txt")}, AcceptByteRange: true}).NewRequestHandler()
	askFor(t, h, "GET", "/a.txt", "Range", "bytes=100000-100009").check(t, "one", 206, long[100000:100010])
	// RFC 9110 section 14.2: a server may ignore the field
	askFor(t, h, "GET", "/a.txt", "Range", "bytes=0-1,5-6").check(t, "two", 200, long)
}
