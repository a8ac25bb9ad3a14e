package accesslog

import (
	"sync"
	"sync/atomic"
)

// textOfEntry is how many bytes the texts of an entry may have on average.
const textOfEntry = 256

// queue holds the entries that wait for the writer.
type queue struct {
	dropped atomic.Uint64
	wake    chan struct{}      // has an element when entries begin to wait
	hurry   chan struct{}      // has an element when half of the entries that can wait do so
	flush   chan chan struct{} // the writer closes each channel once it has written all
	closing chan struct{}      // closed by end
	ended   chan struct{}      // closed by the writer
	most    int                // entries

	_      [64]byte // the processors that add entries have the rest in their caches
	mu     sync.Mutex
	closed bool
	batch
}

// batch is a list of entries.
type batch struct {
	entries  []entry
	texts    []byte    // of all entries
	failures []failure // of entries that have one
}

func (q *queue) begin(most int) {
	q.most = most
	q.wake, q.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	q.flush = make(chan chan struct{})
	q.closing, q.ended = make(chan struct{}), make(chan struct{})
}

// add adds a copy of a record, or drops it.
func (q *queue) add(r *record) {
	q.mu.Lock()
	n := len(q.entries)
	// a single entry always fits
	full := q.closed || n >= q.most || n > 0 && len(q.texts)+len(r.text) > textOfEntry*q.most
	before := q.fill()
	if !full {
		q.entries = append(q.entries, r.entry)
		q.texts = append(q.texts, r.text...)
		if r.kind&kindFailed != 0 {
			q.failures = append(q.failures, r.failure)
		}
	}
	fill := q.fill()
	q.mu.Unlock()
	switch {
	case full:
		q.dropped.Add(1)
	case before < q.most && fill >= q.most:
		signal(q.hurry)
	case n == 0:
		signal(q.wake)
	}
}

// fill returns how full the queue is: twice most if it is full.
func (q *queue) fill() int { return 2 * max(len(q.entries), len(q.texts)/textOfEntry) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// swap replaces an empty batch by the entries that wait.
func (q *queue) swap(b *batch) {
	q.mu.Lock()
	q.batch, *b = *b, q.batch
	q.mu.Unlock()
}

// end closes the queue, and reports whether it was open.
func (q *queue) end() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	close(q.closing)
	return true
}

// clear empties a batch.
func (b *batch) clear() {
	clear(b.failures) // they refer to errors
	b.entries, b.texts, b.failures = b.entries[:0], b.texts[:0], b.failures[:0]
}
