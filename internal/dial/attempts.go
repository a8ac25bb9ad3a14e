package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"
)

const (
	// AttemptDelay is how long a race waits for an attempt before it also tries the
	// next address (RFC 8305 section 5).
	AttemptDelay = 250 * time.Millisecond

	// minAttempt is the least time for an attempt, unless less is left in total: a
	// few attempts that can succeed are better than many that cannot.
	minAttempt = 500 * time.Millisecond
)

// Attempts tries the addresses of a host. Both fields must be set.
type Attempts struct {
	// Connect connects to one target, an IP address with a port.
	Connect func(ctx context.Context, network, target string) (net.Conn, error)

	// Report returns the error of a dial whose attempt at target has failed with
	// err, and whether the time for the whole dial is up. ctx is the context of the
	// dial, not of the attempt.
	Report func(ctx context.Context, target string, err error) (timedOut bool, reported error)
}

// Serially tries one target after the other and returns the first connection. Each
// attempt gets an equal share of the remaining time. If all attempts fail, the
// error joins the results of Report for all of them. If the time for the whole dial
// is up or ctx has ended, the error is the result of Report for the last one. There
// must be at least one target.
func (a Attempts) Serially(ctx context.Context, network string, targets []string) (net.Conn, error) {
	var failed faults
	for i, target := range targets {
		conn, err := a.share(ctx, network, target, len(targets)-i)
		if err == nil {
			return conn, nil
		}
		timedOut, err := a.Report(ctx, target, err)
		if ctx.Err() != nil || timedOut {
			// earlier errors are not the reason why the dial ends
			return nil, err
		}
		failed.add(err)
	}
	return nil, failed.error()
}

// share tries a target, and leaves time for the others.
func (a Attempts) share(ctx context.Context, network, target string, shares int) (net.Conn, error) {
	deadline, ok := ctx.Deadline()
	if !ok || shares == 1 {
		return a.Connect(ctx, network, target)
	}
	ctx, cancel := context.WithDeadline(ctx, Share(deadline, shares))
	defer cancel()
	return a.Connect(ctx, network, target)
}

// Share returns when the first of some attempts must end, so that the others have as much time,
// if all of them must end by deadline. A zero deadline means none.
func Share(deadline time.Time, attempts int) time.Time {
	if deadline.IsZero() || attempts == 1 {
		return deadline
	}
	left := time.Until(deadline)
	share := max(left/time.Duration(attempts), minAttempt)
	return deadline.Add(min(share-left, 0))
}

// Race tries the targets in their order and returns the first connection. It starts
// an attempt even if earlier ones have not ended. No attempt is running when Race
// returns. The network is "tcp"; the errors are the same as with Serially.
func (a Attempts) Race(ctx context.Context, targets []string) (net.Conn, error) {
	attempts, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	delay := time.NewTimer(AttemptDelay)
	defer delay.Stop()
	var failed faults
	var last error
	timedOut := false
	started, running := 0, 0
	for {
		if started < len(targets) && (started == 0 || ctx.Err() == nil) {
			go a.run(attempts, targets[started], results)
			started++
			running++
			delay.Reset(AttemptDelay)
		}
		if running == 0 {
			break
		}
		select {
		case <-delay.C:
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				closeLate(results, running)
				return r.conn, nil
			}
			timedOut, last = a.Report(ctx, r.target, r.err)
			failed.add(last)
		}
	}
	if ctx.Err() != nil || timedOut {
		return nil, last
	}
	return nil, failed.error()
}

// result is the result of an attempt of a race.
type result struct {
	target string
	conn   net.Conn
	err    error
}

// errGoexit is the error of an attempt that has ended its goroutine with
// runtime.Goexit, as a hook of the application can.
var errGoexit = errors.New("fasthttp: the dial has ended its goroutine")

// run sends the result of an attempt, even if it panics or ends its goroutine.
func (a Attempts) run(ctx context.Context, target string, results chan<- result) {
	r := result{target: target, err: errGoexit}
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("fasthttp: panic while dialing: %v\n%s", p, debug.Stack())
		}
		results <- r
	}()
	r.conn, r.err = a.Connect(ctx, "tcp", target)
}

// closeLate waits for the canceled attempts, and closes any connections that they
// have established nevertheless.
func closeLate(results <-chan result, running int) {
	for range running {
		if r := <-results; r.err == nil {
			_ = r.conn.Close()
		}
	}
}

// faults collects the errors of the addresses of a host.
type faults struct{ all []error }

// add adds err. error returns all errors as one.
func (e *faults) add(err error) { e.all = append(e.all, err) }

func (e *faults) error() error {
	if len(e.all) == 1 {
		return e.all[0]
	}
	return e
}

// Error implements error.
func (e *faults) Error() string {
	texts := make([]string, len(e.all))
	for i, err := range e.all {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (e *faults) Unwrap() []error { return e.all }
