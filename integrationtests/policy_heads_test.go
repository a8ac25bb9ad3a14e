package integrationtests

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestPolicyOfHeads has requests that the server serves or refuses by their heads.
func TestPolicyOfHeads(t *testing.T) {
	runPolicy(t, slicesOf(plainRequests, methodsNotServed, requestsRefusedByHook, headsBeyondTheLimits))
}

// TestPolicyOfMalformedRequests has requests that could mean something else to another
// recipient.
func TestPolicyOfMalformedRequests(t *testing.T) { runPolicy(t, malformedRequests()) }

func slicesOf(kinds ...func() []policyCase) (all []policyCase) {
	for _, cases := range kinds {
		all = append(all, cases()...)
	}
	return all
}

func plainRequests() []policyCase {
	return []policyCase{
		{name: "GET", want: served("GET /x")},
		{name: "HEAD", ask: policyRequest{method: "HEAD"}, want: served("")},
		{name: "OPTIONS for all", ask: policyRequest{method: "OPTIONS", target: "*"}, want: served("OPTIONS *")},
		{name: "CONNECT", ask: policyRequest{method: "CONNECT", target: "a:443", lines1: []string{"CONNECT a:443 HTTP/1.1", "Host: b"}, lines2: []string{":method: CONNECT", ":authority: a:443"}},
			serve: func(ctx *fasthttp.RequestCtx, _ *policyWitness) { ctx.Error("no tunnels", 405) }, want: policyOutcome{status: 405, content: "no tunnels", handled: true}},
		{name: "another method", ask: policyRequest{method: "PURGE"}, want: served("PURGE /x")},
		{name: "content", ask: policyRequest{content: "abc"}, want: served(`POST /x "abc"`)},
		{name: "content of GET", ask: policyRequest{method: "GET", content: "abc"}, want: served(`GET /x "abc"`)},
		{name: "content of unknown length", ask: policyRequest{content: "abc", unsized: true}, want: served(`POST /x "abc"`)},
		{name: "empty content", ask: policyRequest{unsized: true}, want: served("POST /x")},
		{name: "another request in the content", ask: policyRequest{content: servertest.Smuggled}, want: served(fmt.Sprintf("POST /x %q", servertest.Smuggled))},
		{name: "chunks in the content", ask: policyRequest{content: "0\r\n\r\n" + servertest.Smuggled}, want: served(fmt.Sprintf("POST /x %q", "0\r\n\r\n"+servertest.Smuggled))},
	}
}

func methodsNotServed() []policyCase {
	getOnly := func(s *fasthttp.Server, _ *policyWitness) { s.GetOnly = true }
	refused := refuses(400, fasthttp.ErrGetOnly)
	return []policyCase{
		{name: "GetOnly, GET", set: getOnly, want: served("GET /x")},
		{name: "GetOnly, HEAD", set: getOnly, ask: policyRequest{method: "HEAD"}, want: served("")},
		{name: "GetOnly, GET with content", set: getOnly, ask: policyRequest{method: "GET", content: "abc"}, want: served(`GET /x "abc"`)},
		{name: "GetOnly, POST", set: getOnly, ask: policyRequest{content: "abc"}, want: refused},
		{name: "GetOnly, POST without content", set: getOnly, ask: policyRequest{method: "POST"}, want: refused},
		{name: "GetOnly, content that does not arrive", set: getOnly, ask: policyRequest{open: true}, want: refused},
		{name: "GetOnly, a client that waits", set: getOnly, ask: policyRequest{content: "abc", waits: true, fields: []string{"Expect: 100-continue"}}, want: refused},
		{name: "GetOnly, CONNECT", set: getOnly, ask: policyRequest{method: "CONNECT", target: "a:443", lines1: []string{"CONNECT a:443 HTTP/1.1", "Host: a"}, lines2: []string{":method: CONNECT", ":authority: a:443"}}, want: refused},
		{name: "GetOnly, an ErrorHandler that answers with a stream", set: getOnly, refuse: func(ctx *fasthttp.RequestCtx, _ *policyWitness, _ error) {
			ctx.SetStatusCode(405)
			ctx.SetBodyStream(strings.NewReader("a stream"), -1)
		}, ask: policyRequest{content: "abc"}, want: policyOutcome{status: 405, content: "a stream", refused: fasthttp.ErrGetOnly, logged: fasthttp.ErrGetOnly.Error(), ends: true}},
		{name: "GetOnly, an ErrorHandler that leaves the context", set: getOnly, refuse: func(ctx *fasthttp.RequestCtx, w *policyWitness, _ error) {
			w.abandons = true
			w.addValue(ctx)
			ctx.TimeoutErrorWithCode("left", 503)
		}, ask: policyRequest{content: "abc"}, want: policyOutcome{status: 503, content: "left", refused: fasthttp.ErrGetOnly, logged: fasthttp.ErrGetOnly.Error(), told: "GET /", ends: true}},
		{name: "GetOnly goes before HeaderReceived", set: func(s *fasthttp.Server, w *policyWitness) {
			s.GetOnly = true
			s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
				w.t.Error("HeaderReceived is called")
				return fasthttp.RequestConfig{}
			}
		}, ask: policyRequest{method: "POST"}, want: refused},
	}
}

