// Command message reports how Request and Response read, change and write
// whole messages: bodies of every framing, streams, limits, copies.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runRequestReads()
	runRequestWrites()
	runRequestHosts()
	runResponseReads()
	runResponseWrites()
}
