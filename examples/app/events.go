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
	// heartbeat is the time between the lines that are sent on a quiet connection, so that
	// proxies keep it open and clients that have disappeared are found.
	heartbeat = 15 * time.Second
	// streamTime is how long a stream lasts. Browsers then open another one, and the session
	// is checked again.
	streamTime     = 10 * time.Minute
	maxSubscribers = 10_000
)

// hub has the clients that receive events, each with the channel for them.
type hub struct {
	mu  sync.Mutex
	all map[chan []byte]struct{}
}

func newHub() *hub { return &hub{all: make(map[chan []byte]struct{})} }

// streamEvents sends all further changes as server-sent events. A client opens the stream
// before it requests the list, so that it misses no change.
func (a *app) streamEvents(c *call) (any, error) {
	events, err := a.events.subscribe()
	if err != nil {
		return nil, err
	}
	// closed when the client disconnects and when the server shuts down; it is the only part
	// of the request that may be used after this function has returned
	done := c.http.Done()
	c.http.SetContentType("text/event-stream")
	c.http.Response.ImmediateHeaderFlush = true
	c.http.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer a.events.unsubscribe(events)
		stream(w, events, done)
	})
	return nil, nil
}

// stream writes events until done is closed, events is closed, or writing fails.
func stream(w *bufio.Writer, events <-chan []byte, done <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	end := time.NewTimer(streamTime)
	defer end.Stop()
	for {
		// Flush returns the errors of earlier writes, too
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

// publish sends an event to all clients. If a client is too slow, its stream is ended, so that
// the others need not wait for it. Its browser opens another one, and requests the list.
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
