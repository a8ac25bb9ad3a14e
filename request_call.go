package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptrace"
	"time"

	"github.com/valyala/fasthttp/internal/uri"
)

// callState is what a client's call in progress must keep to, and what became
// of it so far. It travels in the request, since a RoundTripper of the
// application may stand between the call and the connection.
type callState struct {
	ctx      context.Context // nil where the call cannot be canceled
	deadline time.Time       // zero for none
	trace    *httptrace.ClientTrace

	proxy *proxyForm // nil for a request that goes to its host

	purpose callPurpose
	content contentUse
	outcome attemptOutcome
	usedUp  bool // the body was a stream, which has been read

	upstream string // the address of the last attempt
}

// callPurpose is what a client does with a callState.
type callPurpose uint8

const (
	noCall       callPurpose = iota // nothing: the request is its owner's
	callSends                       // the request is being sent
	callHandsOut                    // a connection is acquired for the application
)

// contentUse is what becomes of the content of the response.
type contentUse uint8

const (
	contentAsSet     contentUse = iota // what client and response are set to
	contentBuffered                    // it is read before the call returns
	contentDiscarded                   // nobody will look at it
)

// inner returns what goes for a call within the call, which has a response of its own.
func (u contentUse) inner() contentUse {
	if u == contentDiscarded {
		return contentAsSet
	}
	return u
}

// attemptOutcome is what has become of the last attempt at a request, and with
// that of the question whether another one may follow.
type attemptOutcome uint8

const (
	attemptUnanswered attemptOutcome = iota // no byte of a response came so far
	attemptUnreached                        // there was no connection for it
	attemptLost                             // the connection itself has failed, without a byte of a response
	attemptAnswered                         // the first byte of a response came
)

// proxyForm is how a request is sent to an HTTP proxy: with an absolute URI as its
// target, and with this Proxy-Authorization if it has none.
type proxyForm struct{ authorization string }

// done returns what ends the call early, or nil.
func (c *callState) done() <-chan struct{} {
	if c.ctx == nil {
		return nil
	}
	return c.ctx.Done()
}

// canceled returns the error of a call whose context has ended.
func (c *callState) canceled() error {
	if c.ctx == nil || c.ctx.Err() == nil {
		return nil
	}
	return contextError(c.ctx)
}

// expired reports whether the time is up.
func (c *callState) expired() bool {
	return !c.deadline.IsZero() && !time.Now().Before(c.deadline)
}

// contextError returns why ctx has ended: its error, and the cause where the
// application gave one.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		return canceledError{err, cause}
	}
	return err
}

type canceledError struct{ err, cause error }

func (e canceledError) Error() string { return e.err.Error() + ": " + e.cause.Error() }

// Unwrap makes both known to errors.Is.
func (e canceledError) Unwrap() []error { return []error{e.err, e.cause} }

// maxKnownTarget is the size over which a target is not remembered.
const maxKnownTarget = 2 << 10

// isKnown reports whether the URI is what known was parsed to.
func (req *Request) isKnown() bool {
	return len(req.known) > 0 && req.knownAs == req.uri.version()
}

// parseTarget is parseURI for a client. A target that is the same absolute URI
// as the last one need not be parsed again: it means the same, whatever else is
// in the request.
func (req *Request) parseTarget() error {
	switch {
	case req.uriParsed:
		return req.uri.invalid()
	case req.recallTarget():
		return nil
	}
	return req.parseNewTarget()
}

// recallTarget makes the URI that of the target if it was parsed from the same one.
func (req *Request) recallTarget() bool {
	if !req.isKnown() || !bytes.Equal(req.known, req.Header.target()) {
		return false
	}
	req.uriParsed, req.again = true, true
	return true
}

// parseNewTarget is parseTarget for a target that is not the last one.
func (req *Request) parseNewTarget() error {
	req.again = false
	if err := req.parseURI(); err != nil {
		return err
	}
	target := req.Header.target()
	if len(target) <= maxKnownTarget && bytes.HasPrefix(target, []byte("http")) && !req.Header.IsConnect() {
		if _, absolute := uri.FindScheme(target); absolute {
			req.known, req.knownAs = append(req.known[:0], target...), req.uri.version()
		}
	}
	return nil
}

// noHost returns the error of a client that was not told where to send the request:
// it says what the URL lacks. A URL that has a host is not what was to be followed last.
func (req *Request) noHost() error {
	fault, lacking := uri.LacksHost(req.Header.RequestURI())
	if !lacking {
		return errNoHost
	}
	return namedError{errors.New("fasthttp: the URL " + fault), errNoHost}
}
