// Package policytest has tables of requests, with their outcome by every protocol: the policy
// of a server; and tests of tunnels. integrationtests runs them over HTTP/1.1 and HTTP/2, and package http3 over
// HTTP/3.
package policytest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// testCase is a request to a server with certain settings, and its outcome, which is the same
// by every protocol unless the case has a reason.
type testCase struct {
	name   string
	set    func(s *fasthttp.Server, w *witness)       // changes the settings of the server
	before func(w *witness, ts *Server)               // runs before the request is sent
	serve  func(ctx *fasthttp.RequestCtx, w *witness) // is the handler; by default it tells the request
	// refuse is the ErrorHandler. Without it, a case whose request is refused runs a second time,
	// with an ErrorHandler that makes another response.
	refuse      func(ctx *fasthttp.RequestCtx, w *witness, err error)
	streamsOnly bool // HTTP/1.1 has a test of its own
	once        bool // the case takes too long to run a second time
	ask         Request
	want        outcome

	onStreams func(want *outcome) // changes the outcome for HTTP/2 and HTTP/3
	why       string              // the reason for that
}

// Request is a request, whatever it is sent by.
type Request struct {
	method  string   // by default GET without content, and POST with content
	target  string   // by default /x
	host    string   // by default a
	fields  []string // lines
	content string
	// length is announced as Content-Length if it is not that of the content.
	length   int
	unsized  bool     // the content has no Content-Length
	trailers []string // lines, for content that has no Content-Length
	// open means that the client does not send the end of the message, and stops that it ends the
	// message, or its side of the connection, too early.
	open, stops bool
	// waits means that the client sends the content only after 100 (Continue).
	waits bool
	// later is content that the client sends once it has the response.
	later string

	// lines1 are the lines of the head in HTTP/1.1, and lines2 those in HTTP/2 and HTTP/3, if they
	// do not follow from the fields above.
	lines1, lines2 []string
}

func (r *Request) hasContent() bool {
	return r.content != "" || r.length > 0 || r.unsized || r.open || r.stops
}

func (r *Request) methodOf() string {
	switch {
	case r.method != "":
		return r.method
	case r.hasContent():
		return "POST"
	}
	return "GET"
}

func (r *Request) targetOf() string {
	if r.target != "" {
		return r.target
	}
	return "/x"
}

// announced returns the Content-Length, or "" if there is none.
func (r *Request) announced() string {
	switch {
	case !r.hasContent() || r.unsized:
		return ""
	case r.length > 0:
		return fmt.Sprint(r.length)
	case r.open || r.stops:
		return fmt.Sprint(len(r.content) + len(r.later) + 1)
	}
	return fmt.Sprint(len(r.content) + len(r.later))
}

// outcome is the fate of a request.
type outcome struct {
	status   int // 0 if there is no response
	content  string
	fields   []string // lines among the response's; "Name:" means that there is none
	interim  []string // the informational responses, such as "103 Link: </a>"
	trailers []string // lines
	handled  bool     // the handler is called

	// ends means that an HTTP/1.1 connection ends after the response. The connection of HTTP/2
	// always survives.
	ends bool
	// unannounced means that an HTTP/1.1 response does not announce the end of the connection.
	unannounced bool
	// cut means that the response is not complete.
	cut bool
	// code is the code with which a stream is reset, as HTTP/2 names it. Without one it may be
	// NO_ERROR, after a response to a request that has not ended (RFC 9113 section 8.1).
	code string

	refused error  // what Server.ErrorHandler and ResponseSent get
	failed  bool   // ResponseSent gets an Err
	told    string // the method and the target that ResponseSent gets, if the request has others; "-" if it is not called
	logged  string // a part of the only line in the log

	isDressed bool // dress makes the response
	isDropped bool // the client may not get the beginning of the response, which is cut
}

// answered is the outcome if the handler is called and answers with the content.
func (o outcome) answered(content string) outcome {
	o.status, o.content, o.handled = 200, content, true
	return o
}

// served is the outcome of a request that the handler has answered.
func served(content string) outcome { return outcome{}.answered(content) }

