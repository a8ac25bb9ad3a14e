// Package pipeline implements HTTP/1.1 pipelining for clients (RFC 9112 section
// 9.3.2): it sends requests without waiting for earlier responses. It chooses a
// connection for each call, batches writes, matches responses to calls, and resends
// calls when a connection ends.
//
// It does not parse responses: a reader that the user of the package provides reports
// where they begin and end. Start with Pool.
package pipeline
