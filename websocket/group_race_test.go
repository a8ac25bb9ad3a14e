package websocket

import (
	"slices"
	"sync"
	"testing"
)

// Goroutines that add a socket to a group and remove it agree in the end: a member knows its
// group, which it has to leave when its connection ends.
func TestMembersKnowTheirGroups(t *testing.T) {
	const sockets = 5000
	var g Group
	var all [sockets]Socket
	var users sync.WaitGroup
	for _, use := range []func(s *Socket){g.Leave, func(s *Socket) { g.Join(s) }, g.Leave} {
		users.Go(func() {
			for i := range all {
				use(&all[i])
			}
		})
	}
	users.Wait()
	for i := range all {
		s := &all[i]
		_, is := g.index[s]
		if knows := s.extra != nil && slices.Contains(s.extra.groups, &g); is != knows {
			t.Fatalf("socket %d is a member: %v, and knows it: %v", i, is, knows)
		}
		for _, of := range s.end() {
			of.remove(s)
		}
		if g.Join(s) {
			t.Error("a socket joins after its end")
		}
	}
	if n := g.Len(); n != 0 {
		t.Errorf("%d members after the end of all sockets", n)
	}
}
