package bodyio

import (
	"bufio"
	"io"
	"sync"
)

// Message can be written to a bufio.Writer.
type Message interface {
	// Write writes the message, and need not flush it.
	Write(w *bufio.Writer) error
}

// messageWriter buffers for a writer, and counts the bytes written to it.
type messageWriter struct {
	buf *bufio.Writer // writes to the messageWriter itself
	w   io.Writer
	n   int64
}

var messageWriters = sync.Pool{New: func() any {
	m := new(messageWriter)
	m.buf = bufio.NewWriter(m)
	return m
}}

// WriteMessage writes m to w through a buffer.
func WriteMessage(w io.Writer, m Message) (int64, error) {
	out := messageWriters.Get().(*messageWriter)
	out.w, out.n = w, 0
	out.buf.Reset(out)
	err := m.Write(out.buf)
	if err == nil {
		err = out.buf.Flush()
	}
	n := out.n
	out.w = nil
	messageWriters.Put(out)
	return n, err
}

func (m *messageWriter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.n += int64(n)
	return n, err
}
