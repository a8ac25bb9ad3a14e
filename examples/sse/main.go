// Command sse sends events to browsers as they happen (server-sent events). GET /events
// receives the events that clients send with POST /events, and / is a page that shows them.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	h := &hub{subscribers: make(map[chan string]struct{})}
	server := &fasthttp.Server{
		Handler:            h.serve,
		HeaderReceived:     allow,
		Name:               "sse",
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 1 << 20,
	}
	shutDown := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		shutDown <- server.Shutdown()
		// Serve would serve if it began after that
		_ = ln.Close()
	})

	fmt.Fprintf(stdout, "sse listens on %s\n", ln.Addr())
	if err := server.Serve(ln); err != nil {
		return err
	}
	return <-shutDown
}

// streamTime is how long a stream of events may last. Then browsers open another one.
const streamTime = time.Hour

// allow gives streams of events the time that they need: WriteTimeout limits a whole
// response.
func allow(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if path, _, _ := strings.Cut(string(h.RequestURI()), "?"); path == "/events" && h.IsGet() {
		return fasthttp.RequestConfig{WriteTimeout: streamTime}
	}
	return fasthttp.RequestConfig{}
}

const page = `<!doctype html>
<title>events</title>
<form onsubmit="fetch('/events', {method: 'POST', body: text.value}); text.value = ''; return false">
<input id="text" autofocus> <button>send</button></form>
<ul id="list"></ul>
<script>
new EventSource('/events').onmessage = e => {
	const item = document.createElement('li')
	item.textContent = e.data
	list.prepend(item)
}
</script>
`

// hub has the clients that receive events.
type hub struct {
	mu          sync.Mutex
	subscribers map[chan string]struct{}
}

func (h *hub) serve(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); {
	case path == "/events" && ctx.IsGet():
		h.subscribe(ctx)
	case path == "/events" && ctx.IsPost():
		h.publish(string(ctx.PostBody()))
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	case path == "/" && ctx.IsGet():
		ctx.Success("text/html; charset=utf-8", []byte(page))
	default:
		ctx.NotFound()
	}
}

// queue is how many events may wait for a client. A slower client loses events, so that the
// others need not wait for it.
const queue = 64

// heartbeat prevents proxies from closing a quiet connection.
const heartbeat = 15 * time.Second

func (h *hub) subscribe(ctx *fasthttp.RequestCtx) {
	events := make(chan string, queue)
	h.mu.Lock()
	h.subscribers[events] = struct{}{}
	h.mu.Unlock()

	// done is closed when the client closes the connection, or the server shuts down.
	// It is the only part of ctx that may be used after this function has returned
	ctx.WatchDisconnect()
	done := ctx.Done()

	ctx.SetContentType("text/event-stream")
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.ImmediateHeaderFlush = true
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer h.unsubscribe(events)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case event := <-events:
				writeEvent(w, event)
			case <-ticker.C:
				fmt.Fprint(w, ": still here\n\n")
			}
			if w.Flush() != nil {
				return
			}
		}
	})
}

func (h *hub) unsubscribe(events chan string) {
	h.mu.Lock()
	delete(h.subscribers, events)
	h.mu.Unlock()
}

func (h *hub) publish(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for events := range h.subscribers {
		select {
		case events <- event:
		default:
		}
	}
}

// lineEnds are the three ways to end a line, all of which end a field, too.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// writeEvent writes an event: each of its lines becomes a separate field.
func writeEvent(w io.Writer, event string) {
	for line := range strings.SplitSeq(lineEnds.Replace(event), "\n") {
		fmt.Fprintf(w, "data: %s\n", line)
	}
	fmt.Fprint(w, "\n")
}
