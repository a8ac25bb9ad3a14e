package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func runWrite() {
	for _, boundary := range []string{"", "b", "a b", "a ", "'()+_,-./:=?", "a\r\nb", "{}", "é", strings.Repeat("x", 70), strings.Repeat("x", 71)} {
		report.Run("write/boundary/"+boundary, func(c *report.Case) {
			var out bytes.Buffer
			err := fasthttp.WriteMultipartForm(&out, &multipart.Form{Value: map[string][]string{"a": {"1", ""}}}, boundary)
			c.Err("err", err)
			c.Bytes("out", out.Bytes())
		})
	}
	for _, key := range []string{"", "a", "a\"b", "a\\b", "a\r\nb", "é", "\xff"} {
		report.Run("write/key/"+key, func(c *report.Case) {
			var out bytes.Buffer
			err := fasthttp.WriteMultipartForm(&out, &multipart.Form{Value: map[string][]string{key: {"v\r\n--b--"}}}, "b")
			c.Err("err", err)
			c.Bytes("out", out.Bytes())
		})
	}
	for id, form := range report.Sorted(map[string]*multipart.Form{
		"nothing": {},
		"no-file": {File: map[string][]*multipart.FileHeader{"f": {{Filename: "n", Header: textproto.MIMEHeader{"X-A": {"b"}}}}}},
	}) {
		report.Run("write/form/"+id, func(c *report.Case) {
			var out bytes.Buffer
			c.Str("err", fmt.Sprint(fasthttp.WriteMultipartForm(&out, form, "b") != nil))
			if id == "nothing" {
				c.Bytes("out", out.Bytes())
			}
		})
	}
	for _, b := range bodies {
		report.Run("write/parsed/"+b.id, func(c *report.Case) {
			req := ways[1].make(formType, "", b.body)
			defer req.RemoveMultipartFormFiles()
			form, err := req.MultipartForm()
			if err != nil {
				c.Str("err", "no form")
				return
			}
			var out bytes.Buffer
			c.Err("err", fasthttp.WriteMultipartForm(&out, form, "zz"))
			c.Str("out", digest(out.String()))
		})
	}
}

func runSave() {
	dir, err := os.MkdirTemp("", "multipart")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	spooled := strings.Replace(file, "file body", strings.Repeat("f", 20<<20), 1) + end
	for id, req := range report.Sorted(map[string]*fasthttp.Request{
		"memory":  ways[1].make(formType, "", usual),
		"spooled": ways[2].make(formType, "", spooled),
	}) {
		report.Run("save/"+id, func(c *report.Case) {
			form, err := req.MultipartForm()
			if err != nil {
				c.Str("err", class(err))
				return
			}
			fh := form.File["f"][0]
			path := filepath.Join(dir, id)
			c.Val("saved", fasthttp.SaveMultipartFile(fh, path) == nil)
			b, _ := os.ReadFile(path)
			c.Str("content", digest(string(b)))
			c.Val("into no directory", fasthttp.SaveMultipartFile(fh, filepath.Join(dir, "none", id)) == nil)
			c.Val("over a directory", fasthttp.SaveMultipartFile(fh, dir) == nil)
			req.Reset()
			_, err = os.Stat(path)
			c.Val("still there", err == nil)
		})
	}
	for id, req := range report.Sorted(map[string]*fasthttp.Request{
		"memory":  ways[1].make(formType, "", usual),
		"spooled": ways[2].make(formType, "", spooled),
	}) {
		report.Run("save-twice/"+id, func(c *report.Case) {
			form, err := req.MultipartForm()
			if err != nil {
				c.Str("err", class(err))
				return
			}
			for range 2 {
				c.Val("saved", fasthttp.SaveMultipartFile(form.File["f"][0], filepath.Join(dir, "twice")) == nil)
			}
			req.Reset()
		})
	}
}
