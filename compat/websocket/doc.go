// Package websocket has only tests: of package github.com/valyala/fasthttp/websocket with
// peers of other projects in both roles, with the cases of the Autobahn TestSuite, and with
// tables of raw bytes for which RFC 6455 and RFC 7692 require a certain reaction. It is a
// separate module, so that the other modules do not depend on these libraries. README.md
// describes the parts.
package websocket
