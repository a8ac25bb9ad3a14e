// Package qpack is the compression of fields in HTTP/3 (RFC 9204). It does no I/O: the caller
// passes the bytes of streams on. Integers, Huffman code and the rules for text are in
// package hpack. Start with Decoder.Decode, and Encoder.AppendField.
package qpack

import (
	"errors"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
)

// Errors of Decoder. ErrTooLarge and ErrBlocked leave it usable. All others end the connection.
var (
	ErrTooLarge      = hpack.ErrTooLarge
	ErrExcessive     = hpack.ErrExcessive
	ErrBlocked       = errors.New("http3: the field section needs entries that have not arrived")
	ErrDecompression = errors.New("http3: malformed field section")
	ErrEncoderStream = errors.New("http3: malformed instruction of a QPACK encoder")
)

// Decoder decodes the field sections that one connection receives. Its methods are called by
// one goroutine at a time.
type Decoder struct {
	t          table
	allowed    uint64 // the largest capacity that the peer may choose
	normalize  bool
	valid      func(id field.ID, value []byte) bool
	partial    []byte // the beginning of an instruction
	known      uint64 // how many insertions were acknowledged
	referenced uint64 // the count that the section being decoded requires
}

// Init prepares d for a connection whose SETTINGS_QPACK_MAX_TABLE_CAPACITY is capacity. Names
// are normalised if normalize is set, and values of pseudo-fields are examined by valid, as in
// hpack.Limits.
func (d *Decoder) Init(capacity uint32, normalize bool, valid func(id field.ID, value []byte) bool) {
	*d = Decoder{allowed: uint64(capacity), normalize: normalize, valid: valid}
}

// Inserted returns how many entries were inserted.
func (d *Decoder) Inserted() uint64 { return d.t.inserted() }

// Feed takes bytes of the peer's encoder stream (RFC 9204 section 4.3).
func (d *Decoder) Feed(p []byte) error {
	if len(d.partial) > 0 {
		d.partial = append(d.partial, p...)
		p = d.partial
	}
	for len(p) > 0 {
		rest, err := d.instruction(p)
		if err == hpack.ErrTruncated {
			break
		}
		if err != nil {
			return ErrEncoderStream
		}
		p = rest
	}
	d.partial = append(d.partial[:0], p...)
	if len(d.partial) == 0 && cap(d.partial) > 1024 {
		d.partial = nil
	}
	return nil
}

// instruction executes the instruction at the beginning of p.
func (d *Decoder) instruction(p []byte) (rest []byte, err error) {
	switch first := p[0]; {
	case first&0x80 != 0:
		return d.insertNamed(p)
	case first&0x40 != 0:
		var text []byte
		if text, rest, err = hpack.ReadText(nil, p, 5, int(d.t.capacity)); err != nil {
			return nil, err
		}
		name := entry{text: text, nameLen: len(text)}
		name.id, name.flags = hpack.Examine(text[:len(text):len(text)], nil, d.normalize, nil)
		return d.insert(name, rest)
	case first&0x20 != 0:
		n, rest, err := hpack.ReadInt(p, 5)
		if err == nil && n > d.allowed {
			return nil, ErrEncoderStream
		}
		if err == nil {
			d.t.setCapacity(n)
		}
		return rest, err
	}
	n, rest, err := hpack.ReadInt(p, 5)
	if err != nil {
		return nil, err
	}
	e := d.relative(n, d.t.inserted())
	if e == nil || !d.t.add(*e) {
		return nil, ErrEncoderStream
	}
	return rest, nil
}

// relative returns the entry n places before the absolute index base, or nil.
func (d *Decoder) relative(n, base uint64) *entry {
	if n >= base {
		return nil
	}
	return d.t.at(base - 1 - n)
}

// insertNamed executes an insertion with the name of another entry.
func (d *Decoder) insertNamed(p []byte) (rest []byte, err error) {
	n, rest, err := hpack.ReadInt(p, 6)
	if err != nil {
		return nil, err
	}
	e := d.relative(n, d.t.inserted())
	if p[0]&0x40 != 0 {
		e = d.static(n)
	}
	if e == nil {
		return nil, ErrEncoderStream
	}
	// the name was examined, and normalised, before
	return d.insert(*e, rest)
}

