//go:build unix

package fasthttpprometheus

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/contribtest"
)

// BenchmarkServer has the time of a request without a network: subtract "hook" or "none".
func BenchmarkServer(b *testing.B) {
	log := contribtest.Log(b)
	for _, bb := range []struct {
		name   string
		attach func(s *fasthttp.Server)
	}{
		{"none", func(*fasthttp.Server) {}},
		{"log", log},
		{"metrics", func(s *fasthttp.Server) { NewServer(s, Options{}) }},
		{"metrics and states", func(s *fasthttp.Server) { NewServer(s, Options{ConnStates: true}) }},
		{"log and metrics", func(s *fasthttp.Server) { log(s); NewServer(s, Options{}) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") }}
			bb.attach(s)
			contribtest.Serve(b, s)
		})
	}
}
