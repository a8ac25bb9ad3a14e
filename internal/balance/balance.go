// Package balance picks the member of a set that has the least to do (Set), and knows
// of each what it was given and how often it has failed (Member).
//
// It imports failures. Start with Set.Least.
package balance

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/failures"
)

// MaxFailures is how many failures count, so that a member that has failed very often
// is not given up before all others are overloaded.
const MaxFailures = 300

// Client is what work is given to.
type Client interface {
	// PendingRequests returns how much it has to do.
	PendingRequests() int
}

// Member is a client with what is known of it. The methods may be called concurrently.
type Member[C Client] struct {
	// Client is the client itself.
	Client C

	client   Client        // the same, which calls a method without looking for it
	total    atomic.Uint64 // what it was given
	running  atomic.Int64  // how much of that has not ended
	failures failures.Recent
}

func newMember[C Client](c C) *Member[C] { return &Member[C]{Client: c, client: c} }

// Begin says that the member was given something to do.
func (m *Member[C]) Begin() {
	m.total.Add(1)
	m.running.Add(1)
}

// End says that this has ended.
func (m *Member[C]) End() { m.running.Add(-1) }

// Fail says that the member has failed.
func (m *Member[C]) Fail(now time.Time) { m.failures.Add(now) }

// load returns how busy the client is. What it was given a moment ago may not be pending
// yet, and it may have more to do that came from elsewhere.
func (m *Member[C]) load() int {
	return max(m.client.PendingRequests(), int(m.running.Load())) + min(m.failures.Count(), MaxFailures)
}

// Set is members that share work. Start must be called before each use. The methods may
// be called concurrently, and take no lock unless they change the set.
type Set[C Client] struct {
	once    sync.Once
	changes sync.Mutex // held while members is replaced
	members atomic.Pointer[[]*Member[C]]
}

// Start makes the clients the members, the first time that it is called.
func (s *Set[C]) Start(clients []C) {
	s.once.Do(func() {
		members := make([]*Member[C], len(clients))
		for i, c := range clients {
			members[i] = newMember(c)
		}
		s.members.Store(&members)
	})
}

// Least returns the member with the least to do, and among equals the one that was
// given the least so far. It is nil if there is none.
func (s *Set[C]) Least() (best *Member[C]) {
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

// Running returns how much that the members were given has not ended.
func (s *Set[C]) Running() (n int) {
	for _, m := range *s.members.Load() {
		n += int(m.running.Load())
	}
	return n
}

// Add adds a member and returns how many there are then. It comes next, but has not to
// catch up with what the others were given.
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

// Remove removes the members for whose clients remove returns true, and returns how many
// are left. remove must not call Add or Remove.
func (s *Set[C]) Remove(remove func(C) bool) int {
	s.changes.Lock()
	defer s.changes.Unlock()
	members := slices.DeleteFunc(slices.Clone(*s.members.Load()), func(m *Member[C]) bool { return remove(m.Client) })
	s.members.Store(&members)
	return len(members)
}