// thenEnds is the outcome if, in addition, a connection of HTTP/1.1 ends after the response.
func (o outcome) thenEnds() outcome {
	o.ends = true
	return o
}

// refuses is the outcome of a request refused for an error.
func refuses(status int, err error) outcome {
	content := fasthttp.StatusMessage(status)
	switch status {
	case 400:
		content = "Error when parsing request"
	case 408:
		content = "Request timeout"
	}
	return outcome{status: status, content: content, ends: true, refused: err, logged: err.Error()}
}

// failureText is an error that the tests know by its text.
type failureText string

func (e failureText) Error() string { return string(e) }

// anySmallBuffer is any *fasthttp.ErrSmallBuffer.
const anySmallBuffer failureText = "error when reading request headers: fasthttp: "

// isFailure reports whether an error is the wanted one.
func isFailure(got, want error) bool {
	if want == anySmallBuffer {
		_, ok := errors.AsType[*fasthttp.ErrSmallBuffer](got)
		return ok
	}
	return errors.Is(got, want) || got != nil && want != nil && got.Error() == want.Error()
}

// witness records what a server does with a request, unless the test itself sends it, to probePath
// or holdPath.
type witness struct {
	t        *testing.T
	handled  atomic.Int32
	failures chan error // the errors that ErrorHandler gets
	reports  chan report
	entered  chan string   // from handlers that wait
	release  chan struct{} // is closed at the end
	ended    sync.WaitGroup
	// abandons means that user values are not closed: the context is left to the handler.
	abandons bool
	values   atomic.Int32 // user values that were set, less the closed ones
}

type report struct {
	request string // the method and the target
	sent    fasthttp.SentResponse
}

const (
	probePath = "/probe"
	holdPath  = "/hold"
)

// isProbe reports whether a request is one of the test itself.
func isProbe(target []byte) bool {
	return string(target) == probePath || string(target) == holdPath
}

// addValue sets a user value that must be closed once.
func (w *witness) addValue(ctx *fasthttp.RequestCtx) {
	w.values.Add(1)
	var closed atomic.Int32
	ctx.SetUserValue(fmt.Sprint("value ", w.values.Load()), servertest.CloserFunc(func() {
		w.values.Add(-1)
		if closed.Add(1) > 1 {
			w.t.Error("a user value is closed twice")
		}
	}))
}

// serve is the handler of the server.
func (tc *testCase) handler(w *witness) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case probePath:
			fmt.Fprintf(ctx, "%d values", valuesOf(ctx))
			return
		case holdPath:
			w.entered <- "a request that holds"
			<-w.release
			return
		}
		w.handled.Add(1)
		w.addValue(ctx)
		if tc.serve == nil {
			tellRequest(ctx)
			return
		}
		tc.serve(ctx, w)
	}
}

