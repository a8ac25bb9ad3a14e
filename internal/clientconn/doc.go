// Package clientconn implements a client's connection below its protocol: bytes that
// were received and not consumed, writing, the check of an idle connection before it
// is reused (Probe), TLS, and Guard, which owns the deadlines and cancellation.
//
// It knows neither requests nor responses. Start with Conn.
package clientconn
