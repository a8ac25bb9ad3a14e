//go:build linux

package netloop

import "github.com/valyala/fasthttp/internal/rawsys"

// yielder lets the leader give way to all goroutines that are ready, including goroutines whose
// descriptors have become ready.
//
// Go's scheduler asks the system for ready descriptors only when no goroutine can run. A
// poller that fetched events as long as there are some would begin request after request
// while earlier requests wait for a response: there would be many goroutines, and the
// scheduler would never ask for the descriptors that they wait for. So the leader waits for
// a descriptor itself, an eventfd that it makes ready at once: it continues after the
// goroutines that could run or whose descriptors were ready before.
type yielder struct {
	pollable
	event rawsys.Event
}

func newYielder() (yielder, error) {
	event, err := rawsys.NewEvent()
	if err != nil {
		return yielder{}, err
	}
	p, err := newPollable(event.FD(), "eventfd")
	return yielder{pollable: p, event: event}, err
}

// poke makes the descriptor ready. The count in it need not be read: epoll, which
// is edge-triggered here, reports every write.
func (y yielder) poke() { y.event.Signal() }
