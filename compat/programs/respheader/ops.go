package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

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

func cookie(a []string) *fasthttp.Cookie {
	var c fasthttp.Cookie
	c.SetKey(a[0])
	c.SetValue(a[1])
	for _, attr := range a[2:] {
		switch attr {
		case "Secure":
			c.SetSecure(true)
		case "HTTPOnly":
			c.SetHTTPOnly(true)
		case "Lax":
			c.SetSameSite(fasthttp.CookieSameSiteLaxMode)
		default:
			c.SetPath(attr)
		}
	}
	return &c
}

// apply performs one call and returns its result, if it has one.
func apply(h *fasthttp.ResponseHeader, o op) string {
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
		h.SetCookie(cookie(a))
	case "DelCookie":
		h.DelCookie(a[0])
	case "DelCookieBytes":
		h.DelCookieBytes([]byte(a[0]))
	case "DelClientCookie":
		h.DelClientCookie(a[0])
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
		var dst fasthttp.ResponseHeader
		h.CopyTo(&dst)
		dst.CopyTo(h)
	default:
		return applySetter(h, o[0], a)
	}
	return ""
}

func applySetter(h *fasthttp.ResponseHeader, name string, a []string) string {
	switch name {
	case "SetStatusCode":
		h.SetStatusCode(num(a[0]))
	case "SetStatusMessage":
		h.SetStatusMessage([]byte(a[0]))
	case "SetProtocol":
		h.SetProtocol([]byte(a[0]))
	case "SetServer":
		h.SetServer(a[0])
	case "SetContentType":
		h.SetContentType(a[0])
	case "SetContentEncoding":
		h.SetContentEncoding(a[0])
	case "SetContentLength":
		h.SetContentLength(num(a[0]))
	case "SetContentRange":
		h.SetContentRange(num(a[0]), num(a[1]), num(a[2]))
	case "SetLastModified":
		h.SetLastModified(time.Unix(int64(num(a[0])), 0))
	case "SetTrailer":
		return report.ErrClass(h.SetTrailer(a[0]))
	case "AddTrailer":
		return report.ErrClass(h.AddTrailer(a[0]))
	case "DisableNormalizing":
		return fmt.Sprint(h.DisableNormalizing())
	case "EnableNormalizing":
		return fmt.Sprint(h.EnableNormalizing())
	case "Peek":
		return string(h.Peek(a[0]))
	case "PeekBytes":
		return string(h.PeekBytes([]byte(a[0])))
	case "PeekCanonical":
		return string(h.PeekCanonical([]byte(a[0])))
	case "PeekAll":
		return fmt.Sprintf("%q", h.PeekAll(a[0]))
	case "PeekCookie":
		return string(h.PeekCookie(a[0]))
	case "Cookie":
		var c fasthttp.Cookie
		c.SetKey(a[0])
		ok := h.Cookie(&c)
		return fmt.Sprint(ok, " ", c.String())
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

func play(id string, ops []op, dump func(*report.Case, *fasthttp.ResponseHeader)) {
	report.Run(id, func(c *report.Case) {
		var h fasthttp.ResponseHeader
		last := ""
		for i, o := range ops {
			if r := apply(&h, o); r != "" {
				c.Str(fmt.Sprintf("%d.%s", i, o[0]), r)
			}
			if wire := maskDate(h.String()); wire != last && i < len(ops)-1 {
				c.Str(fmt.Sprintf("%d.wire", i), wire)
				last = wire
			}
		}
		dump(c, &h)
	})
}

// maskDate hides the value of a generated Date field, which is the current time.
func maskDate(s string) string {
	const name = "\r\nDate: "
	i := strings.Index(s, name)
	if i < 0 {
		return s
	}
	i += len(name)
	value, rest, ok := strings.Cut(s[i:], "\r\n")
	if !ok {
		return s
	}
	if _, err := time.Parse(time.RFC1123, value); err != nil {
		return s
	}
	return s[:i] + "DATE\r\n" + rest
}

func dump(c *report.Case, h *fasthttp.ResponseHeader) {
	c.Val("status", h.StatusCode())
	c.Bytes("message", h.StatusMessage())
	c.Bytes("proto", h.Protocol())
	c.Bytes("content-type", h.ContentType())
	c.Bytes("server", h.Server())
	c.Bytes("content-encoding", h.ContentEncoding())
	c.Val("content-length", h.ContentLength())
	c.Val("close", h.ConnectionClose())
	c.Val("upgrade", h.ConnectionUpgrade())
	c.Val("http11", h.IsHTTP11())
	c.Val("len", h.Len())
	var pairs []string
	for k, v := range h.All() {
		pairs = append(pairs, report.Pair(k, v))
	}
	c.Pairs("all", pairs)
	pairs = nil
	h.VisitAll(func(k, v []byte) { pairs = append(pairs, report.Pair(k, v)) })
	c.Pairs("visit", pairs)
	c.List("keys", h.PeekKeys())
	for _, k := range []string{"Content-Length", "Content-Type", "Connection", "Set-Cookie", "Transfer-Encoding", "Server", "Trailer", "Date", "Content-Encoding", "Location"} {
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
	c.Str("header", maskDate(string(h.Header())))
	c.Str("wire", maskDate(h.String()))
	var buf bytes.Buffer
	_, err := h.WriteTo(&buf)
	c.Val("write-to", fmt.Sprint(report.ErrClass(err), " ", maskDate(buf.String()) == maskDate(h.String())))
}

func dumpBrief(c *report.Case, h *fasthttp.ResponseHeader) {
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
	c.Str("wire", maskDate(h.String()))
}
