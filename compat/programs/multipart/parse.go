package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

const (
	formType = "multipart/form-data; boundary=xx"
	value    = "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n"
	file     = "--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nfile body\r\n"
	end      = "--xx--\r\n"
	usual    = value + file + end
)

var bodies = []struct{ id, body string }{
	{"usual", usual},
	{"value", value + end},
	{"file", file + end},
	{"empty", ""},
	{"nothing", end},
	{"garbage", "garbage"},
	{"preamble", "preamble\r\n" + usual},
	{"epilogue", usual + "epilogue"},
	{"no-crlf-at-end", strings.TrimSuffix(usual, "\r\n")},
	{"lf", strings.ReplaceAll(usual, "\r\n", "\n")},
	{"cut-end", value + file},
	{"cut-value", value[:len(value)-4]},
	{"cut-head", value[:20]},
	{"other-boundary", strings.ReplaceAll(usual, "xx", "yy")},
	{"no-colon", "--xx\r\nfoo\r\n\r\nvalue\r\n" + end},
	{"no-disposition", "--xx\r\n\r\nvalue\r\n" + end},
	{"no-name", "--xx\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n" + end},
	{"empty-name", "--xx\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nvalue\r\n" + end},
	{"empty-value", strings.Replace(value, "value", "", 1) + end},
	{"empty-filename", strings.Replace(file, "n.txt", "", 1) + end},
	{"path-in-filename", strings.Replace(file, "n.txt", "../../etc/n.txt", 1) + end},
	{"drive-in-filename", strings.Replace(file, "n.txt", `C:\\n.txt`, 1) + end},
	{"utf8-filename", strings.Replace(file, `filename="n.txt"`, "filename*=UTF-8''%e2%82%ac", 1) + end},
	{"quoted-printable", strings.Replace(file, "text/plain", "text/plain\r\nContent-Transfer-Encoding: quoted-printable", 1) + end},
	{"twice", value + strings.Replace(value, "value", "other", 1) + end},
	{"two-files", file + strings.Replace(file, "n.txt", "m.txt", 1) + end},
	{"value-and-file", value + strings.Replace(file, `name="f"`, `name="a"`, 1) + end},
	{"large-value", strings.Replace(value, "value", strings.Repeat("v", 100_000), 1) + end},
	{"large-file", strings.Replace(file, "file body", strings.Repeat("f", 1_000_000), 1) + end},
	{"1000-parts", strings.Repeat(value, 1000) + end},
	{"1001-parts", strings.Repeat(value, 1001) + end},
	{"many-fields", "--xx\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\n" + end},
}

var types = []struct{ id, contentType string }{
	{"usual", formType},
	{"none", ""},
	{"text", "text/plain"},
	{"no-boundary", "multipart/form-data"},
	{"empty-boundary", "multipart/form-data; boundary="},
	{"quoted", `multipart/form-data; boundary="xx"`},
	{"no-space", "multipart/form-data;boundary=xx"},
	{"charset-before", "multipart/form-data; charset=utf-8; boundary=xx"},
	{"charset-behind", "multipart/form-data; boundary=xx; charset=utf-8"},
	{"case", "Multipart/Form-Data; Boundary=xx"},
	{"mixed", "multipart/mixed; boundary=xx"},
}

// A request can get its body in three ways.
var ways = []struct {
	id   string
	make func(contentType, coding, body string) *fasthttp.Request
}{
	{"read", func(contentType, coding, body string) *fasthttp.Request {
		raw := "POST /p HTTP/1.1\r\nHost: h\r\n"
		if contentType != "" {
			raw += "Content-Type: " + contentType + "\r\n"
		}
		if coding != "" {
			raw += "Content-Encoding: " + coding + "\r\n"
		}
		raw += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		req := &fasthttp.Request{}
		if err := req.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
			return nil
		}
		return req
	}},
	{"set", func(contentType, coding, body string) *fasthttp.Request {
		req := request(contentType, coding)
		req.SetBodyString(body)
		return req
	}},
	{"stream", func(contentType, coding, body string) *fasthttp.Request {
		req := request(contentType, coding)
		req.SetBodyStream(strings.NewReader(body), -1)
		return req
	}},
}

func request(contentType, coding string) *fasthttp.Request {
	req := &fasthttp.Request{}
	req.Header.SetMethod("POST")
	req.SetRequestURI("http://h/p")
	req.Header.SetContentType(contentType)
	if coding != "" {
		req.Header.Set("Content-Encoding", coding)
	}
	return req
}

