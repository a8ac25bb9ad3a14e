// Package content is the content of messages (RFC 9110 section 6.4): in a buffer, as a
// stream that is to be sent, or as it arrives.
//
// It knows no connection. Start with Body, the content of one message; receive.go fills a
// Body from HTTP/1, and incoming.go has content that is read while it arrives. Package
// bodyio, below, copies and writes streams.
package content

import "fmt"

// Makers of the errors whose types the root package exports. It sets them.
var (
	// BrokenChunk returns the error of a malformed chunked coding.
	BrokenChunk = func(err error) error { return err }
	// StreamPanic returns the error of a stream that has panicked with value.
	StreamPanic = func(what string, value any) error { return fmt.Errorf("%s: %v", what, value) }
)
