package fasthttp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http/httptrace"
	"slices"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/failover"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2client"
)

// Do sends req and fills resp with the response. Redirects are not followed.
//
// The target of req may be an absolute URI or a path; the connection goes to
// Addr either way. resp may be nil if the response does not matter. Both are
// best taken from AcquireRequest and AcquireResponse.
//
// The timeout that Request.SetTimeout gave to req applies: the error is ErrTimeout when
// it is over. Do waits for its turn while all connections are busy: see
// MaxConnWaitTimeout.
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.call(noContext, req, resp, time.Time{})
}

// DoTimeout is like Do with a timeout; the shorter of it and the timeout of the request
// applies. If timeout is not positive, it returns ErrTimeout at once.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return req.refused(ErrTimeout)
	}
	return c.call(noContext, req, resp, time.Now().Add(timeout))
}

// DoDeadline is like Do with a deadline, at which it returns ErrTimeout at the latest.
// A zero deadline means none.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.call(noContext, req, resp, deadline)
}

// call is all forms of Do. ctx may be nil.
func (c *HostClient) call(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	c.pending.Add()
	return c.callCounted(ctx, req, resp, deadline)
}

// refused closes the body stream of a request that err keeps from being sent.
func (req *Request) refused(err error) error {
	if req != nil {
		_ = req.body.CloseStream()
	}
	return err
}

// refusedURI is refused that also empties the response, as HostClient does if a URI is at fault.
func (req *Request) refusedURI(resp *Response, err error) error {
	if resp != nil {
		resp.startOver()
	}
	return req.refused(err)
}

// callCounted is call for a caller that has counted it in pending.
func (c *HostClient) callCounted(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	defer c.pending.Release()
	call := &req.call
	if call.purpose == callSends {
		// a RoundTripper sends the request by another client than its own
		outer := *call
		defer func() { req.call = outer }()
		if ctx == nil {
			ctx = outer.ctx
		}
		deadline = clock.Earliest(deadline, outer.deadline)
		*call = callState{content: outer.content.inner()}
	} else {
		defer func() {
			req.call = callState{content: req.call.content}
			if req.body.Stream != nil {
				_ = req.body.CloseStream()
			}
		}()
	}
	if err := c.ready(); err != nil {
		return err
	}
	if !req.uriParsed && req.isTLS != c.IsTLS {
		// hooks and the jar may ask for the URI of a target without a scheme; a request that was
		// received keeps its own
		defer func(was bool) { req.isTLS = was }(req.isTLS)
		req.isTLS = c.IsTLS
	}
	if limit := req.limitedTo(c.Timeout); limit > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(limit))
	}
	// only the use of the content was set before
	call.purpose, call.deadline, call.trace = callSends, deadline, c.Trace
	if ctx != nil {
		c.limitCall(call, ctx)
	}
	switch {
	case c.Jar != nil && !call.withoutJar:
		return c.callWithCookies(req, resp)
	case resp == nil:
		return c.callDiscarding(req)
	}
	return c.attempts(req, resp)
}

