package integrationtests

import (
	"crypto/tls"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// tellProtocol answers with the version of the request.
func tellProtocol(ctx *fasthttp.RequestCtx) {
	_, _ = ctx.WriteString(string(ctx.Request.Header.Protocol()) + string(ctx.Path()))
}

const prefaceSettings = http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// Only the first bytes of a connection without TLS are a preface. Elsewhere they are a
// malformed request, or a part of something else.
func TestPrefaceElsewhereIsNoPreface(t *testing.T) { forEachHTTP2(t, testPrefaceElsewhereIsNoPreface) }

func testPrefaceElsewhereIsNoPreface(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: tellProtocol, Logger: noLog{}})
	for name, before := range map[string]string{
		"a request":           servertest.Get("/one"),
		"a body":              servertest.Post("/one", "body"),
		"chunks":              servertest.Chunked("/one", "4\r\nbody\r\n0\r\n\r\n"),
		"an empty line first": "",
	} {
		c := ts.Dial()
		if before == "" {
			c.Send("\r\n" + prefaceSettings)
		} else {
			c.Send(before + prefaceSettings)
			c.Expect(200, "HTTP/1.1/one")
		}
		if resp := c.Next("PRI"); resp.StatusCode != 505 && resp.StatusCode != 400 {
			t.Errorf("a preface after %s: %d %q", name, resp.StatusCode, resp.Content)
		}
		c.ExpectCut()
	}
	// in a body, it is content
	c := ts.Dial()
	c.Send(servertest.Post("/one", prefaceSettings) + servertest.Get("/two"))
	c.Expect(200, "HTTP/1.1/one")
	c.Expect(200, "HTTP/1.1/two")
}

// A client requests HTTP/2 with the preface, or in the TLS handshake, and in no other way (RFC
// 9113 section 3.1).
func TestUpgradeToHTTP2IsIgnored(t *testing.T) { forEachHTTP2(t, testUpgradeToHTTP2IsIgnored) }

func testUpgradeToHTTP2IsIgnored(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: tellProtocol, Logger: noLog{}})
	c := ts.Dial()
	for range 2 {
		c.Send(servertest.Get("/one", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"))
		resp := c.Expect(200, "HTTP/1.1/one")
		if got := resp.Header.Get("Upgrade"); got != "" {
			t.Errorf("upgraded to %q", got)
		}
	}
}

// Without its option, and over TLS with another protocol, a preface is a malformed request.
func TestPrefaceWhereItIsNotPermitted(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := &fasthttp.Server{Handler: tellProtocol}
			s.Protocols.SetHTTP1(true)
			s.Protocols.SetHTTP2(true)
			s.Protocols.SetUnencryptedHTTP2(e.TLS)
			ts := startServer(t, e, s)
			c := ts.Dial()
			if e.TLS && c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol == "h2" {
				t.Fatal("HTTP/2 was negotiated")
			}
			c.Send(prefaceSettings)
			if resp := c.Next("PRI"); resp.StatusCode != 505 && resp.StatusCode != 400 {
				t.Errorf("%d %q", resp.StatusCode, resp.Content)
			}
			ts.Log.WaitFor(t, "the client speaks http/2", "Server.Protocols")
		})
	}
}

// The preface, and everything after it, may arrive in pieces of any size; bytes like its
// beginning may be a request.
func TestPrefaceInPieces(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, testPrefaceInPieces)
}

func testPrefaceInPieces(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: tellProtocol, Logger: noLog{}})
	for size := range 30 {
		c := dialHTTP2(ts)
		c.Raw(http2.ClientPreface).Settings().Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "").Get(1, "/one")
		all := c.Out.String()
		c.Out.Reset()
		for len(all) > 0 {
			n := min(size+1, len(all))
			c.Send(all[:n])
			all = all[n:]
		}
		if got := c.Listen().Await(1).String(); got != "200 HTTP/2.0/one" {
			t.Errorf("pieces of %d bytes: %q", size+1, got)
		}
		_ = c.Close()
	}
	if e.TLS {
		return
	}
	for _, method := range []string{"P", "PR", "PRI", "PRIX", "PROPFIND"} {
		c := ts.Dial()
		c.Send(method)
		c.Send(strings.TrimPrefix(servertest.Get("/one"), "GET"))
		c.Expect(200, "HTTP/1.1/one")
		_ = c.Close()
	}
}

// Server.ReadHeaderTimeout applies to the preface, in whatever pieces it arrives: it must not
// have the longer timeout of the frames after it.
func TestPrefaceInDripsHasTheTimeOfAHead(t *testing.T) {
	t.Parallel()
	overTimeOn(t, checkPrefaceInDrips)
}

func checkPrefaceInDrips(t testing.TB, e servertest.Engine) {
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: tellProtocol, ReadHeaderTimeout: reach, Logger: noLog{}})
	whole, drips := dialHTTP2(ts), dialHTTP2(ts)
	whole.Raw(http2.ClientPreface).Flush()
	_ = whole.Listen()
	dripBytes(drips.Listen(), http2.ClientPreface[:len(http2.ClientPreface)-1], int(reach/drip/8))
	if whole.IsOver() {
		t.Errorf("it had as much time as there is for all of the beginning; the other: %s", whole.Verdict())
	}
}
