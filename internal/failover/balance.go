// Package failover chooses the server for a call: it picks the least loaded member of a set
// (Set), counts the work and the recent failures of each (Member, Recent), and computes the
// wait before another attempt (Backoff).
//
// Start with Set.LeastLoaded.
package failover

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MaxFailures is the largest number of failures that count, so that a member that has
// failed very often is not given up before all others are overloaded.
const MaxFailures = 300

// Client does the work.
type Client interface {
	// PendingRequests returns how much work the client has.
	PendingRequests() int
}

// Member is a client with its counters. The methods may be called concurrently.
type Member[C Client] struct {
	// Client is the client itself.
	Client C

	client   Client        // the same, which calls a method without looking for it
	total    atomic.Uint64 // work that the member was given
	running  atomic.Int64  // the part of that which has not ended
	failures Recent
}

func newMember[C Client](c C) *Member[C] { return &Member[C]{Client: c, client: c} }

// Begin counts work that the member is given.
func (m *Member[C]) Begin() {
	m.total.Add(1)
	m.running.Add(1)
}

// End counts the end of that work.
func (m *Member[C]) End() { m.running.Add(-1) }

// Fail counts a failure of the member.
func (m *Member[C]) Fail(now time.Time) { m.failures.Add(now) }

// load returns how busy the client is. Work that it was given a moment ago may not be
// pending yet, and it may have work from elsewhere.
func (m *Member[C]) load() int {
	return max(m.client.PendingRequests(), int(m.running.Load())) + min(m.failures.Count(), MaxFailures)
}

// Set is a set of members that share work. Start must be called before each use. The
// methods may be called concurrently, and take no lock unless they change the set.
type Set[C Client] struct {
	once    sync.Once
	changes sync.Mutex // held while members is replaced
	members atomic.Pointer[[]*Member[C]]
}

// Start makes the clients the members. Only the first call has an effect.
func (s *Set[C]) Start(clients []C) {
	s.once.Do(func() {
		members := make([]*Member[C], len(clients))
		for i, c := range clients {
			members[i] = newMember(c)
		}
		s.members.Store(&members)
	})
}

// LeastLoaded returns the member with the least load, and among equals the one that was given
// the least work so far. It returns nil if the set is empty.
func (s *Set[C]) LeastLoaded() (best *Member[C]) {
	var bestLoad int
	var bestTotal uint64
	for _, m := range *s.members.Load() {
		load, total := m.load(), m.total.Load()
		if best == nil || load < bestLoad || load == bestLoad && total < bestTotal {
			best, bestLoad, bestTotal = m, load, total
		}
	}
	return best
}

// Running returns how much of the members' work has not ended.
func (s *Set[C]) Running() (n int) {
	for _, m := range *s.members.Load() {
		n += int(m.running.Load())
	}
	return n
}

// Add adds a member and returns the new number of members. LeastLoaded returns the new member
// next, but it need not catch up with the others' work.
func (s *Set[C]) Add(c C) int {
	s.changes.Lock()
	defer s.changes.Unlock()
	members := *s.members.Load()
	m := newMember(c)
	if len(members) > 0 {
		least := members[0].total.Load()
		for _, other := range members {
			least = min(least, other.total.Load())
		}
		m.total.Store(max(least, 1) - 1)
	}
	members = append(slices.Clip(members), m)
	s.members.Store(&members)
	return len(members)
}

// Remove removes each member for whose client remove returns true, and returns the number
// of members left. remove must not call Add or Remove.
func (s *Set[C]) Remove(remove func(C) bool) int {
	s.changes.Lock()
	defer s.changes.Unlock()
	members := slices.DeleteFunc(slices.Clone(*s.members.Load()), func(m *Member[C]) bool { return remove(m.Client) })
	s.members.Store(&members)
	return len(members)
}
