package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type op = ops.Op

var requestSequences = []ops.Sequence{
	{"zero", nil},
	{"host-only", []op{{"Host", "h"}}},
	{"get", []op{{"URI", "http://h/p?q#f"}}},
	{"get-body", []op{{"URI", "http://h/p"}, {"Body", "hello"}}},
	{"get-body-empty", []op{{"URI", "http://h/p"}, {"Body", ""}}},
	{"post", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "hello"}}},
	{"post-empty", []op{{"URI", "http://h/p"}, {"Method", "POST"}}},
	{"put-empty", []op{{"URI", "http://h/p"}, {"Method", "PUT"}}},
	{"delete-body", []op{{"URI", "http://h/p"}, {"Method", "DELETE"}, {"Body", "x"}}},
	{"head-body", []op{{"URI", "http://h/p"}, {"Method", "HEAD"}, {"Body", "x"}}},
	{"options-star", []op{{"URI", "*"}, {"Host", "h"}, {"Method", "OPTIONS"}}},
	{"connect", []op{{"URI", "a.com:443"}, {"Host", "a.com:443"}, {"Method", "CONNECT"}}},
	{"connect-abs", []op{{"URI", "http://a.com:443"}, {"Method", "CONNECT"}}},
	{"query-body", []op{{"URI", "http://h/p"}, {"Method", "QUERY"}, {"Body", "x"}}},
	{"odd-method-body", []op{{"URI", "http://h/p"}, {"Method", "FOO"}, {"Body", "x"}}},
	{"body-type", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Type", "a/b"}, {"Body", "x"}}},
	{"body-raw", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"BodyRaw", "raw"}}},
	{"body-raw-append", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"BodyRaw", "raw"}, {"Append", "more"}}},
	{"body-raw-set", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"BodyRaw", "raw"}, {"Body", "set"}}},
	{"append", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Append", "a"}, {"Append", "b"}}},
	{"writer", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"BodyWriter", "a"}, {"BodyWriter", "b"}}},
	{"swap", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "old"}, {"Swap", "new"}}},
	{"swap-stream", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"Swap", "new"}}},
	{"reset-body", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "old"}, {"ResetBody"}}},
	{"reset-body-stream", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"ResetBody"}}},
	{"reset", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "old"}, {"Reset"}, {"Host", "x"}}},
	{"post-args", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"PostArg", "a", "b c"}, {"PostArg", "é", "&"}}},
	{"post-args-get", []op{{"URI", "http://h/p"}, {"PostArg", "a", "b"}}},
	{"post-args-type", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Type", "a/b"}, {"PostArg", "a", "b"}}},
	{"post-args-body", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "x"}, {"PostArg", "a", "b"}}},
	{"body-after-args", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"PostArg", "a", "b"}, {"Body", "x"}}},
	{"post-args-from-body", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Type", "application/x-www-form-urlencoded"}, {"Body", "a=1&b=2"}, {"PostArg", "c", "3"}}},
	{"close", []op{{"URI", "http://h/p"}, {"Close"}}},
	{"header-length", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Header", "Content-Length", "99"}, {"Body", "x"}}},
	{"header-te", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Header", "Transfer-Encoding", "chunked"}, {"Body", "x"}}},
	{"auth", []op{{"URI", "http://u:p@h/p"}}},
	{"auth-user-only", []op{{"URI", "http://u@h/p"}}},
	{"auth-escaped", []op{{"URI", "http://u%40:p%3A@h/p"}}},
	{"auth-kept", []op{{"Header", "Authorization", "x"}, {"URI", "http://u:p@h/p"}}},
	{"uri-relative", []op{{"URI", "/p"}, {"Host", "h"}}},
	{"uri-relative-nohost", []op{{"URI", "/p"}}},
	{"uri-noslash", []op{{"URI", "p"}, {"Host", "h"}}},
	{"uri-space", []op{{"URI", "http://h/a b?c d#e f"}}},
	{"uri-hostile", []op{{"URI", "http://h/a\r\nX: y"}}},
	{"uri-bad", []op{{"URI", "http://a b/"}}},
	{"uri-bad-pct", []op{{"URI", "http://h/%zz?%zz"}}},
	{"uri-dots", []op{{"URI", "http://h/a/../b"}}},
	{"uri-read-first", []op{{"URI", "http://h/p"}, {"RequestURI"}}},
	{"uri-query-args", []op{{"URI", "http://h/p?a=1"}, {"QueryArg", "b", "2 3"}}},
	{"uri-query-untouched", []op{{"URI", "http://h/p?a=%zz&b=+%20"}}},
	{"set-uri", []op{{"SetURI", "https://g:1/x/../y?z#w"}}},
	{"set-uri-then-host", []op{{"SetURI", "https://g:1/x?z"}, {"Host", "other"}}},
	{"host-then-set-uri", []op{{"Host", "other"}, {"SetURI", "https://g:1/x?z"}}},
	{"set-uri-nil", []op{{"URI", "http://h/p"}, {"SetURINil"}}},
	{"host-hostile", []op{{"URI", "/p"}, {"Host", "h\r\nX: y"}}},
	{"host-space", []op{{"URI", "/p"}, {"Host", "a b"}}},
	{"header-host", []op{{"URI", "http://h/p"}, {"Header", "Host", "g"}}},
	{"header-host-used", []op{{"URI", "http://h/p"}, {"Header", "Host", "g"}, {"UseHostHeader"}}},
	{"header-host-used-empty", []op{{"URI", "http://h/p"}, {"UseHostHeader"}}},
	{"method-hostile", []op{{"URI", "http://h/p"}, {"Method", "A\r\nB: c"}}},
	{"trailer", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Trailer", "Foo"}, {"Header", "Foo", "bar"}, {"Stream", "hello", "-1"}}},
	{"trailer-no-chunks", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Trailer", "Foo"}, {"Header", "Foo", "bar"}, {"Body", "x"}}},
	{"trailer-forbidden-later", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Trailer", "Foo"}, {"Stream", "hello", "-1"}}},
	{"http10", []op{{"URI", "http://h/p"}, {"Proto", "HTTP/1.0"}, {"Method", "POST"}, {"Body", "x"}}},
	{"http10-stream", []op{{"URI", "http://h/p"}, {"Proto", "HTTP/1.0"}, {"Method", "POST"}, {"Stream", "hello", "-1"}}},
	{"stream-get", []op{{"URI", "http://h/p"}, {"Stream", "hello", "5"}}},
	{"stream-get-chunked", []op{{"URI", "http://h/p"}, {"Stream", "hello", "-1"}}},
	{"stream-then-body", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"Body", "x"}}},
	{"stream-then-append", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"Append", "x"}}},
	{"body-then-stream", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "x"}, {"Stream", "hello", "5"}}},
	{"stream-writer", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"StreamWriter", "a", "b", "c"}}},
	{"stream-writer-empty", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"StreamWriter"}}},
	{"stream-body-read", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"ReadBody"}}},
	{"stream-read-broken", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "broken", "5"}, {"ReadBody"}}},
	{"body-write-to", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Body", "x"}, {"BodyWriteTo"}}},
	{"stream-write-to", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "hello", "5"}, {"BodyWriteTo"}}},
	{"close-stream", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Stream", "closer", "5"}, {"CloseStream"}, {"CloseStream"}}},
	{"multipart-type-no-form", []op{{"URI", "http://h/p"}, {"Method", "POST"}, {"Type", "multipart/form-data; boundary=x"}, {"Body", "x"}}},
}

