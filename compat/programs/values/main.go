// Command values reports how Args, URI, Cookie and the helper functions of the
// root package behave on well-formed, odd and hostile input.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runArgs()
	runURI()
	runCookie()
	runHelpers()
	runText()
}
