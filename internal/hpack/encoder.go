package hpack

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Encoder encodes the header blocks that one connection sends. A block is Begin, and then
// its fields, which are sent in the order of the calls. The zero value is not ready for
// use: call Init.
//
// Encoder does not examine text. The caller must make sure that RFC 9113 section 8.2.1
// allows the names and values.
type Encoder struct {
	t             table
	chains        chains
	limit         uint32 // this side's limit on the size that the peer allows
	peerTableSize uint32 // the size of the peer's decoder table
	minimum       uint32 // the smallest size since the last block
	resized       uint32 // how often the size was set
}

// Init prepares e for a connection whose peer has not sent SETTINGS. Its table is never
// larger than maxTable. e may be reused.
func (e *Encoder) Init(maxTable uint32) {
	e.limit = maxTable
	e.peerTableSize, e.minimum = initialSize, initialSize
	e.t.init(initialSize)
	e.SetMaxTable(initialSize)
}

// SetMaxTable sets the size that the peer's SETTINGS_HEADER_TABLE_SIZE allows. The next
// block begins with the resulting size updates.
func (e *Encoder) SetMaxTable(n uint32) {
	n = min(n, e.limit)
	e.minimum = min(e.minimum, n)
	e.resized++
	e.t.setMax(n)
}

// State changes whenever a field may be encoded differently than before.
func (e *Encoder) State() uint64 { return uint64(e.resized)<<32 | uint64(e.t.next) }

// ReleaseTable empties the table and releases its memory.
func (e *Encoder) ReleaseTable() {
	if e.t.n == 0 {
		return
	}
	size := e.t.max
	e.SetMaxTable(0)
	e.t.text, e.t.ring, e.chains = nil, nil, chains{}
	e.SetMaxTable(size)
}

// Begin begins a block: it appends pending size updates. If the table was smaller in
// between, there are two (RFC 7541 section 4.2).
func (e *Encoder) Begin(dst []byte) []byte {
	if e.minimum == e.peerTableSize && e.t.max == e.peerTableSize {
		return dst
	}
	if e.minimum < e.peerTableSize && e.minimum < e.t.max {
		dst = appendInt(dst, 0x20, 5, e.minimum)
	}
	e.peerTableSize, e.minimum = e.t.max, e.t.max
	return appendInt(dst, 0x20, 5, e.t.max)
}

// statusIndex is the index of ":status".
const statusIndex = 8

// AppendStatus appends the pseudo-field ":status". code has three digits.
func (e *Encoder) AppendStatus(dst []byte, code int) []byte {
	switch code {
	case 200:
		return append(dst, 0x80|statusIndex)
	case 204:
		return append(dst, 0x80|statusIndex+1)
	case 206:
		return append(dst, 0x80|statusIndex+2)
	case 304:
		return append(dst, 0x80|statusIndex+3)
	case 400:
		return append(dst, 0x80|statusIndex+4)
	case 404:
		return append(dst, 0x80|statusIndex+5)
	case 500:
		return append(dst, 0x80|statusIndex+6)
	}
	return append(dst, statusIndex, 3, '0'+byte(code/100%10), '0'+byte(code/10%10), '0'+byte(code%10))
}

// AppendLength appends the field Content-Length. It is in no table, and nearly all values
// are no shorter in Huffman code.
func (e *Encoder) AppendLength(dst []byte, n int) []byte {
	const index = 28
	dst = append(dst, 0x0f, index-0x0f, 0)
	at := len(dst)
	dst = ascii.AppendUint(dst, n)
	dst[at-1] = byte(len(dst) - at)
	return dst
}

// AppendField appends a field. id is the id of name, whose case does not matter: it is sent
// in lower case. If id is not Unknown, name is not used. A field in a table is sent as its
// index, unless how is Never.
func (e *Encoder) AppendField(dst []byte, id field.ID, name, value []byte, how Indexing) []byte {
	nameIndex, full := staticFor(id, name, value)
	if full && how != Never {
		return append(dst, 0x80|byte(nameIndex))
	}
	if how != Index {
		first := byte(0)
		if how == Never {
			first = 0x10
		}
		return e.appendLiteral(dst, first, 4, nameIndex, id, name, value)
	}
	key := keyOf(id, name, value)
	if i, ok := e.find(key, id, name, value); ok {
		return appendInt(dst, 0x80, 7, dynamicIndex+i)
	}
	if id != field.Unknown {
		name = lowerNames[id]
	}
	if uint64(len(name))+uint64(len(value))+entryOverhead > uint64(e.t.max) {
		// an entry would empty the table and not be stored
		return e.appendLiteral(dst, 0, 4, nameIndex, id, name, value)
	}
	dst = e.appendLiteral(dst, 0x40, 6, nameIndex, id, name, value)
	e.t.add(name, value, id, 0)
	e.chains.add(&e.t, key)
	return dst
}

