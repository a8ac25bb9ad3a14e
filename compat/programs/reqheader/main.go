// Command reqheader reports how RequestHeader behaves: the effect of each setter, the wire
// form, and the results of Read for raw heads.
package main

import (
	"bufio"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/heads"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type header = fasthttp.RequestHeader

var program = &heads.Program[header, *header]{Ops: calls, Dump: dump}

func main() {
	defer report.Flush()
	runSequences()
	program.Hostile(hostile, "Host", "Connection", "Cookie", "Content-Length", "Transfer-Encoding", "Trailer", "Content-Type", "Expect")
	program.Special(special, specialCalls)
	program.Reads(inputs, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nFoo: bar\r\n\r\n",
		heads.Mode[*header]{Name: "read-raw", Set: func(h *header) { h.DisableNormalizing() }},
		heads.Mode[*header]{Name: "read-plain", Set: func(h *header) { h.DisableSpecialHeader() }})
	program.Trailers(func(c *report.Case, h *header, r *bufio.Reader) error {
		h.SetMethod("POST")
		h.SetHost("h")
		h.SetContentLength(-1)
		c.Err("announce", h.SetTrailer("Foo, Baz"))
		return h.ReadTrailer(r)
	})
}
