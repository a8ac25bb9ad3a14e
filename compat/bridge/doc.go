// Package bridge has tests only: what others have written for net/http runs on a
// fasthttp.Server by way of fasthttpadaptor. It is a module of its own so that
// the libraries that it tests are no business of the others.
package bridge
