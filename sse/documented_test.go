package sse_test

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// TestDocumentedLimits compares the limits in docs/security.md with the code.
func TestDocumentedLimits(t *testing.T) {
	servertest.CheckLimits(t, "../docs/security.md", "Limit of a stream of events", map[string]any{
		"bytes that wait for a client":                        servertest.Size(sse.DefaultBuffer),
		"time for a client to accept the data of one write":   sse.DefaultWriteTimeout,
		"time without an event before a comment is sent":      sse.DefaultHeartbeat,
		"events that are kept for clients that reconnect":     nil,
		"event that a client receives, and each of its lines": servertest.Size(sse.DefaultMaxEventSize),
		"time before a client reconnects":                     sse.DefaultRetry,
		"time to which that grows":                            sse.DefaultMaxRetry,
		"time for a piece of any other body stream":           nil,
		"bytes that wait for a client of another pushed body": servertest.Size(fasthttp.DefaultMaxQueued),
		"time for a piece of one":                             nil,
	})
}