// ignoresBody is a handler that does not read the body of the request.
func ignoresBody(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ignored") }

// readsSome is a handler that reads the first bytes of the body.
func readsSome(ctx *fasthttp.RequestCtx) {
	var b [3]byte
	n, _ := io.ReadFull(ctx.RequestBodyStream(), b[:])
	ctx.SetBody(b[:n])
}

func valuesOf(ctx *fasthttp.RequestCtx) (n int) {
	ctx.VisitUserValuesAll(func(any, any) { n++ })
	return n
}

// tellRequest answers with the request: its content as a text, or only its length if it is
// long, and its trailers.
func tellRequest(ctx *fasthttp.RequestCtx) {
	var told strings.Builder
	fmt.Fprintf(&told, "%s %s", ctx.Method(), ctx.RequestURI())
	if ctx.Request.IsBodyStream() {
		told.WriteString(" streams")
	}
	body, err := readAllOf(ctx)
	if len(body) > 100 {
		fmt.Fprintf(&told, " %d bytes", len(body))
	} else if len(body) > 0 {
		fmt.Fprintf(&told, " %q", body)
	}
	for name, value := range ctx.Request.Header.TrailerFields() {
		fmt.Fprintf(&told, " %s=%s", name, value)
	}
	if err != nil {
		fmt.Fprintf(&told, " %v", err)
	}
	ctx.SetBodyString(told.String())
}

// server returns the server of a case, and its witness.
func (tc *testCase) server(t *testing.T) (*fasthttp.Server, *witness) {
	w := &witness{
		t: t, failures: make(chan error, 10), reports: make(chan report, 10),
		entered: make(chan string, 10), release: make(chan struct{}),
	}
	s := &fasthttp.Server{Handler: tc.handler(w)}
	if tc.set != nil {
		tc.set(s, w)
	}
	if hook := s.HeaderReceived; hook != nil {
		s.HeaderReceived = func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if !isProbe(h.RequestURI()) {
				c = hook(h)
			}
			return c
		}
	}
	s.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		if isProbe(ctx.RequestURI()) {
			return
		}
		if sent.StatusCode != 0 && ctx.Response.StatusCode() != sent.StatusCode || (sent.StatusCode == 0) != (sent.Bytes == 0) ||
			ctx.RemoteAddr() == nil || ctx.Time().IsZero() || ctx.ConnID() == 0 || ctx.ConnRequestNum() != 2 {
			t.Errorf("ResponseSent gets %+v for request %d at %v, with the response %d", sent, ctx.ConnRequestNum(), ctx.Time(), ctx.Response.StatusCode())
		}
		w.reports <- report{fmt.Sprintf("%s %s", ctx.Method(), ctx.RequestURI()), sent}
	}
	return s, w
}

// dress is the ErrorHandler of a case that has none.
func dress(ctx *fasthttp.RequestCtx, w *witness, err error) {
	w.failures <- err
	w.addValue(ctx)
	if status := ctx.Response.StatusCode(); err != fasthttp.ErrRequestRefused && status != 200 {
		w.t.Errorf("ErrorHandler gets the status %d", status)
	}
	ctx.Error("dressed", 418)
	ctx.Response.Header.Set("X-Dressed", "yes")
}

// dressed is the outcome with dress as the ErrorHandler, which is not called for an Expect field.
func (o outcome) dressed(s *fasthttp.Server) outcome {
	byHook := errors.Is(o.refused, fasthttp.ErrRequestRefused)
	if o.status == 0 || byHook && s.HeaderReceived == nil {
		return o
	}
	if o.content != "" {
		o.content = "dressed"
	}
	if !byHook {
		o.status = 418
	}
	o.fields, o.isDressed = []string{"X-Dressed: yes"}, true
	return o
}

// Transport is a way of a request to the server.
type Transport struct {
	Name    string // of its subtests
	Streams bool   // HTTP/2 or HTTP/3
	// ResetDrops means that the client may not get the beginning of a response whose stream is
	// reset (RFC 9000 section 3.2).
	ResetDrops bool
	// Start starts a server, which is shut down when the test ends.
	Start func(t *testing.T, s *fasthttp.Server) *Server
}

// Server is a running server.
type Server struct {
	Log  *servertest.Log // of the server
	Dial func() Client   // opens a connection
	// Hold sends a POST request on another connection.
	Hold func(target, content string)
}

// Tables are the names of all tables, for Run.
func Tables() []string { return slices.Sorted(maps.Keys(tables)) }

var tables = map[string]func() []testCase{
	// requests that the server serves or refuses by their heads
	"heads": func() []testCase {
		return slicesOf(plainRequests, methodsNotServed, requestsRefusedByHook, headsBeyondTheLimits)
	},
	// requests that could mean something else to another recipient
	"malformed requests": malformedRequests,
	// content that the server limits, or passes on as a stream
	"bodies": func() []testCase {
		return slicesOf(bodiesAndLimits, bodiesOfConfigs, bodiesInMemory, unreadBodies, trailersOfRequests)
	},
	// forms that the server parses as they arrive
	"forms": largeForms,
	// requests with an Expect field
	"expectations": func() []testCase { return slicesOf(expectationsMet, expectationsNotMet) },
	// content that does not arrive in time. HTTP/2 looks at the time once a second.
	lateTable: lateBodies,
	// handlers that panic, and responses that are not sent as a whole
	"handlers": func() []testCase {
		return slicesOf(handlersThatPanic, hooksThatPanic, streamsThatFail, informationalResponses, trailersOfResponses, responsesThatAreNone)
	},
	// handlers that are late, or leave their contexts
	"timeouts": func() []testCase { return slicesOf(contextsThatAreLeft, handlersThatAreLate) },
}

