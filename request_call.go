package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptrace"
	"time"

	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/uri"
)

// callState holds the limits of a client's call in progress, and its outcome so far. It
// is a part of the request, since a RoundTripper of the application may be between the
// call and the connection.
type callState struct {
	ctx      context.Context // nil if the call cannot be canceled
	deadline time.Time       // zero for none
	trace    *httptrace.ClientTrace

	proxy *proxyForm // nil for a request to its own host

	purpose      callPurpose
	content      contentUse
	outcome      attemptOutcome
	need         connpool.Need // of the last attempt
	bodyConsumed bool          // the body was a stream, which has been read
	// misdirected is set if a connection was given up because the server was not the right
	// one
	misdirected bool

	upstream string // the address of the last attempt
}

// callPurpose is the purpose for which a client uses a callState.
type callPurpose uint8

const (
	noCall       callPurpose = iota // nothing: no call is in progress
	callSends                       // the request is being sent
	callAcquires                    // a connection is acquired for the application
)

// contentUse is how a call uses the content of the response.
type contentUse uint8

const (
	contentAsSet     contentUse = iota // the settings of client and response decide
	contentBuffered                    // it is read before the call returns
	contentDiscarded                   // the caller will not read it
)

// inner returns the use for a call within the call, which has a response of its own.
func (u contentUse) inner() contentUse {
	if u == contentDiscarded {
		return contentAsSet
	}
	return u
}

// attemptOutcome is the outcome of the last attempt at a request, which decides whether
// another attempt may follow.
type attemptOutcome uint8

const (
	attemptPending   attemptOutcome = iota // no byte of a response was received; the connection may be intact
	attemptUnreached                       // there was no connection for it
	attemptLost                            // the connection itself has failed, without a byte of a response
	attemptResponded                       // the first byte of a response was received
)

// proxyForm is how a request is sent to an HTTP proxy: with an absolute URI as its
// target, and with this Proxy-Authorization if it has none.
type proxyForm struct{ authorization string }

// done returns a channel that is closed when the call is canceled, or nil.
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

// expired reports whether the deadline has passed.
func (c *callState) expired() bool {
	return !c.deadline.IsZero() && !time.Now().Before(c.deadline)
}

// contextError returns the error of ctx, which has ended. It wraps the cause if the
// application has set one.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		return canceledError{err, cause}
	}
	return err
}

type canceledError struct{ err, cause error }

func (e canceledError) Error() string { return e.err.Error() + ": " + e.cause.Error() }

// Unwrap returns both errors for errors.Is.
func (e canceledError) Unwrap() []error { return []error{e.err, e.cause} }

// isKnown reports whether the URI is the result of parsing an absolute target, and
// unchanged.
func (req *Request) isKnown() bool {
	return req.parsedVersion != 0 && req.parsedVersion == req.uri.version() && len(req.uri.text.Source()) > 0
}

// parseTarget is parseURI for a client. If the target is the same absolute URI as the
// last one, it need not be parsed again: its meaning does not depend on other parts of
// the request.
func (req *Request) parseTarget() error {
	switch {
	case req.uriParsed:
		return req.uri.invalid()
	case req.recallTarget():
		return nil
	}
	return req.parseNewTarget()
}

// recallTarget uses the URI again if it was parsed from the same target, and reports
// whether it was.
func (req *Request) recallTarget() bool {
	if !req.isKnown() || !bytes.Equal(req.uri.text.Source(), req.Header.head.Target()) {
		return false
	}
	req.uriParsed, req.sameTarget = true, true
	return true
}

// parseNewTarget is parseTarget for a target other than the last one.
func (req *Request) parseNewTarget() error {
	req.sameTarget = false
	err := req.parseURI()
	req.parsedVersion = req.uri.version()
	return err
}

// noHost returns the error for a request without a host. It names the part that the URL
// lacks. It does not contain query, user name and password, since errors are written to
// logs. If the target has a host, it is not the URL that was used last, and the error
// is errNoHost.
func (req *Request) noHost() error {
	fault, lacking := uri.LacksHost(req.Header.RequestURI())
	if !lacking {
		return errNoHost
	}
	return namedError{errors.New("fasthttp: the URL " + fault), errNoHost}
}
