package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

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
	"SetCookie":               (*header).SetCookie,
	"SetCookieBytesKV":        (*header).SetCookieBytesKV,
	"DelCookie":               (*header).DelCookie,
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
	"SetMethod":                (*header).SetMethod,
	"SetRequestURI":            (*header).SetRequestURI,
	"SetProtocol":              (*header).SetProtocol,
	"SetHost":                  (*header).SetHost,
	"SetUserAgent":             (*header).SetUserAgent,
	"SetReferer":               (*header).SetReferer,
	"SetContentType":           (*header).SetContentType,
	"SetContentEncoding":       (*header).SetContentEncoding,
	"SetContentLength":         (*header).SetContentLength,
	"SetByteRange":             (*header).SetByteRange,
	"SetMultipartFormBoundary": (*header).SetMultipartFormBoundary,
	"SetTrailer":               (*header).SetTrailer,
	"AddTrailer":               (*header).AddTrailer,
	"DisableNormalizing":       (*header).DisableNormalizing,
	"EnableNormalizing":        (*header).EnableNormalizing,
	"DisableSpecialHeader":     (*header).DisableSpecialHeader,
	"EnableSpecialHeader":      (*header).EnableSpecialHeader,
	"HasAcceptEncoding":        (*header).HasAcceptEncoding,
	"Peek":                     (*header).Peek,
	"PeekBytes":                (*header).PeekBytes,
	"PeekCanonical":            (*header).PeekCanonical,
	"PeekAll":                  (*header).PeekAll,
	"Cookie":                   (*header).Cookie,
	"Len":                      (*header).Len,
	"Header":                   (*header).Header,
	"String":                   (*header).String,
	"Read":                     func(h *header, raw string) error { return h.Read(bufio.NewReader(strings.NewReader(raw))) },
}

func dump(c *report.Case, h *header) {
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
	c.Pairs("all", report.PairsOf(h.All()))
	c.Pairs("visit", report.Visited(h.VisitAll))
	c.Pairs("in-order", report.PairsOf(h.AllInOrder()))
	c.List("keys", h.PeekKeys())
	heads.Peeks(c, h.PeekAll, h.Peek, "Host", "Content-Length", "Content-Type", "Connection", "Cookie", "Transfer-Encoding", "User-Agent", "Trailer", "Expect")
	c.Pairs("cookies", report.PairsOf(h.Cookies()))
	c.Copied("trailers", h.Trailers())
	c.List("trailer-keys", h.PeekTrailerKeys())
	c.Bytes("trailer-header", h.TrailerHeader())
	c.Bytes("raw", h.RawHeaders())
	c.Bytes("header", h.Header())
	c.Str("wire", h.String())
	var buf bytes.Buffer
	n, err := h.WriteTo(&buf)
	c.Val("write-to", fmt.Sprint(n, " ", report.ErrClass(err), " ", buf.String() == h.String()))
}

func isList(h *header) string {
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
