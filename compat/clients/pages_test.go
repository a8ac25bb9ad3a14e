package clients

import (
	"bufio"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/protocols"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// eventSource is a page that keeps the events of an EventSource.
const eventSource = `<!DOCTYPE html><script>
	const got = [], source = new EventSource('/events')
	source.onmessage = event => got.push(event.lastEventId + ':' + event.data)
</script>`

// serveEvents responds with that page, and with an event for each value of next. It reports
// why the producer has ended.
func serveEvents(ctx *fasthttp.RequestCtx, next <-chan struct{}, left chan<- error) {
	switch string(ctx.Path()) {
	case "/":
		ctx.SuccessString("text/html", eventSource)
	case "/events":
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := 0; ; i++ {
				fmt.Fprintf(w, "id: %d\ndata: event %d\n\n", i, i)
				if err := w.Flush(); err != nil {
					left <- err
					return
				}
				<-next
			}
		})
	default:
		ctx.NotFound()
	}
}

// showsEvents has a browser that gets the events of serveEvents one by one: each arrives before the
// producer makes the next one. The producer notices that its page was closed, although the
// connection may stay open.
func showsEvents(t *testing.T, configure func(s *fasthttp.Server), protocol string) {
	t.Helper()
	next, left := make(chan struct{}), make(chan error, 1)
	s := &fasthttp.Server{Logger: serving.Logger{T: t}, Handler: func(ctx *fasthttp.RequestCtx) { serveEvents(ctx, next, left) }}
	configure(s)
	addr, stop := serving.Start(t, s, serving.Options{Secure: true})
	b := startBrowser(t, "--ignore-certificate-errors")
	b.open("https://" + addr + "/")
	for i := range 3 {
		b.await(fmt.Sprintf(`got.length > %d`, i))
		if got, want := b.run(fmt.Sprintf(`got[%d]`, i)), fmt.Sprintf("%d:event %d", i, i); got != want {
			t.Errorf("the page got %q, want %q", got, want)
		}
		if i < 2 {
			next <- struct{}{}
		}
	}
	if got := b.run(`performance.getEntriesByType('navigation')[0].nextHopProtocol`); got != protocol {
		t.Errorf("the page came over %s", got)
	}
	b.run(`source.close()`)
	// the system buffers some events before it reports the end
	for gone := false; !gone; {
		select {
		case next <- struct{}{}:
		case err := <-left:
			gone = err != nil
		}
	}
	// the browser keeps idle connections open
	stop()
}

// TestChromiumGetsEventsOverHTTP2 has a connection that stays open when the page was closed.
func TestChromiumGetsEventsOverHTTP2(t *testing.T) {
	skipOriginal(t)
	chromium(t)
	showsEvents(t, func(s *fasthttp.Server) { protocols.AddHTTP2(s) }, "h2")
}

// TestChromiumGetsEventsOverTLS has events that are encoded, too.
func TestChromiumGetsEventsOverTLS(t *testing.T) {
	skipOriginal(t)
	chromium(t)
	for name, wrap := range map[string]func(fasthttp.RequestHandler) fasthttp.RequestHandler{
		"plain":      func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
		"compressed": fasthttp.CompressHandler,
	} {
		t.Run(name, func(t *testing.T) {
			showsEvents(t, func(s *fasthttp.Server) {
				handler := wrap(s.Handler)
				s.Handler = func(ctx *fasthttp.RequestCtx) {
					handler(ctx)
					if coding := ctx.Response.Header.ContentEncoding(); ctx.IsBodyStream() && (len(coding) > 0) != (name == "compressed") {
						t.Errorf("the events have the coding %q", coding)
					}
				}
			}, "http/1.1")
		})
	}
}

// showsScripts has a browser that opens a page with many scripts, each of them a request, and posts
// a large body, on each engine. configure may change the server, whose handler passes the requests
// that it does not know to others. check gets the page and the number of connections so far.
func showsScripts(t *testing.T, scripts int, configure func(s *fasthttp.Server), others fasthttp.RequestHandler, check func(t *testing.T, b *browser, conns func() int)) {
	t.Helper()
	var page strings.Builder
	page.WriteString("<!DOCTYPE html><script>let sum = 0</script>")
	for i := range scripts {
		fmt.Fprintf(&page, "<script src='/script?%d'></script>", i)
	}
	for _, engine := range []string{"auto", "portable"} {
		t.Run(engine, func(t *testing.T) {
			var mu sync.Mutex
			seen := make(map[uint64]bool)
			s := &fasthttp.Server{Logger: serving.Logger{T: t}, MaxRequestBodySize: 16 << 20}
			s.Handler = fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
				mu.Lock()
				seen[ctx.ConnID()] = true
				mu.Unlock()
				switch string(ctx.Path()) {
				case "/":
					ctx.SuccessString("text/html", page.String())
				case "/script":
					ctx.SetContentType("text/javascript")
					fmt.Fprintf(ctx, "sum += %s /* %s */", ctx.URI().QueryString(), text(10_000*len(ctx.URI().QueryString())))
				case "/echo":
					ctx.SetBody(ctx.PostBody())
				default:
					others(ctx)
				}
			})
			configure(s)
			addr, stop := serving.Start(t, s, serving.Options{Secure: true, Portable: engine == "portable"})
			b := startBrowser(t, "--ignore-certificate-errors")
			b.open("https://" + addr + "/")
			if got, want := b.run(`String(sum)`), fmt.Sprint(scripts*(scripts-1)/2); got != want {
				t.Errorf("the scripts add up to %s, want %s", got, want)
			}
			if got := b.run(`{
				const body = 'some text '.repeat(500000)
				fetch('/echo', {method: 'POST', body}).then(r => r.text()).then(text => String(text === body))
			}`); got != "true" {
				t.Errorf("the body comes back as it was sent: %s", got)
			}
			check(t, b, func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(seen)
			})
			stop()
		})
	}
}

// TestChromiumShowsPagesOverTLS has a browser that gets many files over the few connections that it
// opens.
func TestChromiumShowsPagesOverTLS(t *testing.T) {
	skipOriginal(t)
	chromium(t)
	const scripts = 40
	showsScripts(t, scripts, func(*fasthttp.Server) {}, (*fasthttp.RequestCtx).NotFound, func(t *testing.T, _ *browser, conns func() int) {
		if n := conns(); n == 0 || n > scripts/2 {
			t.Errorf("the browser has opened %d connections", n)
		}
	})
}

// TestChromiumSpeaksHTTP2 has a browser that gets all files over one connection, and that gives a
// request up, which ends its handler.
func TestChromiumSpeaksHTTP2(t *testing.T) {
	skipOriginal(t)
	chromium(t)
	begun, left := make(chan struct{}, 1), make(chan struct{}, 1)
	showsScripts(t, 100, func(s *fasthttp.Server) { protocols.AddHTTP2(s) }, func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
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
	}, func(t *testing.T, b *browser, conns func() int) {
		if got := b.run(`[...new Set(['navigation', 'resource'].flatMap(type => performance.getEntriesByType(type)).map(e => e.nextHopProtocol))].join()`); got != "h2" {
			t.Errorf("the page and its scripts came over %s", got)
		}
		if got := b.run(`{
			const control = new AbortController()
			const hang = fetch('/hang', {signal: control.signal})
			fetch('/begun').then(() => control.abort()).then(() => hang).catch(err => err.name)
		}`); got != "AbortError" {
			t.Errorf("the request that was given up ends with %s", got)
		}
		process.Receive(t, "the end of the handler", left)
		if n := conns(); n != 1 {
			t.Errorf("the browser has opened %d connections", n)
		}
	})
}
