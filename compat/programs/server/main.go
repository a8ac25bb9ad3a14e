// Command server reports how a Server answers raw bytes: the requests in its handler, the
// responses, and whether the connection is kept.
//
// Every input is followed by a well-formed marker request and the end of the stream, so no
// timer is needed: a response to the marker means that the connection was kept.
package main

import (
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	for _, x := range inputs() {
		exchange("default/"+x.id, config{}, x.raw, whole)
	}
	for _, x := range inputs() {
		exchange("bytewise/"+x.id, config{}, x.raw, oneByOne)
	}
	for _, x := range handlerInputs() {
		exchange("handler/"+x.id, config{}, x.raw, whole)
	}
	for _, cfg := range configs() {
		for _, x := range configInputs() {
			exchange("config/"+cfg.id+"/"+x.id, cfg, x.raw, whole)
		}
		for _, x := range cfg.inputs {
			exchange("config/"+cfg.id+"/own/"+x.id, cfg, x.raw, whole)
		}
	}
	for _, x := range generated(false, 2000) {
		exchange("generated/"+x.id, config{}, x.raw, whole)
	}
	for _, x := range generated(true, 6000) {
		exchange("generated/"+x.id, config{}, x.raw, whole)
	}
	for _, x := range generated(true, 300) {
		exchange("generated-bytewise/"+x.id, config{}, x.raw, oneByOne)
	}
	for _, x := range inputs()[:40] {
		listen("listener/"+x.id, x.raw)
	}
}

type input struct{ id, raw string }

type config struct {
	id     string
	set    func(s *fasthttp.Server)
	inputs []input
}

const marker = "GET /marker HTTP/1.1\r\nHost: marker\r\n\r\n"
