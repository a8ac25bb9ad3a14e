// Command multipart reports how multipart forms are read, limited, written and saved, how
// values and files of forms are looked up, and the responses of the timeout handlers.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runParse()
	runLimits()
	runChanges()
	runWrite()
	runSave()
	runLookup()
	runTimeouts()
}