// limitCall gives a call its context, which may be nil, with the deadline of that, and its trace:
// the one of the context takes precedence.
func (c *HostClient) limitCall(call *callState, ctx context.Context) {
	call.ctx, call.trace = ctx, c.Trace
	if ctx == nil {
		return
	}
	if until, ok := ctx.Deadline(); ok {
		call.deadline = clock.Earliest(call.deadline, until)
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil {
		call.trace = trace
	}
}

// timeLimit returns the time that a call may take by the settings of the client and of the
// request. 0 or less means no limit.
func (c *HostClient) timeLimit(req *Request) time.Duration { return req.limitedTo(c.Timeout) }

func (c *Client) timeLimit(req *Request) time.Duration { return req.limitedTo(c.Timeout) }

// limitedTo returns the shorter one of the timeout of the request and of limit, either of which
// may be missing.
func (req *Request) limitedTo(limit time.Duration) time.Duration {
	if limit <= 0 || req.timeout > 0 && req.timeout < limit {
		return req.timeout
	}
	return limit
}

// callDiscarding makes a call whose response is discarded.
func (c *HostClient) callDiscarding(req *Request) error {
	resp, use := AcquireResponse(), req.call.content
	defer func() {
		req.call.content = use
		ReleaseResponse(resp)
	}()
	if use == contentAsSet {
		req.call.content = contentDiscarded
	}
	err := c.attempts(req, resp)
	if s, ok := resp.body.Stream.(*clientStream); ok && err == nil {
		s.drainSmall()
	}
	return err
}

// attempts sends the request until there is a response, or another attempt makes no
// sense.
func (c *HostClient) attempts(req *Request, resp *Response) error {
	call := &req.call
	if resp.body.Stream != nil {
		// it may hold the connection that the next attempt waits for
		_ = resp.body.CloseStream()
	}
	var interval time.Duration
	if !call.deadline.IsZero() {
		interval = time.Until(call.deadline)
	}
	var content resentContent
	if c.MaxRetryAfter > 0 {
		content = contentOf(req)
	}
	for attempt := 1; ; attempt++ {
		if err := call.canceled(); err != nil {
			return err
		}
		if call.expired() {
			return ErrTimeout
		}
		var retry bool
		var err error
		t := c.Transport
		if t == nil {
			// read each time: the application may have assigned its own
			t = DefaultTransport
		}
		if own, ok := t.(*transport); ok {
			resp.Header.head.Status = 0
			retry, err = own.RoundTrip(c, req, resp)
			if err != nil && resp.Header.head.Status < StatusOK {
				// no final head has arrived: the rest is of an earlier response
				resp.startOver()
			}
		} else {
			retry, err = c.attemptWith(t, req, resp)
		}
		if err == nil {
			if c.MaxRetryAfter <= 0 || attempt >= c.maxAttempts() {
				return nil
			}
			if again, err := c.awaitRetry(req, resp, content); !again {
				return err
			}
			if interval > 0 {
				interval = time.Until(call.deadline)
			}
			continue
		}
		if !retry || call.bodyConsumed || attempt >= c.maxAttempts() || call.canceled() != nil {
			return finalError(err)
		}
		reset, again := c.shouldRetry(req, attempt, err)
		if !again {
			return finalError(err)
		}
		if reset && interval > 0 {
			call.deadline = time.Now().Add(interval)
		} else if call.expired() {
			return finalError(err)
		}
	}
}

// resentContent describes the content of a request that may be sent again, after a redirect or
// Retry-After.
type resentContent struct {
	streamed bool // it was a stream, which is used up once the request was sent
	size     int  // of that stream
}

func contentOf(req *Request) resentContent {
	return resentContent{streamed: req.body.Stream != nil, size: req.body.Size}
}

// renew sets the stream of req again.
func (c resentContent) renew(req *Request) error {
	if !c.streamed {
		return nil
	}
	stream, err := req.GetBody()
	if err == nil && stream == nil {
		err = ErrRedirectBodyStream
	}
	if err != nil {
		return err
	}
	req.SetBodyStream(stream, c.size)
	return nil
}

// finalError returns the error for the caller, given the error of an attempt.
func finalError(err error) error { return http2client.Replace(err, io.EOF, ErrConnectionClosed) }

// awaitRetry waits until the request may be sent again, and prepares it, if the response asks for
// that. again is false if the response, or the error, is the result of the call.
func (c *HostClient) awaitRetry(req *Request, resp *Response, content resentContent) (again bool, err error) {
	wait, asked := c.askedWait(req, resp)
	if !asked || content.streamed && req.GetBody == nil {
		return false, nil
	}
	// the next attempt may need its connection
	if s, ok := resp.body.Stream.(*clientStream); ok {
		s.drainSmall()
	}
	_ = resp.CloseBodyStream()
	if !req.call.sleep(wait) {
		return false, req.call.canceled()
	}
	if err := content.renew(req); err != nil {
		return false, err
	}
	req.call.bodyConsumed = false
	return true, nil
}

// askedWait returns how long to wait before the request is sent again, if the response asks for
// that, and if it is possible.
func (c *HostClient) askedWait(req *Request, resp *Response) (wait time.Duration, asked bool) {
	switch resp.StatusCode() {
	case StatusTooManyRequests, StatusServiceUnavailable:
	default:
		return 0, false
	}
	wait, asked = retryAfter(resp.Header.setOnce(field.RetryAfter), time.Now())
	if !asked || wait > c.MaxRetryAfter || !isIdempotent(req) {
		return 0, false
	}
	if by := req.call.deadline; !by.IsZero() && time.Until(by) <= wait {
		return 0, false
	}
	return wait, true
}

// maxRetryAfterDigits is how many digits of a number of seconds are read: a longer one is not
// followed.
const maxRetryAfterDigits = 9

// retryAfter parses the value of the field Retry-After (RFC 9110 section 10.2.3), a number of
// seconds or a date. ok is false if it is neither.
func retryAfter(value []byte, now time.Time) (wait time.Duration, ok bool) {
	if len(value) == 0 {
		return 0, false
	}
	if len(value) <= maxRetryAfterDigits {
		seconds := 0
		for _, digit := range value {
			if digit < '0' || digit > '9' {
				return 0, false
			}
			seconds = seconds*10 + int(digit-'0')
		}
		return time.Duration(seconds) * time.Second, true
	}
	date, err := ParseHTTPDate(value)
	if err != nil {
		return 0, false
	}
	return max(date.Sub(now), 0), true
}

// attemptWith makes one attempt with a RoundTripper of the application.
func (c *HostClient) attemptWith(t RoundTripper, req *Request, resp *Response) (retry bool, err error) {
	resp.startOver()
	// unless DefaultTransport sets another one
	req.call.outcome = attemptLost
	if req.body.Stream != nil {
		defer func() {
			// t may have sent the request by another client, whose call has used it up
			req.call.bodyConsumed = req.call.bodyConsumed || req.body.Stream == nil
		}()
	}
	if !req.call.deadline.IsZero() {
		// the RoundTripper finds the remaining time there
		timeout := req.timeout
		req.timeout = time.Until(req.call.deadline)
		defer func() { req.timeout = timeout }()
	}
	with, ok := t.(RoundTripperContext)
	if !ok {
		return t.RoundTrip(c, req, resp)
	}
	ctx := req.call.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	return with.RoundTripContext(ctx, c, req, resp)
}

// shouldRetry reports whether the request is sent again after err, and whether its
// time begins anew then.
func (c *HostClient) shouldRetry(req *Request, attempt int, err error) (reset, again bool) {
	switch {
	case c.RetryIfErrUpstream != nil:
		return c.RetryIfErrUpstream(req, attempt, err, req.call.upstream)
	case c.RetryIfErr != nil:
		return c.RetryIfErr(req, attempt, err)
	case req.call.outcome == attemptUnreached:
		return false, false
	case c.RetryIf != nil:
		return false, c.RetryIf(req)
	case req.call.outcome != attemptLost, isTimeout(err):
		return false, false
	}
	return false, isIdempotent(req)
}

// prepare prepares the request for sending to this host.
func (c *HostClient) prepare(req *Request) error {
	h := &req.Header
	head := &h.head
	if c.h2 == nil && c.Transport == nil && head.IsExtended() {
		return ErrNoExtendedConnect
	}
	req.call.proxy = c.proxy
	if req.uriParsed || head.Slots[header.SlotHost].Len == 0 || !head.TargetIsPath() || c.proxy != nil {
		if !req.uriParsed {
			req.isTLS = c.IsTLS
		}
		if err := req.parseTarget(); err != nil {
			return err
		}
		uri := &req.uri
		if !uri.text.IsHTTP() {
			return errUnsupportedScheme(uri.Scheme())
		}
		if uri.text.IsHTTPS() != c.IsTLS {
			return ErrHostClientRedirectToDifferentScheme
		}
		if c.DisablePathNormalizing {
			uri.DisablePathNormalizing = true
		}
	}
	if c.DisableHeaderNamesNormalizing {
		h.DisableNormalizing()
	}
	if head.Slots[header.SlotUserAgent].Len == 0 && !c.NoDefaultUserAgentHeader && !head.Is(header.NoSpecial) {
		h.SetUserAgentBytes(c.userAgent())
	}
	return req.prepareParsed()
}

func (c *HostClient) userAgent() []byte {
	if c.Name == "" {
		return strFasthttp
	}
	return bytesconv.Bytes(c.Name)
}

var strFasthttp = []byte("fasthttp")

// Backoff has the waits of RetryWithBackoff. How many attempts there are is no part of it: see
// MaxIdemponentCallAttempts of Client and HostClient.
type Backoff struct {
	// Base is the longest wait before the second attempt. It doubles with each further one.
	// Zero means 100 milliseconds, and a negative one that there is no wait.
	Base time.Duration
	// Limit is the longest wait of all. Zero means 10 seconds.
	Limit time.Duration
}

// The waits of a Backoff that does not set them.
const (
	defaultBackoffBase  = 100 * time.Millisecond
	defaultBackoffLimit = 10 * time.Second
)

// RetryWithBackoff returns a RetryIfErrFunc that waits before each new attempt: for a
// random time up to waits.Base after the first one, and up to twice as long after each
// further one, but never longer than waits.Limit. The randomness keeps many clients that
// failed together from retrying together.
//
// It retries requests that may be repeated: requests that never reached a host, because
// there was no connection, and requests with the methods GET, HEAD, PUT, OPTIONS, TRACE
// and QUERY whose connection failed or took too long, if no byte of a response had
// arrived. The wait counts as time of the call, and ends with it.
func RetryWithBackoff(waits Backoff) RetryIfErrFunc {
	base := cmp.Or(waits.Base, defaultBackoffBase)
	limit := cmp.Or(waits.Limit, defaultBackoffLimit)
	return func(req *Request, attempts int, err error) (resetTimeout, retry bool) {
		call := &req.call
		if call.outcome == attemptResponded || errors.Is(err, ErrNoFreeConns) || call.outcome != attemptUnreached && !isIdempotent(req) {
			return false, false
		}
		wait := failover.Backoff(base, limit, attempts)
		if !call.deadline.IsZero() && time.Until(call.deadline) <= wait {
			return false, false
		}
		return false, call.sleep(wait)
	}
}

// sleep waits, and reports whether the call was not canceled meanwhile.
func (c *callState) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done():
		return false
	}
}