// lateTable is the table whose cases mostly wait.
const lateTable = "late bodies"

// Run runs the cases of a table by every transport.
func Run(t *testing.T, table string, transports []Transport) {
	t.Parallel()
	cases := tables[table]()
	if table == lateTable {
		runTogether(t, cases, transports)
		return
	}
	for _, by := range transports {
		t.Run(by.Name, func(t *testing.T) {
			t.Parallel()
			for i := range cases {
				if servertest.Takes(t, i, len(cases)) {
					cases[i].runBoth(t, by)
				}
			}
		})
	}
}

// runTogether runs all cases at the same time.
func runTogether(t *testing.T, cases []testCase, transports []Transport) {
	var all sync.WaitGroup
	for k, by := range transports {
		for i := range cases {
			if !servertest.Takes(t, (i+k)%len(cases), len(cases)) {
				continue
			}
			all.Go(func() {
				t.Run(by.Name, func(t *testing.T) { cases[i].runBoth(t, by) })
			})
		}
	}
	all.Wait()
}

// runBoth runs the case, and runs it again with an ErrorHandler.
func (tc *testCase) runBoth(t *testing.T, by Transport) {
	if tc.streamsOnly && !by.Streams {
		return
	}
	t.Run(tc.name, func(t *testing.T) {
		tc.run(t, by, false)
		if tc.want.refused != nil && tc.refuse == nil && !tc.once {
			tc.run(t, by, true)
		}
	})
}

// outcomeBy returns the outcome by a transport.
func (tc *testCase) outcomeBy(t *testing.T, by Transport) outcome {
	want := tc.want
	if (tc.onStreams != nil) != (tc.why != "") {
		t.Fatal("the case does not say why the protocols differ")
	}
	if tc.onStreams != nil && by.Streams {
		tc.onStreams(&want)
	}
	want.isDropped = want.cut && by.ResetDrops
	if want.told == "" {
		want.told = tc.ask.methodOf() + " " + tc.ask.targetOf()
	}
	return want
}

// run sends the request between two others on a connection, and checks the outcome.
func (tc *testCase) run(t *testing.T, by Transport, dressed bool) {
	t.Helper()
	s, w := tc.server(t)
	want := tc.outcomeBy(t, by)
	refuse := tc.refuse
	if dressed {
		want, refuse = want.dressed(s), dress
	}
	if refuse != nil {
		s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) { refuse(ctx, w, err) }
	}
	var ts *Server
	// runs after the end of the server
	t.Cleanup(func() { w.checkEnd(ts, &want) })
	ts = by.Start(t, s)
	t.Cleanup(sync.OnceFunc(func() { close(w.release) }))
	if tc.before != nil {
		tc.before(w, ts)
	}
	c := ts.Dial()
	probe := Request{target: probePath}
	probed := outcome{status: 200, content: "0 values"}
	probed.check(t, "the request before", &probe, c.ask(&probe))
	got := c.ask(&tc.ask)
	want.check(t, "the request", &tc.ask, got)
	if n := int(w.handled.Load()); n > 1 || (n == 1) != want.handled {
		t.Errorf("the handler was called %d times", n)
	}
	if c.endsAfter(&tc.ask, got, &want) {
		return
	}
	c.finish(&tc.ask)
	probed.check(t, "the request after", &probe, c.ask(&probe))
}