// configures makes HeaderReceived return the configuration.
func configures(c fasthttp.RequestConfig) func(*fasthttp.Server, *policyWitness) {
	return func(s *fasthttp.Server, _ *policyWitness) {
		s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig { return c }
	}
}

func requestsRefusedByHook() []policyCase {
	refuse := func(status int) func(*fasthttp.Server, *policyWitness) {
		return configures(fasthttp.RequestConfig{RefuseStatus: status})
	}
	refused := func(status int) policyOutcome {
		return policyOutcome{status: status, content: fasthttp.StatusMessage(status), refused: fasthttp.ErrRequestRefused}
	}
	noContent := refused(204)
	noContent.content = ""
	streams := func(s *fasthttp.Server, w *policyWitness) {
		refuse(403)(s, w)
		s.StreamRequestBody = true
	}
	large := numbered(servertest.DrainLimit + 1)
	return []policyCase{
		{name: "RefuseStatus", set: refuse(401), want: refused(401)},
		{name: "RefuseStatus, HEAD", set: refuse(404), ask: policyRequest{method: "HEAD"}, want: refused(404)},
		{name: "RefuseStatus, content", set: refuse(403), ask: policyRequest{content: "abc"}, want: refused(403)},
		{name: "RefuseStatus, content that would be a stream", set: streams, ask: policyRequest{content: "abc"}, want: refused(403)},
		{name: "RefuseStatus, content of unknown length", set: refuse(403), ask: policyRequest{content: "abc", unsized: true}, want: refused(403)},
		{name: "RefuseStatus, content that arrives later", set: refuse(429), ask: policyRequest{later: "abcde", length: 5}, want: refused(429)},
		{name: "RefuseStatus, content without end", set: refuse(403), ask: policyRequest{content: "abc", unsized: true, open: true}, want: refused(403).thenEnds()},
		{name: "RefuseStatus, much content", set: refuse(413), ask: policyRequest{content: large}, want: refused(413).thenEnds()},
		{name: "RefuseStatus, a client that waits", set: refuse(417), ask: policyRequest{content: "abc", waits: true, fields: []string{"Expect: 100-continue"}}, want: refused(417).thenEnds()},
		{name: "RefuseStatus, an unknown expectation", set: refuse(403), ask: policyRequest{fields: []string{"Expect: x"}}, want: refused(403)},
		{name: "RefuseStatus that is none", set: refuse(1000), want: refused(400)},
		{name: "RefuseStatus that is informational", set: refuse(100), ask: policyRequest{content: "abc"}, want: refused(400)},
		{name: "RefuseStatus that is no error", set: refuse(204), want: noContent},
		{name: "RefuseStatus, an ErrorHandler that leaves the context", set: refuse(401), refuse: func(ctx *fasthttp.RequestCtx, w *policyWitness, _ error) {
			ctx.TimeoutErrorWithCode("left", 503)
		}, ask: policyRequest{content: "abc"}, want: policyOutcome{status: 503, content: "left", refused: fasthttp.ErrRequestRefused, told: "GET /", ends: true}},
		{name: "RefuseStatus, an ErrorHandler that sets another status", set: refuse(401), refuse: func(ctx *fasthttp.RequestCtx, w *policyWitness, _ error) {
			ctx.Error("who are you?", 400)
			ctx.Response.Header.Set("WWW-Authenticate", "Basic")
		}, ask: policyRequest{content: "abc"}, want: policyOutcome{status: 401, content: "who are you?", fields: []string{"WWW-Authenticate: Basic"}, refused: fasthttp.ErrRequestRefused}},
	}
}