// CookieJar keeps the cookies of a client. The package fasthttpadaptor makes one
// of any net/http.CookieJar. Its methods may be called concurrently.
type CookieJar interface {
	// Cookies returns names and values of the cookies to send to uri, which must not be
	// changed, in the order in which they are sent. A name may occur more than once;
	// the cookie with the longer path then precedes the other (RFC 6265 section 5.4).
	// Quotes around a value are a part of it.
	Cookies(uri *URI) iter.Seq2[string, string]
	// SetCookies stores the values of the Set-Cookie fields in a response from uri,
	// which must not be changed.
	SetCookies(uri *URI, values []string)
}

// addJarCookies adds the cookies whose names the header does not have yet, and appends these names
// to added: the application's iterator may panic between two of them.
func (h *RequestHeader) addJarCookies(cookies iter.Seq2[string, string], added *[]string) {
	for name, value := range cookies {
		name = string(cookie.Cleaned(bytesconv.Bytes(name)))
		if !slices.Contains(*added, name) {
			if h.head.HasCookie(name) {
				continue
			}
			*added = append(*added, name)
		}
		h.head.MoveCookies(http1.Request)
		h.head.Cookies.Add(name, bytesconv.String(cookie.Cleaned(bytesconv.Bytes(value))))
	}
}

// callWithCookies adds the cookies of the jar to a call, and stores the cookies of the
// response in the jar. A cookie that the caller has set takes precedence over the jar.
// When the call is over, even by a panic, the request has only its own cookies.
func (c *HostClient) callWithCookies(req *Request, resp *Response) error {
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	h := &req.Header
	uri := req.URI()
	var added []string
	defer func() {
		for _, name := range added {
			h.DelCookie(name)
		}
	}()
	h.addJarCookies(c.Jar.Cookies(uri), &added)
	if err := c.attempts(req, resp); err != nil {
		return err
	}
	var set []string
	for _, value := range resp.Header.PeekAll(HeaderSetCookie) {
		set = append(set, string(value))
	}
	if len(set) > 0 {
		c.Jar.SetCookies(uri, set)
	}
	return nil
}
