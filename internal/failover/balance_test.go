package failover

import (
	"testing"
	"time"
)

// client is a client with a number of pending requests.
type client struct{ pending int }

func (c *client) PendingRequests() int { return c.pending }

// shares picks a client n times and returns how many picks each client got.
func shares(s *Set[*client], n int) map[*client]int {
	got := make(map[*client]int)
	for range n {
		m := s.LeastLoaded()
		m.Begin()
		m.End()
		got[m.Client]++
	}
	return got
}

func TestWorkGoesToWhoHasLeast(t *testing.T) {
	a, b, c := &client{}, &client{}, &client{pending: 1}
	var s Set[*client]
	if s.Start(nil); s.LeastLoaded() != nil || s.Running() != 0 {
		t.Error("an empty set has a member")
	}
	s = Set[*client]{}
	s.Start([]*client{a, b, c})
	s.Start(nil)
	if got := shares(&s, 10); got[a] != 5 || got[b] != 5 {
		t.Errorf("shares: %d, %d and %d", got[a], got[b], got[c])
	}
	first, second := s.LeastLoaded(), (*Member[*client])(nil)
	first.Begin()
	if second = s.LeastLoaded(); second == first || second.Client == c {
		t.Error("the running work does not count")
	}
	second.Begin()
	if n := s.Running(); n != 2 {
		t.Errorf("%d are running", n)
	}
	first.End()
	second.End()
}

func TestFailuresCountUpToALimit(t *testing.T) {
	a, b := &client{}, &client{}
	var s Set[*client]
	s.Start([]*client{a, b})
	failing := s.LeastLoaded()
	for range 2 * MaxFailures {
		failing.Fail(time.Now())
	}
	if m := s.LeastLoaded(); m == failing {
		t.Error("a member is preferred that has failed")
	}
	if b.pending = MaxFailures + 1; s.LeastLoaded() != failing {
		t.Error("a member that has failed is given up")
	}
}

func TestMembersComeAndGo(t *testing.T) {
	a, b := &client{}, &client{}
	var s Set[*client]
	s.Start([]*client{a})
	shares(&s, 100)
	if n := s.Add(b); n != 2 {
		t.Errorf("%d members", n)
	}
	if got := shares(&s, 11); got[a] != 5 || got[b] != 6 {
		t.Errorf("the new member has %d, the other one %d", got[b], got[a])
	}
	if n := s.Remove(func(c *client) bool { return c == a }); n != 1 {
		t.Errorf("%d members are left", n)
	}
	if got := shares(&s, 3); got[b] != 3 {
		t.Errorf("the member that is left has %d of 3", got[b])
	}
}