// requestCalls has the operations by their names.
var requestCalls = ops.Set{
	"URI": (*fasthttp.Request).SetRequestURI,
	"SetURI": func(req *fasthttp.Request, raw string) error {
		var u fasthttp.URI
		err := u.Parse(nil, []byte(raw))
		req.SetURI(&u)
		return err
	},
	"SetURINil": func(req *fasthttp.Request) { req.SetURI(nil) },
	"Host":      (*fasthttp.Request).SetHost,
	"Method":    func(req *fasthttp.Request, a string) { req.Header.SetMethod(a) },
	"Proto":     func(req *fasthttp.Request, a string) { req.Header.SetProtocol(a) },
	"Type":      func(req *fasthttp.Request, a string) { req.Header.SetContentType(a) },
	"Header":    func(req *fasthttp.Request, a, b string) { req.Header.Set(a, b) },
	"Trailer":   func(req *fasthttp.Request, a string) error { return req.Header.AddTrailer(a) },
	"Body":      (*fasthttp.Request).SetBodyString,
	"BodyRaw":   (*fasthttp.Request).SetBodyRaw,
	"Append":    (*fasthttp.Request).AppendBodyString,
	"BodyWriter": func(req *fasthttp.Request, b []byte) error {
		_, err := req.BodyWriter().Write(b)
		return err
	},
	"Swap":          (*fasthttp.Request).SwapBody,
	"ResetBody":     (*fasthttp.Request).ResetBody,
	"Reset":         (*fasthttp.Request).Reset,
	"PostArg":       func(req *fasthttp.Request, a, b string) { req.PostArgs().Add(a, b) },
	"QueryArg":      func(req *fasthttp.Request, a, b string) { req.URI().QueryArgs().Add(a, b) },
	"Close":         (*fasthttp.Request).SetConnectionClose,
	"UseHostHeader": func(req *fasthttp.Request) { req.UseHostHeader = true },
	"Stream":        func(req *fasthttp.Request, kind string, size int) { req.SetBodyStream(stream(kind), size) },
	"StreamWriter":  func(req *fasthttp.Request, parts ...string) { req.SetBodyStreamWriter(writeAll(parts)) },
	"RequestURI":    (*fasthttp.Request).RequestURI,
	"CloseStream":   (*fasthttp.Request).CloseBodyStream,
	"ReadBody":      (*fasthttp.Request).Body,
	"BodyWriteTo":   func(req *fasthttp.Request) string { return written(req.BodyWriteTo) },
}

