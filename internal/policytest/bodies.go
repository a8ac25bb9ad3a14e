package policytest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/servertest"
)

func streamsBodies(s *fasthttp.Server, _ *witness) { s.StreamRequestBody = true }

func limitsBodies(n int) func(*fasthttp.Server, *witness) {
	return func(s *fasthttp.Server, _ *witness) { s.MaxRequestBodySize = n }
}

func bodiesAndLimits() []testCase {
	tooLarge := refuses(413, fasthttp.ErrBodyTooLarge)
	large := servertest.Numbered(100_000)
	both := func(s *fasthttp.Server, _ *witness) { s.MaxRequestBodySize, s.StreamRequestBody = 10, true }
	limits := func(n int) func(ctx *fasthttp.RequestCtx, w *witness) {
		return func(ctx *fasthttp.RequestCtx, _ *witness) {
			if err := ctx.LimitRequestBody(int64(n)); err != nil {
				ctx.Error(err.Error(), 413)
				return
			}
			tellRequest(ctx)
		}
	}
	return []testCase{
		{name: "a body at the limit", set: limitsBodies(10), ask: Request{content: "0123456789"}, want: served(`POST /x "0123456789"`)},
		{name: "a body of unknown length at the limit", set: limitsBodies(10), ask: Request{content: "0123456789", unsized: true}, want: served(`POST /x "0123456789"`)},
		{name: "a body over the limit", set: limitsBodies(10), ask: Request{content: "0123456789a"}, want: tooLarge},
		{name: "a body over the limit that does not arrive", set: limitsBodies(10), ask: Request{length: 11, open: true}, want: tooLarge},
		{name: "a body of unknown length over the limit", set: limitsBodies(10), ask: Request{content: "0123456789a", unsized: true}, want: tooLarge},
		{name: "a body over the limit without end", set: limitsBodies(10), ask: Request{content: "0123456789a", unsized: true, open: true}, want: tooLarge},
		{name: "a body over the limit of HEAD", set: limitsBodies(10), ask: Request{method: "HEAD", content: "0123456789a"}, want: tooLarge},
		{name: "a large body", ask: Request{content: large}, want: served("POST /x 100000 bytes")},
		{name: "a large body of unknown length", ask: Request{content: large, unsized: true}, want: served("POST /x 100000 bytes")},
		{name: "a body over the default limit", ask: Request{length: fasthttp.DefaultMaxRequestBodySize + 1, open: true}, want: tooLarge},
		{name: "a stream over the limit", set: both, ask: Request{content: large}, want: served("POST /x streams 100000 bytes")},
		{name: "a stream of unknown length over the limit", set: both, ask: Request{content: large, unsized: true}, want: served("POST /x streams 100000 bytes")},
		{name: "a handler that limits a stream", set: streamsBodies, serve: limits(3), ask: Request{content: "abc"}, want: served(`POST /x streams "abc"`)},
		{name: "a stream over the limit of its handler", set: streamsBodies, serve: limits(2), ask: Request{content: "abc"},
			want: outcome{status: 413, content: fasthttp.ErrBodyTooLarge.Error(), handled: true, ends: true}},
		{name: "a handler that limits a buffered body", serve: limits(2), ask: Request{content: "abc"},
			want: outcome{status: 413, content: fasthttp.ErrBodyTooLarge.Error(), handled: true}},
	}
}

