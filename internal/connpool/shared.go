package connpool

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
)

// shared is a connection that several callers use concurrently.
type shared[C any] struct {
	conn C
	// users is the number of reservations that Get has given and that neither Put nor
	// Discard has returned
	users int
	since time.Duration // when it became idle, if there are none
	// retired means that no further caller gets it
	retired bool
	// roomUnknown means that HasRoom was not called yet: it may have more room than it knows
	roomUnknown bool
}

// Share lets other callers use c, too. The caller holds c: it got c from Get, or opened it
// in the place that Get gave. From now on every use of c is a reservation, and the caller
// has the first one. Get gives another one whenever Pool.Reserve reports room for it. The
// place becomes free when c is closed.
func (p *Pool[C]) Share(c C) {
	p.mu.Lock()
	p.shared = append(p.shared, &shared[C]{conn: c, users: 1, roomUnknown: true})
	p.grantOpen()
	p.makeRoom()
	p.unlock()
}

// HasRoom records that the number of users that the shared connection c accepts is known now.
// It may have grown.
func (p *Pool[C]) HasRoom(c C) {
	p.mu.Lock()
	if s := p.lookUp(c); s != nil {
		p.settle(s)
	}
	p.grantOpen()
	p.admit()
	p.unlock()
}

// settle ends the opening of a connection.
func (p *Pool[C]) settle(s *shared[C]) {
	if s.roomUnknown {
		s.roomUnknown = false
		p.opened()
	}
}

// Retire keeps the shared connection c from further callers. It is closed when its last
// reservation is returned, possibly at once.
func (p *Pool[C]) Retire(c C) {
	p.mu.Lock()
	if s := p.lookUp(c); s != nil {
		p.retire(s)
	}
	p.unlock()
}

// retire keeps s from further callers, and drops it if it has no users.
func (p *Pool[C]) retire(s *shared[C]) {
	s.retired = true
	p.settle(s)
	if s.users == 0 {
		p.dropShared(s)
	}
	p.admit()
}

// retireFor retires shared connections, those with the fewest users, until as many are retired
// as callers wait for a place.
func (p *Pool[C]) retireFor(callers int) {
	var least *shared[C]
	for _, s := range p.shared {
		switch {
		case s.retired:
			callers--
		case least == nil || s.users < least.users:
			least = s
		}
	}
	if callers > 0 && least != nil {
		p.retire(least)
	}
}

// grantOpen gives open connections, mostly reservations, to waiters.
func (p *Pool[C]) grantOpen() {
	for q := &p.waiting[Any]; q.n > 0; {
		g, ok := p.popOpen(Any)
		if !ok {
			return
		}
		w := q.head
		q.remove(w)
		w.ready <- g
	}
}

// reserve returns a connection that has room for one more user.
func (p *Pool[C]) reserve() (g Grant[C], ok bool) {
	for _, s := range p.shared {
		if s.retired || !p.Reserve(s.conn) {
			continue
		}
		since := s.since
		if s.users > 0 {
			since = clock.Elapsed()
		}
		s.users++
		return Grant[C]{Conn: s.conn, Found: true, Since: since}, true
	}
	return g, false
}

// lookUp returns the entry of a shared connection, or nil.
func (p *Pool[C]) lookUp(c C) *shared[C] {
	for _, s := range p.shared {
		if s.conn == c {
			return s
		}
	}
	return nil
}

// releaseReservation takes back a reservation. It drops the connection if that is retired and this
// was the last one.
func (p *Pool[C]) releaseReservation(s *shared[C], now time.Duration) {
	s.users--
	s.since = now
	if p.staying() > p.Max {
		s.retired = s.retired || s.users == 0
	}
	switch {
	case s.retired && s.users == 0:
		p.dropShared(s)
		return
	case s.users == 0 && !p.armed && p.MaxIdle > 0:
		p.arm(p.MaxIdle)
	}
	if p.waiting[Any].n > 0 {
		p.grantOpen()
	}
}

// giveUp takes back a reservation of s, and retires s.
func (p *Pool[C]) giveUp(s *shared[C]) {
	s.retired = true
	p.settle(s)
	p.releaseReservation(s, 0)
	p.admit()
}

// dropShared drops a connection without users.
func (p *Pool[C]) dropShared(s *shared[C]) {
	p.settle(s)
	i := slices.Index(p.shared, s)
	p.shared = slices.Delete(p.shared, i, i+1)
	p.drop(s.conn)
}
