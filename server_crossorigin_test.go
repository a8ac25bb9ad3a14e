package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// crossOriginHead returns the head of a request. "-" leaves a field out. Without a
// host it is a request of HTTP/1.0.
func crossOriginHead(method, host, site, origin string) string {
	lines := []string{method + " /path HTTP/1.1", "Host: " + host}
	if host == "" {
		lines = []string{method + " /path HTTP/1.0"}
	}
	if site != "-" {
		lines = append(lines, "Sec-Fetch-Site: "+site)
	}
	if origin != "-" {
		lines = append(lines, "Origin: "+origin)
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func contextOf(t testing.TB, head string) *RequestCtx {
	t.Helper()
	var req Request
	if err := req.Header.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	ctx := new(RequestCtx)
	ctx.Init(&req, nil, nil)
	return ctx
}

// The decisions equal net/http's for all combinations, with two exceptions. Hosts are compared
// without regard to case. An origin without a host never equals the server's origin; for
// net/http "null" equals an empty Host.
func TestCrossOriginProtectionDecidesAsNetHTTPDoes(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	var ours CrossOriginProtection
	theirs := http.NewCrossOriginProtection()
	for _, origin := range []string{"https://trusted.example", "http://trusted.example:8080", "https://[2001:db8::1]"} {
		if err := errors.Join(ours.AddTrustedOrigin(origin), theirs.AddTrustedOrigin(origin)); err != nil {
			t.Fatal(err)
		}
	}
	methods := []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "QUERY", "TRACE", "get", "PROPFIND"}
	hosts := []string{"example.com", "Example.COM", "example.com:443", "example.com:8080", "[::1]:80", "trusted.example", ""}
	sites := []string{"-", "", "same-origin", "none", "same-site", "cross-site", "Same-Origin", "same-origin, none", "x"}
	origins := []string{
		"-", "", "null", "https://example.com", "http://example.com", "https://example.com:443", "https://example.com:8080", "https://EXAMPLE.com",
		"https://evil.example", "https://example.com.evil.example", "https://evil-example.com", "https://trusted.example", "https://TRUSTED.example",
		"http://trusted.example", "http://trusted.example:8080", "https://[2001:db8::1]", "http://[::1]:80", "https://", "example.com", "//example.com",
		"https:example.com", "https://example.com/", "https://user@example.com", "https://example.com#a", "https://example.com https://evil.example", "://example.com",
	}
	refused, allowed := 0, 0
	for _, method := range methods {
		for _, host := range hosts {
			for _, site := range sites {
				for _, origin := range origins {
					head := crossOriginHead(method, host, site, origin)
					req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
					if err != nil {
						t.Fatalf("%q: %v", head, err)
					}
					got, want := ours.Check(contextOf(t, head)), theirs.Check(req)
					if got == nil {
						allowed++
					} else if refused++; !errors.Is(got, ErrCrossOrigin) {
						t.Errorf("%q: %v", head, got)
					}
					_, originHost, isOrigin := strings.Cut(origin, "://")
					isOrigin = isOrigin && originHost != "" && !strings.ContainsAny(originHost, "/@# ") && !strings.HasPrefix(origin, ":")
					sameHost := isOrigin && strings.EqualFold(originHost, host)
					switch {
					case (got == nil) == (want == nil):
					case got == nil && sameHost && originHost != host:
					case got != nil && !isOrigin:
					default:
						t.Errorf("%q: got %v, net/http has %v", head, got, want)
					}
				}
			}
		}
	}
	if refused < 1000 || allowed < 1000 {
		t.Errorf("%d refused, %d allowed", refused, allowed)
	}
}

func TestCrossOriginProtectionTakesOriginsOnly(t *testing.T) {
	var p CrossOriginProtection
	for _, origin := range []string{"", "null", "example.com", "https://", "://example.com", "https://example.com/", "https://example.com?a", "https://example.com#a",
		"https://user@example.com", "https://example.com:99999", "https://exa mple.com", "https:example.com", "ht tp://example.com"} {
		if err := p.AddTrustedOrigin(origin); err == nil {
			t.Errorf("%q was taken", origin)
		}
	}
	if p.trusted.Load() != nil {
		t.Error("something is trusted")
	}
}

func TestCrossOriginProtectionHandler(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var p CrossOriginProtection
		ts := start(&Server{Handler: p.Handler(echo)})
		c := ts.Dial()
		send := func(path, site string) {
			c.Send(servertest.Head("POST "+path+" HTTP/1.1", "Host: a", "Content-Length: 1", "Sec-Fetch-Site: "+site) + "x")
		}
		send("/", "same-origin")
		c.Expect(200, servertest.Echoed("POST", "/", "x"))
		send("/", "cross-site")
		c.Expect(403, "fasthttp: cross-origin request: Sec-Fetch-Site says so")

		p.SetInsecureBypass(func(ctx *RequestCtx) bool { return string(ctx.Path()) == "/hook" })
		send("/hook", "cross-site")
		c.Expect(200, servertest.Echoed("POST", "/hook", "x"))
		send("/hooks", "cross-site")
		c.Expect(403, "fasthttp: cross-origin request: Sec-Fetch-Site says so")
		p.SetInsecureBypass(nil)

		p.SetDenyHandler(func(ctx *RequestCtx) {
			ctx.SetStatusCode(StatusTeapot)
			fmt.Fprint(ctx, "no")
		})
		send("/hook", "cross-site")
		c.Expect(StatusTeapot, "no")
		p.SetDenyHandler(nil)
		send("/hook", "same-site")
		c.Expect(403, "fasthttp: cross-origin request: Sec-Fetch-Site says so")
	})
}

// Behind a proxy that changes Host, the host that the proxy reports counts.
func TestCrossOriginProtectionBehindProxies(t *testing.T) {
	trusted := plainTrust
	trusted.HostField = HeaderXForwardedHost
	for origin, allowed := range map[string]bool{"https://a.example": true, "https://own.example": false, "https://b.example": false} {
		ctx := contextBehind(t, trusted, proxyPeer, "X-Forwarded-Host: a.example", "Origin: "+origin)
		ctx.Request.Header.SetMethod(MethodPost)
		var p CrossOriginProtection
		if err := p.Check(ctx); (err == nil) != allowed {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

func TestCrossOriginProtectionDoesNotAllocate(t *testing.T) {
	var p CrossOriginProtection
	if err := p.AddTrustedOrigin("https://trusted.example"); err != nil {
		t.Fatal(err)
	}
	for _, origin := range []string{"https://example.com", "https://trusted.example", "https://evil.example"} {
		ctx := contextOf(t, crossOriginHead("POST", "example.com", "-", origin))
		checkAllocs(t, origin, func() { _ = p.Check(ctx) })
	}
}
