package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestMemoryForHostileInputIsDocumented measures how many bytes a parser allocates for a received byte, and
// compares that with the table of security.md. The inputs have as many parts as the limits permit, and
// parts that are as small as possible.
func TestMemoryForHostileInputIsDocumented(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector takes memory")
	}
	counted := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	get := func(target, fields string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"
	}
	post := func(contentType, body string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
	}
	const form, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	const part = "--b\r\nContent-Disposition: form-data; name=a"
	readForm := func(r *fasthttp.Request) { _, _ = r.MultipartForm() }
	inputs := map[string]struct {
		text string
		then func(r *fasthttp.Request)
	}{
		"parts of a multipart form, by mime/multipart":     {post(multipart, counted("--b\r\nContent-Disposition:form-data;name=%d\r\n\r\n\r\n", 999)+"--b--\r\n"), readForm},
		"fields of the parts of a form, by mime/multipart": {post(multipart, part+counted("; x%d*0*=''%%41", 4000)+"\r\n\r\n\r\n--b--\r\n"), readForm},
		"cookies":              {get("/", "Cookie: "+strings.Repeat("a;", 30_000)+"\r\n"), func(r *fasthttp.Request) { r.Header.Cookie("b") }},
		"arguments of a query": {get("/?"+strings.Repeat("a&", 8000), ""), func(r *fasthttp.Request) { r.URI().QueryArgs() }},
		"arguments of a form":  {post(form, strings.Repeat("a&", 9_999)), func(r *fasthttp.Request) { r.PostArgs() }},
		"fields of a head":     {get("/", strings.Repeat("a:\r\n", 490)), func(*fasthttp.Request) {}},
	}
	for _, row := range rows(t, "security.md", "Input", "Allocated for a byte", "Limited by") {
		input, known := inputs[row[0]]
		if !known {
			t.Errorf("%q is not measured", row[0])
			continue
		}
		delete(inputs, row[0])
		documented, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Error(err)
		}
		allocated := float64(allocatedBy(t, input.text, input.then)) / float64(len(input.text))
		t.Logf("%s: %.1f", row[0], allocated)
		if math.Abs(allocated-documented) > documented/10+1 {
			t.Errorf("%s: %.1f bytes are allocated for a byte, %s are documented", row[0], allocated, row[1])
		}
	}
	for name := range inputs {
		t.Errorf("security.md does not have %q", name)
	}
}

// allocatedBy returns how many bytes it takes to read a request, and to do something with it. Other goroutines
// allocate as well, so the least measurement counts.
func allocatedBy(t *testing.T, text string, then func(r *fasthttp.Request)) uint64 {
	t.Helper()
	var in bytes.Reader
	br := bufio.NewReaderSize(&in, 64<<10)
	least := uint64(math.MaxUint64)
	for range 4 {
		in.Reset([]byte(text))
		br.Reset(&in)
		r := new(fasthttp.Request)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := r.Read(br)
		then(r)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%.40q: %v", text, err)
		}
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
