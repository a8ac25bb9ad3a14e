// Package clientconn is a connection of a client, below what is spoken on it: what was
// received and not consumed, writing, the look at an idle connection before it is
// used again, TLS, and Guard, which owns the deadlines and the end before the time.
//
// It knows neither requests nor responses. It imports recvbuf, connpool, ioread,
// neterr, clock, and uri for the names of servers. Start with Conn.
package clientconn
