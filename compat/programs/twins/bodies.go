package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type bufioWriter = bufio.Writer

func newWriter(w io.Writer) *bufioWriter { return bufio.NewWriter(w) }

// runPools acquires objects from pools, fills and releases them, and acquires more: no object
// may contain data of an earlier one.
func runPools() {
	for i := range 25 {
		report.Run(fmt.Sprint("pool/", i), func(c *report.Case) {
			req, resp, u := fasthttp.AcquireRequest(), fasthttp.AcquireResponse(), fasthttp.AcquireURI()
			c.Str("request", req.String())
			c.Str("response", undated(resp.String()))
			c.Str("uri", u.String())
			req.SetRequestURI(fmt.Sprintf("http://h%d/p?q", i))
			req.Header.Set("X", strings.Repeat("x", i*100))
			req.SetBodyString(strings.Repeat("b", i*1000))
			req.SetUserValue("k", i)
			req.SetTimeout(time.Duration(i) * time.Second)
			c.Val("timeout", req.GetTimeOut())
			resp.SetStatusCode(200 + i)
			resp.AppendBodyString(strings.Repeat("b", i*1000))
			resp.SkipBody = i%2 == 0
			resp.ImmediateHeaderFlush = true
			u.SetHost("other")
			u.DisablePathNormalizing = true
			req.ReleaseBody(i * 500)
			resp.ReleaseBody(i * 500)
			c.Val("bodies", fmt.Sprint(len(req.Body()) >= 0, len(resp.Body()) >= 0))
			fasthttp.ReleaseURI(u)
			fasthttp.ReleaseResponse(resp)
			fasthttp.ReleaseRequest(req)
			t := fasthttp.AcquireTimer(time.Duration(i) * time.Microsecond)
			<-t.C
			fasthttp.ReleaseTimer(t)
		})
	}
	// Bodies above the limits are not kept for reuse, which has no visible effect.
	for _, limits := range [][2]int{{0, 0}, {-1, -1}, {1, 1 << 20}, {100, 10}} {
		report.Run(fmt.Sprint("pool-limit/", limits), func(c *report.Case) {
			fasthttp.SetBodySizePoolLimit(limits[0], limits[1])
			for n := range 4 {
				req := fasthttp.AcquireRequest()
				req.SetBody(make([]byte, n*40))
				c.Val("body", len(req.Body()))
				fasthttp.ReleaseRequest(req)
			}
		})
	}
	fasthttp.SetBodySizePoolLimit(-1, -1)
	report.Run("clock", func(c *report.Case) {
		c.Val("near", time.Since(fasthttp.CoarseTimeNow()).Abs() < 5*time.Second)
	})
	for state := fasthttp.ConnState(-1); state < 7; state++ {
		report.Run(fmt.Sprint("state/", int(state)), func(c *report.Case) { c.Str("name", state.String()) })
	}
	for _, text := range texts() {
		report.Run(fmt.Sprintf("error-text/%.30s", text), func(c *report.Case) {
			for _, err := range []error{fasthttp.EscapeError(text), fasthttp.InvalidHostError(text)} {
				c.Val("tells", strings.Contains(err.Error(), fmt.Sprintf("%q", text)))
			}
			c.Str("~escape", fasthttp.EscapeError(text).Error())
			c.Str("~host", fasthttp.InvalidHostError(text).Error())
		})
	}
}

type endpoint struct {
	net.Conn
	local, remote net.Addr
}

func (e endpoint) LocalAddr() net.Addr  { return e.local }
func (e endpoint) RemoteAddr() net.Addr { return e.remote }

