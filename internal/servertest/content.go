package servertest

import (
	"io"
	"math/rand/v2"
	"strconv"
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
