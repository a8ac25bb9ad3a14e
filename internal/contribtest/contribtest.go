// Package contribtest has helpers for the tests of the modules in contrib.
package contribtest

import (
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// OnEngine makes a server use the engine, and log to a Log.
func OnEngine(s *fasthttp.Server, e servertest.Engine) (log *servertest.Log) {
	switch e.Kind {
	case servertest.Portable:
		s.Engine = fasthttp.EnginePortable
	case servertest.Event:
		s.Engine = fasthttp.EngineEvent
	}
	log = &servertest.Log{}
	s.Logger = log
	return log
}
