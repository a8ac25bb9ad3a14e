// Package expvarhandler serves the variables that a program publishes with package expvar: its
// counters, memory statistics and command line.
//
// They reveal much about a program, so serve the handler on an address that only its operators
// can reach.
package expvarhandler

import (
	"encoding/json"
	"expvar"
	"fmt"
	"regexp"

	"github.com/valyala/fasthttp"
)

var (
	calls        = expvar.NewInt("expvarHandlerCalls")
	regexpErrors = expvar.NewInt("expvarRegexpErrors")
)

// ExpvarHandler responds with the published variables as one JSON object, sorted by
// name, as expvar.Handler does. It ignores the path; package expvar uses
// "/debug/vars".
//
// If the query has the argument r, a regular expression in the syntax of package regexp, the
// object has only the variables whose name contains a match. An invalid regular expression is
// answered with 400.
//
// The package publishes two variables of its own: expvarHandlerCalls is the number of calls of
// ExpvarHandler, and expvarRegexpErrors is how many of them had an invalid regular expression.
func ExpvarHandler(ctx *fasthttp.RequestCtx) {
	calls.Add(1)
	names, err := filter(ctx.QueryArgs())
	if err != nil {
		regexpErrors.Add(1)
		ctx.Error(fmt.Sprintf("Error when obtaining expvar regexp: %v", err), fasthttp.StatusBadRequest)
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
		fmt.Fprintf(ctx, "\t%s: %s", name, kv.Value)
	})
	ctx.WriteString("\n}\n")
}

// filter returns the regular expression that names must match, or nil for all names.
func filter(args *fasthttp.Args) (*regexp.Regexp, error) {
	expression := args.Peek("r")
	if len(expression) == 0 {
		return nil, nil
	}
	re, err := regexp.Compile(string(expression))
	if err != nil {
		return nil, fmt.Errorf("cannot parse r=%q: %w", expression, err)
	}
	return re, nil
}