func bodiesOfConfigs() []testCase {
	tooLarge := refuses(413, fasthttp.ErrBodyTooLarge)
	config := func(streams bool, c fasthttp.RequestConfig) func(*fasthttp.Server, *witness) {
		return func(s *fasthttp.Server, w *witness) {
			configures(c)(s, w)
			s.StreamRequestBody, s.MaxRequestBodySize = streams, 10
		}
	}
	lower, higher := fasthttp.RequestConfig{MaxRequestBodySize: 2}, fasthttp.RequestConfig{MaxRequestBodySize: 1 << 20}
	stream, buffer := fasthttp.RequestConfig{BodyMode: fasthttp.BodyModeStream}, fasthttp.RequestConfig{BodyMode: fasthttp.BodyModeBuffer}
	large := servertest.Numbered(100_000)
	return []testCase{
		{name: "a lower limit of the request", set: config(false, lower), ask: Request{content: "abc"}, want: tooLarge},
		{name: "a lower limit, and unknown length", set: config(false, lower), ask: Request{content: "abc", unsized: true}, want: tooLarge},
		{name: "a higher limit of the request", set: config(false, higher), ask: Request{content: large}, want: served("POST /x 100000 bytes")},
		{name: "a higher limit, and unknown length", set: config(false, higher), ask: Request{content: large, unsized: true}, want: served("POST /x 100000 bytes")},
		{name: "BodyModeStream", set: config(false, stream), ask: Request{content: large}, want: served("POST /x streams 100000 bytes")},
		{name: "BodyModeStream of a server that streams", set: config(true, stream), ask: Request{content: "abc", unsized: true}, want: served(`POST /x streams "abc"`)},
		{name: "BodyModeStream without content", set: config(false, stream), want: served("GET /x")},
		{name: "BodyModeBuffer", set: config(true, buffer), ask: Request{content: "abc"}, want: served(`POST /x "abc"`)},
		{name: "BodyModeBuffer over the limit", set: config(true, buffer), ask: Request{content: "0123456789a"}, want: tooLarge},
		{name: "BodyModeBuffer, unknown length over the limit", set: config(true, buffer), ask: Request{content: "0123456789a", unsized: true}, want: tooLarge},
		{name: "BodyModeServer", set: config(true, fasthttp.RequestConfig{}), ask: Request{content: "abc"}, want: served(`POST /x streams "abc"`)},
	}
}

// bodiesInMemory are bodies for which MaxRequestBodyMemory has no room.
func bodiesInMemory() []testCase {
	const size = 400_000
	limited := func(s *fasthttp.Server, _ *witness) {
		s.MaxRequestBodyMemory, s.MaxRequestBodySize = 600_000, size
	}
	hold := func(w *witness, ts *Server) {
		ts.Hold(holdPath, servertest.Numbered(size))
		servertest.Receive(w.t, "the request that holds the memory", w.entered)
	}
	noRoom := refuses(503, fasthttp.ErrRequestBodyMemory)
	noRoom.fields = []string{"Retry-After: 1"}
	tooLarge := refuses(413, fasthttp.ErrBodyTooLarge)
	small := func(s *fasthttp.Server, _ *witness) { s.MaxRequestBodyMemory = 20_000 }
	return []testCase{
		{name: "no memory for a body", set: limited, before: hold, ask: Request{content: servertest.Numbered(size)}, want: noRoom},
		{name: "no memory for a body of unknown length", set: limited, before: hold, ask: Request{content: servertest.Numbered(size), unsized: true}, want: noRoom},
		{name: "memory for a small body", set: limited, before: hold, ask: Request{content: servertest.Numbered(10_000)}, want: served("POST /x 10000 bytes")},
		{name: "memory for one large body", set: limited, ask: Request{content: servertest.Numbered(size)}, want: served("POST /x 400000 bytes")},
		{name: "a body that never fits", set: small, ask: Request{content: servertest.Numbered(100_000)}, want: tooLarge},
		{name: "a body that never fits and does not end", set: small, ask: Request{content: servertest.Numbered(40_000), unsized: true, open: true}, want: tooLarge},
		{name: "a body of unknown length that never fits", set: small, ask: Request{content: servertest.Numbered(100_000), unsized: true}, want: tooLarge},
		{name: "a stream needs no memory", set: func(s *fasthttp.Server, w *witness) {
			small(s, w)
			s.StreamRequestBody = true
		}, ask: Request{content: servertest.Numbered(100_000)}, want: served("POST /x streams 100000 bytes")},
	}
}

