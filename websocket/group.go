package websocket

import (
	"slices"
	"sync"
)

// Group is a set of sockets to which messages are sent, such as a room of a chat. The zero value
// is an empty Group. All methods may be called concurrently, also by the functions of a Handler.
// A Group must not be copied.
type Group struct {
	mu    sync.Mutex
	now   *roster
	index map[*Socket]int // the place of each member in now
}

// roster is a list of members. It does not change while there are readers.
type roster struct {
	members []*Socket
	readers int
}

// Join adds a socket to the group, unless it is a member already. It returns false if the
// connection of the socket has ended. A socket leaves its groups when its connection ends, before
// Handler.OnClose is called.
func (g *Group) Join(s *Socket) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, is := g.index[s]; is {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state&socketEnded != 0 {
		return false
	}
	x := s.more()
	x.groups = append(x.groups, g)
	if g.index == nil {
		g.index = make(map[*Socket]int)
	}
	r := g.changing()
	g.index[s] = len(r.members)
	r.members = append(r.members, s)
	return true
}

// changing returns a list of the members that may be changed. mu is held.
func (g *Group) changing() *roster {
	if g.now == nil {
		g.now = new(roster)
	}
	if g.now.readers > 0 {
		g.now = &roster{members: slices.Clone(g.now.members)}
	}
	return g.now
}

// Leave removes a socket from the group. It does nothing if the socket is not a member.
func (g *Group) Leave(s *Socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.remove(s) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.extra
	if x == nil {
		// the socket has ended meanwhile
		return
	}
	if i := slices.Index(x.groups, g); i >= 0 {
		x.groups = slices.Delete(x.groups, i, i+1)
	}
}

// leaveAtEnd is Leave for a socket that has ended, and whose list of groups is gone.
func (g *Group) leaveAtEnd(s *Socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(s)
}

// remove removes a socket from the list of members, and reports whether it was one. g.mu is held.
func (g *Group) remove(s *Socket) bool {
	at, is := g.index[s]
	if !is {
		return false
	}
	delete(g.index, s)
	r := g.changing()
	last := len(r.members) - 1
	if moved := r.members[last]; moved != s {
		r.members[at] = moved
		g.index[moved] = at
	}
	r.members[last] = nil
	r.members = r.members[:last]
	return true
}

// Len returns the number of members.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.index)
}

// Broadcast sends a message to each member, as Socket.Send does: it waits for none of them, so a
// slow reader does not delay the others. The message is framed once, and
// compressed once for members that have agreed on the same window; they share its memory. It
// returns the number of members to which the message was sent, and the number skipped
// because their queue is full; members whose connection is closing count as neither.
//
// onFull is called for each skipped member, unless it is nil. It may close the socket, or remove
// it from the group.
func (g *Group) Broadcast(m Message, onFull func(s *Socket)) (sent, skipped int) {
	if m.Type != TextMessage && m.Type != BinaryMessage || g.Len() == 0 {
		return 0, 0
	}
	prepared, err := NewPreparedMessage(m.Type, m.Data)
	if err != nil {
		return 0, 0
	}
	return g.BroadcastPrepared(prepared, onFull)
}

// BroadcastPrepared is Broadcast for a message to several groups. It must be a text or
// binary message.
func (g *Group) BroadcastPrepared(m *PreparedMessage, onFull func(s *Socket)) (sent, skipped int) {
	if m.plain == nil {
		return 0, 0
	}
	g.mu.Lock()
	r := g.now
	if r == nil {
		g.mu.Unlock()
		return 0, 0
	}
	r.readers++
	members := r.members
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		r.readers--
		g.mu.Unlock()
	}()
	for _, s := range members {
		switch s.SendPrepared(m) {
		case nil:
			sent++
		case ErrQueueFull:
			skipped++
			if onFull != nil {
				onFull(s)
			}
		}
	}
	return sent, skipped
}
