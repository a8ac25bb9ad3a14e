// Command respheader reports how ResponseHeader behaves: the effect of each setter, the wire
// form, and the results of Read for raw heads.
package main

import (
	"bufio"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/heads"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type header = fasthttp.ResponseHeader

var program = &heads.Program[header, *header]{Ops: calls, Dump: dump}

func main() {
	defer report.Flush()
	program.Sequences(sequences)
	runStatuses()
	program.Hostile(hostile, "Server", "Connection", "Set-Cookie", "Content-Length", "Transfer-Encoding", "Trailer", "Content-Type", "Date", "Location")
	program.Special(special, specialCalls)
	program.Reads(inputs, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nFoo: bar\r\n\r\n",
		heads.Mode[*header]{Name: "read-raw", Set: func(h *header) { h.DisableNormalizing() }})
	program.Trailers(func(c *report.Case, h *header, r *bufio.Reader) error {
		h.SetContentLength(-1)
		c.Err("announce", h.SetTrailer("Foo, Baz"))
		return h.ReadTrailer(r)
	})
}
