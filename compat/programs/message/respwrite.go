package main

import (
	"io"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var responseSequences = []ops.Sequence{
	{"zero", nil},
	{"body", []op{{"Body", "hello"}}},
	{"body-empty", []op{{"Body", ""}}},
	{"body-type", []op{{"Body", "hello"}, {"Type", "a/b"}}},
	{"body-no-type", []op{{"Body", "hello"}, {"NoDefaultType"}}},
	{"body-close", []op{{"Body", "hello"}, {"Close"}}},
	{"append", []op{{"Append", "a"}, {"Append", "b"}}},
	{"writer", []op{{"BodyWriter", "a"}, {"BodyWriter", "b"}}},
	{"raw", []op{{"BodyRaw", "raw"}}},
	{"raw-append", []op{{"BodyRaw", "raw"}, {"Append", "x"}}},
	{"raw-set", []op{{"BodyRaw", "raw"}, {"Body", "set"}}},
	{"raw-reset", []op{{"BodyRaw", "raw"}, {"ResetBody"}}},
	{"raw-swap", []op{{"BodyRaw", "raw"}, {"Swap", "new"}}},
	{"swap", []op{{"Body", "old"}, {"Swap", "new"}}},
	{"swap-stream", []op{{"Stream", "hello", "5"}, {"Swap", "new"}}},
	{"reset-body", []op{{"Body", "old"}, {"ResetBody"}}},
	{"reset", []op{{"Body", "old"}, {"Status", "404"}, {"Header", "Foo", "x"}, {"Reset"}}},
	{"skip-body", []op{{"Body", "hello"}, {"SkipBody"}}},
	{"skip-body-empty", []op{{"SkipBody"}}},
	{"skip-body-length", []op{{"Header", "Content-Length", "77"}, {"SkipBody"}}},
	{"skip-body-stream", []op{{"Stream", "hello", "5"}, {"SkipBody"}}},
	{"skip-body-stream-chunked", []op{{"Stream", "hello", "-1"}, {"SkipBody"}}},
	{"header-length", []op{{"Header", "Content-Length", "99"}, {"Body", "hello"}}},
	{"header-te", []op{{"Header", "Transfer-Encoding", "chunked"}, {"Body", "hello"}}},
	{"http10", []op{{"Proto", "HTTP/1.0"}, {"Body", "hello"}}},
	{"http10-stream", []op{{"Proto", "HTTP/1.0"}, {"Stream", "hello", "-1"}}},
	{"message", []op{{"Status", "299"}, {"Message", "My Words"}, {"Body", "x"}}},
	{"message-hostile", []op{{"Message", "a\r\nX: y"}, {"Body", "x"}}},
	{"cookie", []op{{"Cookie", "a", "b"}, {"Body", "x"}}},
	{"trailer", []op{{"Trailer", "Foo"}, {"Header", "Foo", "bar"}, {"Stream", "hello", "-1"}}},
	{"trailer-two", []op{{"Trailer", "Foo"}, {"Trailer", "Bar"}, {"Header", "Foo", "1"}, {"Header", "Baz", "2"}, {"Stream", "hello", "-1"}}},
	{"trailer-no-chunks", []op{{"Trailer", "Foo"}, {"Header", "Foo", "bar"}, {"Body", "hello"}}},
	{"trailer-sized", []op{{"Trailer", "Foo"}, {"Header", "Foo", "bar"}, {"Stream", "hello", "5"}}},
	{"stream-then-body", []op{{"Stream", "hello", "5"}, {"Body", "x"}}},
	{"stream-then-append", []op{{"Stream", "hello", "5"}, {"Append", "x"}}},
	{"body-then-stream", []op{{"Body", "x"}, {"Stream", "hello", "5"}}},
	{"stream-writer", []op{{"StreamWriter", "a", "b", "c"}}},
	{"stream-writer-empty", []op{{"StreamWriter"}}},
	{"stream-read", []op{{"Stream", "hello", "5"}, {"ReadBody"}}},
	{"stream-read-broken", []op{{"Stream", "broken", "5"}, {"ReadBody"}}},
	{"body-write-to", []op{{"Body", "x"}, {"BodyWriteTo"}}},
	{"stream-write-to", []op{{"Stream", "hello", "5"}, {"BodyWriteTo"}}},
	{"close-stream", []op{{"Stream", "closer", "5"}, {"CloseStream"}, {"CloseStream"}}},
	{"immediate", []op{{"Immediate"}, {"Stream", "hello", "5"}}},
	{"immediate-chunked", []op{{"Immediate"}, {"Stream", "hello", "-1"}}},
	{"immediate-body", []op{{"Immediate"}, {"Body", "hello"}}},
	{"location", []op{{"Status", "302"}, {"Header", "Location", "/x\r\nY: z"}}},
	{"server-date", []op{{"Header", "Server", "s"}, {"Header", "Date", "d"}, {"Body", "x"}}},
	{"gzip-named", []op{{"Header", "Content-Encoding", "gzip"}, {"Body", "not gzip"}, {"Uncompressed"}}},
	{"no-encoding", []op{{"Body", "plain"}, {"Uncompressed"}}},
	{"odd-encoding", []op{{"Header", "Content-Encoding", "foo"}, {"Body", "plain"}, {"Uncompressed"}}},
}

// responseCalls has the operations by their names.
var responseCalls = ops.Set{
	"Status":        (*fasthttp.Response).SetStatusCode,
	"Message":       func(resp *fasthttp.Response, a []byte) { resp.Header.SetStatusMessage(a) },
	"Proto":         func(resp *fasthttp.Response, a []byte) { resp.Header.SetProtocol(a) },
	"Type":          func(resp *fasthttp.Response, a string) { resp.Header.SetContentType(a) },
	"NoDefaultType": func(resp *fasthttp.Response) { resp.Header.SetNoDefaultContentType(true) },
	"Header":        func(resp *fasthttp.Response, a, b string) { resp.Header.Set(a, b) },
	"Cookie": func(resp *fasthttp.Response, key, value string) {
		var k fasthttp.Cookie
		k.SetKey(key)
		k.SetValue(value)
		resp.Header.SetCookie(&k)
	},
	"Trailer": func(resp *fasthttp.Response, a string) error { return resp.Header.AddTrailer(a) },
	"Body":    (*fasthttp.Response).SetBodyString,
	"BodyRaw": (*fasthttp.Response).SetBodyRaw,
	"Append":  (*fasthttp.Response).AppendBodyString,
	"BodyWriter": func(resp *fasthttp.Response, b []byte) error {
		_, err := resp.BodyWriter().Write(b)
		return err
	},
	"Swap":         (*fasthttp.Response).SwapBody,
	"ResetBody":    (*fasthttp.Response).ResetBody,
	"Reset":        (*fasthttp.Response).Reset,
	"SkipBody":     func(resp *fasthttp.Response) { resp.SkipBody = true },
	"Immediate":    func(resp *fasthttp.Response) { resp.ImmediateHeaderFlush = true },
	"Close":        (*fasthttp.Response).SetConnectionClose,
	"Stream":       func(resp *fasthttp.Response, kind string, size int) { resp.SetBodyStream(stream(kind), size) },
	"StreamWriter": func(resp *fasthttp.Response, parts ...string) { resp.SetBodyStreamWriter(writeAll(parts)) },
	"CloseStream":  (*fasthttp.Response).CloseBodyStream,
	"ReadBody":     (*fasthttp.Response).Body,
	"Uncompressed": func(resp *fasthttp.Response) string {
		body, err := resp.BodyUncompressed()
		return report.ErrClass(err) + " " + string(body)
	},
	"BodyWriteTo": func(resp *fasthttp.Response) string { return written(resp.BodyWriteTo) },
}

func runResponseWrites() {
	for _, x := range responseSequences {
		// The bytes of a compressed body may differ, so the wire form omits it.
		sequenceResponse("response/write/"+x.ID, x.Ops, x.ID != "gzip-body")
	}
	for _, code := range []string{"0", "99", "100", "101", "103", "199", "200", "201", "204", "205", "206", "304", "301", "404", "500", "599", "999", "1000", "-1"} {
		sequenceResponse("response/status/"+code, []op{{"Status", code}}, true)
		sequenceResponse("response/status-body/"+code, []op{{"Status", code}, {"Body", "hello"}}, true)
		sequenceResponse("response/status-stream/"+code, []op{{"Status", code}, {"Stream", "hello", "5"}}, true)
		sequenceResponse("response/status-chunked/"+code, []op{{"Status", code}, {"Stream", "hello", "-1"}}, true)
	}
	for _, stream := range streams() {
		sequenceResponse("response/stream/"+stream[1]+"/"+stream[2], []op{stream}, true)
	}
}

func sequenceResponse(id string, calls []op, wire bool) {
	report.Run(id, func(c *report.Case) {
		var resp fasthttp.Response
		responseCalls.Play(c, &resp, calls, nil)
		if !wire {
			return
		}
		c.Val("is-stream", resp.IsBodyStream())
		if !resp.IsBodyStream() {
			c.Bytes("body", resp.Body())
			var copied fasthttp.Response
			resp.CopyTo(&copied)
			c.Str("copy", report.MaskDates(copied.String()))
		}
		write(c, joining(calls), resp.Write, func() (writeTo func(io.Writer) (int64, error)) {
			if resp.IsBodyStream() {
				return nil
			}
			return resp.WriteTo
		})
		c.Bytes("body-after", []byte(brief(string(resp.Body()))))
		c.Val("length-after", resp.Header.ContentLength())
	})
}
