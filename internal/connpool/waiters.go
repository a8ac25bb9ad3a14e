package connpool

import "time"

// waiter is a waiting caller of Get. Waiters are reused: each has a channel and,
// once it needed one, a timer.
type waiter[C Conn] struct {
	prev, next *waiter[C]
	queued     bool
	need       Need
	turn       uint64 // the number of the wait, which is smaller for a longer one
	// ready has room for the one grant that a waiter gets, so that sending it never
	// blocks
	ready chan Grant[C]
	timer *time.Timer
}

// wait returns the grant of w, or the error if its caller has to give up.
func (w *waiter[C]) wait(until time.Time, done <-chan struct{}) (Grant[C], error) {
	var expired <-chan time.Time
	if !until.IsZero() {
		left := time.Until(until)
		if w.timer == nil {
			w.timer = time.NewTimer(left)
		} else {
			w.timer.Reset(left)
		}
		expired = w.timer.C
		defer w.stopTimer()
	}
	select {
	case g := <-w.ready:
		return g, nil
	case <-expired:
		return Grant[C]{}, ErrTimeout
	case <-done:
		return Grant[C]{}, ErrCanceled
	}
}

func (w *waiter[C]) stopTimer() {
	if !w.timer.Stop() {
		// needed with GODEBUG=asynctimerchan=1 only
		select {
		case <-w.timer.C:
		default:
		}
	}
}

// waiters is a queue of them, and a stock of unused ones.
type waiters[C Conn] struct {
	head, tail *waiter[C]
	n          int

	stock  *waiter[C]
	stored int
}

// maxStored is the largest number of waiters kept for other callers.
const maxStored = 1024

// add puts a waiter at the end of the queue.
func (q *waiters[C]) add(need Need, turn uint64) *waiter[C] {
	w := q.stock
	if w == nil {
		w = &waiter[C]{ready: make(chan Grant[C], 1)}
	} else {
		q.stock = w.next
		q.stored--
		w.next = nil
	}
	w.need, w.turn, w.queued = need, turn, true
	w.prev = q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.n++
	return w
}

// remove removes w from the queue. It reports whether w was in it.
func (q *waiters[C]) remove(w *waiter[C]) bool {
	if !w.queued {
		return false
	}
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.n--
	return true
}

// keep puts w, which is neither in the queue nor in use, into the stock.
func (q *waiters[C]) keep(w *waiter[C]) {
	if q.stored < maxStored {
		w.next, q.stock = q.stock, w
		q.stored++
	}
}
