package restart

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	defaultStartTimeout = 30 * time.Second
	defaultIdleTime     = 5 * time.Second

	// defaultShutdownTimeout is the default of Server.ShutdownTimeout.
	defaultShutdownTimeout = 20 * time.Second
)

// Runner runs a server whose process can be replaced.
type Runner struct {
	// Server is the server. Run sets its Handler, to one that calls it, and RunTLS its TLSConfig.
	Server *fasthttp.Server

	// Ready, if it is set, is called once this process accepts connections, before it reports
	// that to the old process and to systemd: for a line in a log, or a check. ctx ends with the
	// one of Run, and if the server fails. If Ready returns an error, Run shuts the server down and
	// returns the error, and the old process continues.
	Ready func(ctx context.Context) error

	// Signals start a new process: SIGHUP and SIGUSR2 if there are none. One that comes while a
	// new process starts is passed on to that, once it serves.
	Signals []os.Signal

	// StartTimeout is how long a new process may take until it serves; 30 seconds if it is 0.
	StartTimeout time.Duration

	// IdleTime is how long an old process keeps connections without a request; 5 seconds if it
	// is 0. A client may be about to send its next request there. If it does, the response
	// announces that the connection closes, so that the request after it goes to the new
	// process. After that time the server is shut down, within Server.ShutdownTimeout.
	IdleTime time.Duration

	// Args are the arguments of new processes, without the name of the program. If it is nil,
	// they get the arguments of this process.
	Args []string
}

func (r *Runner) startTimeout() time.Duration {
	if r.StartTimeout > 0 {
		return r.StartTimeout
	}
	return defaultStartTimeout
}

func (r *Runner) idleTime() time.Duration {
	if r.IdleTime > 0 {
		return r.IdleTime
	}
	return defaultIdleTime
}

func (r *Runner) logf(format string, args ...any) {
	if r.Server.Logger != nil {
		r.Server.Logger.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}
