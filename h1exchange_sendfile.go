package fasthttp

import (
	"fmt"
	"io"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// queueFile leaves a body that lies in a file to an engine that sends it bit by bit,
// as the peer takes it: no goroutine waits meanwhile. It returns false, and does
// nothing, if the body is not a file, or is not sent as it is, or the engine does not send
// files.
func (x *h1Exchange) queueFile(e http1.Encoding) bool {
	resp := &x.ctx.Response
	span, ok := resp.body.stream.(fileSpan)
	if !ok || !x.h.link.SendsFiles() || resp.ImmediateHeaderFlush || e.Kind != http1.Length {
		return false
	}
	if x.ctx.Request.arrives() {
		// 100 (Continue) may have to be sent before the body is read
		return false
	}
	file, offset, length := span.span()
	if file == nil || length <= 0 || length != int64(resp.body.size) {
		return false
	}
	out := x.h.output()
	from := len(out.B)
	out.B = resp.Header.appendHead(out.B, &x.s.start, e)
	x.h.file = engine.FilePart{File: file, Offset: offset, Length: length}
	x.beginSending(len(out.B) - from + int(length))
	x.h.conn.SetWriting(http1.WriteQueued)
	return true
}

// fileEnded says that a file ended before the announced length was sent. The end of
// the connection shows this to the peer, which keeps the bytes that it has got.
func (x *h1Exchange) fileEnded() {
	size := int64(x.ctx.Response.body.size)
	err := shortFile(size-x.h.file.Length, size)
	x.s.logWriteError(x.c, err)
	x.h.fault = err
	x.cutShort(err)
	x.delivery.missing = x.h.file.Length
	x.h.conn.End()
}

func shortFile(sent, size int64) error {
	return fmt.Errorf("%w: %d of %d bytes: %w", errShortStream, sent, size, io.ErrUnexpectedEOF)
}
