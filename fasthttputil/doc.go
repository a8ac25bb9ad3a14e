// Package fasthttputil connects clients and servers inside one process, without sockets: for
// tests that must not depend on ports, and for programs whose parts communicate over HTTP.
// Start with [NewInmemoryListener], which returns a listener for the server, with a Dial
// method for its clients, or with [NewPipeConns] if two ends of one connection are enough. The
// package imports the standard library only.
//
// The connections wait only on primitives of the standard library. So they work inside a
// [testing/synctest] bubble, where a timeout of hours passes at once.
package fasthttputil
