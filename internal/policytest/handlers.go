package policytest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// failing is the outcome if a handler panics: HTTP/1.1 answers 500.
func failing(logged string) outcome {
	return outcome{status: 500, content: fasthttp.StatusMessage(500), handled: true, ends: true, logged: logged}
}

// isCut changes the outcome to that of a stream that ends before its response.
func isCut(w *outcome) {
	*w = outcome{cut: true, code: "INTERNAL_ERROR", handled: w.handled, failed: true, logged: w.logged, told: w.told, refused: w.refused}
}

const panicsEndStreams = "docs/migrating.md: a panic ends the stream, as it does with net/http"

func handlersThatPanic() []testCase {
	panics := func(value any) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.SetBodyString("not sent")
			panic(value)
		}
	}
	aborted := outcome{cut: true, code: "INTERNAL_ERROR", handled: true, ends: true, failed: true}
	limited := func(value any) func(*fasthttp.RequestCtx, *witness) {
		h := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) { panic(value) }, servertest.Never, "late")
		return func(ctx *fasthttp.RequestCtx, _ *witness) { h(ctx) }
	}
	return []testCase{
		{name: "a handler that panics", serve: panics("a mistake"), want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a handler of HEAD that panics", serve: panics("a mistake"), ask: Request{method: "HEAD"}, want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a handler that panics before it has read the body", set: streamsBodies, serve: panics("a mistake"), ask: Request{content: "abc"}, want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a handler that panics before the body arrives", set: streamsBodies, serve: panics("a mistake"), ask: Request{open: true}, want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a handler with a time limit that panics", serve: limited("a mistake"), want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a handler that aborts", serve: panics(http.ErrAbortHandler), want: aborted},
		{name: "a handler that aborts while the body arrives", set: streamsBodies, serve: panics(http.ErrAbortHandler), ask: Request{open: true}, want: aborted},
		{name: "a handler with a time limit that aborts", serve: limited(http.ErrAbortHandler), want: aborted},
		{name: "a handler that ends its goroutine", serve: func(*fasthttp.RequestCtx, *witness) { runtime.Goexit() }, want: aborted},
	}
}

// closesBadly is a closer that panics.
type closesBadly struct{}

func (closesBadly) Close() error { panic("broken hook") }

func hooksThatPanic() []testCase {
	cut := outcome{cut: true, code: "INTERNAL_ERROR", ends: true, failed: true, logged: "a broken hook"}
	expect := Request{fields: []string{"Expect: 100-continue"}, content: "abc"}
	userValue := served("").thenEnds()
	userValue.unannounced, userValue.logged = true, "broken hook"
	refused := cut
	refused.refused = fasthttp.ErrBodyTooLarge
	return []testCase{
		{name: "HeaderReceived panics", set: func(s *fasthttp.Server, _ *witness) {
			s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig { panic("a broken hook") }
		}, want: cut},
		{name: "ContinueHandler panics", set: func(s *fasthttp.Server, _ *witness) {
			s.ContinueHandler = func(*fasthttp.RequestHeader) bool { panic("a broken hook") }
		}, ask: expect, want: cut},
		{name: "ExpectHandler panics", set: func(s *fasthttp.Server, w *witness) {
			s.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
				w.addValue(ctx)
				panic("a broken hook")
			}
		}, ask: expect, want: cut},
		{name: "ErrorHandler panics", set: limitsBodies(2), refuse: func(ctx *fasthttp.RequestCtx, w *witness, _ error) {
			w.addValue(ctx)
			panic("a broken hook")
		}, ask: Request{content: "abc"}, want: refused},
		{name: "AcceptTrailer panics", set: func(s *fasthttp.Server, _ *witness) {
			s.AcceptTrailer = func([]byte) bool { panic("a broken hook") }
		}, ask: Request{content: "abc", unsized: true, trailers: []string{"X: y"}}, want: cut},
		{name: "a user value panics", serve: func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.SetUserValue("broken", closesBadly{})
		}, want: userValue},
	}
}

