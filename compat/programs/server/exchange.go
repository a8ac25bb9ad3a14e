package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// exchange serves one scripted connection and prints the result.
func exchange(id string, cfg config, raw string, chunk int) {
	report.Run(id, func(c *report.Case) {
		c.Str("~in", raw)
		h := &recorder{hijacked: make(chan struct{})}
		s := &fasthttp.Server{Handler: h.handle, Logger: silent{}}
		if cfg.set != nil {
			cfg.set(s)
		}
		conn := newScript(raw+marker, chunk)
		var err error
		func() {
			// Responses before a panic are printed, too.
			defer func() {
				if v := recover(); v != nil {
					c.Str("panic", "yes")
					c.Val("~panic", v)
				}
			}()
			err = s.ServeConn(conn)
		}()
		if h.hijacks > 0 {
			// A server that does not hand the connection over closes it.
			select {
			case <-h.hijacked:
				c.Str("hijacked", "yes")
			case <-conn.closed:
				select {
				case <-h.hijacked:
					c.Str("hijacked", "yes")
				default:
					c.Str("hijacked", "no")
				}
			}
		}
		c.Str("~serve", fmt.Sprint(report.ErrClass(err), " ", err))
		c.Val("serve-failed", err != nil)
		describe(c, h, conn, raw)
	})
}

// listen serves the same connection through Serve and a listener.
func listen(id, raw string) {
	report.Run(id, func(c *report.Case) {
		h := &recorder{hijacked: make(chan struct{})}
		s := &fasthttp.Server{Handler: h.handle, Logger: silent{}}
		conn := newScript(raw+marker, whole)
		ln := &single{conn: conn, done: make(chan struct{})}
		served := make(chan error)
		go func() { served <- s.Serve(ln) }()
		<-conn.closed
		if err := ln.Close(); err != nil {
			c.Err("close", err)
		}
		c.Err("serve", <-served)
		describe(c, h, conn, raw)
	})
}

func describe(c *report.Case, h *recorder, conn *script, raw string) {
	out := conn.output()
	for i, line := range h.seen {
		if strings.HasPrefix(c.ID(), "generated") {
			line = sortedLines(line)
		}
		c.Str(fmt.Sprintf("seen.%d", i), line)
	}
	answers(c, out, strings.HasPrefix(raw, "HEAD "))
	if h.writes {
		out = report.JoinChunks(out)
	}
	c.Str("out", report.MaskDates(out))
}

// sortedLines sorts lines: the order of fields with different names has no meaning (RFC 9110
// section 5.3).
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// answers parses the output with net/http, which is independent of both sides. The first
// response has no body if its request was a HEAD.
func answers(c *report.Case, out string, head bool) {
	kept := false
	src := strings.NewReader(out)
	br := bufio.NewReader(src)
	var statuses, closes []string
	for {
		// EOF between two responses is the normal end.
		if _, err := br.Peek(1); err == io.EOF {
			break
		}
		req := &http.Request{Method: http.MethodGet}
		if head {
			req.Method = http.MethodHead
		}
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			statuses = append(statuses, "unreadable")
			break
		}
		statuses = append(statuses, fmt.Sprint(resp.StatusCode))
		head = head && resp.StatusCode < 200
		if resp.Close {
			closes = append(closes, fmt.Sprint(len(statuses)))
		}
		body, err := io.ReadAll(resp.Body)
		if strings.Contains(string(body), "/marker\n") && resp.StatusCode == 200 {
			kept = true
		}
		if err != nil {
			statuses = append(statuses, "cut")
			break
		}
	}
	c.Pairs("statuses", statuses)
	c.Pairs("closing", closes)
	c.Val("kept", kept)
}

// recorder is the handler, and records its requests.
type recorder struct {
	seen     []string
	hijacks  int
	writes   bool // another goroutine has written a body, whose chunks it cuts by chance
	hijacked chan struct{}
}

func (h *recorder) handle(ctx *fasthttp.RequestCtx) {
	h.seen = append(h.seen, record(ctx))
	h.writes = h.writes || string(ctx.Path()) == "/writer"
	if string(ctx.Path()) == "/hijack" {
		h.hijacks++
		ctx.HijackSetNoResponse(ctx.QueryArgs().Has("silent"))
		ctx.Hijack(func(nc net.Conn) {
			defer close(h.hijacked)
			b, err := io.ReadAll(nc)
			fmt.Fprintf(nc, "hijacked %q %v", b, err)
		})
		return
	}
	respond(ctx)
}

func record(ctx *fasthttp.RequestCtx) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s host=%s path=%s query=%s\n", ctx.Method(), ctx.RequestURI(), ctx.Request.Header.Protocol(), ctx.Host(), ctx.Path(), ctx.URI().QueryString())
	for k, v := range ctx.Request.Header.All() {
		fmt.Fprintf(&b, "%s: %s\n", k, v)
	}
	fmt.Fprintf(&b, "length=%d close=%v num=%d stream=%v uri=%s\n", ctx.Request.Header.ContentLength(), ctx.Request.ConnectionClose(), ctx.ConnRequestNum(), ctx.IsBodyStream(), ctx.URI())
	if string(ctx.Path()) == "/unread" {
		return b.String()
	}
	fmt.Fprintf(&b, "args=%s\n", ctx.QueryArgs())
	if !readBody(&b, ctx) {
		return b.String()
	}
	fmt.Fprintf(&b, "post=%s\n", ctx.PostArgs())
	for t := range ctx.Request.Header.Trailers() {
		fmt.Fprintf(&b, "trailer %s=%s\n", t, ctx.Request.Header.PeekBytes(t))
	}
	return b.String()
}

// readBody reads a streamed body as a stream, because after a broken stream Body returns the
// text of an error. It reports whether the body has more to print.
func readBody(b *strings.Builder, ctx *fasthttp.RequestCtx) bool {
	if ctx.Request.IsBodyStream() {
		data, err := io.ReadAll(ctx.RequestBodyStream())
		fmt.Fprintf(b, "streamed %s\n", report.ErrClass(err))
		fmt.Fprintf(b, "body=%s\n", shorten(data))
		return false
	}
	fmt.Fprintf(b, "body=%s\n", shorten(ctx.Request.Body()))
	return true
}

func shorten(b []byte) string {
	if len(b) > 200 {
		return fmt.Sprintf("%s...(%d)", b[:50], len(b))
	}
	return string(b)
}
