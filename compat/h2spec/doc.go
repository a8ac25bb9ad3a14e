// Package h2spec has only a test: a fasthttp.Server must pass the HTTP/2 checks of
// github.com/summerwind/h2spec. It is a separate module, so that the other modules do not
// depend on h2spec.
package h2spec
