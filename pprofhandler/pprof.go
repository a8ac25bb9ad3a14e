// Package pprofhandler serves the profiles of a program in the form that
// "go tool pprof" reads, as net/http/pprof does.
//
// Profiles reveal much about a program, and taking them slows it down. So the handler
// belongs on an address that only its operators can reach. This package imports
// net/http/pprof, which registers its handlers with http.DefaultServeMux.
package pprofhandler

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	rtp "runtime/pprof"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// prefix is the path of the profiles. The links of the index are relative to it.
const prefix = "/debug/pprof/"

// maxSeconds is the largest value of the argument "seconds": while a CPU profile runs,
// no other can be taken.
const maxSeconds = 3600

var (
	index   = adapt(pprof.Index)
	special = map[string]fasthttp.RequestHandler{
		"cmdline": adapt(pprof.Cmdline),
		"profile": adapt(pprof.Profile),
		// it reads the body itself, and no argument
		"symbol": fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Symbol),
		"trace":  adapt(pprof.Trace),
	}
)

// adapt returns a handler that checks the arguments where h will read them, which is not only
// in the query: a form in the body has precedence.
func adapt(h http.HandlerFunc) fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkSeconds(r.FormValue("seconds")); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h(w, r)
	})
}

// PprofHandler serves these paths, and responds with 404 to all others, also to those
// with an additional slash at their end:
//
//	/debug/pprof/         a list of the profiles; /debug/pprof redirects to it
//	/debug/pprof/NAME     a profile of runtime/pprof: allocs, block, goroutine,
//	                      heap, mutex, threadcreate, and those of the program
//	/debug/pprof/profile  a CPU profile
//	/debug/pprof/trace    an execution trace
//	/debug/pprof/cmdline  the command line
//	/debug/pprof/symbol   names of functions by their addresses
//
// The arguments are those of net/http/pprof: seconds, debug, gc. The response is 400
// if seconds is not a number or is over 3600. A profile ends early when the client
// closes the connection. Server.WriteTimeout does not limit the time of a profile: it
// counts from the end of the handler.
func PprofHandler(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	name, ok := strings.CutPrefix(path, prefix)
	switch {
	case path+"/" == prefix:
		ctx.Redirect(prefix, fasthttp.StatusMovedPermanently)
		return
	case !ok || strings.Contains(name, "/"):
		ctx.NotFound()
		return
	}
	switch h := special[name]; {
	case name == "":
		index(ctx)
	case h != nil:
		h(ctx)
	case rtp.Lookup(name) != nil:
		adapt(pprof.Handler(name).ServeHTTP)(ctx)
	default:
		ctx.NotFound()
	}
}

func checkSeconds(text string) error {
	if text == "" {
		return nil
	}
	// a trace accepts fractions of seconds, too
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxSeconds) {
		return fmt.Errorf("seconds must be a number from 0 to %d", maxSeconds)
	}
	return nil
}
