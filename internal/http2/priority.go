package http2

import (
	"encoding/binary"

	"github.com/valyala/fasthttp/internal/ascii"
)

// defaultUrgency is the urgency of a request without one.
const defaultUrgency = 3

// priority is the order of a response among others (RFC 9218 section 4).
type priority struct {
	urgency     uint8
	incremental bool
}

var defaultPriority = priority{urgency: defaultUrgency}

// parsePriority reads the value of a Priority field, a dictionary of RFC 8941, and returns
// p with the changes. Malformed parts have no effect (RFC 9218 section 4).
func parsePriority(p priority, value []byte) priority {
	for rest := value; rest != nil; {
		var member []byte
		member, rest = ascii.NextElement(rest)
		switch {
		case len(member) == 3 && member[0] == 'u' && member[1] == '=' && member[2] >= '0' && member[2] <= '7':
			p.urgency = member[2] - '0'
		case string(member) == "i", string(member) == "i=?1":
			p.incremental = true
		case string(member) == "i=?0":
			p.incremental = false
		}
	}
	return p
}

// SetPriority sets the priority of a stream's content from the Priority field of the
// response. Parameters that the field does not have stay as in the request (RFC 9218
// section 8).
func (c *Conn) SetPriority(s *Stream, value []byte) {
	c.setPriority(s, parsePriority(priority{s.urgency, s.incremental}, value))
}

func (c *Conn) setPriority(s *Stream, p priority) {
	s.urgency, s.incremental = p.urgency, p.incremental
	if s.place == inReady {
		c.ready.remove(s)
		c.schedule(s)
	}
}

// receivePriorityUpdate changes the priority of a request (RFC 9218 section 7.1). A request
// that has not arrived yet has a field of its own.
func (c *Conn) receivePriorityUpdate(f *frame, p []byte) (Event, *Error) {
	switch {
	case c.role == Client:
		return Event{}, ErrPriorityUpdate
	case f.id != 0:
		return Event{}, ErrStreamID
	case len(p) < 4:
		return Event{}, ErrFrameSize
	}
	id := binary.BigEndian.Uint32(p) & maxID
	if id&1 == 0 {
		return Event{}, ErrPriorityUpdate
	}
	if s := c.table.find(id); s != nil {
		c.setPriority(s, parsePriority(defaultPriority, p[4:]))
	}
	return Event{}, c.glitch()
}