func headsBeyondTheLimits() []policyCase {
	small := func(s *fasthttp.Server, _ *policyWitness) { s.ReadBufferSize = 1024 }
	large := func(n int) []string { return []string{"X: " + strings.Repeat("x", n)} }
	tooLarge := refuses(431, anySmallBuffer)
	tooLarge.content, tooLarge.told = "Too big request header", "GET /"
	tooMany := tooLarge
	tooMany.content = "Too many header fields"
	tooLong := tooLarge
	tooLong.status, tooLong.content = 414, fasthttp.StatusMessage(414)
	noLineLimit := "RFC 9113 section 10.5.1 limits the section as a whole, and HTTP/2 has no request line"
	return []policyCase{
		{name: "many fields", ask: policyRequest{fields: repeatedFields(450, "X-%d: v")}, want: served("GET /x")},
		{name: "too many fields", ask: policyRequest{fields: repeatedFields(501, "X-%d: v")}, want: tooMany},
		{name: "too many fields with the same name", ask: policyRequest{fields: repeatedFields(501, "X: %d")}, want: tooMany},
		{name: "too many fields before content", ask: policyRequest{fields: repeatedFields(501, "X-%d: v"), content: "abc"}, want: tooMany},
		{name: "a large section", ask: policyRequest{fields: large(60_000)}, want: served("GET /x")},
		{name: "a section that is too large", ask: policyRequest{fields: large(70_000)}, want: tooLarge},
		{name: "a section of HEAD that is too large", ask: policyRequest{method: "HEAD", fields: large(70_000)}, want: tooLarge},
		{name: "a section that is too large before content", ask: policyRequest{fields: large(70_000), content: "abc"}, want: tooLarge},
		{name: "a section that is too large before content that does not arrive", ask: policyRequest{fields: large(70_000), open: true}, want: tooLarge},
		{name: "a section that is too large for ReadBufferSize", set: small, ask: policyRequest{fields: large(1024)}, want: tooLarge},
		{name: "a section within ReadBufferSize", set: small, ask: policyRequest{fields: large(600)}, want: served("GET /x")},
		{name: "a target that is too long", ask: policyRequest{target: "/" + strings.Repeat("x", 70_000)}, want: tooLong,
			byHTTP2: func(w *policyOutcome) { w.status, w.content = 431, "Too big request header" }, why: noLineLimit},
	}
}

// malformedRequests are requests that no server may interpret in its own way. HTTP/1.1 answers
// 400, and ends the connection.
func malformedRequests() (all []policyCase) {
	const unread = "GET /" // nothing is known of a head that cannot be read
	told := unread
	add := func(name string, ask policyRequest, err error) {
		want := refuses(400, err)
		want.told = told
		all = append(all, policyCase{name: name, ask: ask, want: want,
			byHTTP2: func(w *policyOutcome) { *w = policyOutcome{cut: true, code: "PROTOCOL_ERROR", told: "-"} },
			why:     "RFC 9113 section 8.1.1: a malformed request is a stream error; RFC 9112 has it answered with 400",
		})
	}
	read := func(text string) error { return failureText("error when reading request headers: fasthttp: " + text) }
	field := func(lines ...string) policyRequest { return policyRequest{fields: lines} }
	sized := func(lines ...string) policyRequest {
		return policyRequest{
			lines1: append([]string{"POST /x HTTP/1.1", "Host: a"}, lines...), content: "abc",
			lines2: requestFields("POST", "/x", lowerLines(lines)...),
		}
	}
	for _, name := range []string{"X Y", "X(Y)", "X\x00", "X\u00e9", "X\x7f", "X\"", "X/Y", "X@"} {
		add(fmt.Sprintf("the name %q", name), field(name+": z"), read("malformed field name"))
	}
	add("white space before the colon", policyRequest{lines1: []string{"GET /x HTTP/1.1", "Host: a", "X : y"}, lines2: requestFields("GET", "/x", "x : y")}, read("malformed field name"))
	for _, value := range []string{"a\x00b", "a\x1bb", "a\x7fb"} {
		add(fmt.Sprintf("the value %q", value), field("X: "+value), read("control character in a field value"))
	}
	add("two lengths", sized("Content-Length: 3", "Content-Length: 4"), fasthttp.ErrDuplicateContentLength)
	add("the same length twice", sized("Content-Length: 3", "Content-Length: 3"), fasthttp.ErrDuplicateContentLength)
	for _, length := range []string{"+3", "-3", "0x3", "3,3", "3.", "three", "3 3", "18446744073709551619", ""} {
		add(fmt.Sprintf("the length %q", length), sized("Content-Length: "+length), read("malformed content-length header"))
	}
	add("a method that is no token", policyRequest{method: "G(T"}, read("malformed request line"))
	add("a blank in the target", policyRequest{target: "/x y"}, read("malformed protocol version"))
	add("a control byte in the target", policyRequest{target: "/x\x7f"}, read("malformed request target"))
	told = ""
	add("two hosts", field("Host: b"), read("missing, duplicate or malformed host"))
	add("the same host twice", policyRequest{lines1: []string{"GET /x HTTP/1.1", "Host: a", "Host: a"}, lines2: requestFields("GET", "/x", "host: a", "host: a")}, read("missing, duplicate or malformed host"))
	add("a fragment", policyRequest{target: "/x#y"}, read("malformed request target"))
	add("a relative target", policyRequest{target: "x"}, read("malformed request target"))
	return append(append(all, malformedTargetCases()...), differentRequests()...)
}

