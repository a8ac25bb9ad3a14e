package fasthttp

import (
	"bytes"
	"errors"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// brokenWriter takes so many bytes before it fails.
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
		// a file may be saved more than once, and over another
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
		t.Errorf("into a directory that is not there: %v", err)
	}
	if err := SaveMultipartFile(fh, dir); err == nil {
		t.Error("a directory was written over")
	}
	// with its source gone, a file leaves another at the path alone
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
		t.Errorf("a file that is gone: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file that was there: %v", err)
	}
}