func unreadBodies() []testCase {
	ignores := func(ctx *fasthttp.RequestCtx, _ *witness) { ignoresBody(ctx) }
	some := func(ctx *fasthttp.RequestCtx, _ *witness) { readsSome(ctx) }
	most, more := servertest.Numbered(servertest.DrainLimit), servertest.Numbered(servertest.DrainLimit+1)
	tooMuchInChunks := served("ignored").thenEnds()
	tooMuchInChunks.unannounced = true
	return []testCase{
		{name: "an unread body", set: streamsBodies, serve: ignores, ask: Request{content: servertest.Smuggled}, want: served("ignored")},
		{name: "an unread body of unknown length", set: streamsBodies, serve: ignores, ask: Request{content: servertest.Smuggled, unsized: true}, want: served("ignored")},
		{name: "an unread body with trailers", set: streamsBodies, serve: ignores, ask: Request{content: "abc", unsized: true, trailers: []string{"X: y"}}, want: served("ignored")},
		{name: "an unread body that arrives later", set: streamsBodies, serve: ignores, ask: Request{later: servertest.Smuggled, length: len(servertest.Smuggled)}, want: served("ignored")},
		{name: "an unread body that is drained", set: streamsBodies, serve: ignores, ask: Request{content: most}, want: served("ignored")},
		{name: "an unread body that is not drained", set: streamsBodies, serve: ignores, ask: Request{content: more}, want: served("ignored").thenEnds()},
		{name: "a body that is read in part", set: streamsBodies, serve: some, ask: Request{content: "abcdef"}, want: served("abc")},
		{name: "a body of unknown length that is read in part", set: streamsBodies, serve: some, ask: Request{content: "abcdef", unsized: true}, want: served("abc")},
		{name: "a body that is read in part and not drained", set: streamsBodies, serve: some, ask: Request{content: servertest.Numbered(servertest.DrainLimit + 100)}, want: served("000").thenEnds()},
	}
}

func trailersOfRequests() []testCase {
	ask := Request{content: "abc", unsized: true, trailers: []string{"X-Sum: 1", "X-More: 2"}}
	forbidden := Request{content: "abc", unsized: true, trailers: []string{"Content-Length: 1"}}
	accepts := func(streams bool, names string) func(*fasthttp.Server, *witness) {
		return func(s *fasthttp.Server, _ *witness) {
			s.AcceptTrailer = func(name []byte) bool { return strings.Contains(names, string(name)) }
			s.StreamRequestBody = streams
		}
	}
	with := func(lines ...string) Request {
		return Request{content: "abc", unsized: true, trailers: lines}
	}
	bad := refuses(400, fasthttp.ErrBadTrailer)
	reset := func(w *outcome) { *w = outcome{cut: true, code: "ENHANCE_YOUR_CALM", failed: true} }
	why := "a section that cannot be stored is a stream error"
	large, most := strings.Repeat("x", http1.MaxTrailers-len("X: \r\n\r\n")), slices.Repeat([]string{"X: v"}, http1.MaxTrailerFields)
	cases := []testCase{
		{name: "trailers", ask: ask, want: served(`POST /x "abc" X-Sum=1 X-More=2`)},
		{name: "trailers of a stream", set: streamsBodies, ask: ask, want: served(`POST /x streams "abc" X-Sum=1 X-More=2`)},
		{name: "AcceptTrailer", set: accepts(false, "X-Sum"), ask: ask, want: served(`POST /x "abc" X-Sum=1`)},
		{name: "AcceptTrailer, of a stream", set: accepts(true, "X-Sum"), ask: ask, want: served(`POST /x streams "abc" X-Sum=1`)},
		{name: "AcceptTrailer that accepts none", set: accepts(false, ""), ask: ask, want: served(`POST /x "abc"`)},
		{name: "AcceptTrailer does not accept what is forbidden", set: accepts(false, "Content-Length"), ask: forbidden, want: bad},
		{name: "the most trailers", ask: with(most...), want: served(`POST /x "abc"` + strings.Repeat(" X=v", http1.MaxTrailerFields))},
		{name: "too many trailers", ask: with(append(most, "X: v")...), want: refuses(400, failureText("fasthttp: too many trailer fields")), onStreams: reset, why: why},
		{name: "the largest trailers", ask: with("X: " + large), want: served(`POST /x "abc" X=` + large)},
		{name: "too large trailers", ask: with("X: " + large + "x"), want: refuses(400, failureText("fasthttp: trailer section is too large")), onStreams: reset, why: why},
	}
	for _, name := range []string{"Host", "Content-Length", "Content-Type", "Trailer", "Authorization", "Cookie", "Te", "Expect"} {
		ask := Request{content: "abc", unsized: true, trailers: []string{name + ": trailers"}}
		cases = append(cases,
			testCase{name: name + " as a trailer", ask: ask, want: bad},
			testCase{name: name + " as a trailer of a stream", set: streamsBodies, ask: ask, want: served(`POST /x streams "abc" ` + fasthttp.ErrBadTrailer.Error()).thenEnds()})
	}
	return cases
}

