// Package connpool pools a client's connections to one host: it keeps the idle
// ones, counts all of them, and queues the callers that wait for one.
//
// A Pool does not know the protocol of its connections, which decides whether a
// connection has room for several users. Probe checks an idle connection of the
// operating system without reading from it.
//
// Start with Pool.Get.
package connpool
