package accesslog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Format is the format of a log.
type Format int

const (
	// Combined is the Combined Log Format of Apache and nginx: Common, and the Referer and
	// User-Agent fields of the request.
	Combined Format = iota
	// Common is the Common Log Format: the address of the client, the time at which the request
	// was received (in UTC), the request line, the status, and the bytes of the response
	// including its head. A missing value is "-".
	Common
	// JSON has an object for each line, made by slog.JSONHandler.
	JSON
)

// Limits of a log.
const (
	// DefaultQueue is how many entries can wait if Options.Queue is not set.
	DefaultQueue = 4096
	// MaxValue is how many bytes of a method, a request target or a field are logged. If there
	// are more, the value ends with "...".
	MaxValue = 2048
)

// ErrClosed reports that a log was closed.
var ErrClosed = errors.New("accesslog: the log is closed")

// Options has the settings of a log. The zero value writes the Combined format to the standard
// output.
type Options struct {
	// Format selects the format.
	Format Format

	// Writer gets the lines, one or more with each Write; os.Stdout if it is nil. A slow Writer
	// delays no request. Lines wait for others for 5 milliseconds at most.
	Writer io.Writer

	// Handler, if it is set, gets a record for each entry instead, with the attributes client,
	// method, target, protocol, status, bytes, duration, referer, user_agent and id, and, if
	// they apply, refused and error. The level is slog.LevelError for a status of 500 or more,
	// slog.LevelWarn for a response that was cut off, and slog.LevelInfo otherwise.
	Handler slog.Handler

	// Sample logs only one in Sample responses. Responses with a status of 400 or more, or that
	// were cut off, are always logged. 0 and 1 log all responses.
	Sample int

	// Queue is how many entries can wait for the Writer; DefaultQueue if it is 0. Their texts
	// together can have 256 bytes for each of them. Further entries are dropped.
	Queue int

	// IDField is the name of a response field to log, such as X-Request-Id: as
	// another quoted value at the end of a line, or as the attribute id. It must not have
	// secrets.
	IDField string

	// Secret are names of arguments whose values are replaced by "***" in request targets and
	// Referer fields, in addition to the names that this package knows: names with a word such as
	// token, secret, passw or signature in them, and names such as key, sig and code. Case, "-",
	// "_" and "." do not matter. Users and passwords in URLs are replaced in any case.
	Secret []string

	// Logger gets the number of entries that were dropped, and the errors and panics of Writer and
	// Handler, at most once in ten seconds; slog.Default() if it is nil.
	Logger *slog.Logger
}

// Log is an access log. Use New to make one. Its methods may be called from any goroutine.
type Log struct {
	options Options
	secrets secrets
	queue   queue
	sampled atomic.Uint64
	records sync.Pool

	mu sync.Mutex
	// left has the records of requests whose context was left to their handler, by the number
	// of the request
	left map[uint64]*record
}

// New returns a log, and starts the goroutine that writes it, which Close ends.
func New(o Options) *Log {
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	l := &Log{options: o, secrets: newSecrets(o.Secret), left: map[uint64]*record{}}
	l.records.New = func() any { return newRecord() }
	l.queue.begin(o.Queue)
	go newWriter(l).run()
	return l
}

// Attach makes the log have an entry for each response of a server. It is called before the
// server is started, and after Server.Handler and Server.ResponseSent were set: it puts functions
// around them. The log has requests as they were received, even if the handler changes them.
//
// Server.ResponseSent has a cost of its own: pipelined responses are written one by one.
func (l *Log) Attach(s *fasthttp.Server) {
	s.Handler = l.handler(s.Handler)
	before := s.ResponseSent
	s.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		// first, since before may panic
		l.sent(ctx, sent)
		if before != nil {
			before(ctx, sent)
		}
	}
}

// Dropped returns how many entries were not written: the queue was full, the log was closed, or
// Writer has failed.
func (l *Log) Dropped() uint64 { return l.queue.dropped.Load() }

// Flush waits until all entries so far are written. It returns ErrClosed after Close, and the error
// of ctx if that ends first.
func (l *Log) Flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case l.queue.flush <- done:
	case <-l.queue.ended:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close writes the entries that wait, and ends the log: later entries are dropped. It waits for
// Writer; use Flush first to limit that time. It does not close Writer, and returns ErrClosed if
// it was called before.
func (l *Log) Close() error {
	if !l.queue.end() {
		return ErrClosed
	}
	<-l.queue.ended
	return nil
}

// handler returns a handler that records requests before next is called.
func (l *Log) handler(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		r := l.records.Get().(*record)
		r.capture(ctx)
		ctx.SetUserValue(l, r)
		defer l.handled(ctx, r)
		next(ctx)
	}
}

// handled keeps the record of a request if the server will report its response with another
// context, because goroutines of the handler may still use this one.
func (l *Log) handled(ctx *fasthttp.RequestCtx, r *record) {
	if resp := ctx.LastTimeoutErrorResponse(); resp == nil || resp == &ctx.Response {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.left) < l.options.Queue {
		l.left[ctx.ID()] = r
	}
}

// sent adds an entry for a response.
func (l *Log) sent(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	if r, _ := ctx.UserValue(l).(*record); r != nil {
		ctx.SetUserValue(l, nil)
		l.add(ctx, r, ctx.Duration(), sent)
		return
	}
	l.mu.Lock()
	r := l.left[ctx.ID()]
	delete(l.left, ctx.ID())
	l.mu.Unlock()
	if r == nil {
		r = l.records.Get().(*record)
		r.captureRefused(ctx, sent.Refused)
	}
	l.add(ctx, r, max(time.Since(r.received), 0), sent)
}

// add adds a record to the queue, if it is one of the sample, and releases it.
func (l *Log) add(ctx *fasthttp.RequestCtx, r *record, taken time.Duration, sent fasthttp.SentResponse) {
	if l.picks(sent) {
		if l.options.IDField != "" {
			r.set(textID, ctx.Response.Header.Peek(l.options.IDField))
		}
		r.finish(taken, sent)
		l.queue.add(r)
	}
	r.reset()
	l.records.Put(r)
}

// picks reports whether a response is logged.
func (l *Log) picks(sent fasthttp.SentResponse) bool {
	if l.options.Sample <= 1 || sent.StatusCode >= 400 || sent.StatusCode == 0 || sent.Err != nil {
		return true
	}
	return (l.sampled.Add(1)-1)%uint64(l.options.Sample) == 0
}