func largeForms() []testCase {
	const size = fasthttp.DefaultMaxRequestBodySize + 100_000
	part := func(name string, n int) string {
		return fmt.Sprintf("--b\r\nContent-Disposition: form-data; name=%q; filename=\"f\"\r\n\r\n%s\r\n", name, servertest.Numbered(n))
	}
	form := part("file", size) + "--b\r\nContent-Disposition: form-data; name=\"v\"\r\n\r\nvalue\r\n--b--\r\n"
	broken := part("file", size) + "--b\r\nContent-Disposition: form-data; name=\"v\"\r\n\r\nvalue without an end"
	fields := []string{"Content-Type: multipart/form-data; boundary=b"}
	larger := func(s *fasthttp.Server, _ *witness) { s.MaxRequestBodySize = size + 1000 }
	tell := func(ctx *fasthttp.RequestCtx, _ *witness) {
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		fmt.Fprintf(ctx, "%d bytes, %s", form.File["file"][0].Size, form.Value["v"])
	}
	told := served(fmt.Sprintf("%d bytes, [value]", size))
	malformed := refuses(400, failureText("fasthttp: cannot read the multipart form: unexpected EOF"))
	malformed.logged = ""
	// the last byte makes it too large to be held in memory
	least := servertest.Numbered(fasthttp.DefaultMaxRequestBodySize + 1)
	noPart := refuses(400, failureText("fasthttp: cannot read the multipart form: multipart: NextPart: EOF"))
	noPart.logged = ""
	tooLarge := refuses(413, fasthttp.ErrBodyTooLarge)
	return []testCase{
		{name: "a large form", set: larger, serve: tell, ask: Request{fields: fields, content: form}, want: told},
		{name: "a large form of unknown length", set: larger, serve: tell, ask: Request{fields: fields, content: form, unsized: true}, want: told},
		{name: "a large form with trailers", set: larger, serve: tell, ask: Request{fields: fields, content: form, unsized: true, trailers: []string{"X: y"}}, want: told},
		{name: "a large form of a client that waits", set: larger, serve: tell, ask: Request{fields: append(fields[:1:1], "Expect: 100-continue"), content: form, waits: true},
			want: func() outcome { o := told; o.interim = []string{"100"}; return o }()},
		{name: "a large form and more", set: larger, serve: tell, ask: Request{fields: fields, content: form + servertest.Smuggled}, want: told},
		{name: "a malformed form", set: larger, ask: Request{fields: fields, content: broken}, want: malformed},
		{name: "a malformed form of unknown length", once: true, set: larger, ask: Request{fields: fields, content: broken, unsized: true}, want: malformed},
		{name: "a malformed form of unknown length that is just large", once: true, set: larger, ask: Request{fields: fields, content: least, unsized: true}, want: noPart},
		{name: "a form over the limit", set: limitsBodies(size + 10), ask: Request{fields: fields, content: form}, want: tooLarge},
		{name: "a form of unknown length over the limit", once: true, set: limitsBodies(size + 10), ask: Request{fields: fields, content: form, unsized: true}, want: tooLarge},
		{name: "a form for which there is no memory", once: true, set: func(s *fasthttp.Server, w *witness) {
			larger(s, w)
			s.MaxRequestBodyMemory = 1 << 20
		}, ask: Request{fields: fields, content: form}, want: tooLarge},
	}
}

