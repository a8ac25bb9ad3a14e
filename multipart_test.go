package fasthttp

import (
	"bytes"
	"errors"
	"maps"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/forms"
)

func parsedForm(t testing.TB, text string) *multipart.Form {
	t.Helper()
	form, err := formStreamRequest(text, -1).MultipartForm()
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func TestWriteMultipartForm(t *testing.T) {
	var out bytes.Buffer
	if err := WriteMultipartForm(&out, parsedForm(t, formText), "xx"); err != nil || out.String() != formText {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	form := &multipart.Form{Value: map[string][]string{"b": {"2"}, "a\"\r\n": {"1", ""}, "c": nil}}
	want := "--b\r\nContent-Disposition: form-data; name=\"a\\\"%0D%0A\"\r\n\r\n1\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"a\\\"%0D%0A\"\r\n\r\n\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2\r\n--b--\r\n"
	if err := WriteMultipartForm(&out, form, "b"); err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
	for _, boundary := range []string{"", "a\r\nb", strings.Repeat("x", 71), "{}"} {
		out.Reset()
		if err := WriteMultipartForm(&out, form, boundary); err == nil || out.Len() > 0 {
			t.Errorf("the boundary %q gives %q, %v", boundary, out.String(), err)
		}
	}
}

// Names of parts and fields of an upload must not inject a line: a program may copy
// them from a received form into one that it sends.
func TestWriteMultipartFormInjectsNothing(t *testing.T) {
	form := parsedForm(t, formText)
	fh := form.File["f"][0]
	before := textproto.MIMEHeader{
		"Content-Disposition":    {"form-data; name=\"f\"; filename=\"a\r\nX-Evil: 1\r\n\r\nbody\""},
		"Content-Type":           {"text/plain\x00", "a\nb"},
		"X-Evil: 2\r\nX-More":    {"v"},
		"":                       {"v"},
		"X Y":                    {"v"},
		"x-kept":                 {" v\t\xff"},
		"X-Empty":                nil,
		"\r\n\r\n--xx--\r\nNext": {"v"},
	}
	fh.Header = maps.Clone(before)
	form.Value = map[string][]string{"k\x00\r\nX: y\"": {"a\r\nb\x00"}}
	want := "--xx\r\nContent-Disposition: form-data; name=\"k %0D%0AX: y\\\"\"\r\n\r\na\r\nb\x00\r\n" +
		"--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a  X-Evil: 1    body\"\r\n" +
		"Content-Type: text/plain \r\nContent-Type: a b\r\nx-kept:  v\t\xff\r\n\r\nfile text\r\n--xx--\r\n"
	var out bytes.Buffer
	if err := WriteMultipartForm(&out, form, "xx"); err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
	if size, err := forms.Size(form, "xx"); err != nil || size != int64(len(want)) {
		t.Errorf("the size is %d, %v, not %d", size, err, len(want))
	}
	if !maps.EqualFunc(fh.Header, before, slices.Equal) {
		t.Errorf("the header has become %q", fh.Header)
	}
}

// brokenWriter accepts that many bytes before it fails.
type brokenWriter int

var errBrokenWriter = errors.New("the writer is broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > int(*w) {
		return 0, errBrokenWriter
	}
	*w -= brokenWriter(len(p))
	return len(p), nil
}

func TestWriteMultipartFormToABrokenWriter(t *testing.T) {
	form := parsedForm(t, formText)
	for n := range len(formText) {
		w := brokenWriter(n)
		if err := WriteMultipartForm(&w, form, "xx"); !errors.Is(err, errBrokenWriter) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestSaveMultipartFile(t *testing.T) {
	tempFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "saved")
	for name, tt := range map[string]struct{ text, want string }{
		"in memory": {formText, "file text"},
		"spooled":   {largeForm(formMemory + 1), strings.Repeat("x", formMemory+1)},
		"one of two spooled files": {
			strings.Replace(largeForm(formMemory+1), "--xx\r\n", largeForm(formMemory + 2)[:len(largeForm(formMemory+2))-len("--\r\n")]+"\r\n", 1),
			strings.Repeat("x", formMemory+2),
		},
	} {
		fh := parsedForm(t, tt.text).File["f"][0]
		// a program may save a file more than once, and over another file
		for range 2 {
			if err := SaveMultipartFile(fh, path); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := os.ReadFile(path); string(got) != tt.want || err != nil {
				t.Errorf("%s: %d bytes were saved, %v, want %d", name, len(got), err, len(tt.want))
			}
		}
	}
	fh := parsedForm(t, formText).File["f"][0]
	if err := SaveMultipartFile(fh, filepath.Join(dir, "none", "saved")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into a missing directory: %v", err)
	}
	if err := SaveMultipartFile(fh, dir); err == nil {
		t.Error("a directory was written over")
	}
	// if the source is gone, the file at the target path stays
	gone := &Request{}
	gone.Header.SetContentType(formType)
	gone.SetBodyStream(strings.NewReader(largeForm(formMemory+1)), -1)
	form, err := gone.MultipartForm()
	if err != nil {
		t.Fatal(err)
	}
	fh = form.File["f"][0]
	gone.Reset()
	if err := SaveMultipartFile(fh, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file that was there: %v", err)
	}
}
