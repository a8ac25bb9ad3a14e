package stackless

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

func newGzip(w io.Writer) Writer { return gzip.NewWriter(w) }

func TestWriterWritesWhatTheInnerWriterDoes(t *testing.T) {
	text := strings.Repeat("the same text over and over; ", 20000)
	var want bytes.Buffer
	plain := gzip.NewWriter(&want)
	_, _ = io.WriteString(plain, text)
	_ = plain.Close()

	var got bytes.Buffer
	w := NewWriter(&got, newGzip)
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(text), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if unzip(t, got.Bytes()) != text {
		t.Error("the text has changed on its way")
	}
	if got.Len() > 2*want.Len() {
		t.Errorf("%d bytes, want %d as from the inner writer alone", got.Len(), want.Len())
	}
}

func TestWriterFlushes(t *testing.T) {
	var dst bytes.Buffer
	w := NewWriter(&dst, newGzip)
	for _, text := range []string{"first", "second"} {
		_, _ = io.WriteString(w, text)
		before := dst.Len()
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if dst.Len() == before {
			t.Errorf("%q did not reach the destination", text)
		}
	}
}

func TestWriterBeginsAnewAfterReset(t *testing.T) {
	var first, second bytes.Buffer
	w := NewWriter(&first, newGzip)
	_, _ = io.WriteString(w, "dropped")
	w.Reset(&second)
	_, _ = io.WriteString(w, "kept")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := unzip(t, second.Bytes()); got != "kept" {
		t.Errorf("the second destination got %q", got)
	}
}

func TestWritersWorkSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var dst bytes.Buffer
			w := NewWriter(&dst, newGzip)
			var want strings.Builder
			for j := range 50 {
				line := fmt.Sprintf("line %d of writer %d\n", j, i)
				want.WriteString(line)
				_, _ = io.WriteString(w, line)
			}
			_ = w.Close()
			if unzip(t, dst.Bytes()) != want.String() {
				t.Errorf("writer %d has mixed up its lines", i)
			}
		})
	}
	wg.Wait()
}

// copier is an inner writer that copies its input, and fails if the test wants that.
type copier struct {
	w    io.Writer
	fail error
}

func (c *copier) Write(p []byte) (int, error) {
	if c.fail != nil {
		return 0, c.fail
	}
	return c.w.Write(p)
}

func (c *copier) Flush() error      { return c.fail }
func (c *copier) Close() error      { return c.fail }
func (c *copier) Reset(w io.Writer) { c.w = w }

func TestWriterReportsErrorsOfTheInnerWriter(t *testing.T) {
	broken := errors.New("broken")
	w := NewWriter(io.Discard, func(w io.Writer) Writer { return &copier{w, broken} })
	if n, err := w.Write([]byte("x")); n != 0 || err != broken {
		t.Errorf("Write: %d, %v", n, err)
	}
	if err := w.Flush(); err != broken {
		t.Errorf("Flush: %v", err)
	}
	if err := w.Close(); err != broken {
		t.Errorf("Close: %v", err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestWriterReportsErrorsOfTheDestination(t *testing.T) {
	newCopier := func(w io.Writer) Writer { return &copier{w: w} }
	for _, want := range []error{errors.New("gone"), io.ErrShortWrite} {
		dst := failingWriter{want}
		if want == io.ErrShortWrite {
			dst.err = nil
		}
		w := NewWriter(dst, newCopier)
		if _, err := w.Write([]byte("x")); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		var good bytes.Buffer
		w.Reset(&good)
		if _, err := w.Write([]byte("y")); err != nil || good.String() != "y" {
			t.Errorf("after Reset: wrote %q, %v", good.String(), err)
		}
	}
}

func TestLargeWritesGoOutInPieces(t *testing.T) {
	var pieces []int
	dst := writerFunc(func(p []byte) (int, error) {
		pieces = append(pieces, len(p))
		return len(p), nil
	})
	w := NewWriter(dst, func(w io.Writer) Writer { return &copier{w: w} })
	if n, err := w.Write(make([]byte, 2*pieceSize+1)); n != 2*pieceSize+1 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if fmt.Sprint(pieces) != fmt.Sprint([]int{pieceSize, pieceSize, 1}) {
		t.Errorf("the destination got pieces of %v bytes", pieces)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestWriterDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	w := NewWriter(io.Discard, newGzip)
	text := []byte(strings.Repeat("some text ", 100))
	write := func() {
		w.Reset(io.Discard)
		_, _ = w.Write(text)
		_ = w.Close()
	}
	write()
	if allocs := testing.AllocsPerRun(100, write); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func unzip(t *testing.T, p []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
