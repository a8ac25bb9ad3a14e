// Command dialing reports how addresses are dialed, what proxies are asked for,
// how an LBClient spreads requests, and what a PipelineClient sends and
// returns. It connects to nothing but this host.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runDialer()
	runProxies()
	runBalance()
	runPipeline()
}
