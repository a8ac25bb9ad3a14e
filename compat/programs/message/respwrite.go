package main

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var responseSequences = []struct {
	id  string
	ops []op
}{
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

func applyResponse(resp *fasthttp.Response, o op) string {
	a := o[1:]
	switch o[0] {
	case "Status":
		resp.SetStatusCode(num(a[0]))
	case "Message":
		resp.Header.SetStatusMessage([]byte(a[0]))
	case "Proto":
		resp.Header.SetProtocol([]byte(a[0]))
	case "Type":
		resp.Header.SetContentType(a[0])
	case "NoDefaultType":
		resp.Header.SetNoDefaultContentType(true)
	case "Header":
		resp.Header.Set(a[0], a[1])
	case "Cookie":
		var k fasthttp.Cookie
		k.SetKey(a[0])
		k.SetValue(a[1])
		resp.Header.SetCookie(&k)
	case "Trailer":
		return report.ErrClass(resp.Header.AddTrailer(a[0]))
	case "Body":
		resp.SetBodyString(a[0])
	case "BodyRaw":
		resp.SetBodyRaw([]byte(a[0]))
	case "Append":
		resp.AppendBodyString(a[0])
	case "BodyWriter":
		_, err := resp.BodyWriter().Write([]byte(a[0]))
		return report.ErrClass(err)
	case "Swap":
		return string(resp.SwapBody([]byte(a[0])))
	case "ResetBody":
		resp.ResetBody()
	case "Reset":
		resp.Reset()
	case "SkipBody":
		resp.SkipBody = true
	case "Immediate":
		resp.ImmediateHeaderFlush = true
	case "Close":
		resp.SetConnectionClose()
	case "Stream":
		resp.SetBodyStream(stream(a[0]), num(a[1]))
	case "StreamWriter":
		resp.SetBodyStreamWriter(writeAll(a))
	case "CloseStream":
		return report.ErrClass(resp.CloseBodyStream())
	case "ReadBody":
		return string(resp.Body())
	case "BodyWriteTo":
		var buf bytes.Buffer
		err := resp.BodyWriteTo(&buf)
		return report.ErrClass(err) + " " + buf.String()
	default:
		panic("unknown operation " + o[0])
	}
	return ""
}

func runResponseWrites() {
	for _, x := range responseSequences {
		// The bytes of a compressed body may differ, so the wire form omits it.
		sequenceResponse("response/write/"+x.id, x.ops, x.id != "gzip-body")
	}
	for _, code := range []string{"0", "99", "100", "101", "103", "199", "200", "201", "204", "205", "206", "304", "301", "404", "500", "599", "999", "1000", "-1"} {
		sequenceResponse("response/status/"+code, []op{{"Status", code}}, true)
		sequenceResponse("response/status-body/"+code, []op{{"Status", code}, {"Body", "hello"}}, true)
		sequenceResponse("response/status-stream/"+code, []op{{"Status", code}, {"Stream", "hello", "5"}}, true)
		sequenceResponse("response/status-chunked/"+code, []op{{"Status", code}, {"Stream", "hello", "-1"}}, true)
	}
	for _, kind := range []string{"empty", "hello", "one-by-one", "long", "big", "broken", "broken-at-once", "eof-with-data", "empty-reads", "closer", "limited", "panics"} {
		for _, size := range []string{"-1", "-2", "0", "3", "5", "11", "200", "10000"} {
			sequenceResponse("response/stream/"+kind+"/"+size, []op{{"Stream", kind, size}}, true)
		}
	}
}

func sequenceResponse(id string, ops []op, wire bool) {
	report.Run(id, func(c *report.Case) {
		var resp fasthttp.Response
		for i, o := range ops {
			if r := applyResponse(&resp, o); r != "" {
				c.Str(fmt.Sprintf("%d.%s", i, o[0]), r)
			}
		}
		if !wire {
			return
		}
		c.Val("is-stream", resp.IsBodyStream())
		if !resp.IsBodyStream() {
			c.Bytes("body", resp.Body())
			var copied fasthttp.Response
			resp.CopyTo(&copied)
			c.Str("copy", maskDate(copied.String()))
		}
		var buf bytes.Buffer
		bw := bufio.NewWriter(&buf)
		err := resp.Write(bw)
		c.Err("write-err", err)
		if err == nil {
			c.Err("flush-err", bw.Flush())
			c.Str("wire", brief(whole(maskDate(buf.String()))))
			if !resp.IsBodyStream() {
				var again bytes.Buffer
				n, err := resp.WriteTo(&again)
				c.Val("write-to", fmt.Sprint(n == int64(again.Len()), report.ErrClass(err), maskDate(again.String()) == maskDate(buf.String())))
			}
		}
		c.Bytes("body-after", []byte(brief(string(resp.Body()))))
		c.Val("length-after", resp.Header.ContentLength())
	})
}
