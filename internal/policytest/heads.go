package policytest

import (
	"fmt"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func slicesOf(kinds ...func() []testCase) (all []testCase) {
	for _, cases := range kinds {
		all = append(all, cases()...)
	}
	return all
}

func plainRequests() []testCase {
	return []testCase{
		{name: "GET", want: served("GET /x")},
		{name: "HEAD", ask: Request{method: "HEAD"}, want: served("")},
		{name: "OPTIONS for all", ask: Request{method: "OPTIONS", target: "*"}, want: served("OPTIONS *")},
		{name: "CONNECT", ask: Request{method: "CONNECT", target: "a:443", lines1: []string{"CONNECT a:443 HTTP/1.1", "Host: b"}, lines2: []string{":method: CONNECT", ":authority: a:443"}},
			serve: func(ctx *fasthttp.RequestCtx, _ *witness) { ctx.Error("no tunnels", 405) }, want: outcome{status: 405, content: "no tunnels", handled: true}},
		{name: "another method", ask: Request{method: "PURGE"}, want: served("PURGE /x")},
		{name: "content", ask: Request{content: "abc"}, want: served(`POST /x "abc"`)},
		{name: "content of GET", ask: Request{method: "GET", content: "abc"}, want: served(`GET /x "abc"`)},
		{name: "content of unknown length", ask: Request{content: "abc", unsized: true}, want: served(`POST /x "abc"`)},
		{name: "empty content", ask: Request{unsized: true}, want: served("POST /x")},
		{name: "another request in the content", ask: Request{content: servertest.Smuggled}, want: served(fmt.Sprintf("POST /x %q", servertest.Smuggled))},
		{name: "chunks in the content", ask: Request{content: "0\r\n\r\n" + servertest.Smuggled}, want: served(fmt.Sprintf("POST /x %q", "0\r\n\r\n"+servertest.Smuggled))},
	}
}

func methodsNotServed() []testCase {
	getOnly := func(s *fasthttp.Server, _ *witness) { s.GetOnly = true }
	refused := refuses(400, fasthttp.ErrGetOnly)
	return []testCase{
		{name: "GetOnly, GET", set: getOnly, want: served("GET /x")},
		{name: "GetOnly, HEAD", set: getOnly, ask: Request{method: "HEAD"}, want: served("")},
		{name: "GetOnly, GET with content", set: getOnly, ask: Request{method: "GET", content: "abc"}, want: served(`GET /x "abc"`)},
		{name: "GetOnly, POST", set: getOnly, ask: Request{content: "abc"}, want: refused},
		{name: "GetOnly, POST without content", set: getOnly, ask: Request{method: "POST"}, want: refused},
		{name: "GetOnly, content that does not arrive", set: getOnly, ask: Request{open: true}, want: refused},
		{name: "GetOnly, a client that waits", set: getOnly, ask: Request{content: "abc", waits: true, fields: []string{"Expect: 100-continue"}}, want: refused},
		{name: "GetOnly, CONNECT", set: getOnly, ask: Request{method: "CONNECT", target: "a:443", lines1: []string{"CONNECT a:443 HTTP/1.1", "Host: a"}, lines2: []string{":method: CONNECT", ":authority: a:443"}}, want: refused},
		{name: "GetOnly, an ErrorHandler that answers with a stream", set: getOnly, refuse: func(ctx *fasthttp.RequestCtx, _ *witness, _ error) {
			ctx.SetStatusCode(405)
			ctx.SetBodyStream(strings.NewReader("a stream"), -1)
		}, ask: Request{content: "abc"}, want: outcome{status: 405, content: "a stream", refused: fasthttp.ErrGetOnly, logged: fasthttp.ErrGetOnly.Error(), ends: true}},
		{name: "GetOnly, an ErrorHandler that leaves the context", set: getOnly, refuse: func(ctx *fasthttp.RequestCtx, w *witness, _ error) {
			w.abandons = true
			w.addValue(ctx)
			ctx.TimeoutErrorWithCode("left", 503)
		}, ask: Request{content: "abc"}, want: outcome{status: 503, content: "left", refused: fasthttp.ErrGetOnly, logged: fasthttp.ErrGetOnly.Error(), told: "GET /", ends: true}},
		{name: "GetOnly goes before HeaderReceived", set: func(s *fasthttp.Server, w *witness) {
			s.GetOnly = true
			s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
				w.t.Error("HeaderReceived is called")
				return fasthttp.RequestConfig{}
			}
		}, ask: Request{method: "POST"}, want: refused},
	}
}

