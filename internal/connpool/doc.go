// Package connpool keeps the connections of a client to one host: those that
// are idle, the count of all of them, and the callers that wait for one.
//
// A Pool knows nothing of the protocol of its connections, which decides whether a
// connection has room for several users. Probe checks an idle connection of the
// operating system without reading from it.
//
// It imports nothing of this module. Start with Pool.Get.
package connpool
