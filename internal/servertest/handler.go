package servertest

import (
	"fmt"
	"io"
)

// Exchange is the part of a RequestCtx of the root package that the handlers here
// need.
type Exchange interface {
	io.Writer                  // the body of the response
	Method() []byte            // of the request
	RequestURI() []byte        // the target of the request
	Path() []byte              // of the request
	PostBody() []byte          // of the request
	SetBodyString(body string) // of the response
}

// Echo is a handler that responds with a description of the request: see Echoed.
func Echo[C Exchange](ctx C) {
	fmt.Fprintf(ctx, "%s %s %q", ctx.Method(), ctx.RequestURI(), ctx.PostBody())
}

// Passing is a handler that waits at the gate.
func Passing[C Exchange](g *Gate) func(ctx C) {
	return func(ctx C) {
		g.Pass(string(ctx.Path()))
		ctx.SetBodyString("through")
	}
}