func streamsThatFail() []testCase {
	cut := outcome{status: 200, cut: true, code: "INTERNAL_ERROR", handled: true, ends: true, unannounced: true, failed: true}
	logged := func(text string) outcome {
		o := cut
		o.logged = text
		return o
	}
	body := func(r io.Reader, size int) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(r, size)
		}
	}
	fails := servertest.ReadFunc(func([]byte) (int, error) { return 0, errors.New("no more of it") })
	back := func(ctx *fasthttp.RequestCtx, _ *witness) { ctx.SetBodyStream(ctx.RequestBodyStream(), 4) }
	return []testCase{
		{name: "a stream that fails", serve: body(fails, -1), want: logged("no more of it")},
		{name: "a sized stream that fails", serve: body(fails, 10), want: logged("no more of it")},
		{name: "a stream that is too short", serve: body(strings.NewReader(""), 10), want: logged("0 of 10 bytes")},
		{name: "a stream that panics", serve: body(servertest.ReadFunc(func([]byte) (int, error) { panic("a broken stream") }), -1), want: logged("a broken stream")},
		{name: "a producer that panics", serve: func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("abc")
				_ = w.Flush()
				panic("a broken producer")
			})
		}, want: logged("a broken producer")},
		{name: "a response that reads a request which is cut off", set: streamsBodies, serve: back, ask: Request{fields: []string{"Expect: 100-continue"}, content: "abc", waits: true, stops: true},
			want:      outcome{status: 200, content: "abc", cut: true, handled: true, ends: true, unannounced: true, failed: true, interim: []string{"100"}},
			onStreams: func(w *outcome) { w.content, w.code = "", "PROTOCOL_ERROR" }, why: "RFC 9113 section 8.1.1: the length of the content differs from the announced one"},
		{name: "a producer", serve: func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("abc") })
		}, want: served("abc")},
	}
}

// responsesThatAreNone are responses that a stream cannot carry. HTTP/1.1 sends them, and ends the
// connection.
func responsesThatAreNone() (all []testCase) {
	for _, status := range []int{7, 103, 1000} {
		sets := func(ctx *fasthttp.RequestCtx, _ *witness) { ctx.SetStatusCode(status) }
		logged := fmt.Sprintf("the status %d of a response is none of a final one", status)
		fails := failing(logged)
		ready := func(s *fasthttp.Server, _ *witness) {
			s.ResponseReady = func(ctx *fasthttp.RequestCtx) {
				if !isProbe(ctx.RequestURI()) {
					ctx.SetStatusCode(status)
				}
			}
		}
		all = append(all,
			testCase{name: fmt.Sprint("the status ", status), serve: sets, want: fails, streamsOnly: true},
			testCase{name: fmt.Sprintf("the status %d, by ResponseReady", status), set: ready, want: fails, streamsOnly: true})
	}
	return all
}

func informationalResponses() []testCase {
	hints := func(ctx *fasthttp.RequestCtx, w *witness) {
		if err := ctx.EarlyHints(); err != nil {
			w.t.Errorf("EarlyHints without a Link: %v", err)
		}
		ctx.Response.Header.Add("Link", "</a>; rel=preload")
		ctx.Response.Header.Add("Link", "</b>\r\nX: y")
		ctx.Response.Header.Set("X-Other", "not yet")
		if err := ctx.EarlyHints(); err != nil {
			w.t.Errorf("EarlyHints: %v", err)
		}
		tellRequest(ctx)
	}
	inform := func(status int, fails bool) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			var h fasthttp.ResponseHeader
			h.SetStatusCode(status)
			h.Set("X-Progress", "half")
			if err := ctx.Inform(&h); (err != nil) != fails {
				w.t.Errorf("Inform: %v", err)
			}
			tellRequest(ctx)
		}
	}
	informed := func(o outcome, interim ...string) outcome {
		o.interim = interim
		return o
	}
	hinted := informed(served("GET /x"), "103 Link: </a>; rel=preload Link: </b>  X: y")
	hinted.fields = []string{"Link: </a>; rel=preload|</b>  X: y", "X-Other: not yet"}
	hintedContent := informed(served(`POST /x streams "abc"`), append(hinted.interim, "100")...)
	return []testCase{
		{name: "early hints", serve: hints, want: hinted},
		{name: "early hints before the content is asked for", set: streamsBodies, serve: hints,
			ask: Request{fields: []string{"Expect: 100-continue"}, content: "abc", waits: true}, want: hintedContent},
		{name: "Inform", serve: inform(102, false), want: informed(served("GET /x"), "102 X-Progress: half")},
		{name: "Inform of HEAD", serve: inform(199, false), ask: Request{method: "HEAD"}, want: informed(served(""), "199 X-Progress: half")},
		{name: "Inform with 100", serve: inform(100, true), want: served("GET /x")},
		{name: "Inform with 101", serve: inform(101, true), want: served("GET /x")},
		{name: "Inform with a final status", serve: inform(200, true), want: served("GET /x")},
	}
}

