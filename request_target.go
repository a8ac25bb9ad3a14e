package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptrace"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/uri"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// URI returns the URI of the request: its target, completed by the Host field. A change
// of the URI also changes the sent request.
func (req *Request) URI() *URI {
	_ = req.parseURI()
	return &req.uri
}

func (req *Request) parseURI() error {
	if req.uriParsed {
		return req.uri.invalid()
	}
	req.uriParsed = true
	h := &req.Header
	if target := h.head.Target(); h.head.IsConnect() && http1.IsAuthority(target) {
		// the target is the authority, and nothing else (RFC 9112 section 3.2.3)
		return req.uri.parse(target, strSlash, req.isTLS)
	}
	err := req.uri.parse(h.Host(), h.head.Target(), req.isTLS)
	if h.head.HasReceivedTarget() {
		req.uri.text.KeepBadEscapes()
		req.uri.text.KeepQuestionMark(h.head.Target())
	}
	return err
}

// SetURI makes the URI of the request a copy of newURI.
func (req *Request) SetURI(newURI *URI) {
	if newURI == nil {
		req.uri.Reset()
		req.uriParsed = false
		return
	}
	newURI.CopyTo(&req.uri)
	req.uriParsed = true
}

// RequestURI returns the target of the request line, "/" by default. If the URI was
// used or set, it is the target of the URI.
func (req *Request) RequestURI() []byte {
	if req.uriParsed {
		req.prepareTarget()
	}
	return req.Header.RequestURI()
}

// prepareTarget sets the target in the header from the URI, unless it is an authority or an
// asterisk, which are not paths (RFC 9112 sections 3.2.3 and 3.2.4).
func (req *Request) prepareTarget() {
	h := &req.Header
	switch {
	case req.keepsTarget():
	case req.sendsAuthority():
		// prepareHost returns the error of an invalid host
		host, _ := hostField(req.uri.Host())
		h.SetRequestURIBytes(host)
	default:
		if target := req.uri.encodedTarget(); !bytes.Equal(target, h.head.Target()) {
			h.SetRequestURIBytes(target)
		}
	}
}

// sendsAuthority reports whether the request is CONNECT to a host. A request that was
// received with a path keeps the path.
func (req *Request) sendsAuthority() bool {
	h := &req.Header
	return h.head.IsConnect() && (h.head.ReceivedStart() == nil || h.head.Target()[0] != '/') && !h.head.IsExtended()
}

// keepsTarget reports whether the target is not a path, and the URI was parsed from it
// and has not changed.
func (req *Request) keepsTarget() bool {
	h := &req.Header
	if h.head.HasDefaultLine() {
		return false
	}
	noPath := h.head.IsConnect() && http1.IsAuthority(h.head.Target()) || h.IsOptions() && string(h.head.Target()) == "*"
	return noPath && bytes.Equal(req.uri.PathOriginal(), h.head.Target())
}

// appendHead appends the head as e specifies it. It does not change the target in the header,
// which the application sets for each request, and which may be longer than the sent target.
func (req *Request) appendHead(dst []byte, e http1.Encoding) []byte {
	if !req.uriParsed {
		return req.Header.head.AppendRequest(dst, e)
	}
	if req.call.proxy == nil && req.Header.head.HasPathMethod() && !req.uri.text.HasUser() {
		return req.Header.head.AppendAfterTarget(req.appendPath(req.Header.head.AppendMethod(dst)), e)
	}
	kept := req.keepsTarget()
	prepares := req.sendsAuthority() || kept && req.call.proxy == nil
	if prepares {
		req.prepareTarget()
	}
	h := req.sentHeader()
	if prepares {
		dst = h.head.AppendRequest(dst, e)
	} else {
		dst = h.head.AppendAfterTarget(req.appendTarget(h.head.AppendMethod(dst), kept), e)
	}
	req.sent(h)
	return dst
}

// appendTarget appends the target to send. If kept is set, it is not a path.
func (req *Request) appendTarget(dst []byte, kept bool) []byte {
	if req.call.proxy != nil {
		host, _ := hostField(req.uri.Host())
		// a host that was set was not checked
		dst = urlencoded.AppendVisible(append(dst, "http://"...), host)
		if kept {
			// RFC 9112 section 3.2.4: a request to the server itself has no path
			return dst
		}
	}
	return req.appendPath(dst)
}

// appendPath appends the target as it is sent to its host.
func (req *Request) appendPath(dst []byte) []byte {
	if req.sameTarget {
		return append(dst, req.uri.encodedTarget()...)
	}
	return req.uri.appendRequestURI(dst)
}

// SetRequestURI sets the target of the request: a path with a query, or an absolute
// URI. It drops a URI that was set before, including its host.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed = false
}

// SetRequestURIBytes is SetRequestURI for a byte slice.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.Header.SetRequestURIBytes(requestURI)
	req.uriParsed = false
}

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
	withoutJar  bool // the cookies of the jar are not for the server

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
func (c *callState) expired() bool { return clock.Passed(c.deadline) }

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
