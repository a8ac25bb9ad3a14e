package forms

import (
	"bytes"
	"io"
	"math"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

func TestWhatIsWrittenEndsNoLine(t *testing.T) {
	form := &multipart.Form{
		Value: map[string][]string{"k\x00\r\nX: y\"": {"a\r\nb"}},
		File: map[string][]*multipart.FileHeader{"f": {{Size: 4, Header: textproto.MIMEHeader{
			"Content-Disposition":    {"form-data; name=\"f\r\nX-Evil: 1\""},
			"\r\n\r\n--xx--\r\nNext": {"v"},
		}}}},
	}
	want := "--xx\r\nContent-Disposition: form-data; name=\"k %0D%0AX: y\\\"\"\r\n\r\na\r\nb\r\n" +
		"--xx\r\nContent-Disposition: form-data; name=\"f  X-Evil: 1\"\r\n\r\nfile\r\n--xx--\r\n"
	var out bytes.Buffer
	err := write(&out, form, "xx", func(w io.Writer, _ *multipart.FileHeader) error {
		_, err := io.WriteString(w, "file")
		return err
	})
	if err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
	if n, err := Size(form, "xx"); err != nil || n != int64(len(want)) {
		t.Errorf("the size is %d, %v, want %d", n, err, len(want))
	}
	if err := write(io.Discard, form, "", nil); err != ErrNoBoundary {
		t.Errorf("without a boundary: %v", err)
	}
}

func TestReaderHasALimit(t *testing.T) {
	for limit, want := range map[int64]error{0: nil, 3: http1.ErrBodyTooLarge, 4: nil, 5: nil, math.MaxInt64: nil} {
		r := &Reader{From: strings.NewReader("text"), Limit: limit}
		if _, err := io.ReadAll(r); err != want || r.Count != 4 {
			t.Errorf("limit %d: %v after %d bytes", limit, err, r.Count)
		}
	}
}

// spooled returns a form with one file, which is in dir, the directory for temporary
// files.
func spooled(t *testing.T, dir string) *multipart.Form {
	t.Helper()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	text := "--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nfile text\r\n--xx--\r\n"
	form, err := multipart.NewReader(strings.NewReader(text), "xx").ReadForm(0)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func TestSpooledFilesAreSavedAndRemoved(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "saved")
	form := spooled(t, dir)
	files := Watch(form)
	fh := form.File["f"][0]
	if err := Save(fh, path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "file text" || err != nil {
		t.Errorf("%q was saved, %v", got, err)
	}
	files.Remove()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if err := Save(fh, path); err == nil {
		t.Error("a missing file was saved")
	}
}
