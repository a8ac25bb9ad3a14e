package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrContentType is wrapped by the error of a response that is not a stream of events: its
// Content-Type is not text/event-stream, or it has a Content-Encoding.
var ErrContentType = errors.New("sse: the response is not a stream of events")

// StatusError is the error of a response with a status other than 200 and 204.
type StatusError struct {
	StatusCode int // of the response
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("sse: the status of the response is %d", e.StatusCode)
}

// Client sends the requests of a Source. *fasthttp.Client and *fasthttp.HostClient implement
// it. Do not set its Timeout or ReadTimeout: each limits how long a stream lasts.
type Client interface {
	// DoRedirectsContext sends a request, follows up to maxRedirectsCount redirects, and
	// fills resp. If resp.StreamBody is set, it leaves the body to be read from
	// resp.BodyStream, which the end of ctx ends.
	DoRedirectsContext(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, maxRedirectsCount int) error
}

// The defaults of Source.
const (
	DefaultRetry    = 3 * time.Second
	DefaultMaxRetry = time.Minute
)

const (
	// minRetry is the least time between two requests.
	minRetry     = 100 * time.Millisecond
	maxRedirects = 20 // as in browsers
)

// Source receives the events of a URL. When the stream ends it reconnects, as EventSource does
// in browsers, and reports the ID of the last event that it has received. Only one goroutine
// may use it.
type Source struct {
	// URL is the address of the stream, with the scheme http or https.
	URL string

	// Client sends the requests. Nil means a client with the default settings, which all
	// Sources without their own share.
	Client Client

	// Request, if it is not nil, is the request to send, for example with a field for
	// authorization, or with a body that is not a stream. It is copied for each
	// connection; URL, if it is not empty, replaces its URI. Fields with the names Accept, Cache-Control and
	// Last-Event-ID are set.
	Request *fasthttp.Request

	// LastEventID is sent to the server unless it is empty. Read sets it to the ID of
	// each event, before the function gets the event.
	LastEventID string

	// Retry is how long to wait before reconnecting, until the server sets that time. 0
	// or less means DefaultRetry.
	//
	// The time doubles with each connection in a row that fails without an event, up to
	// MaxRetry, or the server's time if it is longer. A random time of up to a half is
	// added, so that clients that were disconnected together do not reconnect together.
	// Two requests are at least 100 ms apart. The server's time is limited to a day.
	Retry time.Duration

	// MaxRetry limits how far the time doubles. 0 or less means DefaultMaxRetry.
	MaxRetry time.Duration

	// MaxFailures, if it is positive, is after how many connections in a row that fail
	// without an event Read gives up, and returns the last error. By default it does not
	// give up, as browsers.
	MaxFailures int

	// MaxEventSize limits the size of an event in bytes. 0 or less means
	// DefaultMaxEventSize.
	MaxEventSize int

	// IdleTimeout, if it is positive, is how long a connection may be without any byte,
	// also of a comment, before Read reconnects. The time that the function takes for an
	// event does not count. IdleTimeout also limits how long the response may take to
	// begin. Set it to a multiple of the server's heartbeat.
	IdleTimeout time.Duration

	// Disconnected, if it is not nil, is called before each wait for reconnecting, with
	// the reason and the time to wait. The reason is io.EOF if the server has ended the
	// stream.
	Disconnected func(reason error, wait time.Duration)
}

// Read is Source.Read for a URL with default settings. client may be nil.
func Read(ctx context.Context, client Client, url string, f func(e Event) error) error {
	s := Source{URL: url, Client: client}
	return s.Read(ctx, f)
}

var defaultClient fasthttp.Client

// errIdle is why a connection without bytes ends.
var errIdle = errors.New("sse: the connection was idle for too long")

// Read calls f with each event, one after the other, and reconnects when the stream ends or
// cannot be opened. It returns
//
//   - nil if the server responds with status 204, which means that there will be no more events,
//   - the error of f, as soon as f returns one,
//   - the error of ctx, which wraps its cause, as soon as ctx ends,
//   - a *StatusError for any other status than 200, after redirects,
//   - an error that wraps ErrContentType for content of another type,
//   - ErrEventTooLarge for an event above the limit,
//   - the error of a URL that cannot be requested,
//   - the last error after MaxFailures.
func (s *Source) Read(ctx context.Context, f func(e Event) error) error {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	if err := s.fill(req); err != nil {
		return err
	}
	r := reading{s: s, f: f, retry: DefaultRetry}
	if s.Retry > 0 {
		r.retry = s.Retry
	}
	for failures := 0; ; {
		err := r.connect(ctx)
		switch {
		case r.final:
			// not the error of the context, which may have ended meanwhile: a loop over Events that has
			// ended itself must not get another pair
			return err
		case ctx.Err() != nil:
			return contextError(ctx)
		case r.received:
			failures = 0
		}
		if failures++; s.MaxFailures > 0 && !r.received && failures >= s.MaxFailures {
			return err
		}
		wait := s.wait(r.retry, failures)
		if s.Disconnected != nil {
			s.Disconnected(err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return contextError(ctx)
		case <-timer.C:
		}
	}
}

// Events returns the events of Read. If Read returns an error, it is the last pair.
func (s *Source) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := s.Read(ctx, func(e Event) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped {
			yield(Event{}, err)
		}
	}
}

