package fasthttp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/forms"
	"github.com/valyala/fasthttp/internal/servertest"
)

const formType = "multipart/form-data; boundary=xx"

// formText is a form with two values and a file.
const formText = "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n" +
	"--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n" +
	"--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nfile text\r\n" +
	"--xx--\r\n"

// formSaid returns a form as plain text, which tests compare.
func formSaid(t testing.TB, form *multipart.Form) string {
	t.Helper()
	var said strings.Builder
	for _, key := range slices.Sorted(maps.Keys(form.Value)) {
		fmt.Fprintf(&said, "%s=%q;", key, form.Value[key])
	}
	for _, key := range slices.Sorted(maps.Keys(form.File)) {
		for _, fh := range form.File[key] {
			fmt.Fprintf(&said, "%s:%s:%q;", key, fh.Filename, fileText(t, fh))
		}
	}
	return said.String()
}

const formTextSaid = `a=["1" "2"];f:n.txt:"file text";`

func fileText(t testing.TB, fh *multipart.FileHeader) string {
	t.Helper()
	f, err := fh.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || int64(len(b)) != fh.Size {
		t.Fatalf("read %d of %d bytes: %v", len(b), fh.Size, err)
	}
	return string(b)
}

// largeForm returns a form with a file of that size, which does not fit into memory.
func largeForm(size int) string {
	return "--xx\r\nContent-Disposition: form-data; name=\"v\"\r\n\r\nvalue\r\n" +
		"--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"large\"\r\n\r\n" + strings.Repeat("x", size) + formEnd
}

const formEnd = "\r\n--xx--\r\n"

func formRequest(contentType, body string) *Request {
	req := &Request{}
	req.Header.SetMethod("POST")
	req.SetRequestURI("http://h/p")
	req.Header.SetContentType(contentType)
	req.SetBodyString(body)
	return req
}

func formStreamRequest(body string, size int) *Request {
	req := formRequest(formType, "")
	req.SetBodyStream(strings.NewReader(body), size)
	return req
}

// tempFiles gives the test its own directory for temporary files, and returns a
// function that lists them.
func tempFiles(t testing.TB) func() []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
}

func TestMultipartFormIsParsedOnce(t *testing.T) {
	for name, req := range map[string]*Request{
		"buffered":       formRequest(formType, formText),
		"quoted":         formRequest(`Multipart/Form-Data; Boundary="xx"`, formText),
		"with epilogue":  formRequest(formType, formText+"GET / HTTP/1.1\r\n\r\n"),
		"with preamble":  formRequest(formType, "preamble\r\n"+formText),
		"streamed":       formStreamRequest(formText, -1),
		"of known size":  formStreamRequest(formText, len(formText)),
		"without blanks": formRequest(formType, strings.ReplaceAll(formText, "; ", ";")),
	} {
		form, err := req.MultipartForm()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := formSaid(t, form); got != formTextSaid {
			t.Errorf("%s: %s", name, got)
		}
		if again, err := req.MultipartForm(); again != form || err != nil {
			t.Errorf("%s: the second time it is %p, %v, not %p", name, again, err, form)
		}
		if req.body.Stream != nil {
			t.Errorf("%s: there is a stream still", name)
		}
		req.Reset()
		if _, err := req.MultipartForm(); err != ErrNoMultipartForm {
			t.Errorf("%s: after Reset: %v", name, err)
		}
	}
}

func TestMultipartFormThatIsNone(t *testing.T) {
	for _, contentType := range []string{"", "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=xx"} {
		if _, err := formRequest(contentType, formText).MultipartForm(); err != ErrNoMultipartForm {
			t.Errorf("%q: %v", contentType, err)
		}
	}
	for _, body := range []string{
		"", "junk", "--xx", "--xx\r\nno colon\r\n\r\nvalue\r\n--xx--\r\n",
		formText[:len(formText)-len("--\r\n")], formText[:len(formText)/2],
	} {
		for _, req := range []*Request{formRequest(formType, body), formStreamRequest(body, -1)} {
			for range 2 {
				if form, err := req.MultipartForm(); form != nil || err == nil {
					t.Errorf("%q: %v, %v", body, form, err)
				}
			}
			// a later body may be well-formed
			req.SetBodyString(formText)
			if _, err := req.MultipartForm(); err != nil {
				t.Errorf("a good body after %q: %v", body, err)
			}
		}
	}
	req := formRequest(formType, "junk")
	if _, err := req.MultipartForm(); err == nil || string(req.Body()) != "junk" {
		t.Errorf("a body that is no form has become %q", req.Body())
	}
}

