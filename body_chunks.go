package fasthttp

import "github.com/valyala/fasthttp/internal/http1"

// chunkWriter writes every piece that it gets as a chunk, and flushes it: what
// a producer has handed over is not held back.
type chunkWriter struct {
	w    flushWriter
	line [24]byte
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	if err := c.write(p); err != nil {
		return 0, err
	}
	return len(p), c.w.Flush()
}

// write writes p as a chunk, and leaves the flushing to the caller. An empty
// chunk would end the body: nothing is written for an empty p.
func (c *chunkWriter) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := c.w.Write(http1.AppendChunkStart(c.line[:0], len(p))); err != nil {
		return err
	}
	if _, err := c.w.Write(p); err != nil {
		return err
	}
	_, err := c.w.Write(strCRLF)
	return err
}

// writeLastChunk writes what ends a chunked body: the last chunk and the
// trailer section of h.
func writeLastChunk(w flushWriter, h *header) error {
	end := http1.AppendLastChunk(h.scratch[scratchTrailers][:0])
	end = h.appendTrailers(end)
	h.scratch[scratchTrailers] = end
	_, err := w.Write(end)
	return err
}
