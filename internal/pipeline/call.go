package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// Call is a request in a ConnQueue, whose response is an R. It has two holders: the caller, and
// its lane. The last holder to drop it returns it to its Pool.
type Call[R any] struct {
	links     links[R] // guarded by the mutex of the lane
	connQueue *ConnQueue[R]
	home      *sync.Pool

	// The fields that describe the request are set before it is enqueued.

	// Out is the request as bytes on the wire.
	Out []byte
	// Exchange has the properties of the request that decide the framing of the
	// response.
	Exchange http1.Exchange
	// Idempotent means that sending the request twice does no harm, and Closes that it asks
	// for the connection to be closed.
	Idempotent, Closes bool
	// Patient means that the caller never gives the call up. It may have to write it then.
	Patient bool

	// end is the offset of the end of its bytes on the connection, guarded by the mutex of
	// the lane
	end uint64

	mu lockorder.Mutex[lockorder.Call] // guards the following fields
	// Response belongs to the caller. The reader fills it while it holds the lock. It is
	// nil if the response is discarded.
	Response *R
	phase    callPhase

	err  error // the result, valid after done
	done chan struct{}

	holders atomic.Int32
}

// callPhase is the state of the caller of a Call.
type callPhase uint8

const (
	callAwaited   callPhase = iota // the caller waits
	callAbandoned                  // the caller does not wait any more
	callFinished                   // there is a result, and done delivers a value
)

// maxKeptRequest is the largest memory of a request kept for the next one.
const maxKeptRequest = 64 << 10

// Lock blocks the caller, so that its response stays valid.
func (call *Call[R]) Lock() { call.mu.Lock() }

// Unlock undoes Lock.
func (call *Call[R]) Unlock() { call.mu.Unlock() }

// Release releases the call for n of its holders.
func (call *Call[R]) Release(n int32) {
	if call.holders.Add(-n) > 0 {
		return
	}
	if cap(call.Out) > maxKeptRequest {
		call.Out = nil
	}
	call.connQueue, call.Response, call.err = nil, nil, nil
	call.phase = callAwaited
	call.home.Put(call)
}

// Done returns a channel that delivers one value when there is a result.
func (call *Call[R]) Done() <-chan struct{} { return call.done }

// Result returns the result. It is valid after Done has delivered.
func (call *Call[R]) Result() error { return call.err }

// Abandon gives the call up because of err, unless it has a result already, and returns the
// result. Afterwards the lane does not touch the response.
func (call *Call[R]) Abandon(err error) error {
	call.mu.Lock()
	if call.phase == callFinished {
		call.mu.Unlock()
		<-call.done
		return call.err
	}
	call.phase, call.Response = callAbandoned, nil
	call.mu.Unlock()
	call.connQueue.abandon(call)
	return err
}

// finish gives the call its result and drops it. It reports whether the caller was
// waiting for it.
func (call *Call[R]) finish(err error) bool {
	call.mu.Lock()
	waited := call.phase == callAwaited
	if waited {
		call.phase, call.err, call.Response = callFinished, err, nil
		call.done <- struct{}{}
	}
	call.mu.Unlock()
	call.Release(1)
	return waited
}

// isAbandoned reports whether the caller has given up the call.
func (call *Call[R]) isAbandoned() bool {
	call.mu.Lock()
	defer call.mu.Unlock()
	return call.phase == callAbandoned
}

// links connects a call to its neighbours in a list.
type links[R any] struct {
	list       *list[R]
	prev, next *Call[R]
}

// list is an ordered list of calls. An abandoned call is removed from the middle.
type list[R any] struct {
	first, last *Call[R]
	n           int
}

// insert inserts the call after another one, or at the beginning if after is nil.
func (l *list[R]) insert(call, after *Call[R]) {
	next := l.first
	if after != nil {
		next = after.links.next
		after.links.next = call
	} else {
		l.first = call
	}
	if next != nil {
		next.links.prev = call
	} else {
		l.last = call
	}
	call.links = links[R]{l, after, next}
	l.n++
}

func (l *list[R]) push(call *Call[R]) { l.insert(call, l.last) }

// shift removes the first call, which the caller puts into another list.
func (l *list[R]) shift() *Call[R] {
	call := l.first
	if l.first = call.links.next; l.first != nil {
		l.first.links.prev = nil
	} else {
		l.last = nil
	}
	l.n--
	return call
}

func (l *list[R]) remove(call *Call[R]) {
	prev, next := call.links.prev, call.links.next
	if prev != nil {
		prev.links.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.links.prev = prev
	} else {
		l.last = prev
	}
	call.links = links[R]{}
	l.n--
}

// Write appends to Out.
func (c *Call[R]) Write(p []byte) (int, error) {
	c.Out = append(c.Out, p...)
	return len(p), nil
}

// Flush does nothing.
func (c *Call[R]) Flush() error { return nil }