// configures makes HeaderReceived return the configuration.
func configures(c fasthttp.RequestConfig) func(*fasthttp.Server, *witness) {
	return func(s *fasthttp.Server, _ *witness) {
		s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig { return c }
	}
}

func requestsRefusedByHook() []testCase {
	refuse := func(status int) func(*fasthttp.Server, *witness) {
		return configures(fasthttp.RequestConfig{RefuseStatus: status})
	}
	refused := func(status int) outcome {
		return outcome{status: status, content: fasthttp.StatusMessage(status), refused: fasthttp.ErrRequestRefused}
	}
	noContent := refused(204)
	noContent.content = ""
	streams := func(s *fasthttp.Server, w *witness) {
		refuse(403)(s, w)
		s.StreamRequestBody = true
	}
	large := servertest.Numbered(servertest.DrainLimit + 1)
	return []testCase{
		{name: "RefuseStatus", set: refuse(401), want: refused(401)},
		{name: "RefuseStatus, HEAD", set: refuse(404), ask: Request{method: "HEAD"}, want: refused(404)},
		{name: "RefuseStatus, content", set: refuse(403), ask: Request{content: "abc"}, want: refused(403)},
		{name: "RefuseStatus, content that would be a stream", set: streams, ask: Request{content: "abc"}, want: refused(403)},
		{name: "RefuseStatus, content of unknown length", set: refuse(403), ask: Request{content: "abc", unsized: true}, want: refused(403)},
		{name: "RefuseStatus, content that arrives later", set: refuse(429), ask: Request{later: "abcde", length: 5}, want: refused(429)},
		{name: "RefuseStatus, content without end", set: refuse(403), ask: Request{content: "abc", unsized: true, open: true}, want: refused(403).thenEnds()},
		{name: "RefuseStatus, much content", set: refuse(413), ask: Request{content: large}, want: refused(413).thenEnds()},
		{name: "RefuseStatus, a client that waits", set: refuse(417), ask: Request{content: "abc", waits: true, fields: []string{"Expect: 100-continue"}}, want: refused(417).thenEnds()},
		{name: "RefuseStatus, an unknown expectation", set: refuse(403), ask: Request{fields: []string{"Expect: x"}}, want: refused(403)},
		{name: "RefuseStatus that is none", set: refuse(1000), want: refused(400)},
		{name: "RefuseStatus that is informational", set: refuse(100), ask: Request{content: "abc"}, want: refused(400)},
		{name: "RefuseStatus that is no error", set: refuse(204), want: noContent},
		{name: "RefuseStatus, an ErrorHandler that leaves the context", set: refuse(401), refuse: func(ctx *fasthttp.RequestCtx, w *witness, _ error) {
			ctx.TimeoutErrorWithCode("left", 503)
		}, ask: Request{content: "abc"}, want: outcome{status: 503, content: "left", refused: fasthttp.ErrRequestRefused, told: "GET /", ends: true}},
		{name: "RefuseStatus, an ErrorHandler that sets another status", set: refuse(401), refuse: func(ctx *fasthttp.RequestCtx, w *witness, _ error) {
			ctx.Error("who are you?", 400)
			ctx.Response.Header.Set("WWW-Authenticate", "Basic")
		}, ask: Request{content: "abc"}, want: outcome{status: 401, content: "who are you?", fields: []string{"WWW-Authenticate: Basic"}, refused: fasthttp.ErrRequestRefused}},
	}
}

