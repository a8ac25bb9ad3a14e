// Command codec reports how bodies are encoded and decoded: the helper
// functions, the Body methods, and which responses CompressHandler encodes.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runHelpers()
	runBodies()
	runHandlers()
	runWriters()
}
