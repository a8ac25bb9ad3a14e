// Package bridge has tests only: third-party libraries for net/http run on a
// fasthttp.Server through fasthttpadaptor. It is a separate module, so that the other
// modules do not depend on these libraries.
package bridge
