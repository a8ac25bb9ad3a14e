// Package pprofhandler serves the profiles of a program in the form that
// "go tool pprof" reads, as net/http/pprof does.
//
// They tell much of a program, and taking them slows it down, so the handler
// belongs on an address that only its operators can reach. Importing the package
// imports net/http/pprof, which registers its handlers with
// http.DefaultServeMux.
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

// prefix is where the profiles are. The index has links that are relative to it.
const prefix = "/debug/pprof/"

// maxSeconds is the most that the argument "seconds" may be: a profile of the
// processor keeps all others from being taken.
const maxSeconds = 3600

var (
	index   = adapt(pprof.Index)
	special = map[string]fasthttp.RequestHandler{
		"cmdline": adapt(pprof.Cmdline),
		"profile": adapt(pprof.Profile),
		"symbol":  adapt(pprof.Symbol),
		"trace":   adapt(pprof.Trace),
	}
)

func adapt(h http.HandlerFunc) fasthttp.RequestHandler {
	return fasthttpadaptor.NewFastHTTPHandlerFunc(h)
}

// PprofHandler answers for these paths, and with 404 for all others, also for
// those that have a slash more at their end:
//
//	/debug/pprof/         a list of the profiles; /debug/pprof is sent there
//	/debug/pprof/NAME     a profile of runtime/pprof: allocs, block, goroutine,
//	                      heap, mutex, threadcreate, and those of the program
//	/debug/pprof/profile  a profile of the processor
//	/debug/pprof/trace    a trace of the execution
//	/debug/pprof/cmdline  the command line
//	/debug/pprof/symbol   names of functions by their addresses
//
// The arguments are those of net/http/pprof: seconds, debug, gc. For seconds,
// what is no number or over 3600 is answered with 400. Taking a profile ends
// early when the client leaves. Server.WriteTimeout does not concern it, since
// it counts from the end of that.
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
	if err := checkSeconds(ctx.QueryArgs()); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
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

func checkSeconds(args *fasthttp.Args) error {
	text := args.Peek("seconds")
	if len(text) == 0 {
		return nil
	}
	// a trace takes fractions, too
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(seconds >= 0 && seconds <= maxSeconds) {
		return fmt.Errorf("seconds must be a number from 0 to %d", maxSeconds)
	}
	return nil
}
