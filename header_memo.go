package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// memo remembers the head of a message and the result of parsing it.
//
// A client mostly sends the same fields with each request, and only its request line
// differs. A server sends the same fields within the same second. One comparison
// shows that the field lines are those of the last message. Then the header need not
// parse, check and sort them: the same bytes mean the same, given the same protocol
// and status. If the request line is the same as well, it need not be parsed either.
//
// The memo learns fields only if they are as long as those of the last message, so
// that it does not learn in vain if all messages differ.
type memo struct {
	raw  []byte // the head as it was received, with the empty line
	text []byte // its field lines with normalized names
	line http1.StartLine

	facts         http1.Facts
	entries       []field.Entry
	slots         [numSlots]field.Span
	contentLength int
	state         headerState

	size     int // of the field lines that were read last
	learning bool
	recalled bool // the field lines of the current head are those remembered
	whole    bool // and so is its start line
	// useful means that the memo was recalled at least once since it has learned.
	// If it was not, it waits for more and more heads before it learns again.
	useful        bool
	penalty, wait uint8
	misses        uint8 // heads in a row that were not what is remembered
}

// maxMisses is the number of misses in a row after which the memo forgets, which
// spares the comparisons.
const maxMisses = 4

// maxPenalty is the largest number of heads that the memo skips before it learns one.
const maxPenalty = 63

// memoLimit is the size of the field lines, and of the start line, in bytes over which
// the memo does not learn.
const memoLimit = 2 << 10

// recall reads a head from b if its field lines are those that the memo remembers. It
// returns the length of the head, or 0 if they are not.
func (h *header) recall(role http1.Role, b []byte) (n int, err error) {
	m := h.memo
	m.recalled = false
	m.whole = len(m.text) > 0 && bytes.HasPrefix(b, m.raw)
	if m.whole {
		h.head.StartLine = m.line
		err = h.head.CheckStartLine(role)
	} else if at, err := h.head.ParseStartLine(role, b); at == 0 || err != nil {
		return 0, err
	}
	from := h.head.Fields
	if len(m.text) == 0 {
		// line and raw may be of different heads
		m.watch(b, from)
		return 0, err
	}
	lines := m.raw[m.line.Fields:]
	n = from + len(lines)
	m.recalled = err == nil && m.state&configured == h.state&configured && h.head.CheckSize(n) == nil &&
		(m.whole || bytes.HasPrefix(b[from:], lines) && m.line.Minor == h.head.Minor && m.line.Status == h.head.Status)
	if !m.recalled {
		m.whole = false
		m.watch(b, from)
		return 0, err
	}
	m.useful, m.misses = true, 0
	h.list.Block = append(append(h.list.Block[:0], b[:from]...), m.text...)
	h.list.Entries = append(h.list.Entries[:0], m.entries...)
	h.list.KeepsPlace = true
	h.list.Freeze()
	h.slots = m.slots
	if from != m.line.Fields {
		h.move(uint32(from) - uint32(m.line.Fields))
	}
	h.adoptStartLine(role)
	h.raw = field.Span{Off: uint32(from), Len: uint32(len(m.text))}
	h.head.Facts = m.facts
	h.contentLength, h.state = m.contentLength, m.state
	return n, nil
}

// move adds by to the offsets of the field lines. The addition wraps around for a
// negative distance.
func (h *header) move(by uint32) {
	for i := range h.list.Entries {
		h.list.Entries[i].Name.Off += by
		h.list.Entries[i].Value.Off += by
	}
	for i := range h.slots {
		if h.slots[i].Len > 0 {
			h.slots[i].Off += by
		}
	}
}

// watch copies a head that the memo will learn, before parsing normalizes the names
// of its fields. The field lines begin at from.
func (m *memo) watch(b []byte, from int) {
	m.learning = m.size <= memoLimit && from <= memoLimit && len(b)-from >= m.size && m.wait == 0
	if m.wait > 0 {
		m.wait--
	}
	if m.learning {
		m.text = m.text[:0]
		m.raw = append(m.raw[:0], b[:from+m.size]...)
	}
}

// rests reports whether the memo neither remembers a head nor learns the next one.
func (m *memo) rests() bool {
	if len(m.text) > 0 || m.wait == 0 {
		return false
	}
	m.wait--
	m.learning = false
	return true
}

// learn makes m remember the field lines that were just read and checked, if they are
// as long as the last ones. It skips heads with a Trailer or Transfer-Encoding field,
// which have further effects.
func (h *header) learn(m *memo) {
	if m == nil || m.recalled {
		return
	}
	size := len(h.list.Block) - h.head.Fields
	if m.size != size || !m.learning || h.raw.Len == 0 || h.head.Has(http1.HasCoding|http1.HasTrailer) {
		m.size = size
		if m.misses++; m.misses >= maxMisses {
			m.text, m.misses = m.text[:0], 0
		}
		return
	}
	m.misses = 0
	if m.penalty = 2*m.penalty + 1; m.useful {
		m.penalty = 0
	}
	m.wait = min(m.penalty, maxPenalty)
	m.penalty = m.wait
	m.useful = false
	m.line, m.facts = h.head.StartLine, h.head.Facts
	m.text = append(m.text[:0], h.list.Block[m.line.Fields:]...)
	m.entries = append(m.entries[:0], h.list.Entries...)
	m.slots = h.slots
	m.contentLength, m.state = h.contentLength, h.state
}