func TestMultipartFormLimit(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(formText))
	_ = w.Close()
	for name, newRequest := range map[string]func() *Request{
		"buffered":      func() *Request { return formRequest(formType, formText) },
		"streamed":      func() *Request { return formStreamRequest(formText, -1) },
		"of known size": func() *Request { return formStreamRequest(formText, len(formText)) },
		"gzip": func() *Request {
			req := formRequest(formType, packed.String())
			req.Header.SetContentEncoding("gzip")
			return req
		},
	} {
		for _, tt := range []struct {
			limit int
			ok    bool
		}{
			{-1, true},
			{0, true},
			{1, false},
			{len(formText) - 1, false},
			{len(formText), true},
			{len(formText) + 1, true},
		} {
			req := newRequest()
			form, err := req.MultipartFormWithLimit(tt.limit)
			if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, ErrBodyTooLarge) {
				t.Errorf("%s, limit %d: %v", name, tt.limit, err)
			}
			if tt.ok && formSaid(t, form) != formTextSaid {
				t.Errorf("%s, limit %d: %s", name, tt.limit, formSaid(t, form))
			}
			// a form that was parsed without a limit may still exceed one
			req = newRequest()
			if _, err := req.MultipartForm(); err != nil {
				t.Fatal(err)
			}
			if _, err := req.MultipartFormWithLimit(tt.limit); tt.ok != (err == nil) {
				t.Errorf("%s, limit %d the second time: %v", name, tt.limit, err)
			}
		}
	}
	req := formRequest(formType, formText)
	if _, err := req.MultipartFormWithLimit(10); err == nil {
		t.Fatal("there is no limit")
	}
	if _, err := req.MultipartFormWithLimit(1000); err != nil {
		t.Errorf("a higher limit: %v", err)
	}
}

