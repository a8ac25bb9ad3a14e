package servertest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
)

// SampleText is text of n bytes with repetitions, like a web page.
func SampleText(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = append(b, `<li id="row`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `">item `...)
		b = strconv.AppendInt(b, int64(i*i), 10)
		b = append(b, " of the list</li>\n"...)
	}
	return b[:n]
}

// Noise is n bytes that cannot be made smaller.
func Noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// Numbered returns a text of n bytes, in which every position looks different.
func Numbered(n int) string { return numbers()[:n] }

var numbers = sync.OnceValue(func() string {
	var b []byte
	for i := 0; len(b) < 10<<20; i++ {
		b = fmt.Appendf(b, "%07d\n", i)
	}
	return string(b)
})

// RepeatedFields returns n lines of fields by a format for a number.
func RepeatedFields(n int, format string) (fields []string) {
	for i := range n {
		fields = append(fields, fmt.Sprintf(format, i))
	}
	return fields
}

// CloseRecorder is a stream that counts how often it was closed.
type CloseRecorder struct {
	io.Reader
	// Closed counts the calls of Close.
	Closed int
}

// Close implements io.Closer.
func (c *CloseRecorder) Close() error {
	c.Closed++
	return nil
}
