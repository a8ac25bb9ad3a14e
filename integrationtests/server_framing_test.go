package integrationtests

import (
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The numbers in the names of the cases are the numbers of known failures of HTTP servers: see
// docs/security.md.

// ignoresBody is a handler that does not read the body of the request.
func ignoresBody(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ignored") }

// readsSome is a handler that reads the first bytes of the body.
func readsSome(ctx *fasthttp.RequestCtx) {
	if body := ctx.RequestBodyStream(); body != nil {
		var b [3]byte
		n, _ := io.ReadFull(body, b[:])
		ctx.SetBody(b[:n])
	}
}

var repeatedFields = servertest.RepeatedFields

func TestServerFramesBodies(t *testing.T) {
	t.Parallel()
	form := "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n--b--\r\n" + servertest.Smuggled
	streaming := func(h fasthttp.RequestHandler) *fasthttp.Server {
		return &fasthttp.Server{StreamRequestBody: true, Handler: h}
	}
	kept := strings.Repeat(servertest.Smuggled, 30)
	runRaw(t, []rawCase{
		{name: "01 bytes after the last boundary", in: servertest.Post("/form", form, "Content-Type: multipart/form-data; boundary=b") + servertest.Get("/2"),
			want: then(posted("/form", form), got("/2")), keeps: true},

		{name: "02 unread body", s: streaming(ignoresBody), in: servertest.Post("/", kept) + servertest.Get("/2"),
			want: []rawAnswer{{200, "ignored", ""}, {200, "ignored", ""}}, keeps: true},
		{name: "02 body read in part", s: streaming(readsSome), in: servertest.Post("/1", kept) + servertest.Post("/2", "abcdef"),
			want: []rawAnswer{{200, "GET", ""}, {200, "abc", ""}}, keeps: true},
		{name: "02 unread chunks", s: streaming(ignoresBody), in: servertest.Chunked("/1", "3\r\nabc\r\n23\r\n"+servertest.Smuggled+"\r\n0\r\n\r\n") + servertest.Get("/2"),
			want: []rawAnswer{{200, "ignored", ""}, {200, "ignored", ""}}, keeps: true},
		{name: "02 unread chunks and trailers", s: streaming(ignoresBody), in: servertest.Chunked("/1", "3\r\nabc\r\n0\r\nA: b\r\n\r\n") + servertest.Get("/2"),
			want: []rawAnswer{{200, "ignored", ""}, {200, "ignored", ""}}, keeps: true},
		{name: "02 more unread than is drained", s: streaming(ignoresBody),
			in:   servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 300000") + servertest.Smuggled,
			want: []rawAnswer{{200, "ignored", ""}}},
		{name: "02 broken chunks unread", s: streaming(ignoresBody), in: servertest.Chunked("/1", "3\r\nabc\r\nx\r\n") + servertest.Get("/2"),
			want: []rawAnswer{{200, "ignored", ""}}, rude: true}, // the response is sent before the server reads the error

		{name: "05 close in a list", in: servertest.Get("/", "Connection: Keep-Alive, Close") + servertest.Smuggled, want: got("/")},
		{name: "05 close on the second line", in: servertest.Get("/", "Connection: x", "connection: CLOSE") + servertest.Smuggled, want: got("/")},
		{name: "05 close between commas", in: servertest.Get("/", "Connection: ,\tclose ,") + servertest.Smuggled, want: got("/")},
		{name: "05 no token close", in: servertest.Get("/", "Connection: closed, x-close, close=1"), want: got("/"), keeps: true},
		{name: "05 close and keep-alive", in: servertest.Get("/", "Connection: close", "Connection: keep-alive"), want: got("/")},

		{name: "09 identity", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: identity") + servertest.Smuggled, want: refused(501)},
		{name: "09 unknown coding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: br") + servertest.Smuggled, want: refused(501)},
		{name: "09 gzip and chunked", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", want: refused(501)},
		{name: "09 gzip and chunked on two lines", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked") + "0\r\n\r\n", want: refused(501)},
		{name: "09 chunked not last", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, gzip") + "0\r\n\r\n", want: refused(400)},
		{name: "09 chunked twice", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, chunked") + "0\r\n\r\n", want: refused(400)},
		{name: "09 chunked on two lines", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n", want: refused(400)},
		{name: "09 chunked with parameter", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked;q=1") + "0\r\n\r\n", want: refused(400)},
		{name: "09 empty", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding:") + servertest.Smuggled, want: refused(400)},
		{name: "09 no token", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: \"chunked\"") + servertest.Smuggled, want: refused(400)},
		{name: "09 xchunked", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: xchunked") + servertest.Smuggled, want: refused(501)},
		{name: "09 case", in: servertest.Head("POST / HTTP/1.1", "Host: a", "TRANSFER-ENCODING: ChUnKeD") + "1\r\nx\r\n0\r\n\r\n", want: posted("/", "x"), keeps: true},
		{name: "09 empty element at the end", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked,") + "0\r\n\r\n", want: refused(400)},
		{name: "09 empty element in front", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: ,chunked") + "0\r\n\r\n", want: refused(400)},
		{name: "09 empty line at the end", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding:") + "0\r\n\r\n", want: refused(400)},
		{name: "09 on HTTP/1.0", in: servertest.Head("POST / HTTP/1.0", "Host: a", "Transfer-Encoding: chunked", "Connection: keep-alive") + "0\r\n\r\n", want: refused(400)},
		{name: "09 identity on HTTP/1.0", in: servertest.Head("POST / HTTP/1.0", "Host: a", "Transfer-Encoding: identity"), want: refused(400)},

		{name: "10 length and chunks", in: servertest.Chunked("/", "1\r\nx\r\n0\r\n\r\n", "Content-Length: 4") + servertest.Smuggled, want: posted("/", "x")},
		{name: "10 length before chunks", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 11", "Transfer-Encoding: chunked") + "0\r\n\r\n" + servertest.Smuggled, want: posted("/", "")},
		{name: "10 length and unknown coding", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Transfer-Encoding: x") + "x", want: refused(501)},

		{name: "11 overflow", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 21000000000000000000") + "x", want: refused(400)},
		{name: "11 overflow to 1", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 18446744073709551617") + "x", want: refused(400)},
		{name: "11 one over int64", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 9223372036854775808") + "x", want: refused(400)},
		{name: "11 largest int64", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 9223372036854775807") + "x", want: refused(413)},
		{name: "11 plus", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: +1") + "x", want: refused(400)},
		{name: "11 minus", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: -1") + "x", want: refused(400)},
		{name: "11 hex", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 0x1") + "x", want: refused(400)},
		{name: "11 underscore", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1_0") + "x", want: refused(400)},
		{name: "11 list", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1,1") + "x", want: refused(400)},
		{name: "11 list with space", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1, 1") + "x", want: refused(400)},
		{name: "11 empty", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length:") + "x", want: refused(400)},
		{name: "11 space inside", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1 1") + "x", want: refused(400)},
		{name: "11 differing", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Content-Length: 2") + "x", want: refused(400)},
		{name: "11 twice the same", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Content-Length: 1") + "x", want: refused(400)},
		{name: "11 leading zeros", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 0003") + "abc", want: posted("/", "abc"), keeps: true},
		{name: "11 spaces around", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: \t3 \t") + "abc", want: posted("/", "abc"), keeps: true},
		{name: "11 fraction", in: servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1.0") + "x", want: refused(400)},
		{name: "11 on GET", in: servertest.Head("GET / HTTP/1.1", "Host: a", "Content-Length: 3") + "abc", want: answered([3]string{"GET", "/", "abc"}), keeps: true},
	})
}

func TestServerReadsChunks(t *testing.T) {
	t.Parallel()
	quoted := `;a="` + strings.Repeat("x", 1000) + `"`
	manyTrailers := strings.Join(repeatedFields(100, "T%d: v"), "\r\n") + "\r\n"
	runRaw(t, []rawCase{
		{name: "03 extensions", in: servertest.Chunked("/", "1;a\r\nx\r\n1;a=b;c=\"d\\\"e\"\r\ny\r\n1 ; a = b\r\nz\r\n0;last\r\n\r\n"), want: posted("/", "xyz"), keeps: true},
		{name: "03 extension of 4 KiB", in: servertest.Chunked("/", "1;"+strings.Repeat("a", 4095)+"\r\nx\r\n0\r\n\r\n"), want: posted("/", "x"), keeps: true},
		{name: "03 longer extension", in: servertest.Chunked("/", "1;"+strings.Repeat("a", 4096)), want: refused(400)},
		{name: "03 longer extension of the last chunk", in: servertest.Chunked("/", "0;"+strings.Repeat("a", 4096)), want: refused(400)},
		{name: "03 extensions of 16 KiB", in: servertest.Chunked("/", strings.Repeat("1"+quoted+"\r\nx\r\n", 16)+"0\r\n\r\n"), want: posted("/", strings.Repeat("x", 16)), keeps: true},
		{name: "03 more extensions", in: servertest.Chunked("/", strings.Repeat("1"+quoted+"\r\nx\r\n", 17)), want: refused(400)},
		{name: "03 control byte in extension", in: servertest.Chunked("/", "1;a\x01\r\nx\r\n"), want: refused(400)},
		{name: "03 control byte in quoted value", in: servertest.Chunked("/", "1;a=\"\x00\"\r\nx\r\n"), want: refused(400)},
		{name: "03 LF in extension", in: servertest.Chunked("/", "1;a\nx\r\n"), want: refused(400)},
		{name: "03 lone CR in extension", in: servertest.Chunked("/", "1;a\rb\r\nx\r\n"), want: refused(400)},
		{name: "03 empty extension", in: servertest.Chunked("/", "1;\r\nx\r\n"), want: refused(400)},
		{name: "03 extension without value", in: servertest.Chunked("/", "1;a=\r\nx\r\n"), want: refused(400)},
		{name: "03 after quoted value", in: servertest.Chunked("/", "1;a=\"b\"c\r\nx\r\n"), want: refused(400)},

		{name: "04 100 trailer fields", in: servertest.Chunked("/", "0\r\n"+manyTrailers+"\r\n"), want: posted("/", ""), keeps: true},
		{name: "04 101 trailer fields", in: servertest.Chunked("/", "0\r\n"+manyTrailers+"T100: v\r\n\r\n"), want: refused(400)},
		{name: "04 trailers of 4 KiB", in: servertest.Chunked("/", "0\r\nT: "+strings.Repeat("v", 4096-7)+"\r\n\r\n"), want: posted("/", ""), keeps: true},
		{name: "04 larger trailers", in: servertest.Chunked("/", "0\r\nT: "+strings.Repeat("v", 4096-6)+"\r\n\r\n"), want: refused(400)},
		{name: "04 trailers without end", in: servertest.Chunked("/", "0\r\nT: "+strings.Repeat("v", 5000)), want: refused(400)},
		{name: "04 Content-Length as trailer", in: servertest.Chunked("/", "0\r\nContent-Length: 5\r\n\r\n"), want: refused(400)},
		{name: "04 Transfer-Encoding as trailer", in: servertest.Chunked("/", "0\r\nTransfer-Encoding: chunked\r\n\r\n"), want: refused(400)},
		{name: "04 Host as trailer", in: servertest.Chunked("/", "0\r\nhost: b\r\n\r\n"), want: refused(400)},
		{name: "04 folded trailer", in: servertest.Chunked("/", "0\r\nT: a\r\n b\r\n\r\n"), want: refused(400)},
		{name: "04 LF in trailers", in: servertest.Chunked("/", "0\r\nT: a\n\n"), want: refused(400)},
		{name: "04 trailers end in LF", in: servertest.Chunked("/", "0\r\n\n"), want: refused(400)},

		{name: "14 leading space", in: servertest.Chunked("/", " 1\r\nx\r\n"), want: refused(400)},
		{name: "14 trailing space", in: servertest.Chunked("/", "1 \r\nx\r\n"), want: refused(400)},
		{name: "14 plus", in: servertest.Chunked("/", "+1\r\nx\r\n"), want: refused(400)},
		{name: "14 minus", in: servertest.Chunked("/", "-1\r\nx\r\n"), want: refused(400)},
		{name: "14 0x", in: servertest.Chunked("/", "0x1\r\nx\r\n"), want: refused(400)},
		{name: "14 underscore", in: servertest.Chunked("/", "1_0\r\n"), want: refused(400)},
		{name: "14 17 digits", in: servertest.Chunked("/", "00000000000000001\r\nx\r\n"), want: refused(400)},
		{name: "14 16 digits", in: servertest.Chunked("/", "0000000000000001\r\nx\r\n0000000000000000\r\n\r\n"), want: posted("/", "x"), keeps: true},
		{name: "14 overflow", in: servertest.Chunked("/", "ffffffffffffffff\r\nx"), want: refused(400)},
		{name: "14 overflow to 1", in: servertest.Chunked("/", "10000000000000001\r\nx"), want: refused(400)},
		{name: "14 larger than the limit", in: servertest.Chunked("/", "7fffffffffffffff\r\n"), want: refused(413)},
		{name: "14 larger than what is left of the limit", s: &fasthttp.Server{MaxRequestBodySize: 10}, in: servertest.Chunked("/", "3\r\nabc\r\n8\r\n"), want: refused(413)},
		{name: "14 as large as the limit", s: &fasthttp.Server{MaxRequestBodySize: 10}, in: servertest.Chunked("/", "3\r\nabc\r\n7\r\ndefghij\r\n0\r\n\r\n"), want: posted("/", "abcdefghij"), keeps: true},
		{name: "14 LF", in: servertest.Chunked("/", "1\nx\r\n"), want: refused(400)},
		{name: "14 CR CR LF", in: servertest.Chunked("/", "1\r\r\nx\r\n"), want: refused(400)},
		{name: "14 empty", in: servertest.Chunked("/", "\r\nx\r\n"), want: refused(400)},
		{name: "14 no hex digit", in: servertest.Chunked("/", "g\r\nx\r\n"), want: refused(400)},
		{name: "14 data ends in LF", in: servertest.Chunked("/", "1\r\nx\n0\r\n\r\n"), want: refused(400)},
		{name: "14 data too long", in: servertest.Chunked("/", "1\r\nxy\r\n0\r\n\r\n"), want: refused(400)},
		{name: "14 data too short", in: servertest.Chunked("/", "3\r\nxy\r\n0\r\n\r\n"), want: refused(400)},
		{name: "14 case", in: servertest.Chunked("/", "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"), want: posted("/", strings.Repeat("0123456789", 2)), keeps: true},
		{name: "14 several zeros", in: servertest.Chunked("/", "000\r\n\r\n") + servertest.Get("/2"), want: then(posted("/", ""), got("/2")), keeps: true},
	})
}
