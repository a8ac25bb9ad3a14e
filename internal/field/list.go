// Package field implements the ordered list of name/value pairs for headers, query
// arguments, cookies and trailers, and the table of well-known field names.
//
// All text of a list lies in one block of bytes; an entry holds only positions in it.
// Reading a message fills the block with one copy, and looking a value up returns a piece
// of the block. Start with List; names.go has the well-known names.
package field

import (
	"math"
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Span is a run of Len bytes in a block, from Off on. The zero Span is empty.
type Span struct{ Off, Len uint32 }

// Flag is a property of an entry.
type Flag uint8

const (
	// NoValue marks an argument that was written without '='.
	NoValue Flag = 1 << iota
	// BadName marks a field whose name is not a token: it is never sent.
	BadName
	// InTrailers marks a field of the trailer section, which follows the body. The other
	// entries of a list of trailers are announced names.
	InTrailers
	// OnlyTrailers marks a name that the application announced for fields that are in the
	// trailer section only; fields with this name that are in the header section
	// stay there.
	OnlyTrailers
	// ByPeer marks a name that the peer announced. It has no effect on fields that the
	// application sets. It is the weakest kind of announcement; OnlyTrailers is stronger.
	ByPeer
	// InHeader marks a field that stays in the header section although its name is
	// announced.
	InHeader
	// BadValue marks a field that was received in HTTP/2 with an invalid value:
	// with control characters, or with white space at an end. It also marks a
	// received cookie whose value no cookie can have.
	BadValue
	// Quoted marks a cookie that was received with quotes around its value.
	Quoted

	// Spelled marks a field of a header whose name the application has given another
	// spelling than the usual one. Its bit is the one of NoValue, which only arguments have.
	Spelled = NoValue
)

// Entry is one name/value pair: 20 bytes.
type Entry struct {
	Name, Value Span   // in the block of the list
	ID          ID     // of a well-known name, or Unknown
	Flags       Flag   // other properties
	Slack       uint16 // bytes after the value into which it may grow: see List.Store
}

// size returns the number of bytes of the block that belong to the pair.
func (e *Entry) size() uint32 { return e.Name.Len + e.Value.Len + uint32(e.Slack) }

// List is an ordered list of pairs. The zero value is empty and ready for use. The
// slices that it returns keep their content until their value is set again or the
// list is reset. Other changes of the list do not affect them.
type List struct {
	Block   []byte  // all text of the list, including removed pairs
	Entries []Entry // the pairs, in their order
	// Pinned means that there are spans of the block outside of the list. Then only their
	// owner may move text (IsSparse, Compact).
	Pinned bool
	// Changed is set by every method that adds, removes or changes a pair. A caller
	// that must know of later changes clears it.
	Changed bool
	// the text before frozen was received and is never overwritten
	frozen  uint32
	garbage uint32 // bytes of the block that no pair refers to
}

// Reset empties the list and keeps its memory.
func (l *List) Reset() {
	l.Block = l.Block[:0]
	l.Entries = l.Entries[:0]
	l.frozen, l.garbage = 0, 0
	l.Changed = true
}

// Len returns the number of pairs.
func (l *List) Len() int { return len(l.Entries) }

// Bytes returns the text of s. Appending to the result does not touch the block.
func (l *List) Bytes(s Span) []byte {
	end := int(s.Off) + int(s.Len)
	return l.Block[s.Off:end:end]
}

// Name returns the name of pair i.
func (l *List) Name(i int) []byte { return l.Bytes(l.Entries[i].Name) }

// Value returns the value of pair i. It is never nil, even if the list has no text.
func (l *List) Value(i int) []byte { return l.Bytes(l.Entries[i].Value) }

// Freeze marks all text in the block as received from a peer. It is not changed any more:
// values set later are stored after it.
func (l *List) Freeze() { l.frozen = uint32(len(l.Block)) }

// IsFrozen reports whether the text of s is part of the received text.
func (l *List) IsFrozen(s Span) bool { return s.Off+s.Len <= l.frozen }

// Append stores text at the end of the block. It panics if the block would exceed 4 GiB,
// which is far above every limit on received text.
func (l *List) Append(text []byte) Span {
	l.makeRoom(len(text))
	off, end := len(l.Block), len(l.Block)+len(text)
	l.Block = l.Block[:end]
	copy(l.Block[off:], text)
	return Span{uint32(off), uint32(len(text))}
}

// smallestBlock is the least size of a block in bytes: enough for a few pairs.
const smallestBlock = 64

// makeRoom makes room in the block for n more bytes. Afterwards the block has memory,
// even if n is 0.
func (l *List) makeRoom(n int) {
	if end := len(l.Block) + n; end >= cap(l.Block) || uint64(end) > math.MaxUint32 {
		l.grow(n)
	}
}

func (l *List) grow(n int) {
	if !l.Pinned && l.IsSparse() {
		// so that setting a value again and again does not grow the block forever
		l.Compact()
	}
	if uint64(len(l.Block))+uint64(n) > math.MaxUint32 {
		panic("fasthttp: more than 4 GiB of text in one list of fields")
	}
	l.Block = slices.Grow(l.Block, max(n+1, smallestBlock))
}

// Store replaces the text of old by text and returns its new span: in the same place if
// it fits there, otherwise at the end of the block. spare is the number of free bytes
// after old, left by longer texts that were stored there before. So repeated replacements
// need more memory only for a text longer than all before.
func (l *List) Store(old Span, spare *uint16, text []byte) Span {
	room := old.Len + uint32(*spare)
	if size := uint32(len(text)); len(text) <= int(room) && old.Off >= l.frozen {
		if room -= size; room > math.MaxUint16 {
			l.garbage += room - math.MaxUint16
			room = math.MaxUint16
		}
		*spare = uint16(room)
		copy(l.Block[old.Off:], text)
		return Span{old.Off, size}
	}
	l.garbage += room
	*spare = 0
	return l.Append(text)
}

// Add appends a pair and returns its entry, with the id Unknown and without flags.
func (l *List) Add(name, value string) *Entry {
	n, at := len(l.Entries), len(l.Block)
	// as in makeRoom
	if end := at + len(name) + len(value); n >= cap(l.Entries) || end >= cap(l.Block) || uint64(end) > math.MaxUint32 {
		return l.addGrowing(name, value)
	}
	// an Entry as a whole would be made elsewhere and copied
	l.Entries = l.Entries[:n+1]
	e := &l.Entries[n]
	e.Name = Span{uint32(at), uint32(len(name))}
	e.Value = Span{uint32(at + len(name)), uint32(len(value))}
	e.ID, e.Flags, e.Slack = Unknown, 0, 0
	l.Changed = true
	// the block as a whole would be stored with its pointer, which is slower
	l.Block = l.Block[:len(append(append(l.Block, name...), value...))]
	return e
}

// addGrowing is Add for a list that may have no memory for the pair.
func (l *List) addGrowing(name, value string) *Entry {
	l.makeRoom(len(name) + len(value))
	l.Entries = slices.Grow(l.Entries, 1)
	return l.Add(name, value)
}

// Extend makes the list one empty entry longer, and returns that entry.
//
//go:noinline
func (l *List) Extend() *Entry {
	l.Entries = append(l.Entries, Entry{})
	return &l.Entries[len(l.Entries)-1]
}

// SetValue replaces the value of pair i and its flags.
func (l *List) SetValue(i int, value string, flags Flag) {
	l.Changed = true
	e := &l.Entries[i]
	e.Value = l.Store(e.Value, &e.Slack, bytesconv.Bytes(value))
	e.Flags = flags
}

// RemoveEach removes pairs from the list: the one at first, and those at the
// positions that next returns. next returns the first such position at or after
// from; first and the result of next are negative if there is none. The other pairs
// keep their order. RemoveEach takes time in proportion to the length of the list.
func (l *List) RemoveEach(first int, next func(from int) int) {
	if first < 0 {
		return
	}
	l.Changed = true
	kept := first
	for at := first; at >= 0; {
		e := &l.Entries[at]
		l.garbage += e.size()
		behind := at + 1
		// the pairs that were moved are before those for next
		at = next(behind)
		end := at
		if at < 0 {
			end = len(l.Entries)
		}
		kept += copy(l.Entries[kept:], l.Entries[behind:end])
	}
	l.Entries = l.Entries[:kept]
}

// RemoveAll removes all pairs whose name is name, byte for byte. It takes time in
// proportion to the length of the list.
func (l *List) RemoveAll(name string) {
	kept := l.Find(name, 0)
	if kept < 0 {
		return
	}
	l.Changed = true
	entries := l.Entries
	l.garbage += entries[kept].size()
	for i := kept + 1; i < len(entries); i++ {
		e := &entries[i]
		if string(l.Bytes(e.Name)) == name {
			l.garbage += e.size()
			continue
		}
		entries[kept] = *e
		kept++
	}
	l.Entries = l.Entries[:kept] // entries would be stored with its pointer, which is slower
}

// RemoveID removes all pairs with the well-known name id at or after the position
// from.
func (l *List) RemoveID(id ID, from int) {
	l.RemoveEach(l.FindID(id, from), func(from int) int { return l.FindID(id, from) })
}

// Find returns the position of the first pair at or after from whose name is
// name, byte for byte, or -1.
func (l *List) Find(name string, from int) int {
	if len(name) < 4 {
		return l.findAny(name, from)
	}
	entries, block, text, n := l.Entries, l.Block, bytesconv.Bytes(name), len(name)
	first, last := bytesconv.Half(text, 0), bytesconv.Half(text, n-4)
	for i := uint(from); i < uint(len(entries)); i++ {
		e := &entries[i]
		if int(e.Name.Len) != n {
			continue
		}
		at, end := int(e.Name.Off), int(e.Name.Off)+n
		if end > len(block) || bytesconv.Half(block, at) != first || bytesconv.Half(block, end-4) != last {
			continue
		}
		if n > 16 {
			// a call in this loop would make it slower for all names
			return l.findAny(name, int(i))
		}
		if n <= 8 || bytesconv.Word(block, at) == bytesconv.Word(text, 0) && bytesconv.Word(block, end-8) == bytesconv.Word(text, n-8) {
			return int(i)
		}
	}
	return -1
}

// findAny is Find for a short or long name, or one that has probably been found.
func (l *List) findAny(name string, from int) int {
	for i := from; i < len(l.Entries); i++ {
		if e := &l.Entries[i]; int(e.Name.Len) == len(name) && string(l.Bytes(e.Name)) == name {
			return i
		}
	}
	return -1
}

// Get returns the value of the first pair whose name is name, byte for byte, or
// nil. The compiler inlines it, and then compares a constant name as a number, which
// is as fast as comparing one byte.
func (l *List) Get(name string) []byte {
	entries := l.Entries
	for i := range entries {
		e := &entries[i]
		if int(e.Name.Len) != len(name) {
			continue
		}
		if at := int(e.Name.Off); string(l.Block[at:at+len(name)]) == name {
			return l.Bytes(e.Value)
		}
	}
	return nil
}

// FindFold is like Find, without regard to the case of ASCII letters. id must be the
// id of name (see Lookup): FindFold skips pairs with another id.
func (l *List) FindFold(id ID, name []byte, from int) int {
	for i := from; i < len(l.Entries); i++ {
		e := &l.Entries[i]
		if e.ID != id {
			continue
		}
		if id != Unknown || ascii.EqualFold(l.Bytes(e.Name), name) {
			return i
		}
	}
	return -1
}

// FindID returns the position of the first pair at or after from with the
// well-known name id, or -1.
func (l *List) FindID(id ID, from int) int {
	for i := from; i < len(l.Entries); i++ {
		if l.Entries[i].ID == id {
			return i
		}
	}
	return -1
}

// CopyFrom makes l a copy of src.
func (l *List) CopyFrom(src *List) {
	l.Block = append(slices.Grow(l.Block[:0], max(len(src.Block), 1)), src.Block...)
	l.Entries = append(l.Entries[:0], src.Entries...)
	l.frozen, l.garbage = src.frozen, src.garbage
	l.Changed = true
}

// Separate gives the list its own memory, after the List value was copied.
func (l *List) Separate() {
	l.Block = append([]byte(nil), l.Block...)
	l.Entries = append([]Entry(nil), l.Entries...)
}

// compactFrom is the size under which a block is never worth tidying.
const compactFrom = 4 << 10

// IsSparse reports whether so much of the block is garbage that Compact is worth it.
func (l *List) IsSparse() bool {
	return l.garbage >= compactFrom && l.garbage >= uint32(len(l.Block))/2
}

// Compact moves the text of all pairs and of the spans in also to a new block. The old
// block is left unchanged: slices of it may be in use. The spare bytes of entries
// are dropped.
func (l *List) Compact(also ...*Span) {
	used := 0
	for i := range l.Entries {
		used += int(l.Entries[i].Name.Len + l.Entries[i].Value.Len)
	}
	old := l.Block
	l.Block = make([]byte, 0, 2*used+compactFrom)
	move := func(s *Span) { *s = l.Append(old[s.Off : s.Off+s.Len]) }
	for i := range l.Entries {
		move(&l.Entries[i].Name)
		move(&l.Entries[i].Value)
		l.Entries[i].Slack = 0
	}
	for _, s := range also {
		move(s)
	}
	l.garbage = 0
	if l.frozen != 0 {
		// received text was moved, too, and must still not be overwritten
		l.Freeze()
	}
}

// entrySize is the size of an Entry.
const entrySize = 20

// AppendLines appends entries for the lines from w.At on, as long as they are complete and
// have the usual form: a name of at most 31 bytes, well known and normalised, a colon, a
// space, a value without tabs and without blanks at its ends, CRLF, and a byte that shows
// that the value does not continue. It stops at any other line, and at lines with an effect.
//
// It may read, but does not use, up to 32 bytes between the length and the capacity of
// w.Text. It must not be called unless Wide is set.
func (l *List) AppendLines(w *Walk) {
	// A value that ends before an end of line and one more byte of the text is not searched
	// further. Without that bound the search could go through all memory after the text.
	w.last, w.room = min(cap(w.Text)-32, len(w.Text)-3), cap(l.Entries)-len(l.Entries)
	n := appendLines(w, l.Entries)
	l.Entries = l.Entries[:len(l.Entries)+n/entrySize]
}