// staticFor returns the index of a name in the static table, or 0, and whether the entry
// has this value.
func staticFor(id field.ID, name, value []byte) (index uint32, full bool) {
	if id != field.Unknown {
		index = uint32(staticIndex[id])
		return index, id == field.AcceptEncoding && string(value) == staticText[index].value
	}
	if len(name) == 0 || name[0] != ':' {
		return 0, false
	}
	return pseudoFor(name, value)
}

// pseudoFor is staticFor for pseudo-fields.
func pseudoFor(name, value []byte) (index uint32, full bool) {
	for i := 1; i <= statusIndex+6; i++ {
		f := &staticText[i]
		if string(name) != f.name {
			continue
		}
		if string(value) == f.value {
			return uint32(i), true
		}
		if index == 0 {
			index = uint32(i)
		}
	}
	return index, false
}

// find returns the index in the dynamic table of a field with this key.
func (e *Encoder) find(key uint32, id field.ID, name, value []byte) (index uint32, ok bool) {
	for i := e.chains.newest(&e.t, key); i < e.t.n; {
		known := e.t.at(i)
		if known.id == id && string(e.t.value(known)) == string(value) &&
			(id != field.Unknown || ascii.EqualFold(e.t.name(known), name)) {
			return i, true
		}
		i = e.chains.older(&e.t, i)
	}
	return 0, false
}

// namesSearched is how many entries findName compares.
const namesSearched = 64

// findName returns the index of the newest entry with this name, or 0.
func (e *Encoder) findName(id field.ID, name []byte) uint32 {
	for i := range min(e.t.n, namesSearched) {
		known := e.t.at(i)
		if known.id == id && (id != field.Unknown || ascii.EqualFold(e.t.name(known), name)) {
			return dynamicIndex + i
		}
	}
	return 0
}

// appendLiteral appends a literal field. first is its first byte, without the index of the
// name, which has prefix bits.
func (e *Encoder) appendLiteral(dst []byte, first byte, prefix uint, nameIndex uint32, id field.ID, name, value []byte) []byte {
	if nameIndex == 0 {
		nameIndex = e.findName(id, name)
	}
	dst = appendInt(dst, first, prefix, nameIndex)
	switch {
	case nameIndex != 0:
	case id != field.Unknown:
		dst = append(dst, encodedNames[id]...)
	default:
		dst = appendName(dst, name)
	}
	return appendValue(dst, value)
}

// lowerCodes has, for every byte, the code of that byte in lower case.
var lowerCodes = buildLowerCodes()

func buildLowerCodes() (table [256]code) {
	for i := range table {
		table[i] = codes[ascii.Lower(byte(i))]
	}
	return table
}

// lowerNames has the well-known names in lower case, and encodedNames has them as strings
// of RFC 7541 section 5.2.
var lowerNames, encodedNames = buildNames()

func buildNames() (lower, encoded [field.NumIDs][]byte) {
	for id := range field.ID(field.NumIDs) {
		lower[id] = []byte(id.String())
		ascii.ToLower(lower[id])
		encoded[id] = appendName(nil, lower[id])
	}
	return lower, encoded
}

// appendName appends name in lower case as a string.
func appendName(dst, name []byte) []byte {
	if n := huffmanSize(name, &lowerCodes); n < len(name) {
		return appendHuffman(appendInt(dst, 0x80, 7, uint32(n)), name, n, &lowerCodes)
	}
	dst = append(appendInt(dst, 0, 7, uint32(len(name))), name...)
	ascii.ToLower(dst[len(dst)-len(name):])
	return dst
}

// appendValue appends value as a string.
func appendValue(dst, value []byte) []byte {
	if n := huffmanSize(value, &codes); n < len(value) {
		return appendHuffman(appendInt(dst, 0x80, 7, uint32(n)), value, n, &codes)
	}
	return append(appendInt(dst, 0, 7, uint32(len(value))), value...)
}
