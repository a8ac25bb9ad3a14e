package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const (
	// queue is how many events may wait for a client.
	queue = 64
	// heartbeat is the time between the lines that keep a quiet connection from being
	// closed by proxies, and that find clients that have gone without a word.
	heartbeat = 15 * time.Second
	// streamTime is how long a stream goes on. Browsers begin another one, for which the
	// session is checked again.
	streamTime     = 10 * time.Minute
	maxSubscribers = 10_000
)

// hub has the clients that receive events, each with the channel for them.
type hub struct {
	mu  sync.Mutex
	all map[chan []byte]struct{}
}

func newHub() *hub { return &hub{all: make(map[chan []byte]struct{})} }

// streamEvents sends what changes from now on, as server-sent events. A client begins
// with it and requests the list then, so that it misses nothing.
func (a *app) streamEvents(c *call) (any, error) {
	events, err := a.events.subscribe()
	if err != nil {
		return nil, err
	}
	// closed when the client leaves and when the server shuts down; it is the only part
	// of the request that may be used when this function has returned
	done := c.http.Done()
	c.http.SetContentType("text/event-stream")
	c.http.Response.ImmediateHeaderFlush = true
	c.http.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer a.events.unsubscribe(events)
		stream(w, events, done)
	})
	return nil, nil
}

// stream writes events until done is closed, events is closed, or the client takes no
// more.
func stream(w *bufio.Writer, events <-chan []byte, done <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	end := time.NewTimer(streamTime)
	defer end.Stop()
	for {
		// errors of writes are those of Flush, too
		select {
		case <-done:
			return
		case <-end.C:
			return
		case event, ok := <-events:
			if !ok {
				return
			}
			_, _ = w.Write(event)
		case <-beat.C:
			_, _ = w.WriteString(": still here\n\n")
		}
		if w.Flush() != nil {
			return
		}
	}
}

func (h *hub) subscribe() (chan []byte, error) {
	events := make(chan []byte, queue)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) >= maxSubscribers {
		return nil, errBusy
	}
	h.all[events] = struct{}{}
	return events, nil
}

func (h *hub) unsubscribe(events chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, events)
}

// publish sends an event to all. The stream of a client that is too slow ends, so that
// the others need not wait for it. Its browser begins another one, and requests the list.
func (h *hub) publish(kind string, n note) {
	// a note can always be marshaled, and JSON is one line
	data, _ := json.Marshal(n)
	event := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
	h.mu.Lock()
	defer h.mu.Unlock()
	for events := range h.all {
		select {
		case events <- event:
		default:
			delete(h.all, events)
			close(events)
		}
	}
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}
