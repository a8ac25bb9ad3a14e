package fasthttp

import (
	"log"
	"os"
)

// Logger writes log lines.
type Logger interface {
	// Printf must be safe for concurrent use, and take arguments as fmt.Printf does.
	Printf(format string, args ...any)
}

var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)