// insert inserts an entry with the name of another one. Its value follows in p.
func (d *Decoder) insert(e entry, p []byte) (rest []byte, err error) {
	if e.text, rest, err = hpack.ReadText(append([]byte(nil), e.name()...), p, 7, int(d.t.capacity)); err != nil {
		return nil, err
	}
	e.flags = e.flags&field.BadName | hpack.ExamineValue(e.id, e.value(), d.valid)
	if !d.t.add(e) {
		return nil, ErrEncoderStream
	}
	return rest, nil
}

// static returns the entry of the static table with an index, or nil.
func (d *Decoder) static(n uint64) *entry {
	if n >= uint64(len(static)) {
		return nil
	}
	if d.normalize {
		return &normalized[n]
	}
	return &static[n]
}

// required decodes the count of insertions that a section requires (RFC 9204 section 4.5.1.1).
func (d *Decoder) required(encoded uint64) (n uint64, ok bool) {
	if encoded == 0 {
		return 0, true
	}
	most := d.allowed / hpack.EntryOverhead
	if encoded > 2*most {
		return 0, false
	}
	highest := d.t.inserted() + most
	n = highest/(2*most)*(2*most) + encoded - 1
	if n > highest {
		if n <= 2*most {
			return 0, false
		}
		n -= 2 * most
	}
	return n, n > 0
}

// Decode appends the fields of a field section to l in their order, as hpack.Decoder.Decode
// does; of max it only uses the numbers. needs is how many insertions the section requires; if
// the table has had fewer, the error is ErrBlocked, and Decode is to be called again later. If
// needs is not 0, the caller sends the acknowledgment of AppendAck, unless there was an error
// other than ErrTooLarge.
func (d *Decoder) Decode(l *field.List, section []byte, max hpack.Limits) (needs uint64, err error) {
	encoded, p, err := hpack.ReadInt(section, 8)
	if err != nil || len(p) == 0 {
		return 0, ErrDecompression
	}
	needs, ok := d.required(encoded)
	if !ok {
		return 0, ErrDecompression
	}
	sign := p[0]&0x80 != 0
	delta, p, err := hpack.ReadInt(p, 7)
	base := needs + delta
	if err != nil || sign && delta >= needs {
		return 0, ErrDecompression
	}
	if sign {
		base = needs - delta - 1
	}
	if needs > d.t.inserted() {
		return needs, ErrBlocked
	}
	l.Changed = true
	if l.Block == nil {
		l.Block = make([]byte, 0, 2*len(section)+64)
	}
	d.referenced = needs
	return needs, d.fields(l, p, base, max)
}

// fields decodes the field lines of a section.
func (d *Decoder) fields(l *field.List, p []byte, base uint64, max hpack.Limits) error {
	size, count := uint64(0), 0
	for len(p) > 0 {
		var e field.Entry
		rest, err := d.field(l, &e, p, base)
		if err != nil {
			return ErrDecompression
		}
		p = rest
		size += uint64(e.Name.Len) + uint64(e.Value.Len) + hpack.EntryOverhead
		if !hpack.IsPseudo(e.ID) {
			count++
		}
		if size <= uint64(max.Size) && count <= max.Fields {
			l.Entries = append(l.Entries, e)
			continue
		}
		l.Block = l.Block[:e.Name.Off]
		if size > 2*uint64(max.Size) || count > 2*max.Fields {
			return ErrExcessive
		}
	}
	if size > uint64(max.Size) || count > max.Fields {
		return ErrTooLarge
	}
	return nil
}

