package bodyio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestStreamsMustHaveTheirSize(t *testing.T) {
	for size, want := range map[int]error{3: ErrLong, 4: nil, 5: ErrShort} {
		var out bytes.Buffer
		err := WriteFixed(bufio.NewWriter(&out), strings.NewReader("text"), size)
		if !errors.Is(err, want) || out.String() != "text"[:min(size, out.Len())] {
			t.Errorf("%d bytes: %q, %v", size, out.String(), err)
		}
		got, err := io.ReadAll(NewExact(iotest.OneByteReader(strings.NewReader("text")), size))
		if !errors.Is(err, want) || string(got) != "text"[:min(size, 4)] {
			t.Errorf("%d bytes are read as %q, %v", size, got, err)
		}
	}
}

func TestStreamsAreWrittenInPieces(t *testing.T) {
	for name, c := range map[string]struct {
		write func(w Writer, stream io.Reader) error
		want  string
	}{
		"chunked": {WriteChunked, "1\r\na\r\n2\r\nbc\r\n"},
		"plain":   {WritePlain, "abc"},
	} {
		var out bytes.Buffer
		if err := c.write(bufio.NewWriter(&out), io.MultiReader(strings.NewReader("a"), strings.NewReader("bc"))); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}