var errStopped = errors.New("sse: the loop has ended")

// contextError returns the error of a context that has ended. It wraps the cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// wait returns how long to wait before reconnecting, after a number of failures in a row.
func (s *Source) wait(retry time.Duration, failures int) time.Duration {
	limit := s.MaxRetry
	if limit <= 0 {
		limit = DefaultMaxRetry
	}
	wait := max(retry, minRetry)
	for limit = max(limit, wait); failures > 1 && wait < limit; failures-- {
		wait = min(2*wait, limit)
	}
	return wait + rand.N(wait/2)
}

// fill fills the request, and checks its URI.
func (s *Source) fill(req *fasthttp.Request) error {
	if s.Request != nil {
		s.Request.CopyTo(req)
	}
	uri := req.URI()
	if s.URL != "" {
		if err := uri.Parse(nil, []byte(s.URL)); err != nil {
			return fmt.Errorf("sse: %w", err)
		}
	}
	if scheme := string(uri.Scheme()); len(uri.Host()) == 0 || scheme != "http" && scheme != "https" {
		return fmt.Errorf("sse: the URL has the scheme %q and the host %q", scheme, uri.Host())
	}
	return nil
}

// reading is the state of Source.Read.
type reading struct {
	s     *Source
	f     func(e Event) error
	retry time.Duration
	// of the last connection
	final    bool // Read must return
	received bool // there was an event
}

// connect opens the stream, and reads it to its end. The error is never nil, unless it is
// final.
func (r *reading) connect(parent context.Context) error {
	r.final, r.received = false, false
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	alive, busy := func() {}, func() {}
	if idle := r.s.IdleTimeout; idle > 0 {
		timer := time.AfterFunc(idle, func() { cancel(errIdle) })
		defer timer.Stop()
		alive, busy = func() { timer.Reset(idle) }, func() { timer.Stop() }
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	if err := r.s.fill(req); err != nil {
		r.final = true
		return err
	}
	req.Header.Set(fasthttp.HeaderAccept, "text/event-stream")
	req.Header.Set(fasthttp.HeaderCacheControl, "no-cache")
	req.Header.Del(fasthttp.HeaderLastEventID)
	if r.s.LastEventID != "" {
		req.Header.Set(fasthttp.HeaderLastEventID, r.s.LastEventID)
	}
	resp.StreamBody = true
	client := r.s.Client
	if client == nil {
		client = &defaultClient
	}
	if err := client.DoRedirectsContext(ctx, req, resp, maxRedirects); err != nil {
		return err
	}
	alive()
	defer func() { _ = resp.CloseBodyStream() }()
	if resp.StatusCode() == fasthttp.StatusNoContent {
		r.final = true
		return nil
	}
	if err := check(resp); err != nil {
		r.final = true
		return err
	}
	body := resp.BodyStream()
	if body == nil {
		body = bytes.NewReader(resp.Body())
	}
	return r.read(ctx, aliveReader{body, alive}, busy)
}

// check returns the reason why a response is not a stream of events.
func check(resp *fasthttp.Response) error {
	if status := resp.StatusCode(); status != fasthttp.StatusOK {
		return &StatusError{status}
	}
	kind, _, _ := bytes.Cut(resp.Header.ContentType(), []byte{';'})
	if kind = bytes.TrimSpace(kind); !ascii.EqualFoldString(kind, "text/event-stream") {
		return fmt.Errorf("%w: its type is %q", ErrContentType, kind)
	}
	if coding := resp.Header.ContentEncoding(); len(coding) > 0 && !ascii.EqualFoldString(coding, "identity") {
		return fmt.Errorf("%w: its encoding is %q", ErrContentType, coding)
	}
	return nil
}

// read reads the events of a connection, to which ctx belongs. It calls busy before each event, and alive of
// body after it.
func (r *reading) read(ctx context.Context, body aliveReader, busy func()) error {
	d := NewDecoder(body)
	d.MaxEventSize, d.lastID = r.s.MaxEventSize, r.s.LastEventID
	for {
		e, err := d.Next()
		ended := ctx.Err() != nil
		if err != nil || !ended {
			// otherwise the function does not get the event, which has to be sent again
			r.s.LastEventID = d.lastID
		}
		if after, ok := d.Retry(); ok {
			r.retry = after
		}
		switch {
		case ended:
			return context.Cause(ctx)
		case err != nil:
			r.final = err == ErrEventTooLarge
			return err
		}
		r.received = true
		busy()
		if err := r.f(e); err != nil {
			r.final = true
			return err
		}
		body.alive()
	}
}

// aliveReader reports when bytes arrive.
type aliveReader struct {
	r     io.Reader
	alive func()
}

// Read implements io.Reader.
func (r aliveReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 {
		r.alive()
	}
	return n, err
}
