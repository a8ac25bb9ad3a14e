package bodyio

import (
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Collector is a Writer that collects what is written to W in Out, until that is full.
type Collector struct {
	// W gets what was collected.
	W io.Writer
	// Out is where it is collected: its capacity is how much that may be, and what is
	// there already goes out first.
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

// Flush writes what was collected.
func (c *Collector) Flush() error {
	if len(c.Out.B) == 0 {
		return nil
	}
	_, err := c.W.Write(c.Out.B)
	c.Out.B = c.Out.B[:0]
	return err
}
