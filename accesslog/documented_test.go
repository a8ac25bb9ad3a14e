package accesslog

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestDocumentedLimits compares the limits in docs/security.md with the code.
func TestDocumentedLimits(t *testing.T) {
	servertest.CheckLimits(t, "../docs/security.md", "Limit of a log", map[string]any{
		"entries that wait to be written":                  DefaultQueue,
		"bytes of their texts together, for each of these": servertest.Size(textOfEntry),
		"method, request target or field, each":            servertest.Size(MaxValue),
		"time between two reports of dropped entries":      reportInterval,
		"names of arguments that a log remembers":          knownNames,
	})
}
