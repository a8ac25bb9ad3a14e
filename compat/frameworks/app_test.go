package frameworks

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/serving"
	"github.com/valyala/fasthttp/fasthttputil"
)

func TestAppWorksWithBothVersions(t *testing.T) {
	type line struct {
		path   string
		status int
		size   int64
	}
	lines := make(chan line, 1)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	app := New(Config{
		Protocols: &protocols,
		Proxies:   []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Log:       func(path string, status int, size int64) { lines <- line{path, status, size} },
		Stream:    func(path string) bool { return path == "/stream" },
	}, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Streamed", map[bool]string{true: "yes", false: "no"}[ctx.RequestBodyStream() != nil])
		_, _ = io.WriteString(ctx, ClientIP(ctx))
	})
	addr, _ := serving.Start(t, &app.Server, serving.Options{})
	if !serving.IsOriginal() != (len(app.Missing) == 0) {
		t.Errorf("missing: %q", app.Missing)
	}
	versions := []bool{false}
	if !serving.IsOriginal() {
		versions = append(versions, true)
	}
	for _, http2 := range versions {
		var only http.Protocols
		only.SetHTTP1(!http2)
		only.SetUnencryptedHTTP2(http2)
		client := &http.Client{Transport: &http.Transport{Protocols: &only}}
		req, err := http.NewRequest("POST", "http://"+addr+"/stream", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "192.0.2.7")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		client.CloseIdleConnections()
		want, streamed := "127.0.0.1", "no"
		if !serving.IsOriginal() {
			want, streamed = "192.0.2.7", "yes"
		}
		if err != nil || string(body) != want || resp.ProtoMajor == 2 != http2 || resp.Header.Get("Streamed") != streamed {
			t.Errorf("HTTP/2 %t: %s, streamed %s, %q, %v", http2, resp.Proto, resp.Header.Get("Streamed"), body, err)
		}
		if serving.IsOriginal() {
			continue
		}
		if got := process.Receive(t, "the line of the log", lines); got.path != "/stream" || got.status != 200 || got.size < int64(len(want)) {
			t.Errorf("HTTP/2 %t: %+v", http2, got)
		}
	}
}

func TestClientDialsWithBothVersions(t *testing.T) {
	app := New(Config{}, func(ctx *fasthttp.RequestCtx) { _, _ = io.WriteString(ctx, "dialed") })
	addr, _ := serving.Start(t, &app.Server, serving.Options{})
	var limited []bool
	client := NewClient(time.Minute, func(ctx context.Context, network, addr string) (net.Conn, error) {
		_, ok := ctx.Deadline()
		limited = append(limited, ok)
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	status, body, err := client.Get(nil, "http://"+addr+"/")
	if err != nil || status != 200 || string(body) != "dialed" {
		t.Errorf("%d, %q, %v", status, body, err)
	}
	if want := []bool{!serving.IsOriginal()}; !slices.Equal(limited, want) {
		t.Errorf("the context of dial had a deadline: %t, want %t", limited, want)
	}
	client.CloseIdleConnections()
}

// TestSignatures checks that the compiler compares signatures with this module, and that v1.77.0
// has none of the methods.
func TestSignatures(t *testing.T) {
	args := []string{"vet", "-tags", "fasthttp_additions"}
	if serving.IsOriginal() {
		args = append(args, "-modfile=../go.upstream.mod")
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, ".")...).CombinedOutput()
	if (err == nil) == serving.IsOriginal() || err != nil && !strings.Contains(string(out), "missing method SetProtocols") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestClientWithoutAnAddress checks that a peer without an IP address has the same text with
// both versions.
func TestClientWithoutAnAddress(t *testing.T) {
	for _, addr := range []net.Addr{&net.UnixAddr{Name: "socket", Net: "unix"}, fasthttputil.NewInmemoryListener().Addr()} {
		var ctx fasthttp.RequestCtx
		ctx.Init(new(fasthttp.Request), addr, nil)
		if got := ClientIP(&ctx); got != "0.0.0.0" {
			t.Errorf("%T: %s", addr, got)
		}
	}
}

// TestHooksOfServerTrace sets the hooks one by one.
func TestHooksOfServerTrace(t *testing.T) {
	var app App
	server := any(&app.Server)
	s, ok := server.(interface {
		SetTraceConnAccepted(value func(id uint64, conn net.Conn))
		SetTraceTLSHandshakeDone(value func(id uint64, conn net.Conn, state tls.ConnectionState, err error))
		SetTraceHeadReceived(value func(ctx *fasthttp.RequestCtx))
		SetTraceBodyReceived(value func(ctx *fasthttp.RequestCtx))
		SetTraceHandlerBegins(value func(ctx *fasthttp.RequestCtx))
		SetTraceHandlerEnds(value func(ctx *fasthttp.RequestCtx))
		SetTraceResponseSent(value func(ctx *fasthttp.RequestCtx, statusCode int, bytes int64, refused, err error, protocol string, receiving, handling, sending time.Duration))
		SetTraceConnEnded(value func(id uint64, conn net.Conn, why string))
	})
	if ok != !serving.IsOriginal() {
		t.Fatalf("the methods are found: %t", ok)
	}
	if !ok {
		t.Skip("v1.77.0 has no hooks")
	}
	events := make(chan string, 16)
	s.SetTraceConnAccepted(func(uint64, net.Conn) { events <- "accepted" })
	s.SetTraceHeadReceived(func(*fasthttp.RequestCtx) { events <- "head" })
	s.SetTraceBodyReceived(func(*fasthttp.RequestCtx) { events <- "body" })
	s.SetTraceHandlerBegins(func(*fasthttp.RequestCtx) { events <- "begins" })
	s.SetTraceHandlerEnds(func(*fasthttp.RequestCtx) { events <- "ends" })
	s.SetTraceResponseSent(func(_ *fasthttp.RequestCtx, statusCode int, _ int64, _, err error, protocol string, _, _, _ time.Duration) {
		if statusCode != 200 || err != nil {
			t.Errorf("%d, %v", statusCode, err)
		}
		events <- protocol
	})
	s.SetTraceConnEnded(func(_ uint64, _ net.Conn, why string) { events <- why })
	app.Server.Handler = func(*fasthttp.RequestCtx) {}
	addr, _ := serving.Start(t, &app.Server, serving.Options{})
	client := NewClient(time.Minute, new(net.Dialer).DialContext)
	if _, _, err := client.Post(nil, "http://"+addr+"/", nil); err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	for _, want := range []string{"accepted", "head", "begins", "ends", "HTTP/1.1", "client"} {
		got := process.Receive(t, "the next event", events)
		if got == "body" {
			got = process.Receive(t, "the next event", events)
		}
		if got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
