// Package fasthttputil connects clients and servers inside one process, without
// sockets: for tests that must not depend on ports, and for programs whose parts
// speak HTTP to each other. Start with [NewInmemoryListener], which gives a server
// something to listen on and its clients a Dial, or with [NewPipeConns] if two ends
// of one connection are enough. The package imports the standard library only.
//
// The connections wait only on primitives of the standard library. So they can be
// used inside a [testing/synctest] bubble, in which timeouts of hours pass at once.
package fasthttputil
