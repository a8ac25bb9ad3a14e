package hpack

import (
	"math"
	"slices"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Decoder decodes the header blocks that one connection receives. The zero value is not
// ready for use: call Init.
type Decoder struct {
	t            table
	allowed      uint32 // the largest size that the peer may choose
	acknowledged bool   // the peer knows of allowed
	normalized   bool   // names in the table are normalised
}

// Limits limits the fields of a block that Decode stores, and sets their form. Zero stores
// nothing.
type Limits struct {
	// Size limits the size of all fields: name, value and 32 bytes for each (RFC 9113
	// section 6.5.2).
	Size uint32
	// Fields is their number, without pseudo-fields, which heads of HTTP/1 have in their first line.
	Fields int
	// Normalize requests names in their normalised form (see field.Normalize), which leaves
	// names of pseudo-fields as they are.
	Normalize bool
	// Valid reports whether a value of a pseudo-field is allowed. All are if Valid is nil.
	// Decode calls it only once for a field in the table, so it must be the same for all
	// blocks.
	Valid func(id field.ID, value []byte) bool
}

// Init prepares d for a connection whose SETTINGS_HEADER_TABLE_SIZE is maxTable. d may be
// reused. The table has the size that RFC 9113 prescribes, 4096, until the peer changes it;
// memory is allocated only for the entries that the peer adds.
func (d *Decoder) Init(maxTable uint32) {
	d.t.init(initialSize)
	d.allowed, d.acknowledged = maxTable, false
}

// Trim releases memory that the table does not need as it is.
func (d *Decoder) Trim() { d.t.trim() }

// Acknowledged is called when the peer has acknowledged the setting. If the table is
// larger, the next block must begin with a size update (RFC 7541 section 4.2).
func (d *Decoder) Acknowledged() { d.acknowledged = true }

// Decode appends the fields of block, a whole header block, to l in their order. Their text
// is copied to l.Block. Entry.ID is the id of a well-known name, or of a pseudo-field.
// Entry.Flags has BadName if the received name is not allowed in HTTP/2: allowed is a token
// without upper-case letters, or such a token after a colon. It has BadValue if HTTP/2 or
// Limits.Valid does not allow the value. Decode examines a field in the table only once.
//
// If a field exceeds max, Decode stores neither it nor any field after it, but decodes the
// rest of the block, so that the table stays equal to the peer's, and returns ErrTooLarge.
// After every other error d must not be used.
func (d *Decoder) Decode(l *field.List, block []byte, max Limits) error {
	l.Changed = true
	if l.Block == nil {
		l.Block = make([]byte, 0, 2*len(block)+64)
	}
	if d.normalized != max.Normalize {
		d.normalize(max.Normalize)
	}
	block, err := d.sizeUpdates(block)
	if err != nil {
		return err
	}
	b := budget{limits: max}
	for len(block) > 0 {
		n, err := d.indexed(l, block, &b)
		if err != nil {
			return err
		}
		if block = block[n:]; len(block) == 0 {
			break
		}
		var e field.Entry
		if block, err = d.field(l, &e, block, max.Valid); err != nil {
			return err
		}
		if b.spend(&e) {
			l.Entries = append(l.Entries, e)
			continue
		}
		l.Block = l.Block[:e.Name.Off]
		if b.isExceeded(2) {
			return ErrExcessive
		}
	}
	if b.isExceeded(1) {
		return ErrTooLarge
	}
	return nil
}

// budget counts the fields of a block.
type budget struct {
	limits Limits
	size   uint64
	fields int
}

// spend counts a field, and reports whether to store it. After a field without room, none is
// stored.
func (b *budget) spend(e *field.Entry) bool {
	b.size += uint64(e.Name.Len) + uint64(e.Value.Len) + entryOverhead
	if !IsPseudo(e.ID) {
		b.fields++
	}
	return !b.isExceeded(1)
}

// isExceeded reports whether the fields exceed the limits by a factor.
func (b *budget) isExceeded(factor int) bool {
	return b.size > uint64(factor)*uint64(b.limits.Size) || b.fields > factor*b.limits.Fields
}

// normalize changes the form of the names in the table. A name received in upper case is
// not restored; BadName remains.
func (d *Decoder) normalize(to bool) {
	change := ascii.ToLower
	if to {
		change = field.Normalize
	}
	for i := range d.t.n {
		change(d.t.name(d.t.at(i)))
	}
	d.normalized = to
}

// maxSizeUpdates is how many size updates may begin a block: the smallest size since the
// last block, and the current one (RFC 7541 section 4.2).
const maxSizeUpdates = 2

// sizeUpdates applies the size updates at the beginning of a block.
func (d *Decoder) sizeUpdates(block []byte) (rest []byte, err error) {
	for range maxSizeUpdates {
		if len(block) == 0 || block[0]&0xe0 != 0x20 {
			break
		}
		var size uint32
		if size, block, err = readInt(block, 5); err != nil {
			return nil, err
		}
		if size > d.allowed {
			return nil, ErrSizeUpdate
		}
		d.t.setMax(size)
	}
	if d.acknowledged && d.t.max > d.allowed {
		return nil, ErrSizeUpdate
	}
	return block, nil
}

// indexed appends the fields at the beginning of block that are one byte each, as nearly
// all are, and returns how many it has appended. It stops before a field that exceeds the
// limits.
func (d *Decoder) indexed(l *field.List, block []byte, b *budget) (n int, err error) {
	text, entries, size, fields := l.Block, l.Entries, b.size, b.fields
	for _, c := range block {
		if c <= 0x80 || c == 0xff || fields >= b.limits.Fields {
			break
		}
		t, known := d.find(uint32(c & 0x7f))
		if known == nil {
			err = ErrIndex
			break
		}
		with := size + uint64(known.len()) + entryOverhead
		if with > uint64(b.limits.Size) {
			break
		}
		off := uint32(len(text))
		text, size = append(text, t.all(known)...), with
		if len(entries) == cap(entries) {
			entries = slices.Grow(entries, 1)
		}
		entries = entries[:len(entries)+1]
		set(&entries[len(entries)-1], off, known.nameLen, known.valueLen, known.id, known.flags)
		if !IsPseudo(known.id) {
			fields++
		}
		n++
	}
	l.Block, l.Entries, b.size, b.fields = text, entries, size, fields
	return n, err
}

// set sets an entry. Its text begins at off, with the value after the name.
func set(e *field.Entry, off, nameLen, valueLen uint32, id field.ID, flags field.Flag) {
	e.Name.Off, e.Name.Len = off, nameLen
	e.Value.Off, e.Value.Len = off+nameLen, valueLen
	e.ID, e.Flags, e.Slack = id, flags, 0
}

// field decodes a field. It appends the text to l, and sets e accordingly.
func (d *Decoder) field(l *field.List, e *field.Entry, block []byte, valid func(field.ID, []byte) bool) (rest []byte, err error) {
	if block[0] < 0x80 {
		return d.literal(l, e, block, valid)
	}
	// RFC 7541 section 6.1
	index, rest, err := readInt(block, 7)
	if err != nil {
		return nil, err
	}
	t, known := d.find(index)
	if known == nil {
		return nil, ErrIndex
	}
	off := uint32(len(l.Block))
	l.Block = append(l.Block, t.all(known)...)
	set(e, off, known.nameLen, known.valueLen, known.id, known.flags)
	return rest, nil
}

// find returns the table and the entry for an index, or nil.
func (d *Decoder) find(index uint32) (*table, *entry) {
	if i := index - dynamicIndex; i < d.t.n {
		return &d.t, d.t.at(i)
	}
	if index == 0 || index >= dynamicIndex {
		return nil, nil
	}
	t := &static
	if d.normalized {
		t = &staticNormalized
	}
	return t, &t.ring[index]
}

// literal is field for a literal (RFC 7541 section 6.2).
func (d *Decoder) literal(l *field.List, e *field.Entry, block []byte, valid func(field.ID, []byte) bool) (rest []byte, err error) {
	first, prefix := block[0], uint(4)
	if first&0xe0 == 0x20 {
		// a size update after a field, or one too many
		return nil, ErrSizeUpdate
	}
	store := first&0xc0 == 0x40
	if store {
		prefix = 6
	}
	index, block, err := readInt(block, prefix)
	if err != nil {
		return nil, err
	}
	off := len(l.Block)
	var id field.ID
	var flags field.Flag
	if index != 0 {
		id, flags, err = d.appendName(l, index)
	} else if block, err = appendString(l, block); err == nil {
		id, flags = d.examineName(l.Block[off:])
	}
	if err != nil {
		return nil, err
	}
	nameLen := len(l.Block) - off
	if block, err = appendString(l, block); err != nil {
		return nil, err
	}
	text := l.Block[off:]
	if isBadValue(text[nameLen:]) || IsPseudo(id) && valid != nil && !valid(id, text[nameLen:]) {
		flags |= field.BadValue
	}
	if store {
		d.t.add(text[:nameLen], text[nameLen:], id, flags)
	}
	set(e, uint32(off), uint32(nameLen), uint32(len(text)-nameLen), id, flags)
	return block, nil
}

// appendName appends the name at an index, which is not 0, to l.Block.
func (d *Decoder) appendName(l *field.List, index uint32) (field.ID, field.Flag, error) {
	t, known := d.find(index)
	if known == nil {
		return 0, 0, ErrIndex
	}
	l.Block = append(l.Block, t.name(known)...)
	return known.id, known.flags & field.BadName, nil
}

// examineName returns the id of a received name and its flags, and normalises it if
// requested.
func (d *Decoder) examineName(name []byte) (id field.ID, flags field.Flag) {
	if isBadName(name) {
		flags = field.BadName
	}
	id = lookup(name)
	switch {
	case !d.normalized:
	case id == field.Unknown || IsPseudo(id):
		field.Normalize(name)
	default:
		copy(name, id.String())
	}
	return id, flags
}

// isBadName reports whether RFC 9113 section 8.2.1 forbids a name. One leading colon marks
// a pseudo-field.
func isBadName(name []byte) bool {
	if len(name) > 0 && name[0] == ':' {
		name = name[1:]
	}
	for _, c := range name {
		if c != ascii.Lower(c) {
			return true
		}
	}
	return !ascii.IsToken(name)
}

// isBadValue reports whether RFC 9113 section 8.2.1 forbids a value, or RFC 9110 section
// 5.5 does: control characters, and white space at an end.
func isBadValue(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	if ascii.IsBlank(value[0]) || ascii.IsBlank(value[len(value)-1]) {
		return true
	}
	return ascii.HasControl(value) && !ascii.All(value, ascii.FieldByte)
}

// appendString decodes a string (RFC 7541 section 5.2) and appends it to l.Block.
func appendString(l *field.List, p []byte) (rest []byte, err error) {
	if len(p) == 0 {
		return nil, ErrTruncated
	}
	n, rest, err := readInt(p, 7)
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(len(rest)) {
		return nil, ErrTruncated
	}
	if p[0] < 0x80 {
		l.Block = append(l.Block, rest[:n]...)
		return rest[n:], nil
	}
	l.Block = slices.Grow(l.Block, huffmanRoom(int(n)))
	text, ok := decodeHuffman(l.Block, rest[:n])
	if !ok {
		return nil, ErrHuffman
	}
	l.Block = text
	return rest[n:], nil
}

// maxContinuation is how many bytes may follow the prefix of an integer. Five hold every
// number of 32 bits; an encoder that sends more pads with zeros.
const maxContinuation = 5

// readInt reads an integer (RFC 7541 section 5.1) whose first byte is p[0], with a prefix
// of the given number of bits. It returns the bytes after the integer.
func readInt(p []byte, prefix uint) (n uint32, rest []byte, err error) {
	most := uint32(1)<<prefix - 1
	if n = uint32(p[0]) & most; n < most {
		return n, p[1:], nil
	}
	sum := uint64(most)
	for i, c := range p[1:] {
		if i == maxContinuation {
			return 0, nil, ErrInteger
		}
		sum += uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if sum > math.MaxUint32 {
			return 0, nil, ErrInteger
		}
		return uint32(sum), p[i+2:], nil
	}
	return 0, nil, ErrTruncated
}
