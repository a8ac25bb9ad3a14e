package fasthttp

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
	// attemptDelay is how long an attempt has before the next address of a
	// race is tried as well (RFC 8305 section 5).
	attemptDelay = 250 * time.Millisecond

	// minAttempt is the least time that an address gets, where it is there:
	// fewer attempts that can succeed are better than many that cannot.
	minAttempt = 500 * time.Millisecond
)

// attemptFunc connects to one target, an IP address with a port.
type attemptFunc func(ctx context.Context, network, target string) (net.Conn, error)

// dialInTurn tries one target after the other, each of which has an equal share
// of the time that is left.
func dialInTurn(ctx context.Context, network string, targets []string, attempt attemptFunc) (net.Conn, error) {
	var failed dialErrors
	for i, target := range targets {
		conn, err := attemptShare(ctx, network, target, len(targets)-i, attempt)
		if err == nil {
			return conn, nil
		}
		err = dialError(ctx, target, err)
		if ctx.Err() != nil || isDialTimeout(err) {
			// what went wrong before is not why the dial ends
			return nil, err
		}
		failed.add(err)
	}
	return nil, failed.error()
}

// attemptShare tries a target that has to leave time for the others.
func attemptShare(ctx context.Context, network, target string, shares int, attempt attemptFunc) (net.Conn, error) {
	deadline, ok := ctx.Deadline()
	if !ok || shares == 1 {
		return attempt(ctx, network, target)
	}
	share := max(time.Until(deadline)/time.Duration(shares), minAttempt)
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	return attempt(ctx, network, target)
}

// dialRace tries the targets in their order, each while the attempts before it
// may still be on their way, and returns the first connection. No attempt is
// left over when it returns.
func dialRace(ctx context.Context, targets []string, attempt attemptFunc) (net.Conn, error) {
	attempts, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialResult)
	delay := time.NewTimer(attemptDelay)
	defer delay.Stop()
	var failed dialErrors
	var last error
	started, running := 0, 0
	for {
		if started < len(targets) && (started == 0 || ctx.Err() == nil) {
			go attemptInRace(attempts, targets[started], attempt, results)
			started++
			running++
			delay.Reset(attemptDelay)
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
			last = dialError(ctx, r.target, r.err)
			failed.add(last)
		}
	}
	if ctx.Err() != nil || isDialTimeout(last) {
		return nil, last
	}
	return nil, failed.error()
}

type dialResult struct {
	target string
	conn   net.Conn
	err    error
}

// errDialLeft is how an attempt ends that has ended its goroutine: a hook of
// the application can do so.
var errDialLeft = errors.New("fasthttp: the dial has ended its goroutine")

// attemptInRace sends the result of an attempt, whatever happens in it.
func attemptInRace(ctx context.Context, target string, attempt attemptFunc, results chan<- dialResult) {
	r := dialResult{target: target, err: errDialLeft}
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("fasthttp: panic while dialing: %v\n%s", p, debug.Stack())
		}
		results <- r
	}()
	r.conn, r.err = attempt(ctx, "tcp", target)
}

// closeLate waits for the attempts that were canceled, and closes what they
// have established nevertheless.
func closeLate(results <-chan dialResult, running int) {
	for range running {
		if r := <-results; r.err == nil {
			_ = r.conn.Close()
		}
	}
}

// isDialTimeout tells whether err says that the time for the whole dial is up.
func isDialTimeout(err error) bool {
	e, ok := err.(*ErrDialWithUpstream)
	return ok && e.cause == ErrDialTimeout
}

// dialErrors is what went wrong with the addresses of a host.
type dialErrors struct{ all []error }

// add keeps err, and error returns what was kept as one.
func (e *dialErrors) add(err error) { e.all = append(e.all, err) }

func (e *dialErrors) error() error {
	if len(e.all) == 1 {
		return e.all[0]
	}
	return e
}

// Error implements error.
func (e *dialErrors) Error() string {
	texts := make([]string, len(e.all))
	for i, err := range e.all {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (e *dialErrors) Unwrap() []error { return e.all }