func expectationsMet() []testCase {
	expect := []string{"Expect: 100-continue"}
	met := func(content string) outcome {
		o := served(content)
		o.interim = []string{"100"}
		return o
	}
	friends := func(s *fasthttp.Server, w *witness) {
		s.ContinueHandler = func(h *fasthttp.RequestHeader) bool { return string(h.Peek("Expect")) == "100-continue" }
	}
	asks := func(s *fasthttp.Server, w *witness) {
		s.ContinueHandler = func(h *fasthttp.RequestHeader) bool { w.t.Error("ContinueHandler is called, too"); return false }
		s.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
			w.addValue(ctx)
			return 100
		}
	}
	ignores := func(ctx *fasthttp.RequestCtx, _ *witness) { ignoresBody(ctx) }
	waits := Request{fields: expect, content: "abc", waits: true}
	return []testCase{
		{name: "a client that waits", ask: waits, want: met(`POST /x "abc"`)},
		{name: "a client that waits with content of unknown length", ask: Request{fields: expect, content: "abc", waits: true, unsized: true}, want: met(`POST /x "abc"`)},
		{name: "a client that does not wait", ask: Request{fields: expect, content: "abc"}, want: met(`POST /x "abc"`)},
		{name: "ContinueHandler", set: friends, ask: waits, want: met(`POST /x "abc"`)},
		{name: "ExpectHandler", set: asks, ask: waits, want: met(`POST /x "abc"`)},
		{name: "a stream is asked for when it is read", set: streamsBodies, ask: waits, want: met(`POST /x streams "abc"`)},
		{name: "a stream that is not read is not asked for", set: streamsBodies, serve: ignores, ask: waits, want: served("ignored").thenEnds()},
		{name: "a response that reads the request", set: streamsBodies, serve: func(ctx *fasthttp.RequestCtx, _ *witness) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) }, ask: waits, want: met("abc")},
		{name: "nothing to wait for", ask: Request{fields: expect}, want: served("GET /x")},
		{name: "nothing to wait for, and ContinueHandler", set: friends, ask: Request{fields: expect}, want: served("GET /x")},
		{name: "no expectation", set: func(s *fasthttp.Server, w *witness) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { w.t.Error("ExpectHandler is called"); return 403 }
		}, ask: Request{content: "abc"}, want: served(`POST /x "abc"`)},
	}
}