// runBodies encodes bodies in every way, and decodes them in every other.
func runBodies() {
	encoders := map[string]func([]byte) []byte{
		"gzip":     func(b []byte) []byte { return fasthttp.AppendGzipBytes(nil, b) },
		"deflate":  func(b []byte) []byte { return fasthttp.AppendDeflateBytes(nil, b) },
		"br":       func(b []byte) []byte { return fasthttp.AppendBrotliBytes(nil, b) },
		"zstd":     func(b []byte) []byte { return fasthttp.AppendZstdBytes(nil, b) },
		"identity": func(b []byte) []byte { return b },
	}
	contents := []string{"", "a", "hello, world", strings.Repeat("abc", 100), strings.Repeat("text ", 5000)}
	for name, encode := range report.Sorted(encoders) {
		for _, content := range contents {
			encoded := encode([]byte(content))
			for _, cut := range []int{0, 3} {
				body := encoded[:max(0, len(encoded)-cut)]
				report.Run(fmt.Sprintf("decode/%s/%d/cut-%d", name, len(content), cut), func(c *report.Case) { decodeAll(c, name, body) })
			}
		}
	}
	for _, content := range contents {
		report.Run(fmt.Sprint("write/", len(content)), func(c *report.Case) {
			for _, w := range []struct {
				name   string
				write  func(io.Writer, []byte) (int, error)
				decode func([]byte, []byte) ([]byte, error)
			}{
				{"gzip", fasthttp.WriteGzip, fasthttp.AppendGunzipBytes},
				{"deflate", fasthttp.WriteDeflate, fasthttp.AppendInflateBytes},
				{"br", fasthttp.WriteBrotli, fasthttp.AppendUnbrotliBytes},
			} {
				var buf bytes.Buffer
				n, err := w.write(&buf, []byte(content))
				c.Val(w.name, fmt.Sprint(n, err))
				plain, err := w.decode(nil, buf.Bytes())
				c.Val(w.name+" back", fmt.Sprint(string(plain) == content, err))
			}
			for level := -3; level < 11; level++ {
				for _, deflate := range []bool{false, true} {
					var resp fasthttp.Response
					resp.SetBodyString(content)
					write := resp.WriteGzipLevel
					if deflate {
						write = resp.WriteDeflateLevel
					}
					text := written(func(w *bufioWriter) error { return write(w, level) })
					var back fasthttp.Response
					err := back.Read(bufio.NewReader(strings.NewReader(text)))
					plain, plainErr := back.BodyUncompressed()
					c.Val(fmt.Sprint("level ", level, deflate), fmt.Sprint(err, plainErr, string(plain) == content, string(back.Header.ContentEncoding())))
				}
			}
		})
	}
	for i, a := range []net.Addr{nil, &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, &net.UnixAddr{Name: "/x", Net: "unix"}} {
		report.Run(fmt.Sprint("conn/", i), func(c *report.Case) {
			var resp fasthttp.Response
			c.Val("before", fmt.Sprint(resp.LocalAddr(), resp.RemoteAddr()))
			resp.ParseNetConn(endpoint{local: a, remote: a})
			c.Val("addrs", fmt.Sprint(resp.LocalAddr(), resp.RemoteAddr()))
			resp.Reset()
			c.Val("reset", fmt.Sprint(resp.LocalAddr(), resp.RemoteAddr()))
		})
	}
}

func decodeAll(c *report.Case, name string, body []byte) {
	var req fasthttp.Request
	var resp fasthttp.Response
	req.SetBody(body)
	resp.SetBody(body)
	req.Header.SetContentEncoding(name)
	resp.Header.SetContentEncoding(name)
	show := func(field string, b []byte, err error) {
		c.Val(field+"-fails", err != nil)
		if err == nil {
			c.Val(field, len(b))
		}
	}
	for field, decode := range report.Sorted(map[string]func() ([]byte, error){
		"req gunzip": req.BodyGunzip, "req inflate": req.BodyInflate, "req unbrotli": req.BodyUnbrotli, "req unzstd": req.BodyUnzstd, "req any": req.BodyUncompressed,
		"resp gunzip": resp.BodyGunzip, "resp inflate": resp.BodyInflate, "resp unbrotli": resp.BodyUnbrotli, "resp unzstd": resp.BodyUnzstd, "resp any": resp.BodyUncompressed,
	}) {
		b, err := decode()
		show(field, b, err)
	}
	for field, decode := range report.Sorted(map[string]func(int) ([]byte, error){
		"req gunzip": req.BodyGunzipWithLimit, "req inflate": req.BodyInflateWithLimit, "req unbrotli": req.BodyUnbrotliWithLimit, "req unzstd": req.BodyUnzstdWithLimit, "req any": req.BodyUncompressedWithLimit,
		"resp gunzip": resp.BodyGunzipWithLimit, "resp inflate": resp.BodyInflateWithLimit, "resp unbrotli": resp.BodyUnbrotliWithLimit, "resp unzstd": resp.BodyUnzstdWithLimit, "resp any": resp.BodyUncompressedWithLimit,
	}) {
		for _, limit := range []int{0, 1, 299, 300, 1 << 20} {
			b, err := decode(limit)
			show(fmt.Sprint(field, " within ", limit), b, err)
			c.Val(fmt.Sprint(field, " too large for ", limit), err == fasthttp.ErrBodyTooLarge)
		}
	}
}
