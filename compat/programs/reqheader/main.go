// Command reqheader reports how RequestHeader behaves: what each setter does
// to the header, what it looks like on the wire, and what Read makes of raw
// heads.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runSequences()
	runHostile()
	runSpecial()
	runReads()
	runTrailerReads()
}