func expectationsNotMet() []testCase {
	expect := []string{"Expect: 100-continue"}
	waits := Request{fields: expect, content: "abc", waits: true}
	failed := outcome{status: 417, refused: fasthttp.ErrRequestRefused, ends: true}
	tooLarge := refuses(413, fasthttp.ErrBodyTooLarge)
	tooLargeLater := tooLarge
	tooLargeLater.interim = []string{"100"}
	never := func(s *fasthttp.Server, w *witness) {
		s.ContinueHandler = func(*fasthttp.RequestHeader) bool { return false }
	}
	own := failed
	own.status, own.content, own.fields = 403, "not you", []string{"X-Reason: unknown", "Content-Type: text/own"}
	refuses := func(s *fasthttp.Server, w *witness) {
		s.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
			w.addValue(ctx)
			ctx.SetBodyString("not you")
			ctx.SetContentType("text/own")
			ctx.Response.Header.Set("X-Reason", "unknown")
			return 403
		}
	}
	returns := func(status int) func(*fasthttp.Server, *witness) {
		return func(s *fasthttp.Server, _ *witness) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { return status }
		}
	}
	finally := func(status int) outcome {
		o := failed
		o.status = status
		return o
	}
	left := failed
	left.status, left.content, left.told = 504, "left", "GET /"
	return []testCase{
		{name: "ContinueHandler refuses", set: never, ask: waits, want: failed},
		{name: "ContinueHandler refuses a client that does not wait", set: never, ask: Request{fields: expect, content: "abc"}, want: failed},
		{name: "ContinueHandler refuses a stream", set: func(s *fasthttp.Server, w *witness) {
			never(s, w)
			s.StreamRequestBody = true
		}, ask: waits, want: failed},
		{name: "ContinueHandler refuses a request without content", set: never, ask: Request{fields: expect}, want: failed},
		{name: "ContinueHandler refuses HEAD", set: never, ask: Request{method: "HEAD", fields: expect}, want: failed},
		{name: "ExpectHandler refuses with a response of its own", set: refuses, ask: waits, want: own},
		{name: "ExpectHandler refuses HEAD with a response of its own", set: refuses, ask: Request{method: "HEAD", fields: expect}, want: own},
		{name: "ExpectHandler leaves the context", set: func(s *fasthttp.Server, w *witness) {
			s.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
				ctx.TimeoutErrorWithCode("left", 504)
				return 403
			}
		}, ask: waits, want: left},
		{name: "ExpectHandler returns 200", set: returns(200), ask: waits, want: finally(200)},
		{name: "ExpectHandler returns an informational status", set: returns(102), ask: waits, want: finally(417)},
		{name: "ExpectHandler returns 0", set: returns(0), ask: waits, want: finally(417)},
		{name: "ExpectHandler returns a large number", set: returns(1000), ask: waits, want: finally(417)},
		{name: "ExpectHandler returns a very large number", set: returns(1<<16 + 100), ask: waits, want: finally(417)},
		{name: "an unknown expectation", ask: Request{fields: []string{"Expect: x"}, content: "abc"}, want: failed},
		{name: "an unknown expectation without content", ask: Request{fields: []string{"Expect: x"}}, want: failed},
		{name: "an unknown expectation beside another", ask: Request{fields: []string{"Expect: 100-continue, x"}, content: "abc"}, want: failed},
		{name: "a client that waits with too much", set: limitsBodies(2), ask: waits, want: tooLarge},
		{name: "a client that waits with too much of unknown length", set: limitsBodies(2), ask: Request{fields: expect, content: "abc", waits: true, unsized: true}, want: tooLargeLater},
	}
}

func lateBodies() []testCase {
	timeout := func(mode fasthttp.BodyMode) func(*fasthttp.Server, *witness) {
		return configures(fasthttp.RequestConfig{ReadTimeout: servertest.Short, BodyMode: mode})
	}
	late := refuses(408, os.ErrDeadlineExceeded)
	late.logged = ""
	reads := func(ctx *fasthttp.RequestCtx, w *witness) {
		begun := time.Now()
		body, err := readAllOf(ctx)
		if !isFailure(err, os.ErrDeadlineExceeded) || time.Since(begun) > servertest.Patience {
			w.t.Errorf("reading ends with %v", err)
		}
		fmt.Fprintf(ctx, "%q", body)
	}
	return []testCase{
		{name: "a body that is late", set: timeout(fasthttp.BodyModeBuffer), ask: Request{content: "abc", open: true}, want: late},
		{name: "a body of unknown length that is late", set: timeout(fasthttp.BodyModeBuffer), ask: Request{content: "abc", unsized: true, open: true}, want: late},
		{name: "a stream that is late", set: timeout(fasthttp.BodyModeStream), serve: reads, ask: Request{content: "abc", open: true}, want: served(`"abc"`).thenEnds()},
		{name: "a form that is late", set: func(s *fasthttp.Server, w *witness) {
			timeout(fasthttp.BodyModeBuffer)(s, w)
			s.MaxRequestBodySize = 2 * fasthttp.DefaultMaxRequestBodySize
		}, ask: Request{fields: []string{"Content-Type: multipart/form-data; boundary=b"}, content: "--b\r\n", length: fasthttp.DefaultMaxRequestBodySize + 1, open: true}, want: late},
	}
}
