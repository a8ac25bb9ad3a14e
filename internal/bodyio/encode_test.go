package bodyio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/servertest"
)

var codings = []coding.Coding{coding.Gzip, coding.Deflate, coding.Brotli, coding.Zstd}

// TestEncodersOfStreamsAreReleased checks known failure 56.
func TestEncodersOfStreamsAreReleased(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		src  io.Reader
		size int
		want error
	}{
		"closed early":     {bytes.NewReader(servertest.Noise(1 << 20)), -1, nil},
		"failing source":   {io.MultiReader(bytes.NewReader(servertest.Noise(1000)), iotest.ErrReader(broken)), -1, broken},
		"shorter than set": {bytes.NewReader(servertest.Noise(1000)), 1001, ErrShort},
		"longer than set":  {bytes.NewReader(servertest.Noise(1000)), 999, ErrLong},
	} {
		for _, kind := range codings {
			src := &servertest.CloseRecorder{Reader: c.src}
			s := NewEncoded(src, c.size, kind, coding.LevelsFor(1)[kind])
			if c.want == nil {
				if _, err := io.ReadFull(s, make([]byte, 10)); err != nil || !s.Holds() {
					t.Fatalf("%s, %s: %v", kind, name, err)
				}
			} else if _, err := io.ReadAll(s); !errors.Is(err, c.want) || s.Holds() {
				t.Errorf("%s, %s: %v, encoder held: %v", kind, name, err, s.Holds())
			}
			if err := s.Close(); err != nil || s.Holds() || src.Closed != 1 {
				t.Errorf("%s, %s: something is held by a stream that was closed (%v)", kind, name, err)
			}
			if n, err := s.Read(make([]byte, 1)); n != 0 || err != ErrClosed {
				t.Errorf("%s, %s: read %d, %v from a stream that was closed", kind, name, n, err)
			}
			if seeker, ok := c.src.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			} else {
				c.src = io.MultiReader(bytes.NewReader(servertest.Noise(1000)), iotest.ErrReader(broken))
			}
		}
	}
}

func TestStreamsOfUnknownSizeAreFlushed(t *testing.T) {
	for _, kind := range codings {
		pr, pw := io.Pipe()
		go func() {
			_, _ = io.WriteString(pw, "first")
		}()
		s := NewEncoded(pr, -1, kind, coding.LevelsFor(1)[kind])
		d := coding.NewDecoder(kind, s, coding.HelperBound())
		first := make([]byte, 5)
		if _, err := io.ReadFull(d, first); err != nil || string(first) != "first" {
			t.Errorf("%s: %q, %v", kind, first, err)
		}
		d.Release()
		_ = s.Close()
	}
}

func TestFastProducersAreNotFlushedForEveryPiece(t *testing.T) {
	content := bytes.Repeat([]byte("<li>an item of the list</li>\n"), 2000)
	s := NewPipe(func(w *bufio.Writer) { _, _ = w.Write(content) }, false, nil)
	// the encoder has written all content before the first read
	for s.mu.Lock(); s.err == nil; s.mu.Lock() {
		s.changed.Wait()
		s.mu.Unlock()
	}
	s.mu.Unlock()
	encoded, err := io.ReadAll(NewEncoded(s, -1, coding.Gzip, coding.LevelsFor(1)[coding.Gzip]))
	if err != nil {
		t.Fatal(err)
	}
	if whole := coding.AppendEncoded(nil, content, coding.Gzip, 1); !bytes.Equal(encoded, whole) {
		t.Errorf("%d bytes in pieces, %d as a whole", len(encoded), len(whole))
	}
}
