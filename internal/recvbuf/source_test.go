package recvbuf

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestBufferedFillsUntilItIsFull(t *testing.T) {
	s := Buffered{R: bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 20))), 16)}
	for n := range 16 {
		if got := len(s.Peek()); got != n {
			t.Fatalf("there are %d bytes, want %d", got, n)
		}
		if err := s.Fill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Fill(); err != bufio.ErrBufferFull {
		t.Errorf("a full buffer has the error %v", err)
	}
	s.Discard(16)
	for range 4 {
		if err := s.Fill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Fill(); err != io.EOF || len(s.Peek()) != 4 {
		t.Errorf("at the end the error is %v with %d bytes", err, len(s.Peek()))
	}
}

// section reads up to and including the first dot.
func section(b []byte) (int, error) {
	n := bytes.IndexByte(b, '.') + 1
	if bytes.IndexByte(b[:max(n, 0)], '!') >= 0 {
		return 0, errBadSection
	}
	return n, nil
}

var errBadSection = errors.New("bad section")

func TestReadSection(t *testing.T) {
	long := strings.Repeat("x", 100)
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		r    io.Reader
		rest string
		err  error
	}{
		"short":           {strings.NewReader("abc.rest"), "rest", nil},
		"in bytes":        {iotest.OneByteReader(strings.NewReader("abc.rest")), "rest", nil},
		"long":            {strings.NewReader(long + ".rest"), "rest", nil},
		"long in bytes":   {iotest.OneByteReader(strings.NewReader(long + ".rest")), "rest", nil},
		"just the buffer": {strings.NewReader(long[:15] + ".rest"), "rest", nil},
		"one byte more":   {strings.NewReader(long[:16] + ".rest"), "rest", nil},
		"nothing":         {strings.NewReader(""), "", io.EOF},
		"cut":             {strings.NewReader("abc"), "abc", io.ErrUnexpectedEOF},
		"long and cut":    {strings.NewReader(long), "", io.ErrUnexpectedEOF},
		"bad":             {strings.NewReader("a!.b"), "a!.b", errBadSection},
		"broken":          {io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), "abc", broken},
	} {
		t.Run(name, func(t *testing.T) {
			in := Buffered{R: bufio.NewReaderSize(tt.r, 16)}
			if err := ReadSection(in, section); err != tt.err {
				t.Errorf("the error is %v, want %v", err, tt.err)
			}
			if tt.err != nil && tt.err != errBadSection {
				return
			}
			if rest, err := io.ReadAll(in.R); string(rest) != tt.rest || err != nil {
				t.Errorf("%q follows, %v, want %q", rest, err, tt.rest)
			}
		})
	}
}
