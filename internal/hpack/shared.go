package hpack

import (
	"math"
	"slices"

	"github.com/valyala/fasthttp/internal/field"
)

// This file is for QPACK, the compression of fields in HTTP/3, which has the same integers,
// strings, rules for text, and names (RFC 9204 section 4.1).

// A Form encodes fields in another form than HPACK.
type Form interface {
	// AppendStatus is Encoder.AppendStatus.
	AppendStatus(dst []byte, code int) []byte
	// AppendLength is Encoder.AppendLength.
	AppendLength(dst []byte, n int) []byte
	// AppendField is Encoder.AppendField.
	AppendField(dst []byte, id field.ID, name, value []byte, how Indexing) []byte
	// State changes whenever a field may be encoded differently than before.
	State() uint64
}

// usesForm is the limit of an Encoder that uses a Form.
const usesForm = math.MaxUint32

// InitForm makes e encode all fields with f. Begin is not to be used then.
func (e *Encoder) InitForm(f Form) { *e = Encoder{limit: usesForm, form: f} }

// EntryOverhead is the size of a field or an entry in addition to its text.
const EntryOverhead = entryOverhead

// LowerName returns the well-known name in lower case.
func LowerName(id field.ID) []byte { return lowerNames[id] }

// Examine returns the id of a received name, or of a pseudo-field, and the flags of the
// field, as Decoder.Decode does. If normalize is set it normalises the name.
func Examine(name, value []byte, normalize bool, valid func(id field.ID, value []byte) bool) (field.ID, field.Flag) {
	d := Decoder{normalized: normalize}
	id, flags := d.examineName(name)
	return id, flags | ExamineValue(id, value, valid)
}

// ExamineValue returns the flags for the value of a field.
func ExamineValue(id field.ID, value []byte, valid func(id field.ID, value []byte) bool) field.Flag {
	if isBadValue(value) || IsPseudo(id) && valid != nil && !valid(id, value) {
		return field.BadValue
	}
	return 0
}

// maxLongContinuation is how many bytes may follow the prefix of an integer of ReadInt: nine hold
// 62 bits, the most that QUIC has in an integer.
const maxLongContinuation = 9

// ReadInt reads an integer of up to 62 bits whose first byte is p[0]. The error is ErrTruncated
// if more bytes are needed, or ErrInteger.
func ReadInt(p []byte, prefix uint) (n uint64, rest []byte, err error) {
	if len(p) == 0 {
		return 0, nil, ErrTruncated
	}
	most := uint64(1)<<prefix - 1
	if n = uint64(p[0]) & most; n < most {
		return n, p[1:], nil
	}
	for i, c := range p[1:] {
		if i == maxLongContinuation {
			return 0, nil, ErrInteger
		}
		if n += uint64(c&0x7f) << (7 * i); n > math.MaxInt64/2 {
			return 0, nil, ErrInteger
		}
		if c < 0x80 {
			return n, p[i+2:], nil
		}
	}
	if len(p)-1 >= maxLongContinuation {
		return 0, nil, ErrInteger
	}
	return 0, nil, ErrTruncated
}

// ReadText appends a string of AppendText to dst. A string of more than limit bytes, as sent, is ErrTooLarge.
func ReadText(dst, p []byte, prefix uint, limit int) (text, rest []byte, err error) {
	n, rest, err := ReadInt(p, prefix)
	if err != nil {
		return dst, nil, err
	}
	if n > uint64(limit) {
		return dst, nil, ErrTooLarge
	}
	if n > uint64(len(rest)) {
		return dst, nil, ErrTruncated
	}
	if p[0]&(1<<prefix) == 0 {
		return append(dst, rest[:n]...), rest[n:], nil
	}
	text, ok := decodeHuffman(slices.Grow(dst, huffmanRoom(int(n))), rest[:n])
	if !ok {
		return dst, nil, ErrHuffman
	}
	return text, rest[n:], nil
}

// Dynamic is the dynamic table of an encoder. Its entries have numbers, which wrap around; the first one
// has 0.
type Dynamic struct{ f fields }

// KeyOf returns the key of a field. The case of the name does not matter.
func KeyOf(id field.ID, name, value []byte) uint32 { return keyOf(id, name, value) }

// Find returns the number of the newest entry with a field.
func (d *Dynamic) Find(key uint32, id field.ID, name, value []byte) (number uint32, ok bool) {
	i, ok := d.f.find(key, id, name, value)
	return d.f.t.next - 1 - i, ok
}

// Add adds an entry, whose size is at most max, and evicts the oldest ones until all fit in max.
func (d *Dynamic) Add(max, key uint32, id field.ID, name, value []byte) {
	d.f.t.max = max
	d.f.add(key, id, name, value)
}

// Len returns how many entries there are, and Size their size.
func (d *Dynamic) Len() uint32 { return d.f.t.n }

// Size: see Len.
func (d *Dynamic) Size() uint32 { return d.f.t.size }

// Next returns the number of the next entry.
func (d *Dynamic) Next() uint32 { return d.f.t.next }

// SizeOf returns the size of an entry.
func (d *Dynamic) SizeOf(number uint32) uint32 {
	return d.f.t.at(d.f.t.next-1-number).len() + entryOverhead
}
