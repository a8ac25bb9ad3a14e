package bodyio

import (
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Collector is a Writer that collects bytes for W in Out, until Out is full.
type Collector struct {
	// W receives the collected bytes.
	W io.Writer
	// Out collects the bytes. Its capacity is the limit, and its present content is
	// written first.
	Out *bufpool.Buffer
}

// Write implements io.Writer.
func (c *Collector) Write(p []byte) (int, error) {
	if len(c.Out.B)+len(p) > cap(c.Out.B) {
		if err := c.Flush(); err != nil {
			return 0, err
		}
		if len(p) >= cap(c.Out.B) {
			return c.W.Write(p)
		}
	}
	c.Out.B = append(c.Out.B, p...)
	return len(p), nil
}

// Flush writes the collected bytes.
func (c *Collector) Flush() error {
	if len(c.Out.B) == 0 {
		return nil
	}
	_, err := c.W.Write(c.Out.B)
	c.Out.B = c.Out.B[:0]
	return err
}