// field decodes the field line at the beginning of p (RFC 9204 section 4.5).
func (d *Decoder) field(l *field.List, e *field.Entry, p []byte, base uint64) (rest []byte, err error) {
	first := p[0]
	switch {
	case first&0x80 != 0:
		return d.indexed(l, e, p, 6, first&0x40 != 0, base)
	case first&0x40 != 0:
		return d.named(l, e, p, 4, first&0x10 != 0, base)
	case first&0x20 != 0:
		off := len(l.Block)
		if l.Block, rest, err = hpack.ReadText(l.Block, p, 3, len(p)); err != nil {
			return nil, err
		}
		nameLen := len(l.Block) - off
		if l.Block, rest, err = hpack.ReadText(l.Block, rest, 7, len(p)); err != nil {
			return nil, err
		}
		text := l.Block[off:]
		id, flags := hpack.Examine(text[:nameLen:nameLen], text[nameLen:], d.normalize, d.valid)
		set(e, off, nameLen, len(text), id, flags)
		return rest, nil
	case first&0x10 != 0:
		return d.indexed(l, e, p, 4, false, postBase|base)
	}
	return d.named(l, e, p, 3, false, postBase|base)
}

// postBase marks a base after which the entries are, instead of before it.
const postBase = 1 << 63

// find returns the entry at an index, or nil.
func (d *Decoder) find(n uint64, inStatic bool, base uint64) *entry {
	at := base&^postBase + n
	switch {
	case inStatic:
		return d.static(n)
	case base&postBase != 0:
	case n >= base:
		return nil
	default:
		at = base - 1 - n
	}
	if at >= d.referenced {
		return nil
	}
	return d.t.at(at)
}

// indexed decodes a field of a table.
func (d *Decoder) indexed(l *field.List, e *field.Entry, p []byte, prefix uint, inStatic bool, base uint64) (rest []byte, err error) {
	n, rest, err := hpack.ReadInt(p, prefix)
	if err != nil {
		return nil, err
	}
	known := d.find(n, inStatic, base)
	if known == nil {
		return nil, ErrDecompression
	}
	off := len(l.Block)
	l.Block = append(l.Block, known.text...)
	set(e, off, known.nameLen, len(known.text), known.id, known.flags)
	return rest, nil
}

// named decodes a field whose name is in a table.
func (d *Decoder) named(l *field.List, e *field.Entry, p []byte, prefix uint, inStatic bool, base uint64) (rest []byte, err error) {
	n, rest, err := hpack.ReadInt(p, prefix)
	if err != nil {
		return nil, err
	}
	known := d.find(n, inStatic, base)
	if known == nil {
		return nil, ErrDecompression
	}
	off := len(l.Block)
	l.Block = append(l.Block, known.name()...)
	if l.Block, rest, err = hpack.ReadText(l.Block, rest, 7, len(rest)); err != nil {
		return nil, err
	}
	flags := known.flags&field.BadName | hpack.ExamineValue(known.id, l.Block[off+known.nameLen:], d.valid)
	set(e, off, known.nameLen, len(l.Block)-off, known.id, flags)
	return rest, nil
}

// set sets an entry. Its text of size bytes begins at off, with the value after the name.
func set(e *field.Entry, off, nameLen, size int, id field.ID, flags field.Flag) {
	e.Name = field.Span{Off: uint32(off), Len: uint32(nameLen)}
	e.Value = field.Span{Off: uint32(off + nameLen), Len: uint32(size - nameLen)}
	e.ID, e.Flags = id, flags
}

// AppendAck appends the acknowledgment of a section that was decoded (RFC 9204 section 4.4.1).
func (d *Decoder) AppendAck(dst []byte, stream, needs uint64) []byte {
	d.known = max(d.known, needs)
	return hpack.AppendInt(dst, 0x80, 7, stream)
}

// AppendCancel appends that a stream was abandoned which may have had sections (RFC 9204 section
// 4.4.2). It appends nothing if the peer cannot have used the dynamic table.
func (d *Decoder) AppendCancel(dst []byte, stream uint64) []byte {
	if d.allowed == 0 {
		return dst
	}
	return hpack.AppendInt(dst, 0x40, 6, stream)
}

// AppendIncrement appends the acknowledgment of insertions, if there are any (RFC 9204 section
// 4.4.3).
func (d *Decoder) AppendIncrement(dst []byte) []byte {
	n := d.t.inserted()
	if n <= d.known {
		return dst
	}
	dst = hpack.AppendInt(dst, 0, 6, n-d.known)
	d.known = n
	return dst
}
