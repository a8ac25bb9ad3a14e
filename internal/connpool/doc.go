// Package connpool keeps the connections of a client to one host: those that
// are idle, the count of all of them, and the callers that wait for one.
//
// A Pool knows nothing of what its connections are for: whether one of them has room
// for several users is for its protocol to say. Probe looks at an idle
// connection of the operating system without reading from it.
//
// It imports nothing of this module. Start with Pool.Get.
package connpool
