package main

import (
	"encoding/json"
	"time"

	"github.com/valyala/fasthttp/sse"
)

const (
	// streamTime is how long a stream lasts. Browsers then open another one, and the session
	// is checked again.
	streamTime     = 10 * time.Minute
	maxSubscribers = 10_000
)

// eventOptions end the stream of a client that is too slow, so that the others need not wait
// for it. Its browser opens another one, and requests the list.
var eventOptions = sse.Options{Slow: sse.SlowEnds}

// streamEvents sends all further changes as server-sent events. A client opens the stream
// before it requests the list, so that it misses no change.
func (a *app) streamEvents(c *call) (any, error) {
	// streams that are being opened are not counted: there are no more than handlers
	if a.events.Len() >= maxSubscribers {
		return nil, errBusy
	}
	eventOptions.Serve(c.http, a.subscribe)
	return nil, nil
}

// subscribe sends the events to a client until the client disconnects or the server shuts down,
// for streamTime at most. The stream then ends, and leaves the topic.
func (a *app) subscribe(s *sse.Stream) {
	a.events.Join(s)
	wait(s.Done(), streamTime)
}

// wait waits until done is closed, or the time is over.
func wait(done <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// publish sends an event to all clients.
func (a *app) publish(kind string, n note) {
	// a note can always be marshaled
	data, _ := json.Marshal(n)
	_ = a.events.Publish(sse.Event{Name: kind, Data: data})
}
