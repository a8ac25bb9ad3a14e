// Command fasthttpvet finds memory of a request that outlives its handler, values that are
// released twice, never, or too early, and body streams that are never closed.
//
// It is a tool for go vet, and also runs alone:
//
//	go vet -vettool=$(which fasthttpvet) ./...
//	fasthttpvet ./...
//	fasthttpvet -fix ./...
//
// "fasthttpvet help" lists the checks and their flags. The exit status is that of go vet: not
// 0 if anything was found.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/valyala/fasthttp/contrib/fasthttpvet"
)

func main() {
	multichecker.Main(fasthttpvet.Analyzers()...)
}
