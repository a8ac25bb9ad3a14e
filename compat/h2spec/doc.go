// Package h2spec has a test only: that a fasthttp.Server keeps the rules of HTTP/2 which
// github.com/summerwind/h2spec checks. It is a separate module, so that the other modules do
// not depend on that.
package h2spec