// written returns the error of a call, and its output.
func written(writeTo func(io.Writer) error) string {
	var buf bytes.Buffer
	err := writeTo(&buf)
	return report.ErrClass(err) + " " + buf.String()
}

func writeAll(parts []string) fasthttp.StreamWriter {
	return func(w *bufio.Writer) {
		for _, p := range parts {
			if _, err := io.WriteString(w, p); err != nil {
				return
			}
			if err := w.Flush(); err != nil {
				return
			}
		}
	}
}

func runRequestWrites() {
	for _, x := range requestSequences {
		sequenceRequest("request/write/"+x.ID, x.Ops)
	}
	for _, stream := range streams() {
		sequenceRequest("request/stream/"+stream[1]+"/"+stream[2], []op{{"URI", "http://h/p"}, {"Method", "POST"}, stream})
	}
}

func sequenceRequest(id string, calls []op) {
	report.Run(id, func(c *report.Case) {
		var req fasthttp.Request
		requestCalls.Play(c, &req, calls, nil)
		c.Bytes("host", req.Host())
		c.Val("is-stream", req.IsBodyStream())
		if !req.IsBodyStream() {
			c.Bytes("body", req.Body())
			var copied fasthttp.Request
			req.CopyTo(&copied)
			text(c, "copy", &copied)
		}
		writeRequest(c, &req, joining(calls))
	})
}

func writeRequest(c *report.Case, req *fasthttp.Request, join func(wire string) string) {
	write(c, join, req.Write, func() (writeTo func(io.Writer) (int64, error)) {
		c.Bytes("uri-after", req.URI().FullURI())
		c.Bytes("host-after", req.Host())
		if req.IsBodyStream() {
			return nil
		}
		return req.WriteTo
	})
	c.Bytes("body-after", []byte(brief(string(req.Body()))))
}

// brief shortens long runs so that the report stays readable.
func brief(s string) string {
	return strings.ReplaceAll(s, strings.Repeat("x", 1000), "<1000x>")
}

// joining returns the function that hides how the body of a message is cut into chunks, if chance decides
// about that: because another goroutine writes the body while it is sent, or by the size of buffers.
func joining(calls []op) func(wire string) string {
	if slices.ContainsFunc(calls, func(o op) bool { return o[0] == "StreamWriter" }) {
		return report.JoinChunks
	}
	return whole
}

// whole joins the chunks of a long body.
func whole(s string) string {
	if _, body, _ := strings.Cut(s, "\r\n\r\n"); len(body) < 2000 {
		return s
	}
	return report.JoinChunks(s)
}

// runRequestHosts shows which of the two hosts takes precedence, in every order of calls.
func runRequestHosts() {
	steps := []op{{"URI", "http://uri/p"}, {"Host", "set"}, {"Header", "Host", "header"}, {"UseHostHeader"}, {"SetURI", "http://seturi/q"}, {"URI", "/rel"}}
	var walk func(prefix []op, name string)
	walk = func(prefix []op, name string) {
		if len(prefix) > 0 {
			report.Run("request/host"+name, func(c *report.Case) {
				var req fasthttp.Request
				for _, o := range prefix {
					requestCalls.Apply(&req, o)
				}
				c.Bytes("host", req.Host())
				c.Bytes("header-host", req.Header.Host())
				c.Bytes("uri", req.URI().FullURI())
				c.Bytes("uri-host", req.URI().Host())
				text(c, "string", &req)
				c.Bytes("request-uri", req.RequestURI())
			})
		}
		if len(prefix) == 3 {
			return
		}
		for i, s := range steps {
			used := false
			for _, p := range prefix {
				used = used || &p[0] == &s[0]
			}
			if !used {
				walk(append(prefix[:len(prefix):len(prefix)], s), fmt.Sprintf("%s/%d%s", name, i, s[0]))
			}
		}
	}
	walk(nil, "")
}
