package integrationtests

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hosts responds with the host of the request.
func hosts(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.Host()) }

func TestServerReadsHeads(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	ok := []rawAnswer{{200, "ok", ""}}
	okServer := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }}
	runRaw(t, []rawCase{
		{name: "04 500 fields", in: servertest.Get("/", repeatedFields(499, "X-%d: v")...), want: got("/"), keeps: true},
		{name: "04 501 fields", in: servertest.Get("/", repeatedFields(500, "X-%d: v")...), want: []rawAnswer{{431, "Too many header fields", ""}}},

		{name: "06 unknown expectation", in: servertest.Post("/", "abc", "Expect: 200-ok"), want: refused(417)},
		{name: "06 one of two unknown", in: servertest.Post("/", "abc", "Expect: 100-continue, x"), want: refused(417)},
		{name: "06 case", in: servertest.Post("/", "abc", "Expect: 100-Continue"), want: then(refused(100), posted("/", "abc")), keeps: true},
		{name: "06 HTTP/1.0", in: servertest.Head("POST / HTTP/1.0", "Content-Length: 3", "Expect: 100-continue") + "abc", want: posted("/", "abc")},
		{name: "06 unknown expectation of HTTP/1.0", in: servertest.Head("POST / HTTP/1.0", "Content-Length: 3", "Expect: x") + "abc", want: posted("/", "abc")},
		{name: "06 no content to wait for", in: servertest.Get("/", "Expect: 100-continue"), want: got("/"), keeps: true},
		{name: "06 no content to wait for by length", in: servertest.Post("/", "", "Expect: 100-continue"), want: posted("/", ""), keeps: true},
		{name: "06 content that is too large", s: &fasthttp.Server{MaxRequestBodySize: 10}, in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 11", "Expect: 100-continue"), want: refused(413)},

		{name: "07 HTTP/2.0", in: servertest.Head("GET / HTTP/2.0", "Host: a"), want: refused(505)},
		{name: "07 HTTP/0.9", in: servertest.Head("GET / HTTP/0.9", "Host: a"), want: refused(505)},
		{name: "07 HTTP/3.0", in: servertest.Head("GET / HTTP/3.0", "Host: a"), want: refused(505)},
		{name: "07 HTTP/2 preface", in: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", want: refused(505)},
		{name: "07 HTTP/1.2", in: servertest.Head("GET / HTTP/1.2", "Host: a"), want: got("/"), keeps: true},
		{name: "07 HTTP/1.9 needs a host", in: servertest.Head("GET / HTTP/1.9"), want: refused(400)},
		{name: "07 two digits", in: servertest.Head("GET / HTTP/1.10", "Host: a"), want: refused(400)},
		{name: "07 no minor", in: servertest.Head("GET / HTTP/1", "Host: a"), want: refused(400)},
		{name: "07 lower case", in: servertest.Head("GET / http/1.1", "Host: a"), want: refused(400)},
		{name: "07 no version", in: "GET /\r\n\r\n", want: refused(400)},
		{name: "07 other protocol", in: servertest.Head("GET / ICY/1.1", "Host: a"), want: refused(400)},
		{name: "07 leading zero", in: servertest.Head("GET / HTTP/01.1", "Host: a"), want: refused(400)},

		{name: "12 LF after the request line", in: "GET / HTTP/1.1\nHost: a\r\n\r\n", want: refused(400)},
		{name: "12 LF everywhere", in: "GET / HTTP/1.1\nHost: a\n\n", want: refused(400)},
		{name: "12 LF after a field", in: "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", want: refused(400)},
		{name: "12 LF after the last field", in: "GET / HTTP/1.1\r\nHost: a\r\n\n", want: refused(400)},
		{name: "12 LF alone", in: "\n", want: refused(400)},
		{name: "12 CR after the request line", in: "GET / HTTP/1.1\rHost: a\r\n\r\n", want: refused(400)},
		{name: "12 CR after a field", in: "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", want: refused(400)},
		{name: "12 CR CR LF after a field", in: "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", want: refused(400)},
		{name: "12 CR CR LF after the request line", in: "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", want: refused(400)},
		{name: "12 CR at the end", in: "GET / HTTP/1.1\r\nHost: a\r\n\rX", want: refused(400)},
		{name: "12 LF in front", in: "\n" + servertest.Get("/"), want: refused(400)},
		{name: "12 CR in front", in: "\r" + servertest.Get("/"), want: refused(400)},

		{name: "13 folded field", in: servertest.Get("/", "X: a", " b"), want: refused(400)},
		{name: "13 folded by tab", in: servertest.Get("/", "X: a", "\tb"), want: refused(400)},
		{name: "13 fold before the first field", in: servertest.Head("GET / HTTP/1.1", " X: a", "Host: a"), want: refused(400)},
		{name: "13 fold of spaces", in: servertest.Get("/", "X: a", "  "), want: refused(400)},
		{name: "13 folded length", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length:", " 5") + "hello", want: refused(400)},
		{name: "13 folded coding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding:", " chunked") + "0\r\n\r\n", want: refused(400)},

		{name: "15 two spaces before the target", in: servertest.Head("GET  / HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 two spaces after the target", in: servertest.Head("GET /  HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 space at the end", in: servertest.Head("GET / HTTP/1.1 ", "Host: a"), want: refused(400)},
		{name: "15 space in front", in: servertest.Head(" GET / HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 space in the target", in: servertest.Head("GET /a b HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 tab in the target", in: servertest.Head("GET /a\tb HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 tab for a space", in: servertest.Head("GET\t/ HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 NUL in the target", in: servertest.Head("GET /\x00 HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 DEL in the target", in: servertest.Head("GET /\x7f HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 no target", in: servertest.Head("GET HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 empty target", in: servertest.Head("GET  HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 no method", in: servertest.Head("/ HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 method that is no token", in: servertest.Head("G(T / HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 any other method", in: servertest.Head("M-SEARCH / HTTP/1.1", "Host: a"), want: answered([3]string{"M-SEARCH", "/", ""}), keeps: true},
		{name: "15 lower-case method", in: servertest.Head("get / HTTP/1.1", "Host: a"), want: answered([3]string{"get", "/", ""}), keeps: true},
		{name: "15 invalid escapes", in: servertest.Get("/%zz%f%00?%"), want: got("/%zz%f%00?%"), keeps: true},
		{name: "15 fragment", in: servertest.Get("/x#/../admin"), want: refused(400)},
		{name: "15 empty fragment", in: servertest.Get("/x#"), want: refused(400)},
		{name: "15 fragment after a query", in: servertest.Get("/x?a=b#c"), want: refused(400)},
		{name: "15 fragment of an absolute target", in: servertest.Head("GET http://a/x#y HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 fragment after an authority", in: servertest.Head("GET http://a#y HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 fragment after a target that is known", in: servertest.Get("/x") + servertest.Get("/x") + servertest.Get("/x") + servertest.Get("/x#y"), want: then(got("/x"), got("/x"), got("/x"), refused(400))},
		{name: "15 escaped number sign", in: servertest.Get("/x%23/a?%23"), want: got("/x%23/a?%23"), keeps: true},
		{name: "15 relative target", in: servertest.Get("a/b"), want: refused(400)},
		{name: "15 target without a scheme", in: servertest.Get("//a/b"), want: got("//a/b"), keeps: true},
		{name: "15 asterisk of GET", in: servertest.Get("*"), want: refused(400)},
		{name: "15 asterisk and more", in: servertest.Head("OPTIONS */x HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 asterisk of OPTIONS", in: servertest.Head("OPTIONS * HTTP/1.1", "Host: a"), want: answered([3]string{"OPTIONS", "*", ""}), keeps: true},
		{name: "CONNECT with a path and a fragment", in: servertest.Head("CONNECT /x#y HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 CONNECT with a URI", in: servertest.Head("CONNECT http://a/ HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 CONNECT without a port", in: servertest.Head("CONNECT a HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 CONNECT with a bad port", in: servertest.Head("CONNECT a:65536 HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "15 authority of GET", in: servertest.Get("a:80"), want: refused(400)},

		{name: "16 NUL in a name", in: servertest.Get("/", "X\x00: y"), want: refused(400)},
		{name: "16 NUL in a value", in: servertest.Get("/", "X: \x00"), want: refused(400)},
		{name: "16 control byte in a value", in: servertest.Get("/", "X: a\x1bb"), want: refused(400)},
		{name: "16 DEL in a value", in: servertest.Get("/", "X: \x7f"), want: refused(400)},
		{name: "16 tab in a value", in: servertest.Get("/", "X: a\tb"), want: got("/"), keeps: true},
		{name: "16 space before the colon", in: servertest.Get("/", "X : y"), want: refused(400)},
		{name: "16 tab before the colon", in: servertest.Get("/", "X\t: y"), want: refused(400)},
		{name: "16 space in a name", in: servertest.Get("/", "X Y: z"), want: refused(400)},
		{name: "16 empty name", in: servertest.Get("/", ": y"), want: refused(400)},
		{name: "16 no colon", in: servertest.Get("/", "X"), want: refused(400)},
		{name: "16 name that is no token", in: servertest.Get("/", "X(y): z"), want: refused(400)},
		{name: "16 name beyond ASCII", in: servertest.Get("/", "X\u00e9: z"), want: refused(400)},
		{name: "16 space before the colon of a length", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length : 5") + "hello", want: refused(400)},
		{name: "16 space before the colon of a coding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding : chunked") + "0\r\n\r\n", want: refused(400)},

		{name: "17 bytes over 0x7f in a value", in: servertest.Get("/", "X: \xff\x80\xfe"), want: got("/"), keeps: true},
		{name: "17 0xff in a name", in: servertest.Get("/", "\xff: y"), want: refused(400)},
		{name: "17 0xff in the method", in: servertest.Head("\xffGET / HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "17 0xff in the version", in: servertest.Head("GET / HTTP/\xff.1", "Host: a"), want: refused(400)},
		{name: "17 0xff in a coding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: \xff"), want: refused(400)},
		{name: "17 0xff in a chunk size", in: servertest.Chunked("/", "\xff\r\n"), want: refused(400)},
		{name: "17 0xff alone", in: "\xff\xff\xff\xff", want: refused(400)},
		{name: "17 TLS hello", in: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", want: refused(400)},

		{name: "18 an empty line in front", in: "\r\n" + servertest.Get("/"), want: got("/"), keeps: true},
		{name: "18 two empty lines in front", in: "\r\n\r\n" + servertest.Get("/"), want: got("/"), keeps: true},
		{name: "18 three empty lines in front", in: "\r\n\r\n\r\n" + servertest.Get("/"), want: refused(400)},
		{name: "18 empty lines between requests", in: servertest.Post("/", "x") + "\r\n\r\n" + servertest.Get("/2") + "\r\n" + servertest.Get("/3"), want: then(posted("/", "x"), got("/2"), got("/3")), keeps: true},
		{name: "18 three empty lines between requests", in: servertest.Get("/") + "\r\n\r\n\r\n" + servertest.Get("/2"), want: then(got("/"), refused(400))},
		{name: "18 empty lines alone", in: "\r\n\r\n", want: nil, keeps: true},

		{name: "22 long cookie", s: okServer, in: servertest.Get("/", "Cookie: a="+long(20_000)), want: ok, keeps: true},
		{name: "22 head of 64 KiB", s: okServer, in: servertest.Get("/", "X: "+long(64<<10-len(servertest.Get("/", "X: ")))), want: ok, keeps: true},
		{name: "22 larger head", s: okServer, in: servertest.Get("/", "X: "+long(64<<10-len(servertest.Get("/", "X: "))+1)), want: refused(431)},
		{name: "22 head without end", s: okServer, in: "GET / HTTP/1.1\r\nX: " + long(70_000), want: refused(431)},
		{name: "22 request line of 16 KiB", s: okServer, in: servertest.Get("/" + long(16<<10-len("GET / HTTP/1.1"))), want: ok, keeps: true},
		{name: "22 longer request line", s: okServer, in: servertest.Get("/" + long(16<<10-len("GET / HTTP/1.1")+1)), want: refused(414)},
		{name: "22 request line without end", s: okServer, in: "GET /" + long(17_000), want: refused(414)},
		{name: "22 method without end", s: okServer, in: long(17_000), want: refused(414)},
		{name: "22 small ReadBufferSize", s: &fasthttp.Server{ReadBufferSize: 1024, Handler: okServer.Handler}, in: servertest.Get("/", "X: "+long(1024-len(servertest.Get("/", "X: ")))), want: ok, keeps: true},
		{name: "22 over a small ReadBufferSize", s: &fasthttp.Server{ReadBufferSize: 1024, Handler: okServer.Handler}, in: servertest.Get("/", "X: "+long(1024-len(servertest.Get("/", "X: "))+1)), want: refused(431)},
		{name: "22 large ReadBufferSize", s: &fasthttp.Server{ReadBufferSize: 100_000, Handler: okServer.Handler}, in: servertest.Get("/"+long(40_000), "X: "+long(50_000)), want: ok, keeps: true},
		{name: "22 body beyond ReadBufferSize", s: &fasthttp.Server{ReadBufferSize: 1024}, in: servertest.Post("/", long(3000)), want: posted("/", long(3000)), keeps: true},
	})
}

func TestServerChecksHost(t *testing.T) {
	t.Parallel()
	var cases []rawCase
	for _, host := range []string{
		"a", "a.b", "A-b_c~d", "a:80", "a:", "a:65535", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:80", "[2001:db8::1%25eth0]",
		"a!$&'()*+,;=b", "%c3%a9.test", "%252e", "a%25b:80",
	} {
		cases = append(cases, rawCase{name: fmt.Sprintf("08 good %q", host), in: servertest.Head("GET / HTTP/1.1", "Host: "+host), want: got("/"), keeps: true})
	}
	cases = append(cases, rawCase{name: "08 empty", in: servertest.Head("GET / HTTP/1.1", "Host:"), want: refused(400)})
	for _, host := range []string{
		"u@a", "u:p@a", "a b", "a/b", "a?b", "a#b", "a\\b", "a:b", "a:65536", "a:-1", "a:80:80", "[::1", "::1", "[::1]x", "[::1]:x", "[1.2.3.4]",
		"[::1%eth0]", "a\"b", "<a>", "a|b", "a^b", "{a}", "a%zz", "a%", ":80", "http://a", "a\x80",
	} {
		cases = append(cases, rawCase{name: fmt.Sprintf("08 bad %q", host), in: servertest.Head("GET / HTTP/1.1", "Host: "+host), want: refused(400)})
	}
	cases = append(cases,
		rawCase{name: "08 missing", in: servertest.Head("GET / HTTP/1.1", "X: y"), want: refused(400)},
		rawCase{name: "08 missing in HTTP/1.0", in: servertest.Head("GET / HTTP/1.0", "Connection: keep-alive"), want: got("/"), keeps: true},
		rawCase{name: "08 bad in HTTP/1.0", in: servertest.Head("GET / HTTP/1.0", "Host: u@a", "Connection: keep-alive"), want: refused(400)},
		rawCase{name: "08 twice", in: servertest.Head("GET / HTTP/1.1", "Host: a", "Host: b"), want: refused(400)},
		rawCase{name: "08 twice the same", in: servertest.Head("GET / HTTP/1.1", "Host: a", "host: a"), want: refused(400)},
		rawCase{name: "08 missing beside an absolute target", in: servertest.Head("GET http://a/ HTTP/1.1"), want: refused(400)},
		rawCase{name: "08 bad beside an absolute target", in: servertest.Head("GET http://a/ HTTP/1.1", "Host: u@a"), want: refused(400)},
	)
	runRaw(t, cases)
	of := func(host string) []rawAnswer { return []rawAnswer{{200, host, ""}} }
	runRaw(t, []rawCase{
		{name: "08 is what the request is for", s: &fasthttp.Server{Handler: hosts}, in: servertest.Head("GET / HTTP/1.1", "Host: B.Test:80"), want: of("b.test:80"), keeps: true},
		{name: "08 yields to an absolute target", s: &fasthttp.Server{Handler: hosts}, in: servertest.Head("GET http://a.test:8080/x HTTP/1.1", "Host: b.test"), want: of("a.test:8080"), keeps: true},
		{name: "08 of an absolute target without path", s: &fasthttp.Server{Handler: hosts}, in: servertest.Head("GET http://a.test?x HTTP/1.1", "Host: b.test"), want: of("a.test"), keeps: true},
		{name: "08 of an absolute target is bad", in: servertest.Head("GET http://u@a/ HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "08 of an absolute target is empty", in: servertest.Head("GET http:///x HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "08 of an absolute target has a bad port", in: servertest.Head("GET http://a:x/ HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "08 of an absolute target without slashes", in: servertest.Head("GET http:a HTTP/1.1", "Host: a"), want: refused(400)},
		{name: "08 of another scheme", s: &fasthttp.Server{Handler: hosts}, in: servertest.Head("GET ftp://a.test/x HTTP/1.1", "Host: b.test"), want: of("a.test"), keeps: true},
		{name: "15 of CONNECT", s: &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.IsConnect() {
				ctx.Error("no tunnels: "+string(ctx.Host()), 405)
				return
			}
			hosts(ctx)
		}}, in: servertest.Head("CONNECT a.test:443 HTTP/1.1", "Host: b.test"), want: []rawAnswer{{405, "no tunnels: a.test:443", "CONNECT"}}, keeps: true},
	})
}

// The server parses content by the first Content-Type line: a front end that checked
// the request may have used that one.
func TestFirstContentTypeOfARequestCounts(t *testing.T) {
	t.Parallel()
	const form, plain = "application/x-www-form-urlencoded", "text/plain"
	cases := []struct {
		lines, want, args string
	}{
		{"Content-Type: " + plain + "\r\nContent-Type: " + form + "\r\n", plain, ""},
		{"Content-Type: " + form + "\r\nX: y\r\ncontent-type: " + plain + "\r\n", form, "a=b"},
		{"Content-Type: " + form + "\r\nContent-Type: " + form + "\r\n", form, "a=b"},
		{"Content-Type:\r\nContent-Type: " + form + "\r\n", "", ""},
		{"Content-Type: " + form + "\r\nContent-Type:\r\n", form, "a=b"},
		{"Content-Type: " + plain + "\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Type: " + form + "\r\n", plain, ""},
	}
	for _, c := range cases {
		raw := "POST / HTTP/1.1\r\nHost: h\r\n" + c.lines + "Content-Length: 3\r\n\r\na=b"
		for _, special := range []bool{true, false} {
			var req fasthttp.Request
			if !special {
				req.Header.DisableSpecialHeader()
			}
			if err := req.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
				t.Fatal(err)
			}
			if got := string(req.Header.ContentType()); got != c.want || req.PostArgs().String() != c.args {
				t.Errorf("%q: %q, arguments %q", c.lines, got, req.PostArgs())
			}
			if len(req.Header.MultipartFormBoundary()) > 0 {
				t.Errorf("%q: a form", c.lines)
			}
		}
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		conn := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyString(string(ctx.Request.Header.ContentType()) + "|" + ctx.PostArgs().String())
		}}).Dial()
		for _, c := range cases {
			// the server parses the heads after the first with the help of the first
			for range 4 {
				conn.Send("POST / HTTP/1.1\r\nHost: h\r\n" + c.lines + "Content-Length: 3\r\n\r\na=b")
				conn.Expect(200, c.want+"|"+c.args)
			}
		}
	})
}
