package websocket

import (
	"slices"
	"sync"
	"testing"
)

// TestGroupsAndSocketsAgree has several goroutines take one socket out of a group and put it in
// again. The socket must know of its group whenever the group knows of it, since it leaves the
// groups which it knows at its end.
func TestGroupsAndSocketsAgree(t *testing.T) {
	t.Parallel()
	var g Group
	s := new(Socket)
	for round := range 20_000 {
		g.Join(s)
		var together sync.WaitGroup
		for _, act := range []func(){func() { g.Leave(s) }, func() { g.Leave(s) }, func() { g.Join(s) }} {
			together.Go(act)
		}
		together.Wait()
		if knows := slices.Contains(s.extra.groups, &g); knows != (g.Len() == 1) || len(s.extra.groups) > 1 {
			t.Fatalf("round %d: the group has %d members, and the socket is in %d groups", round, g.Len(), len(s.extra.groups))
		}
	}
}

// A socket whose memory for a message in parts is gone has nothing extra, also if it leaves a group
// while it ends.
func TestSocketsDropWhatTheyNeedNoLonger(t *testing.T) {
	var s Socket
	var g Group
	s.assembler()
	s.dropParts()
	if s.extra != nil {
		t.Error("a socket keeps memory after a message in parts")
	}
	s.assembler()
	if !g.Join(&s) {
		t.Fatal("the socket has not joined")
	}
	s.end()
	s.dropParts()
	g.Leave(&s)
	if s.extra != nil || g.Len() != 0 {
		t.Errorf("after its end the socket has %v, and the group %d members", s.extra, g.Len())
	}
}
