// Package fasthttputil connects clients and servers inside one process, without
// sockets: for tests that shall not depend on ports, and for programs whose parts
// speak HTTP to each other. Start with [NewInmemoryListener], which gives a server
// something to listen on and its clients a Dial, or with [NewPipeConns] where two
// ends of one connection are enough. Only the standard library is imported.
//
// The connections wait on nothing but the standard library's own primitives, so
// they may be used inside a [testing/synctest] bubble, where timeouts of hours pass
// at once.
package fasthttputil