// class is ErrClass, extended by the errors of forms.
func class(err error) string {
	switch {
	case errors.Is(err, fasthttp.ErrNoMultipartForm):
		return "ErrNoMultipartForm"
	case errors.Is(err, fasthttp.ErrMissingFile):
		return "ErrMissingFile"
	case errors.Is(err, multipart.ErrMessageTooLarge):
		return "multipart.ErrMessageTooLarge"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "error"
	}
	return report.ErrClass(err)
}

// show prints a form and the state of the request afterwards.
func show(c *report.Case, form *multipart.Form, err error) {
	c.Str("err", class(err))
	if err != nil {
		c.Str("~err", err.Error())
	}
	if form == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(form.Value)) {
		c.Str("value "+key, digest(fmt.Sprintf("%q", form.Value[key])))
	}
	for _, key := range slices.Sorted(maps.Keys(form.File)) {
		for _, fh := range form.File[key] {
			c.Str("file "+key, digest(fmt.Sprintf("%q %d %q %q", fh.Filename, fh.Size, fh.Header, content(fh))))
		}
	}
}

func content(fh *multipart.FileHeader) string {
	f, err := fh.Open()
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// digest keeps lines short.
func digest(s string) string {
	if len(s) < 1000 {
		return s
	}
	return fmt.Sprintf("%s...%d...%s", s[:100], len(s), s[len(s)-100:])
}

func runParse() {
	for _, way := range ways {
		for _, b := range bodies {
			report.Run("parse/"+way.id+"/"+b.id, func(c *report.Case) {
				req := way.make(formType, "", b.body)
				if req == nil {
					c.Str("read", "refused")
					return
				}
				defer req.RemoveMultipartFormFiles()
				form, err := req.MultipartForm()
				show(c, form, err)
				again, err := req.MultipartForm()
				c.Val("same again", err == nil && again == form)
				if form != nil && b.id == "usual" {
					c.Str("body", string(req.Body()))
					c.Str("boundary", string(req.Header.MultipartFormBoundary()))
				}
			})
		}
		for _, typ := range types {
			report.Run("type/"+way.id+"/"+typ.id, func(c *report.Case) {
				req := way.make(typ.contentType, "", usual)
				if req == nil {
					c.Str("read", "refused")
					return
				}
				form, err := req.MultipartForm()
				show(c, form, err)
			})
		}
		for _, coding := range []string{"gzip", "GZIP", "identity", "foo"} {
			for id, body := range report.Sorted(map[string]string{"packed": pack(usual), "plain": usual, "packed-garbage": pack("garbage")}) {
				report.Run("coding/"+way.id+"/"+coding+"/"+id, func(c *report.Case) {
					req := way.make(formType, coding, body)
					if req == nil {
						c.Str("read", "refused")
						return
					}
					form, err := req.MultipartForm()
					show(c, form, err)
				})
			}
		}
	}
}

func pack(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func runLimits() {
	for _, way := range ways {
		for _, limit := range []int{-1, 0, 1, len(usual) - 1, len(usual), len(usual) + 1} {
			report.Run(fmt.Sprintf("limit/%s/%d", way.id, limit-len(usual)), func(c *report.Case) {
				req := way.make(formType, "", usual)
				form, err := req.MultipartFormWithLimit(limit)
				show(c, form, err)
			})
		}
	}
}

func runChanges() {
	for _, way := range ways {
		for _, change := range []struct {
			id string
			f  func(req *fasthttp.Request)
		}{
			{"none", func(*fasthttp.Request) {}},
			{"remove", (*fasthttp.Request).RemoveMultipartFormFiles},
			{"set-body", func(req *fasthttp.Request) { req.SetBodyString(value + end) }},
			{"reset-body", (*fasthttp.Request).ResetBody},
			{"reset", (*fasthttp.Request).Reset},
		} {
			report.Run("change/"+way.id+"/"+change.id, func(c *report.Case) {
				req := way.make(formType, "", usual)
				if _, err := req.MultipartForm(); err != nil {
					c.Str("err", class(err))
					return
				}
				change.f(req)
				form, err := req.MultipartForm()
				show(c, form, err)
			})
		}
		report.Run("copy/"+way.id, func(c *report.Case) {
			req := way.make(formType, "", usual)
			_, _ = req.MultipartForm()
			var dst fasthttp.Request
			req.CopyTo(&dst)
			form, err := dst.MultipartForm()
			show(c, form, err)
		})
		report.Run("send/"+way.id, func(c *report.Case) {
			req := way.make(formType, "", usual)
			_, _ = req.MultipartForm()
			c.Str("text", req.String())
		})
	}
}
