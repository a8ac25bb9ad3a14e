// Package fasthttpvet has analyzers for programs that use github.com/valyala/fasthttp or
// github.com/gofiber/fiber.
//
// A server reuses the context of a request, and all memory that its methods return, once the
// handler has returned. [Outlives] finds uses that may happen later than that. [Release] finds
// wrong uses of fasthttp.AcquireRequest and similar functions, and
// [BodyStream] finds streams that are never closed.
//
// A copy is always accepted: bytes.Clone, strings.Clone, string(b), append([]byte(nil), b...),
// CopyTo and CopyString are examples.
package fasthttpvet

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers returns all analyzers of this package.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{Outlives, Release, BodyStream}
}

// Outlives reports memory of a request that may be used after its handler has returned.
var Outlives = &analysis.Analyzer{
	Name: "outlives",
	Doc: `report memory of a request that outlives its handler

A *fasthttp.RequestCtx or fiber.Ctx, and the slices, strings, headers, arguments and URIs
that its methods return, belong to the server, which reuses them after the handler has
returned. This check reports values that are used by a goroutine or callback that may run
later, sent on a channel, or stored in a global variable, or in a field, map or variable that
outlives the handler. Goroutines for which the handler waits are permitted. So is everything
after a call of TimeoutError, which leaves the context to its goroutines.`,
	URL:      "https://pkg.go.dev/github.com/valyala/fasthttp/contrib/fasthttpvet",
	Requires: []*analysis.Analyzer{flows},
	Run:      runOutlives,
}

// Release reports wrong uses of fasthttp.AcquireRequest, fasthttp.ReleaseRequest and similar
// functions.
var Release = &analysis.Analyzer{
	Name: "release",
	Doc: `report values of pools that are used after their release

This check reports uses of a value, or of a slice that its methods returned, after
fasthttp.ReleaseRequest, ReleaseResponse, ReleaseArgs, ReleaseURI, ReleaseCookie and the
like; values that are released twice; and acquired values that some path through the function
neither releases nor hands over. The last one is not reported in tests.`,
	URL:      "https://pkg.go.dev/github.com/valyala/fasthttp/contrib/fasthttpvet",
	Requires: []*analysis.Analyzer{flows},
	Run:      runRelease,
}

// BodyStream reports response bodies that are read as streams and never closed.
var BodyStream = &analysis.Analyzer{
	Name: "bodystream",
	Doc: `report body streams of responses that are never closed

The stream that Response.BodyStream returns holds a connection of the client until it is
closed, by its own method, by Response.CloseBodyStream, or by the release or Reset of the
response.`,
	URL:      "https://pkg.go.dev/github.com/valyala/fasthttp/contrib/fasthttpvet",
	Requires: []*analysis.Analyzer{flows},
	Run:      runBodyStream,
}

// inTest reports whether pos is in a test file.
func inTest(pass *analysis.Pass, pos token.Pos) bool {
	return strings.HasSuffix(pass.Fset.Position(pos).Filename, "_test.go")
}
