package http2

import "sync"

// Stream is one exchange of a connection. The Conn makes it, and reuses it after
// Conn.Release, which the caller calls once for each Stream that it has received.
type Stream struct {
	// User belongs to the caller. It is nil in a new stream.
	User any

	unsent     []byte // the caller's unwritten content
	next, prev *Stream
	chained    *Stream // in streamTable
	bodyLeft   int64   // left of the length that the peer has announced, or unknownLength

	id         uint32
	sendWindow int32 // the peer's window, which new settings can make negative
	recvWindow int32 // for the peer
	credit     int32 // consumed, but not yet returned to the peer's window
	unread     int32 // received, but not yet consumed
	headSize   uint32
	kept       uint32 // counts for Limits.Bodies
	began      uint32
	stall      stall // of sendWindow
	code       Code  // of a reset that the caller does not know yet

	sending     Half // the message to the peer
	receiving   Half // the peer's message
	place       place
	urgency     uint8 // RFC 9218 section 4.1: 0 is the most urgent
	incremental bool  // RFC 9218 section 4.2
	endsAfter   bool  // unsent is the end of the content
	noContent   bool  // the response answers HEAD
	connects    bool  // the request is CONNECT, and no response has refused it
	held        bool  // the caller has not released it
	lingered    bool  // it lingers, and Tick has seen that
	malformed   bool  // the request is malformed, and was counted as wasted
}

// unknownLength is the length of a body without an announced length.
const unknownLength = -1

// ID returns the id of the stream, or 0 if it has none yet: a client's stream gets it with
// the head of the request.
func (s *Stream) ID() uint32 { return s.id }

// Unsent returns how many bytes of the content from Conn.Send are unwritten.
func (s *Stream) Unsent() int { return len(s.unsent) }

// Receiving returns the progress of the peer's message, and Sending the progress of the
// other one.
func (s *Stream) Receiving() Half { return s.receiving }

// Sending returns the progress of the message to the peer.
func (s *Stream) Sending() Half { return s.sending }

// Closed reports whether nothing is sent or received on the stream any more.
func (s *Stream) Closed() bool { return s.sending >= Ended && s.receiving >= Ended }

// Half is a phase of one direction of a stream. The states of RFC 9113 section 5.1 are
// pairs of Halfs: in "open" neither direction is over, in "half-closed (remote)" receiving
// is Ended, and so on.
type Half uint8

const (
	_         Half = iota // entry of the table for refused moves
	HeadAhead             // the head has not arrived; interim responses may have
	BodyAhead             // the head has arrived: content and trailers may follow
	Ended                 // the message has ended, with END_STREAM
	Cut                   // the stream was reset before that
	halfPhases
)

// streamEvent is an event that changes the phases of a Stream.
type streamEvent uint8

const (
	receivesInterim streamEvent = iota // an interim response
	receivesHead                       // the head of a message
	receivesAll                        // a head that ends the message
	receivesEnd                        // the end of content, or trailers
	sendsInterim
	sendsHead
	sendsAll
	sendsEnd
	resets // by either side
	streamEvents
)

// streamMove holds the phases to which an event leads. A phase missing in it refuses
// the event.
type streamMove struct{ send, recv [halfPhases]Half }

// anyHalf is the effect of an event that concerns one direction on the other direction.
var anyHalf = [halfPhases]Half{HeadAhead: HeadAhead, BodyAhead: BodyAhead, Ended: Ended, Cut: Cut}

// streamMoves holds all moves.
var streamMoves = [streamEvents]streamMove{
	receivesInterim: {recv: [halfPhases]Half{HeadAhead: HeadAhead}, send: anyHalf},
	receivesHead:    {recv: [halfPhases]Half{HeadAhead: BodyAhead}, send: anyHalf},
	receivesAll:     {recv: [halfPhases]Half{HeadAhead: Ended}, send: anyHalf},
	receivesEnd:     {recv: [halfPhases]Half{BodyAhead: Ended}, send: anyHalf},
	sendsInterim:    {send: [halfPhases]Half{HeadAhead: HeadAhead}, recv: anyHalf},
	sendsHead:       {send: [halfPhases]Half{HeadAhead: BodyAhead}, recv: anyHalf},
	sendsAll:        {send: [halfPhases]Half{HeadAhead: Ended}, recv: anyHalf},
	sendsEnd:        {send: [halfPhases]Half{BodyAhead: Ended}, recv: anyHalf},
	// an ended direction stays ended: the message is complete
	resets: {
		send: [halfPhases]Half{HeadAhead: Cut, BodyAhead: Cut, Ended: Ended, Cut: Cut},
		recv: [halfPhases]Half{HeadAhead: Cut, BodyAhead: Cut, Ended: Ended, Cut: Cut},
	},
}

// may reports whether an event is allowed now.
func (s *Stream) may(e streamEvent) bool {
	m := &streamMoves[e]
	return m.send[s.sending] != 0 && m.recv[s.receiving] != 0
}

// move changes the phases by an event, which must be allowed.
func (s *Stream) move(e streamEvent) {
	if !s.may(e) {
		panic(cannotFollow)
	}
	m := &streamMoves[e]
	s.sending, s.receiving = m.send[s.sending], m.recv[s.receiving]
}

// place is the queue of its connection that a stream is in.
type place uint8

const (
	nowhere   place = iota // it is in no queue
	inReady                // it has content, and its window permits sending some of it
	isBlocked              // it has content that waits for its own window; in no queue
	inDrained              // all content passed by the caller was written
	inLost                 // it was reset, and the caller does not know it yet
)

// queue is a list of streams. A stream is in at most one: place records which.
type queue struct{ first, last *Stream }

