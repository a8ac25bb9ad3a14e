package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/heads"
	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type op = ops.Op

// calls has the operations by their names.
var calls = ops.Set{
	"Set":                     (*header).Set,
	"SetBytesK":               (*header).SetBytesK,
	"SetBytesV":               (*header).SetBytesV,
	"SetBytesKV":              (*header).SetBytesKV,
	"SetCanonical":            (*header).SetCanonical,
	"Add":                     (*header).Add,
	"AddBytesK":               (*header).AddBytesK,
	"AddBytesV":               (*header).AddBytesV,
	"AddBytesKV":              (*header).AddBytesKV,
	"Del":                     (*header).Del,
	"DelBytes":                (*header).DelBytes,
	"SetCookie":               func(h *header, args ...string) { h.SetCookie(cookie(args)) },
	"DelCookie":               (*header).DelCookie,
	"DelCookieBytes":          (*header).DelCookieBytes,
	"DelClientCookie":         (*header).DelClientCookie,
	"DelAllCookies":           (*header).DelAllCookies,
	"Reset":                   (*header).Reset,
	"SetConnectionClose":      (*header).SetConnectionClose,
	"ResetConnectionClose":    (*header).ResetConnectionClose,
	"SetNoDefaultContentType": (*header).SetNoDefaultContentType,
	"CopyTo": func(h *header) {
		var dst header
		h.CopyTo(&dst)
		dst.CopyTo(h)
	},
	"SetStatusCode":      (*header).SetStatusCode,
	"SetStatusMessage":   (*header).SetStatusMessage,
	"SetProtocol":        (*header).SetProtocol,
	"SetServer":          (*header).SetServer,
	"SetContentType":     (*header).SetContentType,
	"SetContentEncoding": (*header).SetContentEncoding,
	"SetContentLength":   (*header).SetContentLength,
	"SetContentRange":    (*header).SetContentRange,
	"SetLastModified":    func(h *header, seconds int) { h.SetLastModified(time.Unix(int64(seconds), 0)) },
	"SetTrailer":         (*header).SetTrailer,
	"AddTrailer":         (*header).AddTrailer,
	"DisableNormalizing": (*header).DisableNormalizing,
	"EnableNormalizing":  (*header).EnableNormalizing,
	"Peek":               (*header).Peek,
	"PeekBytes":          (*header).PeekBytes,
	"PeekCanonical":      (*header).PeekCanonical,
	"PeekAll":            (*header).PeekAll,
	"PeekCookie":         (*header).PeekCookie,
	"Cookie": func(h *header, key string) string {
		var c fasthttp.Cookie
		c.SetKey(key)
		ok := h.Cookie(&c)
		return fmt.Sprint(ok, " ", c.String())
	},
	"Len":    (*header).Len,
	"Header": (*header).Header,
	"String": (*header).String,
	"Read":   func(h *header, raw string) error { return h.Read(bufio.NewReader(strings.NewReader(raw))) },
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

func dump(c *report.Case, h *header) {
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
	c.Pairs("all", report.PairsOf(h.All()))
	c.Pairs("visit", report.Visited(h.VisitAll))
	c.List("keys", h.PeekKeys())
	heads.Peeks(c, h.PeekAll, h.Peek, "Content-Length", "Content-Type", "Connection", "Set-Cookie", "Transfer-Encoding", "Server", "Trailer", "Date", "Content-Encoding", "Location")
	c.Pairs("cookies", report.PairsOf(h.Cookies()))
	c.Copied("trailers", h.Trailers())
	c.List("trailer-keys", h.PeekTrailerKeys())
	c.Bytes("trailer-header", h.TrailerHeader())
	c.Str("header", report.MaskDates(string(h.Header())))
	c.Str("wire", report.MaskDates(h.String()))
	var buf bytes.Buffer
	_, err := h.WriteTo(&buf)
	c.Val("write-to", fmt.Sprint(report.ErrClass(err), " ", report.MaskDates(buf.String()) == report.MaskDates(h.String())))
}