func headsBeyondTheLimits() []testCase {
	small := func(s *fasthttp.Server, _ *witness) { s.ReadBufferSize = 1024 }
	large := func(n int) []string { return []string{"X: " + strings.Repeat("x", n)} }
	tooLarge := refuses(431, anySmallBuffer)
	tooLarge.content, tooLarge.told = "Too big request header", "GET /"
	tooMany := tooLarge
	tooMany.content = "Too many header fields"
	tooLong := tooLarge
	tooLong.status, tooLong.content = 414, fasthttp.StatusMessage(414)
	noLineLimit := "RFC 9113 section 10.5.1 limits the section as a whole, and HTTP/2 has no request line"
	return []testCase{
		{name: "many fields", ask: Request{fields: servertest.RepeatedFields(499, "X-%d: v")}, want: served("GET /x")},
		{name: "too many fields", ask: Request{fields: servertest.RepeatedFields(501, "X-%d: v")}, want: tooMany},
		{name: "too many fields with the same name", ask: Request{fields: servertest.RepeatedFields(501, "X: %d")}, want: tooMany},
		{name: "too many fields before content", ask: Request{fields: servertest.RepeatedFields(501, "X-%d: v"), content: "abc"}, want: tooMany},
		{name: "a large section", ask: Request{fields: large(60_000)}, want: served("GET /x")},
		{name: "a section that is too large", ask: Request{fields: large(70_000)}, want: tooLarge},
		{name: "a section of HEAD that is too large", ask: Request{method: "HEAD", fields: large(70_000)}, want: tooLarge},
		{name: "a section that is too large before content", ask: Request{fields: large(70_000), content: "abc"}, want: tooLarge},
		{name: "a section that is too large before content that does not arrive", ask: Request{fields: large(70_000), open: true}, want: tooLarge},
		{name: "a section that is too large for ReadBufferSize", set: small, ask: Request{fields: large(1024)}, want: tooLarge},
		{name: "a section within ReadBufferSize", set: small, ask: Request{fields: large(600)}, want: served("GET /x")},
		{name: "a target that is too long", ask: Request{target: "/" + strings.Repeat("x", 70_000)}, want: tooLong,
			onStreams: func(w *outcome) { w.status, w.content = 431, "Too big request header" }, why: noLineLimit},
	}
}

// malformedRequests are requests that no server may interpret in its own way. HTTP/1.1 answers
// 400, and ends the connection.
func malformedRequests() (all []testCase) {
	const unread = "GET /" // nothing is known of a head that cannot be read
	told := unread
	add := func(name string, ask Request, err error) {
		want := refuses(400, err)
		want.told = told
		all = append(all, testCase{name: name, ask: ask, want: want,
			onStreams: func(w *outcome) { *w = outcome{cut: true, code: "PROTOCOL_ERROR", told: "-"} },
			why:       "RFC 9113 section 8.1.1: a malformed request is a stream error; RFC 9112 has it answered with 400",
		})
	}
	read := func(text string) error { return failureText("error when reading request headers: fasthttp: " + text) }
	field := func(lines ...string) Request { return Request{fields: lines} }
	sized := func(lines ...string) Request {
		return Request{
			lines1: append([]string{"POST /x HTTP/1.1", "Host: a"}, lines...), content: "abc",
			lines2: servertest.H2Request("POST", "/x", lowerLines(lines)...),
		}
	}
	for _, name := range []string{"X Y", "X(Y)", "X\x00", "X\u00e9", "X\x7f", "X\"", "X/Y", "X@"} {
		add(fmt.Sprintf("the name %q", name), field(name+": z"), read("malformed field name"))
	}
	add("white space before the colon", Request{lines1: []string{"GET /x HTTP/1.1", "Host: a", "X : y"}, lines2: servertest.H2Request("GET", "/x", "x : y")}, read("malformed field name"))
	for _, value := range []string{"a\x00b", "a\x1bb", "a\x7fb"} {
		add(fmt.Sprintf("the value %q", value), field("X: "+value), read("control character in a field value"))
	}
	add("two lengths", sized("Content-Length: 3", "Content-Length: 4"), fasthttp.ErrDuplicateContentLength)
	add("the same length twice", sized("Content-Length: 3", "Content-Length: 3"), fasthttp.ErrDuplicateContentLength)
	for _, length := range []string{"+3", "-3", "0x3", "3,3", "3.", "three", "3 3", "18446744073709551619", ""} {
		add(fmt.Sprintf("the length %q", length), sized("Content-Length: "+length), read("malformed content-length header"))
	}
	add("a method that is no token", Request{method: "G(T"}, read("malformed request line"))
	add("a blank in the target", Request{target: "/x y"}, read("malformed protocol version"))
	add("a control byte in the target", Request{target: "/x\x7f"}, read("malformed request target"))
	told = ""
	add("two hosts", field("Host: b"), read("missing, duplicate or malformed host"))
	add("the same host twice", Request{lines1: []string{"GET /x HTTP/1.1", "Host: a", "Host: a"}, lines2: servertest.H2Request("GET", "/x", "host: a", "host: a")}, read("missing, duplicate or malformed host"))
	add("a fragment", Request{target: "/x#y"}, read("malformed request target"))
	add("a relative target", Request{target: "x"}, read("malformed request target"))
	return append(append(all, malformedTargetCases()...), differentRequests()...)
}

