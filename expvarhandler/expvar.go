// Package expvarhandler serves the variables that a program publishes with
// package expvar: its counters, its memory statistics, its command line.
//
// They reveal much about a program, so the handler belongs on an address that only
// its operators can reach.
package expvarhandler

import (
	"encoding/json"
	"expvar"
	"fmt"
	"regexp"

	"github.com/valyala/fasthttp"
)

// ExpvarHandler responds with the published variables as one JSON object, sorted by
// name, as expvar.Handler does. It ignores the path; package expvar uses
// "/debug/vars".
//
// If the query has the argument r, a regular expression in the syntax of package
// regexp, the object has only the variables whose name contains a match. The response
// to an invalid regular expression is 400.
func ExpvarHandler(ctx *fasthttp.RequestCtx) {
	names, err := filter(ctx.QueryArgs())
	if err != nil {
		ctx.Error(fmt.Sprintf("the argument r is no regular expression: %v", err), fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.WriteString("{\n")
	first := true
	expvar.Do(func(kv expvar.KeyValue) {
		if names != nil && !names.MatchString(kv.Key) {
			return
		}
		if !first {
			ctx.WriteString(",\n")
		}
		first = false
		// Go and JSON quote some characters differently
		name, _ := json.Marshal(kv.Key)
		fmt.Fprintf(ctx, "%s: %s", name, kv.Value)
	})
	ctx.WriteString("\n}\n")
}

// filter returns the regular expression that names must match, or nil for all names.
func filter(args *fasthttp.Args) (*regexp.Regexp, error) {
	expression := args.Peek("r")
	if len(expression) == 0 {
		return nil, nil
	}
	return regexp.Compile(string(expression))
}
