package fasthttp

import (
	"log"
	"os"
)

// Logger is the interface for writing log lines.
type Logger interface {
	// Printf writes a line. It takes the arguments of fmt.Printf, and must be safe for
	// concurrent use.
	Printf(format string, args ...any)
}

var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)
