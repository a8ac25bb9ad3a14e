// Command sse sends events to browsers as they happen (server-sent events). GET /events
// receives the events that clients send with POST /events, and / is a page that shows them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/sse"
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
	h := newHub()
	server := &fasthttp.Server{
		Handler:            h.serve,
		Name:               "sse",
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 1 << 20,
	}
	fmt.Fprintf(stdout, "sse listens on %s\n", ln.Addr())
	return server.Run(ctx, ln)
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

// hub sends each event to all clients.
type hub struct {
	topic  sse.Topic
	mu     sync.Mutex
	events int // the ID of the last event
}

// kept is how many events a client that reconnects can have missed.
const kept = 100

func newHub() *hub { return &hub{topic: sse.Topic{Keep: kept}} }

// options end the stream of a slow client, so that the others need not wait for
// it. Its browser reconnects, and gets the events that it has missed.
var options = sse.Options{Slow: sse.SlowEnds}

func (h *hub) serve(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); {
	case path == "/events" && ctx.IsGet():
		options.Serve(ctx, h.topic.Serve)
	case path == "/events" && ctx.IsPost():
		if err := h.publish(ctx.PostBody()); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	case path == "/" && ctx.IsGet():
		ctx.Success("text/html; charset=utf-8", []byte(page))
	default:
		ctx.NotFound()
	}
}

func (h *hub) publish(text []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	// text may be empty, but an event has data
	return h.topic.Publish(sse.Event{ID: strconv.Itoa(h.events), Data: append([]byte{}, text...)})
}