// TestMultipartPartsAreLimited checks known failure 4 for forms: the number of parts
// and the size of their headers and values are limited.
func TestMultipartPartsAreLimited(t *testing.T) {
	t.Parallel()
	parts := func(n int) string {
		return strings.Repeat("--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n", n) + "--xx--\r\n"
	}
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"1000 parts":   {parts(1000), true},
		"1001 parts":   {parts(1001), false},
		"20000 fields": {"--xx\r\n" + strings.Repeat("X-Field: a\r\n", 20_000) + "\r\n\r\n--xx--\r\n", false},
	} {
		for _, req := range []*Request{formRequest(formType, tt.body), formStreamRequest(tt.body, -1)} {
			if _, err := req.MultipartForm(); tt.ok != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	field := "--xx\r\nX-Field: " + strings.Repeat("a", formMemory+11<<20) + "\r\n\r\n\r\n--xx--\r\n"
	if _, err := formStreamRequest(field, -1).MultipartForm(); !errors.Is(err, multipart.ErrMessageTooLarge) {
		t.Errorf("a field that does not fit into memory: %v", err)
	}
	value := "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("a", formMemory+11<<20) + "\r\n--xx--\r\n"
	if _, err := formStreamRequest(value, -1).MultipartForm(); !errors.Is(err, multipart.ErrMessageTooLarge) {
		t.Errorf("a value that does not fit into memory: %v", err)
	}
}

// TestLargeFilesOfAFormAreSpooled checks known failure 26: files that do not fit
// into memory are on the disk, and are removed in every way in which the form can
// end.
func TestLargeFilesOfAFormAreSpooled(t *testing.T) {
	files := tempFiles(t)
	text := largeForm(formMemory + 1)
	for name, end := range map[string]func(req *Request){
		"Reset":                    (*Request).Reset,
		"ReleaseRequest":           ReleaseRequest,
		"SetBody":                  func(req *Request) { req.SetBodyString("x") },
		"ResetBody":                (*Request).ResetBody,
		"RemoveMultipartFormFiles": (*Request).RemoveMultipartFormFiles,
	} {
		req := formStreamRequest(text, -1)
		form, err := req.MultipartForm()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(files()); n != 1 {
			t.Errorf("%s: there are %d files before", name, n)
		}
		if got := fileText(t, form.File["f"][0]); len(got) != formMemory+1 {
			t.Errorf("%s: the file has %d bytes", name, len(got))
		}
		end(req)
		if left := files(); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
	for _, text := range []string{text[:len(text)-10], largeForm(10 << 20)} {
		req := formStreamRequest(text, -1)
		if _, err := req.MultipartFormWithLimit(8 << 20); err == nil {
			t.Error("a broken form was parsed")
		}
		if left := files(); len(left) > 0 {
			t.Errorf("a form that failed has left %q", left)
		}
	}
	// a form whose body is in memory writes no file to the disk
	req := formRequest(formType, text)
	if _, err := req.MultipartForm(); err != nil || len(files()) > 0 {
		t.Errorf("a buffered form: %v, %q", err, files())
	}
}

func TestFilesOfAForgottenFormAreRemoved(t *testing.T) {
	files := tempFiles(t)
	large := largeForm(formMemory + 1)
	two := strings.TrimSuffix(large, "--\r\n") + "\r\n" + strings.TrimPrefix(large, "--xx\r\n")
	fh := func() *multipart.FileHeader {
		req := formStreamRequest(two, -1)
		form, err := req.MultipartForm()
		if err != nil || len(form.File["f"]) != 2 {
			t.Fatal(form, err)
		}
		return form.File["f"][1]
	}()
	// if two forms share a temporary file, it exists as long as either of them
	for range 3 {
		runtime.GC()
		if n := len(fileText(t, fh)); n != formMemory+1 {
			t.Errorf("the file has %d bytes", n)
		}
	}
	runtime.KeepAlive(fh)
	fh = nil
	servertest.Eventually(t, "no temporary files", func() bool {
		runtime.GC()
		return len(files()) == 0
	})
}

func TestRemovedFormIsParsedAgainIfItCanBe(t *testing.T) {
	req := formRequest(formType, formText)
	req.RemoveMultipartFormFiles()
	for range 2 {
		form, err := req.MultipartForm()
		if err != nil || formSaid(t, form) != formTextSaid {
			t.Fatalf("%v, %v", form, err)
		}
		req.RemoveMultipartFormFiles()
	}
	req = formStreamRequest(formText, -1)
	if _, err := req.MultipartForm(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		req.RemoveMultipartFormFiles()
		if form, err := req.MultipartForm(); form != nil || err == nil {
			t.Errorf("a stream was parsed twice: %v, %v", form, err)
		}
	}
	if body := req.Body(); len(body) > 0 {
		t.Errorf("the body is %q", body)
	}
}

// TestFormThatWasAStreamIsStillABody reads, copies and sends a request after its
// streamed body was parsed as a form.
func TestFormThatWasAStreamIsStillABody(t *testing.T) {
	parsed := func() *Request {
		req := formStreamRequest(formText, -1)
		if _, err := req.MultipartForm(); err != nil {
			t.Fatal(err)
		}
		return req
	}
	var buf bytes.Buffer
	if err := parsed().BodyWriteTo(&buf); err != nil || buf.String() != formText {
		t.Errorf("BodyWriteTo: %q, %v", buf.String(), err)
	}
	req := parsed()
	for range 2 {
		if body := string(req.Body()); body != formText {
			t.Errorf("Body: %q", body)
		}
	}
	if form, err := req.MultipartForm(); err != nil || formSaid(t, form) != formTextSaid {
		t.Errorf("after Body: %v", err)
	}
	if old := parsed().SwapBody(nil); string(old) != formText {
		t.Errorf("SwapBody: %q", old)
	}
	// the body is still a stream, as in v1.77.0, and at its end
	req = parsed()
	if rest, err := io.ReadAll(req.BodyStream()); !req.IsBodyStream() || err != nil || len(rest) > 0 {
		t.Errorf("a stream: %v, of which %q is left, %v", req.IsBodyStream(), rest, err)
	}
	var dst Request
	parsed().CopyTo(&dst)
	if form, err := dst.MultipartForm(); err != nil || formSaid(t, form) != formTextSaid {
		t.Errorf("a copy: %v", err)
	}
	req = parsed()
	for range 2 {
		text := req.String()
		if !strings.HasSuffix(text, "\r\n\r\n"+formText) || !strings.Contains(text, fmt.Sprintf("Content-Length: %d\r\n", len(formText))) {
			t.Errorf("it is sent as %q", text)
		}
	}

	files := tempFiles(t)
	text := largeForm(formMemory + 1)
	req = formStreamRequest(text, -1)
	if _, err := req.MultipartForm(); err != nil {
		t.Fatal(err)
	}
	buf.Reset()
	if _, err := req.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	if _, body, _ := strings.Cut(buf.String(), "\r\n\r\n"); body != text {
		t.Errorf("a spooled form is sent with %d bytes, not %d", len(body), len(text))
	}
	// a missing file cuts the message off
	for _, name := range files() {
		_ = os.Remove(name)
	}
	if _, err := req.WriteTo(io.Discard); err == nil {
		t.Error("a form with a missing file was sent")
	}
}

// Some clients use boundaries that RFC 2046 section 5.1.1 does not allow, which mime/multipart reads
// and does not write. What is sent has another one.
func TestFormWithAnInvalidBoundaryIsSentOn(t *testing.T) {
	for _, boundary := range []string{"*****", "a@b", "{x}", strings.Repeat("-", 80)} {
		parsed := func() *Request {
			req := formStreamRequest(strings.ReplaceAll(formText, "--xx", "--"+boundary), -1)
			req.Header.SetContentType("multipart/form-data; boundary=\"" + boundary + "\"")
			if form, err := req.MultipartForm(); err != nil || formSaid(t, form) != formTextSaid {
				t.Fatalf("%q: %v", boundary, err)
			}
			return req
		}
		for name, send := range map[string]func(req *Request, sent *bytes.Buffer) error{
			"WriteTo": func(req *Request, sent *bytes.Buffer) error { _, err := req.WriteTo(sent); return err },
			"Body":    func(req *Request, sent *bytes.Buffer) error { req.Body(); _, err := req.WriteTo(sent); return err },
			"CopyTo": func(req *Request, sent *bytes.Buffer) error {
				var dst Request
				req.CopyTo(&dst)
				_, err := dst.WriteTo(sent)
				return err
			},
		} {
			var sent bytes.Buffer
			err := send(parsed(), &sent)
			var again Request
			if err == nil {
				err = again.Read(bufio.NewReader(&sent))
			}
			if err != nil {
				t.Errorf("%q, %s: %v", boundary, name, err)
				continue
			}
			if form, err := again.MultipartForm(); err != nil || formSaid(t, form) != formTextSaid {
				t.Errorf("%q, %s: %v, sent as %q", boundary, name, err, again.Body())
			}
		}
	}
	// the body is unchanged if it is in memory
	text := strings.ReplaceAll(formText, "--xx", "--*****")
	req := formRequest("multipart/form-data; boundary=*****", text)
	if _, err := req.MultipartForm(); err != nil || string(req.Body()) != text || string(req.Header.MultipartFormBoundary()) != "*****" {
		t.Errorf("%v, %q", err, req.String())
	}
}

func TestEncodedForms(t *testing.T) {
	for _, tt := range []struct {
		coding coding.Coding
		names  []string
	}{
		{coding.Gzip, []string{"gzip", "GZIP", "x-gzip", " gzip "}},
		{coding.Deflate, []string{"deflate"}},
		{coding.Brotli, []string{"br"}},
		{coding.Zstd, []string{"zstd"}},
	} {
		packed := string(coding.AppendEncoded(nil, []byte(formText), tt.coding, 1))
		for _, name := range tt.names {
			for _, streamed := range []bool{false, true} {
				req := formRequest(formType, packed)
				if streamed {
					req.SetBodyStream(strings.NewReader(packed), -1)
				}
				req.Header.SetContentEncoding(name)
				field := string(req.Header.ContentEncoding())
				form, err := req.MultipartForm()
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if got := formSaid(t, form); got != formTextSaid {
					t.Errorf("%s: %s", name, got)
				}
				want := packed
				if streamed {
					want, field = formText, ""
				}
				if string(req.Body()) != want || string(req.Header.ContentEncoding()) != field {
					t.Errorf("%s: the body is %q with the coding %q", name, req.Body(), req.Header.ContentEncoding())
				}
			}
			req := formRequest(formType, packed[:len(packed)/2])
			req.Header.SetContentEncoding(name)
			if _, err := req.MultipartForm(); err == nil {
				t.Errorf("%s: a body that was cut off was parsed", name)
			}
			req = formRequest(formType, formText)
			req.Header.SetContentEncoding(name)
			if _, err := req.MultipartForm(); err == nil {
				t.Errorf("%s: a body that is not encoded so was parsed", name)
			}
		}
	}
	for _, name := range []string{"foo", "gzip, foo", "gzip, zstd", "zstd, zstd", "gzip, gzip, gzip, gzip, gzip"} {
		req := formRequest(formType, formText)
		req.Header.SetContentEncoding(name)
		if _, err := req.MultipartForm(); !errors.Is(err, ErrContentEncodingUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"identity", "identity, identity"} {
		req := formRequest(formType, formText)
		req.Header.SetContentEncoding(name)
		if _, err := req.MultipartForm(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEncodedFormThatIsABomb checks known failure 41 for forms.
func TestEncodedFormThatIsABomb(t *testing.T) {
	if testing.Short() || servertest.RaceDetector {
		t.Skip("unpacks 256 MiB, which takes a minute under the race detector")
	}
	files := tempFiles(t)
	// two gzip members make one content
	packed := AppendGzipBytes(nil, []byte("--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"bomb\"\r\n\r\n"))
	packed = append(packed, zeros(coding.Gzip, coding.DefaultDecodedSize+1<<20)...)
	req := formRequest(formType, string(packed))
	req.Header.SetContentEncoding("gzip")
	if _, err := req.MultipartForm(); !errors.Is(err, ErrBodyTooLarge) || len(files()) > 0 {
		t.Errorf("%v, left %q", err, files())
	}
}

// FuzzMultipartForm checks that a body either fails, or gives the same form after it
// was written and parsed again, whether it was buffered or a stream.
func FuzzMultipartForm(f *testing.F) {
	for _, body := range []string{
		"", "--xx--\r\n", formText, formText + "epilogue", strings.ReplaceAll(formText, "\r\n", "\n"),
		strings.Replace(formText, `"f"`, `"f\"\\"`, 1), strings.Replace(formText, "n.txt", "../../\xff\x00", 1),
		strings.Replace(formText, "text/plain", "text/plain\r\nX-A: b\r\nX-A: c", 1),
		strings.Replace(formText, "text/plain", "text/plain\r\nContent-Transfer-Encoding: quoted-printable", 1),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		buffered, streamed := formRequest(formType, body), formStreamRequest(body, -1)
		form, err := buffered.MultipartForm()
		other, otherErr := streamed.MultipartForm()
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("buffered: %v, streamed: %v", err, otherErr)
		}
		if err != nil {
			return
		}
		said := formSaid(t, form)
		if got := formSaid(t, other); got != said {
			t.Fatalf("buffered it is %s, streamed %s", said, got)
		}
		// the name of a value cannot have line ends, and no name can have NUL
		brokenKeys := strings.Contains(said, "\x00") || slices.ContainsFunc(slices.Collect(maps.Keys(form.Value)), func(key string) bool {
			return strings.ContainsAny(key, "\r\n")
		})
		// the content must not have the boundary by chance
		const boundary = "a-boundary-that-is-hard-to-guess"
		var out bytes.Buffer
		if err := WriteMultipartForm(&out, form, boundary); err != nil {
			t.Fatal(err)
		}
		size, err := forms.Size(form, boundary)
		if err != nil || size != int64(out.Len()) {
			t.Fatalf("the size is %d, %v, not %d", size, err, out.Len())
		}
		again := formRequest("multipart/form-data; boundary="+boundary, out.String())
		form, err = again.MultipartForm()
		if err != nil {
			t.Fatalf("%v of %q", err, out.String())
		}
		if got := formSaid(t, form); got != said && !brokenKeys {
			t.Fatalf("%s has become %s", said, got)
		}
	})
}

// TestFormBodyIsDroppedBehindItsEnd checks known failure 1: bytes after the closing
// boundary are not taken for the next message.
func TestFormBodyIsDroppedBehindItsEnd(t *testing.T) {
	raw := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s%s",
		formType, len(formText)+len(servertest.Smuggled), formText, servertest.Smuggled)
	r := bufio.NewReader(strings.NewReader(raw + "rest"))
	var req Request
	if err := req.Read(r); err != nil {
		t.Fatal(err)
	}
	if form, err := req.MultipartForm(); err != nil || formSaid(t, form) != formTextSaid {
		t.Errorf("%v", err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("left %q", rest)
	}
}

// TestEncodedFormHasTheLimitOfItsBody checks known failure 41 for forms that were
// read under a limit.
func TestEncodedFormHasTheLimitOfItsBody(t *testing.T) {
	packed := string(coding.AppendEncoded(nil, []byte(largeForm(100_000)), coding.Gzip, 9))
	raw := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s",
		formType, len(packed), packed)
	for limit, ok := range map[int]bool{0: true, 10_000: false, 200_000: true} {
		var req Request
		if err := req.ReadLimitBody(bufio.NewReader(strings.NewReader(raw)), limit); err != nil {
			t.Fatal(err)
		}
		if _, err := req.MultipartForm(); ok != (err == nil) || !ok && !errors.Is(err, ErrBodyTooLarge) {
			t.Errorf("limit %d: %v", limit, err)
		}
		if _, err := req.MultipartFormWithLimit(200_000); err != nil {
			t.Errorf("limit %d, and a higher one for the form: %v", limit, err)
		}
	}
}

// A request does not decode a malformed form again for each requested value. It does if a
// higher limit or other fields may change the result.
func TestOutcomeOfAFormIsRemembered(t *testing.T) {
	form := "--b\r\nContent-Disposition: form-data; name=f\r\n\r\n" + strings.Repeat("x", 100_000) + "\r\n--b--\r\n"
	var req Request
	req.Header.SetMethod(MethodPost)
	req.Header.SetContentType("multipart/form-data; boundary=b")
	req.Header.SetContentEncoding("gzip")
	req.SetBody(AppendGzipBytes(nil, []byte(form)))
	_, first := req.MultipartFormWithLimit(1000)
	_, again := req.MultipartFormWithLimit(900)
	if !errors.Is(first, ErrBodyTooLarge) || again != first {
		t.Errorf("got %v, and then %v", first, again)
	}
	if f, err := req.MultipartFormWithLimit(200_000); err != nil || len(f.Value["f"][0]) != 100_000 {
		t.Errorf("with a higher limit: %v", err)
	}

	req.SetBody(AppendGzipBytes(nil, []byte(form)))
	req.body.Limit = 1000
	_, first = req.MultipartForm()
	if _, again := req.MultipartForm(); !errors.Is(first, ErrBodyTooLarge) || again != first {
		t.Errorf("got %v, and then %v", first, again)
	}
	req.body.Limit = 0
	if _, err := req.MultipartForm(); err != nil {
		t.Error(err)
	}

	req.Header.SetContentEncoding("")
	req.SetBodyString(form)
	req.Header.SetContentType("multipart/form-data; boundary=c")
	_, first = req.MultipartForm()
	if _, again := req.MultipartForm(); first == nil || again != first {
		t.Errorf("got %v, and then %v", first, again)
	}
	req.Header.SetContentType("multipart/form-data; boundary=b")
	if _, err := req.MultipartForm(); err != nil {
		t.Error(err)
	}
}
