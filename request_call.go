package fasthttp

import (
	"bytes"
	"context"
	"fmt"
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

	active bool
	// buffered says that the body must be read before the call returns, and
	// discard that nobody will look at it
	buffered, discard bool
	// handsOut says that the connection is for somebody else
	handsOut bool
	// unreached says that there was no connection for the last attempt, reply
	// that the first byte of a response came, and broken that the connection
	// itself has failed; usedUp says that the body was a stream, which has been
	// read
	unreached, reply, broken, usedUp bool
	upstream                         string // the address of the last attempt
}

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

// earliest returns the earlier one of two deadlines, of which a zero one is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

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
// it says what the URL lacks. The query and user name and password are left out, as
// errors end up in logs. A URL that has a host is not what was to be followed last.
func (req *Request) noHost() error {
	target := req.Header.RequestURI()
	url, scheme := uri.Safe(target)
	absolute := scheme > 0
	if absolute && len(url) > scheme && url[scheme] != '/' {
		return errNoHost
	}
	if len(url) > maxToldURL {
		url = url[:maxToldURL] + "..."
	}
	lacks := "no scheme: it does not begin with http:// or https://"
	switch {
	case absolute:
		lacks = "no host"
	case uri.IsPath(target):
		lacks = "neither scheme nor host"
	}
	return namedError{fmt.Errorf("fasthttp: the URL %q has %s", url, lacks), errNoHost}
}

// maxToldURL is how much of a URL an error holds.
const maxToldURL = 200
