// Command respheader reports how ResponseHeader behaves: the effect of each setter, the wire
// form, and the results of Read for raw heads.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runSequences()
	runStatuses()
	runHostile()
	runSpecial()
	runReads()
	runTrailerReads()
}
