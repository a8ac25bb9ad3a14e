package qpack

import (
	"slices"
	"sync"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
)

// EncoderTable is the dynamic table for the sections of one connection. They refer only to entries that the
// peer's decoder has acknowledged, so none ever waits for entries.
//
// Its methods may be called by several goroutines at once.
type EncoderTable struct {
	capacity   uint32
	maxEntries uint64 // as the peer counts them, for the head of a section

	mu      sync.Mutex // guards the fields below
	d       hpack.Dynamic
	pins    []uint32 // for each entry, by its number: the sections that refer to it and to no older one
	acked   uint32   // how many insertions the peer has acknowledged
	sent    uint32   // how many insertions were taken by Instructions
	pending []byte   // instructions that were not taken
	writing bool     // a caller takes Instructions until there are none
	waiting []sentSection
	seen    [seenKeys]uint32 // keys of fields that were sent before, by a part of the key
}

// sentSection is an unacknowledged section.
type sentSection struct {
	stream uint64
	oldest uint32 // the first entry that it refers to
}

const (
	// seenKeys is how many fields are remembered that were sent once. It is a power of two.
	seenKeys = 64
	// maxWaiting is how many sections may wait for acknowledgments: a peer that sends none gets
	// sections without the table.
	maxWaiting = 256
	// lastEntry is the highest number of an entry, so that numbers do not wrap around.
	lastEntry = 1<<32 - 2
)

// NewEncoderTable returns a table of at most limit bytes for a peer whose
// SETTINGS_QPACK_MAX_TABLE_CAPACITY is allowed. It returns nil if there is no room for an entry.
func NewEncoderTable(limit uint32, allowed uint64) *EncoderTable {
	capacity := min(uint64(limit), allowed)
	if capacity <= hpack.EntryOverhead {
		return nil
	}
	t := &EncoderTable{capacity: uint32(capacity), maxEntries: allowed / hpack.EntryOverhead}
	t.pins = make([]uint32, 8)
	t.pending = hpack.AppendInt(nil, 0x20, 5, capacity)
	return t
}

// Instructions appends the bytes that are to be sent on the stream of the encoder. After End or Drop has
// reported that there are some, the caller calls it until it appends none.
func (t *EncoderTable) Instructions(dst []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = len(t.pending) > 0
	dst = append(dst, t.pending...)
	t.pending, t.sent = t.pending[:0], t.d.Next()
	return dst
}

// pin returns the count of sections of an entry.
func (t *EncoderTable) pin(number uint32) *uint32 { return &t.pins[number&uint32(len(t.pins)-1)] }

// lookup is a result of EncoderTable.find.
type lookup uint8

const (
	missing  lookup = iota
	unusable        // the entry may not have arrived
	usable
)

// find finds a field, and notes that s refers to its entry.
func (t *EncoderTable) find(s *Section, key uint32, id field.ID, name, value []byte) (number uint32, found lookup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.begun {
		s.begun, s.base = true, t.acked
		if len(t.waiting) >= maxWaiting {
			s.base = 0
		}
	}
	number, ok := t.d.Find(key, id, name, value)
	switch {
	case !ok:
		return 0, missing
	case number >= s.base:
		return 0, unusable
	}
	if s.required == 0 || number < s.oldest {
		*t.pin(number)++
		if s.required > 0 {
			*t.pin(s.oldest)--
		}
		s.oldest = number
	}
	s.required = max(s.required, number+1)
	return number, usable
}

// note notes that a field was sent which is in no table, and inserts it if it was sent before. index is
// the index of its name in the static table, or -1.
func (t *EncoderTable) note(s *Section, key uint32, id field.ID, index int, name, value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := &t.seen[key%seenKeys]; *last != key {
		*last = key
	} else if t.insert(key, id, index, name, value) {
		// once it was evicted it must be seen twice again
		*last, s.inserts = 0, true
	}
}

// insert inserts a field, unless it is there, or older entries that would make room for it are in use.
func (t *EncoderTable) insert(key uint32, id field.ID, index int, name, value []byte) bool {
	if id != field.Unknown {
		name = hpack.LowerName(id)
	}
	size := uint64(len(name)) + uint64(len(value)) + hpack.EntryOverhead
	if size > uint64(t.capacity) || t.d.Next() == lastEntry {
		return false
	}
	if _, ok := t.d.Find(key, id, name, value); ok {
		// another section was faster
		return false
	}
	used := uint64(t.d.Size()) + size
	for oldest := t.d.Next() - t.d.Len(); used > uint64(t.capacity); oldest++ {
		if oldest >= t.acked || *t.pin(oldest) > 0 {
			return false
		}
		used -= uint64(t.d.SizeOf(oldest))
	}
	if int(t.d.Len()) == len(t.pins) {
		t.growPins()
	}
	*t.pin(t.d.Next()) = 0
	if index >= 0 {
		t.pending = hpack.AppendInt(t.pending, 0xc0, 6, uint64(index))
	} else {
		t.pending = hpack.AppendText(t.pending, 0x40, 5, name, true)
	}
	t.pending = hpack.AppendText(t.pending, 0, 7, value, false)
	t.d.Add(t.capacity, key, id, name, value)
	return true
}

// growPins doubles the room of pins.
func (t *EncoderTable) growPins() {
	old := t.pins
	t.pins = make([]uint32, 2*len(old))
	for n := t.d.Next() - t.d.Len(); n < t.d.Next(); n++ {
		*t.pin(n) = old[n&uint32(len(old)-1)]
	}
}

