// Package clientconn is a connection of a client, below its protocol: bytes that were
// received and not consumed, writing, the check of an idle connection before it is
// used again, TLS, and Guard, which owns the deadlines and cancellation.
//
// It knows neither requests nor responses. It imports recvbuf, connpool, ioread,
// neterr, clock, and uri for the names of servers. Start with Conn.
package clientconn
