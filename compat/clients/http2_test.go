package clients

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/protocols"
)

// TestChromiumSpeaksHTTP2 opens a page with many scripts in a browser, which gets all of them
// over one connection. It posts a large body, gets events one by one, and cancels a request,
// which ends its handler.
func TestChromiumSpeaksHTTP2(t *testing.T) {
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	const scripts = 100
	var page strings.Builder
	page.WriteString("<!DOCTYPE html><script>let sum = 0</script>")
	for i := range scripts {
		fmt.Fprintf(&page, "<script src='/script?%d'></script>", i)
	}
	for _, engine := range []string{"auto", "portable"} {
		t.Run(engine, func(t *testing.T) {
			var mu sync.Mutex
			conns := make(map[uint64]bool)
			begun, left := make(chan struct{}, 1), make(chan struct{}, 1)
			s := &fasthttp.Server{Logger: logger{t}, MaxRequestBodySize: 16 << 20}
			s.Handler = fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
				mu.Lock()
				conns[ctx.ConnID()] = true
				mu.Unlock()
				switch string(ctx.Path()) {
				case "/":
					ctx.SuccessString("text/html", page.String())
				case "/script":
					ctx.SetContentType("text/javascript")
					fmt.Fprintf(ctx, "sum += %s /* %s */", ctx.URI().QueryString(), text(10_000*len(ctx.URI().QueryString())))
				case "/echo":
					ctx.SetBody(ctx.PostBody())
				case "/hang":
					any(ctx).(interface{ WatchDisconnect() }).WatchDisconnect()
					begun <- struct{}{}
					<-ctx.Done()
					left <- struct{}{}
				case "/begun":
					<-begun
				default:
					ctx.NotFound()
				}
			})
			protocols.AddHTTP2(s)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			origin := "https://" + ln.Addr().String()
			if engine == "portable" {
				ln = wrapped{ln}
			}
			served := make(chan error, 1)
			go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()

			b := startBrowser(t, "--ignore-certificate-errors")
			b.open(origin + "/")
			if got, want := b.run(`String(sum)`), fmt.Sprint(scripts*(scripts-1)/2); got != want {
				t.Errorf("the scripts add up to %s, want %s", got, want)
			}
			if got := b.run(`[...new Set(['navigation', 'resource'].flatMap(type => performance.getEntriesByType(type)).map(e => e.nextHopProtocol))].join()`); got != "h2" {
				t.Errorf("the page and its scripts came over %s", got)
			}
			if got := b.run(`{
				const body = 'some text '.repeat(500000)
				fetch('/echo', {method: 'POST', body}).then(r => r.text()).then(text => String(text === body))
			}`); got != "true" {
				t.Errorf("the body comes back as it was sent: %s", got)
			}
			if got := b.run(`{
				const control = new AbortController()
				const hang = fetch('/hang', {signal: control.signal})
				fetch('/begun').then(() => control.abort()).then(() => hang).catch(err => err.name)
			}`); got != "AbortError" {
				t.Errorf("the request that was given up ends with %s", got)
			}
			process.Receive(t, "the end of the handler", left)
			mu.Lock()
			n := len(conns)
			mu.Unlock()
			if n != 1 {
				t.Errorf("the browser has opened %d connections", n)
			}
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if err := process.Receive(t, "the end of Serve", served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

// TestChromiumGetsEventsOverHTTP2 checks that each event arrives before the producer makes
// the next one, and that the producer notices that its page was closed, although the
// connection stays open.
func TestChromiumGetsEventsOverHTTP2(t *testing.T) {
	skipOriginal(t)
	program(t, "chromium", "chromium-browser", "google-chrome")
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	next, left := make(chan struct{}), make(chan error, 1)
	s := &fasthttp.Server{Logger: logger{t}, Handler: func(ctx *fasthttp.RequestCtx) { serveEvents(ctx, next, left) }}
	protocols.AddHTTP2(s)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()
	b := startBrowser(t, "--ignore-certificate-errors")
	b.open("https://" + ln.Addr().String() + "/")
	for i := range 3 {
		want := fmt.Sprintf("%d:event %d", i, i)
		if got := b.run(fmt.Sprintf(`new Promise(resolve => {
			const look = () => got.length > %d ? resolve(got[%d]) : setTimeout(look, 5)
			look()
		})`, i, i)); got != want {
			t.Errorf("the page got %q, want %q", got, want)
		}
		if i < 2 {
			next <- struct{}{}
		}
	}
	if got := b.run(`performance.getEntriesByType('navigation')[0].nextHopProtocol`); got != "h2" {
		t.Errorf("the page came over %s", got)
	}
	b.run(`source.close()`)
	for gone := false; !gone; {
		select {
		case next <- struct{}{}:
		case err := <-left:
			gone = err != nil
		}
	}
	if err := s.Shutdown(); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := process.Receive(t, "the end of Serve", served); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