// end ends a section, which is not sent if drop is set. starts reports whether Instructions must be called.
func (t *EncoderTable) end(s *Section, drop bool) (starts bool) {
	if s.required == 0 && !s.inserts {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s.required == 0:
	case drop:
		*t.pin(s.oldest)--
	default:
		t.waiting = append(t.waiting, sentSection{s.stream, s.oldest})
	}
	starts = s.inserts && !t.writing
	t.writing = t.writing || starts
	return starts
}

// acknowledge handles the acknowledgment of the oldest section of a stream (RFC 9204 section 4.4.1). All
// entries that it has referred to were acknowledged before.
func (t *EncoderTable) acknowledge(stream uint64) error {
	for i := range t.waiting {
		if w := &t.waiting[i]; w.stream == stream {
			*t.pin(w.oldest)--
			t.waiting = slices.Delete(t.waiting, i, i+1)
			return nil
		}
	}
	return ErrDecoderStream
}

// cancel handles the cancellation of a stream, which may have had no section (RFC 9204 section 4.4.2).
func (t *EncoderTable) cancel(stream uint64) {
	kept := t.waiting[:0]
	for _, w := range t.waiting {
		if w.stream == stream {
			*t.pin(w.oldest)--
		} else {
			kept = append(kept, w)
		}
	}
	t.waiting = kept
}

// increment handles the acknowledgment of insertions (RFC 9204 section 4.4.3).
func (t *EncoderTable) increment(n uint64) error {
	if n == 0 || n > uint64(t.sent-t.acked) {
		return ErrDecoderStream
	}
	t.acked += uint32(n)
	return nil
}

// Section is the encoder of a field section, with an EncoderTable.
type Section struct {
	Encoder hpack.Encoder // appends the fields

	t        *EncoderTable
	stream   uint64
	from     int    // where the section begins
	size     uint64 // as RFC 9114 section 4.2.2 counts it
	begun    bool   // base is set
	inserts  bool   // there are new instructions
	base     uint32 // entries before it may be used
	required uint32 // the number after the last entry that the section refers to, or 0
	oldest   uint32 // the first entry that the section refers to, if required is not 0
	state    uint64
}

var sections = sync.Pool{New: func() any {
	s := new(Section)
	s.Encoder.InitForm(s)
	return s
}}

// maxPrefix is the room for the two numbers at the beginning of a section.
const maxPrefix = 20

// Begin begins a section of a stream. It is ended by End or Drop.
func (t *EncoderTable) Begin(dst []byte, stream uint64) ([]byte, *Section) {
	s := sections.Get().(*Section)
	s.t, s.stream, s.from = t, stream, len(dst)
	var room [maxPrefix]byte
	return append(dst, room[:]...), s
}

// Size returns the size of the section as RFC 9114 section 4.2.2 counts it.
func (s *Section) Size() uint64 { return s.size }

// End returns the section, which ends at the end of b and is a part of it. starts reports whether the
// caller must send Instructions. s must not be used any more.
func (s *Section) End(b []byte) (section []byte, starts bool) {
	var room [maxPrefix]byte
	head := append(room[:0], 0, 0)
	if s.required > 0 {
		// RFC 9204 section 4.5.1
		head = hpack.AppendInt(room[:0], 0, 8, uint64(s.required)%(2*s.t.maxEntries)+1)
		head = hpack.AppendInt(head, 0, 7, uint64(s.base-s.required))
	}
	section = b[s.from+maxPrefix-len(head):]
	copy(section, head)
	return section, s.free(false)
}

// Drop ends a section without sending it. Its result is starts of End.
func (s *Section) Drop() (starts bool) { return s.free(true) }

func (s *Section) free(drop bool) (starts bool) {
	starts = s.t.end(s, drop)
	*s = Section{Encoder: s.Encoder, state: s.state}
	sections.Put(s)
	return starts
}

// State implements hpack.Form. It is never the same, since a section must note its entries.
func (s *Section) State() uint64 {
	s.state++
	return s.state
}

// AppendStatus implements hpack.Form.
func (s *Section) AppendStatus(dst []byte, code int) []byte {
	s.size += uint64(len(":status")) + 3 + hpack.EntryOverhead
	return Encoder{}.AppendStatus(dst, code)
}

// AppendLength implements hpack.Form.
func (s *Section) AppendLength(dst []byte, n int) []byte {
	s.size += uint64(len("content-length")) + 1 + hpack.EntryOverhead
	for rest := n; rest >= 10; rest /= 10 {
		s.size++
	}
	return Encoder{}.AppendLength(dst, n)
}

// AppendField implements hpack.Form.
func (s *Section) AppendField(dst []byte, id field.ID, name, value []byte, how hpack.Indexing) []byte {
	if id != field.Unknown {
		name = hpack.LowerName(id)
	}
	s.size += uint64(len(name)) + uint64(len(value)) + hpack.EntryOverhead
	if how != hpack.Index || id == field.Date {
		// a date holds for a second
		return Encoder{}.AppendField(dst, id, name, value, how)
	}
	// the static table has few fields with other names, and finds them slowly
	late := id == field.Unknown && len(name) > 0 && name[0] != ':'
	index, full := -1, false
	if !late {
		if index, full = find(id, name, value); full {
			return hpack.AppendInt(dst, 0xc0, 6, uint64(index))
		}
	}
	key := hpack.KeyOf(id, name, value)
	number, found := s.t.find(s, key, id, name, value)
	if found == usable {
		return hpack.AppendInt(dst, 0x80, 6, uint64(s.base-1-number))
	}
	if late {
		if index, full = find(id, name, value); full {
			return hpack.AppendInt(dst, 0xc0, 6, uint64(index))
		}
	}
	if found == missing {
		s.t.note(s, key, id, index, name, value)
	}
	return appendLiteral(dst, index, name, value, 0)
}
