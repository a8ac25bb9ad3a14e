package accesslog_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hostile is text that forges or hides something, if a log or a terminal takes it as it is.
var hostile = []string{
	"\n127.0.0.1 - - forged", "\r\nforged", "\x00", "\t", "\x1b[2J\x1b]0;title\x07", "\x7f", "\b\b\b",
	"\x9b31m", "\u0085", "\u009b31m", "\u2028forged", "\u2029forged", "\u202eforged", "\ufefft",
	"\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80",
	`" 200 0 "-" "forged`, `\" 200 0`, `\`, `\\"`, `","status":200,"x":"`, "'", "%0a", "${jndi:ldap://a}",
}

// TestNothingIsForged has hostile text in each logged value of a request, in each format.
func TestNothingIsForged(t *testing.T) {
	for _, text := range hostile {
		for _, format := range []accesslog.Format{accesslog.Combined, accesslog.Common, accesslog.JSON, -1} {
			var out output
			o := accesslog.Options{Writer: &out, Format: format, IDField: "X-Id"}
			if format < 0 {
				o.Format, o.Handler = 0, slog.NewTextHandler(&out, nil)
			}
			l := accesslog.New(o)
			// a server refuses most of this
			ctx := newCtx("/", "a"+text)
			ctx.Request.Header.SetMethod("GET" + text)
			ctx.Request.Header.SetRequestURI("/a" + text + "?b" + text + "=" + text)
			ctx.Request.Header.SetReferer("https://a/" + text)
			served(l, func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("X-Id", "i"+text) })(ctx, sent)
			servertest.Must(t, l.Close())
			lines := out.take()
			if len(lines) != 1 {
				t.Fatalf("%q became the lines %q", text, lines)
			}
			line := strings.TrimSuffix(lines[0], "\n")
			if i := strings.IndexFunc(line, func(r rune) bool { return (r < ' ' || r > '~') && r != 'µ' }); i >= 0 || !utf8.ValidString(line) {
				t.Errorf("%q became %q", text, line)
			}
			switch format {
			case accesslog.JSON:
				var got map[string]any
				if err := json.Unmarshal([]byte(line), &got); err != nil || got["status"] != 200.0 || got["x"] != nil || len(got) != 13 {
					t.Errorf("%q became %s, %v", text, line, err)
				}
			case accesslog.Combined:
				m := combined.FindStringSubmatch(line[:strings.LastIndex(line, ` "i`)] + "\n")
				if m == nil || m[4] != "200" || m[1] != "192.0.2.1" {
					t.Errorf("%q became %s", text, line)
				}
			}
		}
	}
}

// TestAddressesHaveNoZone has a field of a trusted proxy with text in place of the zone of an address.
func TestAddressesHaveNoZone(t *testing.T) {
	var out output
	l := accesslog.New(accesslog.Options{Writer: &out})
	s := &fasthttp.Server{Handler: nothing}
	l.Attach(s)
	ctx := newCtx("/", "")
	ctx.SetRemoteAddr(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "\" 200 \"forged"})
	s.Handler(ctx)
	s.ResponseSent(ctx, sent)
	servertest.Must(t, l.Close())
	if lines := out.take(); len(lines) != 1 || !strings.HasPrefix(lines[0], "fe80::1 - - [") {
		t.Errorf("the lines are %q", lines)
	}
}

// TestCloseWhileRequestsAreLogged closes a log in use: each entry is written, or counted.
func TestCloseWhileRequestsAreLogged(t *testing.T) {
	const goroutines, each = 8, 200
	var out output
	l := accesslog.New(accesslog.Options{Writer: &out, Queue: 50, Logger: slog.New(slog.DiscardHandler)})
	serve := served(l, nothing)
	begun := make(chan struct{}, goroutines*each)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			ctx := newCtx("/", "a")
			for range each {
				serve(ctx, sent)
				begun <- struct{}{}
			}
		})
	}
	for range goroutines * each / 4 {
		servertest.Receive(t, "an entry", begun)
	}
	servertest.Must(t, l.Close())
	wg.Wait()
	out.mu.Lock()
	written := bytes.Count(out.text.Bytes(), []byte("\n"))
	out.mu.Unlock()
	if total := uint64(written) + l.Dropped(); total != goroutines*each || written == 0 {
		t.Errorf("%d entries were written, %d were dropped, of %d", written, l.Dropped(), goroutines*each)
	}
}