func trailersOfResponses() []testCase {
	adds := func(stream bool) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			if err := ctx.Response.Header.SetTrailer("X-Sum"); err != nil {
				w.t.Error(err)
			}
			if stream {
				content := strings.NewReader("abc")
				ctx.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
					n, err := content.Read(p)
					if err == io.EOF {
						ctx.Response.Header.Set("X-Sum", "1")
					}
					return n, err
				}), -1)
				return
			}
			ctx.Response.Header.Set("X-Sum", "1")
			ctx.SetBodyString("abc")
		}
	}
	want := served("abc")
	want.trailers = []string{"X-Sum: 1"}
	return []testCase{
		{name: "trailers of a response", serve: adds(false), want: want},
		{name: "trailers of a response that is a stream", serve: adds(true), want: want},
		{name: "trailers of a response to HEAD", serve: adds(false), ask: Request{method: "HEAD"}, want: served("")},
	}
}

func contextsThatAreLeft() []testCase {
	left := outcome{status: 408, content: "left", handled: true, told: "GET /"}
	panicked := left
	panicked.logged = "a mistake"
	aborted := outcome{cut: true, code: "INTERNAL_ERROR", handled: true, ends: true, failed: true, told: "GET /"}
	other := left
	other.status = 504
	own := outcome{status: 503, content: "own", fields: []string{"X-Own: yes"}, handled: true, told: "GET /"}
	response := func(stream bool) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			w.abandons = true
			var resp fasthttp.Response
			resp.SetStatusCode(503)
			resp.Header.Set("X-Own", "yes")
			if stream {
				resp.SetBodyStream(strings.NewReader("own"), -1)
			} else {
				resp.SetBodyString("own")
			}
			ctx.TimeoutErrorWithResponse(&resp)
		}
	}
	leave := func(ctx *fasthttp.RequestCtx, w *witness) {
		w.abandons = true
		ctx.SetBodyString("not sent")
		ctx.TimeoutError("left")
	}
	uses := func(read bool) func(*fasthttp.RequestCtx, *witness) {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			w.abandons = true
			called := make(chan struct{})
			w.ended.Go(func() {
				ctx.TimeoutErrorWithCode("left", 504)
				close(called)
				if read {
					if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err == nil {
						w.t.Error("a body that was cut off ends in order")
					}
				}
				<-w.release
				ctx.SetBodyString("nobody gets this")
				ctx.Request.Header.Set("X", "y")
			})
			<-called
		}
	}
	return []testCase{
		{name: "TimeoutError", serve: leave, want: left},
		{name: "TimeoutError, HEAD", serve: leave, ask: Request{method: "HEAD"}, want: left},
		{name: "TimeoutError, content", serve: leave, ask: Request{content: "abc"}, want: left},
		{name: "TimeoutErrorWithResponse", serve: response(false), want: own},
		{name: "TimeoutErrorWithResponse, a stream", serve: response(true), want: own},
		{name: "TimeoutErrorWithCode in another goroutine", serve: uses(false), want: other},
		{name: "TimeoutErrorWithCode in another goroutine, content", serve: uses(false), ask: Request{content: "abc"}, want: other},
		{name: "TimeoutErrorWithCode in another goroutine, an unread stream", set: streamsBodies, serve: uses(false), ask: Request{content: "abc"}, want: other.thenEnds()},
		{name: "TimeoutErrorWithCode in another goroutine, which reads a stream", set: streamsBodies, serve: uses(true), ask: Request{content: "abc", open: true}, want: other.thenEnds()},
		{name: "TimeoutError, then a panic", serve: func(ctx *fasthttp.RequestCtx, w *witness) {
			w.abandons = true
			ctx.TimeoutError("left")
			panic("a mistake")
		}, want: panicked},
		{name: "TimeoutError, then an abort while the body arrives", set: streamsBodies, serve: func(ctx *fasthttp.RequestCtx, w *witness) {
			uses(true)(ctx, w)
			panic(http.ErrAbortHandler)
		}, ask: Request{content: "abc", open: true}, want: aborted},
		{name: "TimeoutError, then an abort", serve: func(ctx *fasthttp.RequestCtx, w *witness) {
			w.abandons = true
			ctx.TimeoutError("left")
			panic(http.ErrAbortHandler)
		}, want: aborted},
	}
}