// malformedTargetCases are requests that are harmless, although their target is malformed.
func malformedTargetCases() (all []policyCase) {
	for _, tc := range malformedTargets {
		err := "malformed request target"
		if tc.host {
			err = "missing, duplicate or malformed host"
		}
		want := refuses(400, failureText("error when reading request headers: fasthttp: "+err))
		lines := strings.Split(strings.TrimSuffix(tc.h1, "\r\n\r\n"), "\r\n")
		line := strings.Split(lines[0], " ")
		all = append(all, policyCase{name: tc.name, ask: policyRequest{method: line[0], target: line[1], lines1: lines, lines2: tc.h2}, want: want})
	}
	return all
}

// differentRequests are requests that one protocol permits, and the other does not.
func differentRequests() []policyCase {
	const why = "RFC 9113 sections 8.2 and 8.3: such a request is malformed in HTTP/2"
	reset := func(w *policyOutcome) { *w = policyOutcome{cut: true, code: "PROTOCOL_ERROR", told: "-"} }
	of := func(host string) policyCase {
		return policyCase{serve: func(ctx *fasthttp.RequestCtx, _ *policyWitness) { ctx.SetBody(ctx.Host()) }, want: served(host), byHTTP2: reset, why: why}
	}
	mismatch := of("b")
	mismatch.name = "a host in the target, and another one"
	mismatch.ask = policyRequest{lines1: []string{"GET http://b/x HTTP/1.1", "Host: a"}, lines2: []string{":method: GET", ":scheme: http", ":authority: b", ":path: /x", "host: a"}}
	mismatch.want.told = "GET http://b/x"
	coding := refuses(501, fasthttp.ErrUnsupportedTransferEncoding)
	cases := []policyCase{
		mismatch,
		{name: "an unknown transfer coding", ask: policyRequest{fields: []string{"Transfer-Encoding: x"}}, want: coding, byHTTP2: reset, why: why},
		{name: "chunks", ask: policyRequest{method: "POST", lines1: []string{"POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"}, content: "0\r\n\r\n",
			lines2: requestFields("POST", "/x", "transfer-encoding: chunked")}, want: served("POST /x"), byHTTP2: reset, why: why},
		{name: "a length and chunks", ask: policyRequest{method: "POST", lines1: []string{"POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Length: 5"}, content: "0\r\n\r\n",
			lines2: requestFields("POST", "/x", "transfer-encoding: chunked", "content-length: 5")}, want: served("POST /x").thenEnds(), byHTTP2: reset, why: why},
		{name: "Connection", ask: policyRequest{fields: []string{"Connection: x"}}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "Connection: close", ask: policyRequest{fields: []string{"Connection: close"}}, want: served("GET /x").thenEnds(), byHTTP2: reset, why: why},
		{name: "Keep-Alive", ask: policyRequest{fields: []string{"Keep-Alive: timeout=5"}}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "Upgrade", ask: policyRequest{fields: []string{"Upgrade: h2c"}}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "Proxy-Connection", ask: policyRequest{fields: []string{"Proxy-Connection: close"}}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "TE", ask: policyRequest{fields: []string{"TE: gzip"}}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "white space around a value", ask: policyRequest{lines1: []string{"GET /x HTTP/1.1", "Host: a", "X:  y \t"}, lines2: requestFields("GET", "/x", "x:  y \t")}, want: served("GET /x"), byHTTP2: reset, why: why},
		{name: "an upper-case name", ask: policyRequest{lines1: []string{"GET /x HTTP/1.1", "Host: a", "Xyz: y"}, lines2: requestFields("GET", "/x", "Xyz: y")}, want: served("GET /x"), byHTTP2: reset, why: why},
	}
	for _, trailer := range []string{"X Y: z", "X: a\x00b"} {
		ask := policyRequest{content: "abc", unsized: true, trailers: []string{trailer}}
		err := failureText("fasthttp: malformed field name")
		if strings.HasPrefix(trailer, "X:") {
			err = "fasthttp: control character in a field value"
		}
		cases = append(cases, policyCase{name: fmt.Sprintf("the trailer %q", trailer), ask: ask, want: refuses(400, err),
			byHTTP2: func(w *policyOutcome) { *w = policyOutcome{cut: true, code: "PROTOCOL_ERROR", failed: true} }, why: why})
	}
	tooShort := refuses(400, io.ErrUnexpectedEOF)
	tooShort.logged = ""
	return append(cases, policyCase{name: "content that ends before its announced length", ask: policyRequest{content: "abc", stops: true}, want: tooShort,
		byHTTP2: func(w *policyOutcome) { *w = policyOutcome{cut: true, code: "PROTOCOL_ERROR", failed: true} },
		why:     "RFC 9113 section 8.1.1 has the stream reset; in RFC 9112 the message is incomplete"})
}

func lowerLines(lines []string) (lower []string) {
	for _, line := range lines {
		lower = append(lower, lowerName(line))
	}
	return lower
}
