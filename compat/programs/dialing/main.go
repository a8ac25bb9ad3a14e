// Command dialing reports how addresses are dialed, the requests to proxies, how an LBClient
// distributes requests, and the requests and results of a PipelineClient. It connects to this
// host only.
package main

import "github.com/valyala/fasthttp/compat/internal/report"

func main() {
	defer report.Flush()
	runDialer()
	runProxies()
	runBalance()
	runPipeline()
}