func handlersThatAreLate() []testCase {
	type handler = func(*fasthttp.RequestCtx, *witness)
	limited := func(timeout time.Duration, h handler) handler {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			ctx.Response.Header.Set("X-Before", "yes")
			w.ended.Add(1)
			fasthttp.TimeoutWithCodeHandler(func(ctx *fasthttp.RequestCtx) {
				defer w.ended.Done()
				w.addValue(ctx)
				h(ctx, w)
			}, timeout, "too slow", 504)(ctx)
		}
	}
	late := func(h handler) handler { return limited(servertest.Short, h) }
	waits := func(ctx *fasthttp.RequestCtx, w *witness) {
		<-w.release
		ctx.SetBodyString("nobody gets this")
	}
	reads := func(ctx *fasthttp.RequestCtx, w *witness) {
		if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err == nil {
			w.t.Error("a body that was cut off ends in order")
		}
		<-w.release
	}
	then := func(first, second handler) handler {
		return func(ctx *fasthttp.RequestCtx, w *witness) {
			first(ctx, w)
			second(ctx, w)
		}
	}
	panics := func(*fasthttp.RequestCtx, *witness) { panic("a mistake") }
	want := outcome{status: 504, content: "too slow", fields: []string{"X-Before: yes"}, handled: true}
	logged := want
	logged.logged = "after its timeout: a mistake"
	return []testCase{
		{name: "a handler in time", serve: limited(servertest.Never, func(ctx *fasthttp.RequestCtx, _ *witness) { tellRequest(ctx) }), ask: Request{content: "abc"},
			want: served(`POST /x "abc"`)},
		{name: "a late handler", serve: late(waits), want: want},
		{name: "a late handler of HEAD", serve: late(waits), ask: Request{method: "HEAD"}, want: want},
		{name: "a late handler with content", serve: late(waits), ask: Request{content: "abc"}, want: want},
		{name: "a late handler with an unread stream", set: streamsBodies, serve: late(waits), ask: Request{content: "abc"}, want: want.thenEnds()},
		{name: "a late handler that reads a stream", set: streamsBodies, serve: late(reads), ask: Request{content: "abc", open: true}, want: want.thenEnds()},
		{name: "a late handler that panics", serve: late(then(waits, panics)), want: logged},
		{name: "a late handler within one that panics", serve: then(late(waits), panics), want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a late handler that reads a stream, within one that panics", set: streamsBodies, serve: then(late(reads), panics), ask: Request{content: "abc", open: true},
			want: failing("a mistake"), onStreams: isCut, why: panicsEndStreams},
		{name: "a late handler within one that answers", serve: then(late(waits), func(ctx *fasthttp.RequestCtx, _ *witness) {
			ctx.SetStatusCode(203)
			ctx.SetBodyStream(strings.NewReader("around it"), -1)
		}), want: outcome{status: 203, content: "around it", fields: want.fields, handled: true}},
	}
}
