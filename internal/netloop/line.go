//go:build linux

package netloop

import "github.com/valyala/fasthttp/internal/rawsys"

// line is where the poller that has the seat waits until it is its turn.
//
// Go's scheduler asks the system what has become ready only if no goroutine can
// run. A poller that fetched events for as long as there are some would begin
// request after request, while those that were begun wait to be answered: their
// goroutines would be many, and what they wait for would not be asked for. So
// it goes the way of everybody who waits for a descriptor: it makes one ready,
// and is called when those have run that could, and those that were ready
// before it.
type line struct {
	watched
	event rawsys.Event
}

func newLine() (line, error) {
	event, err := rawsys.NewEvent()
	if err != nil {
		return line{}, err
	}
	w, err := newWatched(event.FD(), "eventfd")
	return line{watched: w, event: event}, err
}

// join makes the descriptor ready. Nobody needs to read what is written to it:
// Go's poller is told of each time.
func (q line) join() { q.event.Signal() }
