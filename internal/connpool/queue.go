package connpool

import "time"

// idleConn is a connection that waits for its next use.
type idleConn[C any] struct {
	conn  C
	since time.Duration // on the clock
}

// queue holds the idle connections of a pool in the order in which they became
// idle. Connections are taken from either end, so it is a ring.
type queue[C any] struct {
	ring []idleConn[C]
	head int // of the oldest
	n    int
}

func (q *queue[C]) first() *idleConn[C] { return &q.ring[q.head] }

func (q *queue[C]) at(i int) *idleConn[C] { return &q.ring[(q.head+i)%len(q.ring)] }

func (q *queue[C]) push(c idleConn[C]) {
	if q.n == len(q.ring) {
		larger := make([]idleConn[C], max(8, 2*q.n))
		for i := range q.n {
			larger[i] = *q.at(i)
		}
		q.ring, q.head = larger, 0
	}
	q.n++
	*q.at(q.n - 1) = c
}

func (q *queue[C]) popFirst() idleConn[C] {
	taken := *q.first()
	*q.first() = idleConn[C]{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return taken
}

func (q *queue[C]) popLast() idleConn[C] {
	last := q.at(q.n - 1)
	taken := *last
	*last = idleConn[C]{}
	q.n--
	return taken
}