func (q *queue) remove(s *Stream) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		q.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		q.last = s.prev
	}
	s.next, s.prev, s.place = nil, nil, nowhere
}

// insert puts s after at, or at the beginning if at is nil.
func (q *queue) insert(s, at *Stream, p place) {
	s.place, s.prev = p, at
	if at != nil {
		s.next, at.next = at.next, s
	} else {
		s.next, q.first = q.first, s
	}
	if s.next != nil {
		s.next.prev = s
	} else {
		q.last = s
	}
}

// streamPool holds streams that no connection needs.
var streamPool = sync.Pool{New: func() any { return new(Stream) }}

// newStream returns a stream in its first phases.
func (c *Conn) newStream(id uint32) *Stream {
	s := c.free
	if s != nil {
		c.free = s.next
		c.freeCount--
	} else {
		s = streamPool.Get().(*Stream)
	}
	*s = Stream{
		id:         id,
		bodyLeft:   unknownLength,
		sendWindow: c.peer.window,
		recvWindow: c.streamWindow(),
		sending:    HeadAhead,
		receiving:  HeadAhead,
		urgency:    defaultUrgency,
		held:       true,
		began:      c.now,
	}
	c.held++
	return s
}

// discard keeps the memory of a stream for another one.
func (c *Conn) discard(s *Stream) {
	*s = Stream{next: c.free}
	c.free = s
	c.freeCount++
}

// streamTable finds streams by their ids. It is a hash table with a list for each slot: ids
// are odd and grow, so that hardly any two of them share one.
type streamTable struct {
	slots []*Stream // their number is a power of two
	n     int
}

const fewestSlots = 8

func (t *streamTable) home(id uint32) **Stream { return &t.slots[int(id>>1)&(len(t.slots)-1)] }

// find returns the stream with an id, or nil.
func (t *streamTable) find(id uint32) *Stream {
	if t.n == 0 {
		return nil
	}
	s := *t.home(id)
	for s != nil && s.id != id {
		s = s.chained
	}
	return s
}

// add adds a stream whose id is new.
func (t *streamTable) add(s *Stream) {
	if t.n >= len(t.slots) {
		old := *t
		t.slots = make([]*Stream, max(2*len(old.slots), fewestSlots))
		for s := range old.all {
			t.put(s)
		}
	}
	t.put(s)
	t.n++
}

func (t *streamTable) put(s *Stream) {
	home := t.home(s.id)
	s.chained, *home = *home, s
}

// remove removes a stream.
func (t *streamTable) remove(s *Stream) {
	at := t.home(s.id)
	for *at != s {
		at = &(*at).chained
	}
	*at, s.chained = s.chained, nil
	t.n--
}

// all calls yield for each stream until it returns false. yield may remove that stream, or
// reuse it.
func (t *streamTable) all(yield func(s *Stream) bool) {
	for _, s := range t.slots {
		for s != nil {
			next := s.chained
			if !yield(s) {
				return
			}
			s = next
		}
	}
}

// ending is how a stream removed from the table has ended.
type ending uint8

const (
	endUnknown ending = iota // it is forgotten, or never began
	endWell                  // both sides have ended it
	endByUs                  // it was reset: frames that the peer sent before it knew are ignored
	endByPeer                // the peer has reset it
)

// ended remembers how the last streams have ended. Ids have the same lowest bit, which is
// replaced by one of the ending.
type ended struct {
	memory  *endedMemory // nil until there is something to remember
	next    uint8        // in ring
	nextGap uint8
}

type endedMemory struct {
	ring [endedSize]uint32
	gaps *[gapsSize]gap // nil for most peers, which skip none
}

// endedSize makes endedMemory 256 bytes.
const endedSize = 62

// gap is a range of ids that the peer has skipped, first and last included.
type gap struct{ first, last uint32 }

// gapsSize limits the cost of a peer that skips ids all the time. DATA for an older gap is
// handled like DATA for a forgotten stream.
const gapsSize = 8

func (e *ended) remember() *endedMemory {
	if e.memory == nil {
		e.memory = new(endedMemory)
	}
	return e.memory
}

// skip records the ids between two ids that the peer has used. It closes their streams (RFC
// 9113 section 5.1.1).
func (e *ended) skip(before, id uint32) {
	first := (before + 1) | 1
	if first == id {
		return
	}
	m := e.remember()
	if m.gaps == nil {
		m.gaps = new([gapsSize]gap)
	}
	m.gaps[e.nextGap] = gap{first, id - 2}
	e.nextGap = (e.nextGap + 1) % gapsSize
}

// skipped reports whether the stream with an id is known to have never been open.
func (e *ended) skipped(id uint32) bool {
	if e.memory == nil || e.memory.gaps == nil {
		return false
	}
	for _, g := range e.memory.gaps {
		if g.first <= id && id <= g.last {
			return true
		}
	}
	return false
}

func (e *ended) add(id uint32, how ending) {
	e.remember().ring[e.next] = id>>1<<2 | uint32(how)
	e.next = (e.next + 1) % endedSize
}

// find returns how a stream has ended. The newest entry counts.
func (e *ended) find(id uint32) ending {
	if e.memory == nil {
		return endUnknown
	}
	for i := range uint8(endedSize) {
		if w := e.memory.ring[(e.next+endedSize-1-i)%endedSize]; w>>2 == id>>1 && w != 0 {
			return ending(w & 3)
		}
	}
	return endUnknown
}

// trim forgets the streams that both sides have ended: none of their frames are on their
// way any more. Frames of streams that were reset may be, so those and the gaps stay.
func (e *ended) trim() {
	if e.memory == nil || e.memory.gaps != nil {
		return
	}
	for _, w := range e.memory.ring {
		if w != 0 && ending(w&3) != endWell {
			return
		}
	}
	e.memory = nil
}