// check compares an answer with the outcome.
func (o *outcome) check(t *testing.T, what string, r *Request, got Answer) {
	t.Helper()
	content := o.content
	if r.methodOf() == "HEAD" {
		content = ""
	}
	if o.isDropped && got.Status == 0 {
		o = &outcome{cut: true, interim: o.interim}
	}
	if got.Status != o.status || got.Content != content && !(o.cut && content == "") || got.Cut != o.cut {
		t.Errorf("%s gets %d %.200q, cut %v; want %d %.200q, cut %v", what, got.Status, got.Content, got.Cut, o.status, content, o.cut)
	}
	if !slices.Equal(got.Interim, o.interim) {
		t.Errorf("%s gets the informational responses %q, want %q", what, got.Interim, o.interim)
	}
	for _, line := range o.fields {
		name, value, _ := strings.Cut(line, ":")
		if have := strings.Join(got.Fields.Values(name), "|"); have != strings.TrimSpace(value) {
			t.Errorf("%s gets %s: %q, want %q", what, name, have, line)
		}
	}
	var trailers []string
	for name, values := range got.Trailers {
		trailers = append(trailers, name+": "+strings.Join(values, "|"))
	}
	slices.Sort(trailers)
	if !slices.Equal(trailers, o.trailers) {
		t.Errorf("%s gets the trailers %q, want %q", what, trailers, o.trailers)
	}
}

// checkEnd checks the reports of a server, once it was shut down.
func (w *witness) checkEnd(ts *Server, want *outcome) {
	t := w.t
	t.Helper()
	if ts == nil || t.Failed() {
		return
	}
	if want.isDressed {
		if err := servertest.Receive(t, "the error", w.failures); !isFailure(err, want.refused) {
			t.Errorf("ErrorHandler gets %v, want %v", err, want.refused)
		}
	}
	if n := len(w.failures); n > 0 {
		t.Errorf("%d errors more, the first is %v", n, <-w.failures)
	}
	w.checkReport(want)
	if !w.abandons {
		servertest.Eventually(t, "the end of all user values", func() bool { return w.values.Load() == 0 })
	}
	w.ended.Wait()
	switch lines := ts.Log.All(); {
	case want.logged == "" && len(lines) > 0:
		t.Errorf("logged: %q", lines)
	case want.logged != "" && (len(lines) != 1 || !strings.Contains(lines[0], want.logged)):
		t.Errorf("logged: %q, want a line with %q", lines, want.logged)
	}
}

// checkReport checks the report to ResponseSent.
func (w *witness) checkReport(want *outcome) {
	t := w.t
	t.Helper()
	if want.told != "-" {
		got := servertest.Receive(t, "the report", w.reports)
		if got.request != want.told || got.sent.StatusCode != want.status || (got.sent.Err != nil) != want.failed ||
			(got.sent.Refused != nil) != (want.refused != nil) || want.refused != nil && !isFailure(got.sent.Refused, want.refused) {
			t.Errorf("told of %q %+v, want %q, %d, refused %v, failed %v", got.request, got.sent, want.told, want.status, want.refused, want.failed)
		}
	}
	if n := len(w.reports); n > 0 {
		t.Errorf("%d reports more, the first is %+v", n, <-w.reports)
	}
}

// Client is a connection of a client: see NewStreams.
type Client interface {
	// ask sends a request, and waits until it has ended.
	ask(r *Request) Answer
	// endsAfter checks how the request has ended, and reports whether the connection has ended
	// with it.
	endsAfter(r *Request, got Answer, want *outcome) bool
	// finish sends the content that follows the response.
	finish(r *Request)
}

// Answer is the response to a request.
type Answer struct {
	Status   int         // 0 if there is none
	Content  string      // as far as it has arrived
	Fields   http.Header // of the head
	Interim  []string    // see AddInterim
	Trailers http.Header // or nil
	Cut      bool        // the response is not complete
	Code     string      // with which the stream is reset, as HTTP/2 names it, or ""
}

// AddInterim notes an informational response.
func (a *Answer) AddInterim(status int, fields http.Header) {
	text := fmt.Sprint(status)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range fields[name] {
			text += " " + name + ": " + value
		}
	}
	a.Interim = append(a.Interim, text)
}
