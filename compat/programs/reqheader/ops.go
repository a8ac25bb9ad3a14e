package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// An op is one call: the method's name and its arguments.
type op []string

func num(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// apply performs one call and returns its result, if it has one.
func apply(h *fasthttp.RequestHeader, o op) string {
	a := o[1:]
	switch o[0] {
	case "Set":
		h.Set(a[0], a[1])
	case "SetBytesK":
		h.SetBytesK([]byte(a[0]), a[1])
	case "SetBytesV":
		h.SetBytesV(a[0], []byte(a[1]))
	case "SetBytesKV":
		h.SetBytesKV([]byte(a[0]), []byte(a[1]))
	case "SetCanonical":
		h.SetCanonical([]byte(a[0]), []byte(a[1]))
	case "Add":
		h.Add(a[0], a[1])
	case "AddBytesK":
		h.AddBytesK([]byte(a[0]), a[1])
	case "AddBytesV":
		h.AddBytesV(a[0], []byte(a[1]))
	case "AddBytesKV":
		h.AddBytesKV([]byte(a[0]), []byte(a[1]))
	case "Del":
		h.Del(a[0])
	case "DelBytes":
		h.DelBytes([]byte(a[0]))
	case "SetCookie":
		h.SetCookie(a[0], a[1])
	case "SetCookieBytesKV":
		h.SetCookieBytesKV([]byte(a[0]), []byte(a[1]))
	case "DelCookie":
		h.DelCookie(a[0])
	case "DelAllCookies":
		h.DelAllCookies()
	case "Reset":
		h.Reset()
	case "SetConnectionClose":
		h.SetConnectionClose()
	case "ResetConnectionClose":
		h.ResetConnectionClose()
	case "SetNoDefaultContentType":
		h.SetNoDefaultContentType(a[0] == "true")
	case "CopyTo":
		var dst fasthttp.RequestHeader
		h.CopyTo(&dst)
		dst.CopyTo(h)
	default:
		return applySetter(h, o[0], a)
	}
	return ""
}

func applySetter(h *fasthttp.RequestHeader, name string, a []string) string {
	switch name {
	case "SetMethod":
		h.SetMethod(a[0])
	case "SetRequestURI":
		h.SetRequestURI(a[0])
	case "SetProtocol":
		h.SetProtocol(a[0])
	case "SetHost":
		h.SetHost(a[0])
	case "SetUserAgent":
		h.SetUserAgent(a[0])
	case "SetReferer":
		h.SetReferer(a[0])
	case "SetContentType":
		h.SetContentType(a[0])
	case "SetContentEncoding":
		h.SetContentEncoding(a[0])
	case "SetContentLength":
		h.SetContentLength(num(a[0]))
	case "SetByteRange":
		h.SetByteRange(num(a[0]), num(a[1]))
	case "SetMultipartFormBoundary":
		h.SetMultipartFormBoundary(a[0])
	case "SetTrailer":
		return report.ErrClass(h.SetTrailer(a[0]))
	case "AddTrailer":
		return report.ErrClass(h.AddTrailer(a[0]))
	case "DisableNormalizing":
		return fmt.Sprint(h.DisableNormalizing())
	case "EnableNormalizing":
		return fmt.Sprint(h.EnableNormalizing())
	case "DisableSpecialHeader":
		return fmt.Sprint(h.DisableSpecialHeader())
	case "EnableSpecialHeader":
		return fmt.Sprint(h.EnableSpecialHeader())
	case "HasAcceptEncoding":
		return fmt.Sprint(h.HasAcceptEncoding(a[0]))
	case "Peek":
		return string(h.Peek(a[0]))
	case "PeekBytes":
		return string(h.PeekBytes([]byte(a[0])))
	case "PeekCanonical":
		return string(h.PeekCanonical([]byte(a[0])))
	case "PeekAll":
		return fmt.Sprintf("%q", h.PeekAll(a[0]))
	case "Cookie":
		return string(h.Cookie(a[0]))
	case "Len":
		return strconv.Itoa(h.Len())
	case "Header":
		return string(h.Header())
	case "String":
		return h.String()
	case "Read":
		return report.ErrClass(h.Read(bufio.NewReader(strings.NewReader(a[0]))))
	default:
		panic("unknown operation " + name)
	}
	return ""
}

// sequence runs the operations and prints the wire form after each of them, then the results
// of all accessors.
func sequence(id string, ops []op) { play(id, ops, dump) }

// brief does the same, but ends with only the parts that a hostile string could have broken.
func brief(id string, ops []op) { play(id, ops, dumpBrief) }

func play(id string, ops []op, dump func(*report.Case, *fasthttp.RequestHeader)) {
	report.Run(id, func(c *report.Case) {
		var h fasthttp.RequestHeader
		last := ""
		for i, o := range ops {
			if r := apply(&h, o); r != "" {
				c.Str(fmt.Sprintf("%d.%s", i, o[0]), r)
			}
			if wire := h.String(); wire != last && i < len(ops)-1 {
				c.Str(fmt.Sprintf("%d.wire", i), wire)
				last = wire
			}
		}
		dump(c, &h)
	})
}

func dump(c *report.Case, h *fasthttp.RequestHeader) {
	c.Bytes("method", h.Method())
	c.Bytes("uri", h.RequestURI())
	c.Bytes("proto", h.Protocol())
	c.Bytes("host", h.Host())
	c.Bytes("content-type", h.ContentType())
	c.Bytes("user-agent", h.UserAgent())
	c.Bytes("referer", h.Referer())
	c.Bytes("content-encoding", h.ContentEncoding())
	c.Bytes("boundary", h.MultipartFormBoundary())
	c.Val("content-length", h.ContentLength())
	c.Val("close", h.ConnectionClose())
	c.Val("upgrade", h.ConnectionUpgrade())
	c.Val("http11", h.IsHTTP11())
	c.Val("is", isList(h))
	c.Val("len", h.Len())
	var pairs []string
	for k, v := range h.All() {
		pairs = append(pairs, report.Pair(k, v))
	}
	c.Pairs("all", pairs)
	pairs = nil
	h.VisitAll(func(k, v []byte) { pairs = append(pairs, report.Pair(k, v)) })
	c.Pairs("visit", pairs)
	pairs = nil
	for k, v := range h.AllInOrder() {
		pairs = append(pairs, report.Pair(k, v))
	}
	c.Pairs("in-order", pairs)
	keys := h.PeekKeys()
	c.List("keys", keys)
	for _, k := range []string{"Host", "Content-Length", "Content-Type", "Connection", "Cookie", "Transfer-Encoding", "User-Agent", "Trailer", "Expect"} {
		c.List("peek-all "+k, h.PeekAll(k))
		if all, one := h.PeekAll(k), h.Peek(k); len(all) == 0 || !bytes.Equal(all[0], one) {
			c.Bytes("peek "+k, one)
		}
	}
	pairs = nil
	for k, v := range h.Cookies() {
		pairs = append(pairs, report.Pair(k, v))
	}
	c.Pairs("cookies", pairs)
	var trailers [][]byte
	for t := range h.Trailers() {
		trailers = append(trailers, append([]byte(nil), t...))
	}
	c.List("trailers", trailers)
	c.List("trailer-keys", h.PeekTrailerKeys())
	c.Bytes("trailer-header", h.TrailerHeader())
	c.Bytes("raw", h.RawHeaders())
	c.Bytes("header", h.Header())
	c.Str("wire", h.String())
	var buf bytes.Buffer
	n, err := h.WriteTo(&buf)
	c.Val("write-to", fmt.Sprint(n, " ", report.ErrClass(err), " ", buf.String() == h.String()))
}

func dumpBrief(c *report.Case, h *fasthttp.RequestHeader) {
	var pairs []string
	for k, v := range h.All() {
		pairs = append(pairs, report.Pair(k, v))
	}
	c.Pairs("all", pairs)
	if n := h.ContentLength(); n != 0 {
		c.Val("content-length", n)
	}
	if h.ConnectionClose() {
		c.Str("close", "true")
	}
	c.Str("wire", h.String())
}

func isList(h *fasthttp.RequestHeader) string {
	var s []string
	for _, m := range []struct {
		name string
		f    func() bool
	}{
		{"GET", h.IsGet}, {"POST", h.IsPost}, {"PUT", h.IsPut}, {"HEAD", h.IsHead}, {"DELETE", h.IsDelete},
		{"CONNECT", h.IsConnect}, {"OPTIONS", h.IsOptions}, {"TRACE", h.IsTrace}, {"PATCH", h.IsPatch}, {"QUERY", h.IsQuery},
	} {
		if m.f() {
			s = append(s, m.name)
		}
	}
	return strings.Join(s, ",")
}