// MalformedTargets are requests that get 400 over either version of HTTP, from the same
// application code: the request line and the fields of HTTP/1.1, and the pseudo-fields of
// HTTP/2 and HTTP/3.
var MalformedTargets = []struct {
	Name string
	H1   string
	H2   []string
	Host bool // the host is wrong
}{
	{"GET *", servertest.Head("GET * HTTP/1.1", "Host: a"), []string{":method: GET", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"HEAD *", servertest.Head("HEAD * HTTP/1.1", "Host: a"), []string{":method: HEAD", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"FOO *", servertest.Head("FOO * HTTP/1.1", "Host: a"), []string{":method: FOO", ":scheme: http", ":path: *", ":authority: a"}, false},
	{"CONNECT without a port", servertest.Head("CONNECT a HTTP/1.1", "Host: a"), []string{":method: CONNECT", ":authority: a"}, false},
	{"no host", servertest.Head("GET / HTTP/1.1"), []string{":method: GET", ":scheme: http", ":path: /"}, true},
	{"an empty host", servertest.Head("GET / HTTP/1.1", "Host: "), []string{":method: GET", ":scheme: http", ":path: /", ":authority: "}, true},
	{"a space in the host", servertest.Head("GET / HTTP/1.1", "Host: a b"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a b"}, true},
	{"user information", servertest.Head("GET / HTTP/1.1", "Host: a@b"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a@b"}, true},
	{"a port beyond all", servertest.Head("GET / HTTP/1.1", "Host: a:65536"), []string{":method: GET", ":scheme: http", ":path: /", ":authority: a:65536"}, true},
	{"a malformed Host", servertest.Head("GET / HTTP/1.1", "Host: a:b"), []string{":method: GET", ":scheme: http", ":path: /", "host: a:b"}, true},
}

// malformedTargetCases are requests that are harmless, although their target is malformed.
func malformedTargetCases() (all []testCase) {
	for _, tc := range MalformedTargets {
		err := "malformed request target"
		if tc.Host {
			err = "missing, duplicate or malformed host"
		}
		want := refuses(400, failureText("error when reading request headers: fasthttp: "+err))
		lines := strings.Split(strings.TrimSuffix(tc.H1, "\r\n\r\n"), "\r\n")
		line := strings.Split(lines[0], " ")
		all = append(all, testCase{name: tc.Name, ask: Request{method: line[0], target: line[1], lines1: lines, lines2: tc.H2}, want: want})
	}
	return all
}

// differentRequests are requests that one protocol permits, and the other does not.
func differentRequests() []testCase {
	const why = "RFC 9113 sections 8.2 and 8.3: such a request is malformed in HTTP/2"
	reset := func(w *outcome) { *w = outcome{cut: true, code: "PROTOCOL_ERROR", told: "-"} }
	of := func(host string) testCase {
		return testCase{serve: func(ctx *fasthttp.RequestCtx, _ *witness) { ctx.SetBody(ctx.Host()) }, want: served(host), onStreams: reset, why: why}
	}
	mismatch := of("b")
	mismatch.name = "a host in the target, and another one"
	mismatch.ask = Request{lines1: []string{"GET http://b/x HTTP/1.1", "Host: a"}, lines2: []string{":method: GET", ":scheme: http", ":authority: b", ":path: /x", "host: a"}}
	mismatch.want.told = "GET http://b/x"
	coding := refuses(501, fasthttp.ErrUnsupportedTransferEncoding)
	cases := []testCase{
		mismatch,
		{name: "an unknown transfer coding", ask: Request{fields: []string{"Transfer-Encoding: x"}}, want: coding, onStreams: reset, why: why},
		{name: "chunks", ask: Request{method: "POST", lines1: []string{"POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"}, content: "0\r\n\r\n",
			lines2: servertest.H2Request("POST", "/x", "transfer-encoding: chunked")}, want: served("POST /x"), onStreams: reset, why: why},
		{name: "a length and chunks", ask: Request{method: "POST", lines1: []string{"POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Length: 5"}, content: "0\r\n\r\n",
			lines2: servertest.H2Request("POST", "/x", "transfer-encoding: chunked", "content-length: 5")}, want: served("POST /x").thenEnds(), onStreams: reset, why: why},
		{name: "Connection", ask: Request{fields: []string{"Connection: x"}}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "Connection: close", ask: Request{fields: []string{"Connection: close"}}, want: served("GET /x").thenEnds(), onStreams: reset, why: why},
		{name: "Keep-Alive", ask: Request{fields: []string{"Keep-Alive: timeout=5"}}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "Upgrade", ask: Request{fields: []string{"Upgrade: h2c"}}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "Proxy-Connection", ask: Request{fields: []string{"Proxy-Connection: close"}}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "TE", ask: Request{fields: []string{"TE: gzip"}}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "white space around a value", ask: Request{lines1: []string{"GET /x HTTP/1.1", "Host: a", "X:  y \t"}, lines2: servertest.H2Request("GET", "/x", "x:  y \t")}, want: served("GET /x"), onStreams: reset, why: why},
		{name: "an upper-case name", ask: Request{lines1: []string{"GET /x HTTP/1.1", "Host: a", "Xyz: y"}, lines2: servertest.H2Request("GET", "/x", "Xyz: y")}, want: served("GET /x"), onStreams: reset, why: why},
	}
	for _, trailer := range []string{"X Y: z", "X: a\x00b"} {
		ask := Request{content: "abc", unsized: true, trailers: []string{trailer}}
		err := failureText("fasthttp: malformed field name")
		if strings.HasPrefix(trailer, "X:") {
			err = "fasthttp: control character in a field value"
		}
		cases = append(cases, testCase{name: fmt.Sprintf("the trailer %q", trailer), ask: ask, want: refuses(400, err),
			onStreams: func(w *outcome) { *w = outcome{cut: true, code: "PROTOCOL_ERROR", failed: true} }, why: why})
	}
	tooShort := refuses(400, io.ErrUnexpectedEOF)
	tooShort.logged = ""
	return append(cases, testCase{name: "content that ends before its announced length", ask: Request{content: "abc", stops: true}, want: tooShort,
		onStreams: func(w *outcome) { *w = outcome{cut: true, code: "PROTOCOL_ERROR", failed: true} },
		why:       "RFC 9113 section 8.1.1 has the stream reset; in RFC 9112 the message is incomplete"})
}

func lowerLines(lines []string) (lower []string) {
	for _, line := range lines {
		lower = append(lower, lowerName(line))
	}
	return lower
}
