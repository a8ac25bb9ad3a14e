package hpack

import (
	"encoding/binary"
	"math/bits"

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
	fields
	form          Form   // encodes all fields if limit is usesForm
	limit         uint32 // this side's limit on the size that the peer allows
	peerTableSize uint32 // the size of the peer's decoder table
	minimum       uint32 // the smallest size since the last block
	resized       uint32 // how often the size was set
}

// Init prepares e for a connection whose peer has not sent SETTINGS. Its table is never
// larger than maxTable. e may be reused.
func (e *Encoder) Init(maxTable uint32) {
	e.limit = min(maxTable, usesForm-1)
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
func (e *Encoder) State() uint64 {
	if e.limit == usesForm {
		return e.form.State()
	}
	return uint64(e.resized)<<32 | uint64(e.t.next)
}

// ReleaseTable empties the table and releases its memory.
func (e *Encoder) ReleaseTable() {
	if e.t.n == 0 {
		return
	}
	size := e.t.max
	e.SetMaxTable(0)
	e.t.text, e.t.ring, e.links = nil, nil, nil
	e.SetMaxTable(size)
}

// Begin begins a block: it appends pending size updates. If the table was smaller in
// between, there are two (RFC 7541 section 4.2).
func (e *Encoder) Begin(dst []byte) []byte {
	if e.minimum == e.peerTableSize && e.t.max == e.peerTableSize {
		return dst
	}
	if e.minimum < e.peerTableSize && e.minimum < e.t.max {
		dst = AppendInt(dst, 0x20, 5, uint64(e.minimum))
	}
	e.peerTableSize, e.minimum = e.t.max, e.t.max
	return AppendInt(dst, 0x20, 5, uint64(e.t.max))
}

// statusIndex is the index of ":status".
const statusIndex = 8

// AppendStatus appends the pseudo-field ":status". code has three digits.
func (e *Encoder) AppendStatus(dst []byte, code int) []byte {
	if e.limit == usesForm {
		return e.form.AppendStatus(dst, code)
	}
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
	if e.limit == usesForm {
		return e.form.AppendLength(dst, n)
	}
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
	if e.limit == usesForm {
		return e.form.AppendField(dst, id, name, value, how)
	}
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
		return AppendInt(dst, 0x80, 7, uint64(dynamicIndex+i))
	}
	if id != field.Unknown {
		name = lowerNames[id]
	}
	if uint64(len(name))+uint64(len(value))+entryOverhead > uint64(e.t.max) {
		// an entry would empty the table and not be stored
		return e.appendLiteral(dst, 0, 4, nameIndex, id, name, value)
	}
	dst = e.appendLiteral(dst, 0x40, 6, nameIndex, id, name, value)
	e.add(key, id, name, value)
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
	dst = AppendInt(dst, first, prefix, uint64(nameIndex))
	switch {
	case nameIndex != 0:
	case id != field.Unknown:
		dst = append(dst, encodedNames[id]...)
	default:
		dst = AppendText(dst, 0, 7, name, true)
	}
	return AppendText(dst, 0, 7, value, false)
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
		encoded[id] = AppendText(nil, 0, 7, lower[id], true)
	}
	return lower, encoded
}

// AppendText appends text as a string, in Huffman code if it is shorter then. The length has a
// prefix of the given number of bits, and the bit above it marks Huffman code; first has the
// bits before that one. If lower is set, the string is sent in lower case.
func AppendText(dst []byte, first byte, prefix uint, text []byte, lower bool) []byte {
	table := &codes
	if lower {
		table = &lowerCodes
	}
	if n := huffmanSize(text, table); n < len(text) {
		return appendHuffman(AppendInt(dst, first|1<<prefix, prefix, uint64(n)), text, n, table)
	}
	dst = append(AppendInt(dst, first, prefix, uint64(len(text))), text...)
	if lower {
		ascii.ToLower(dst[len(dst)-len(text):])
	}
	return dst
}

// AppendInt appends n with a prefix of the given number of bits; first has the bits before
// the prefix.
func AppendInt(dst []byte, first byte, prefix uint, n uint64) []byte {
	most := uint64(1)<<prefix - 1
	if n < most {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// Indexing is how Encoder represents a field missing in both tables.
type Indexing uint8

const (
	Index Indexing = iota // with an entry in the dynamic table, for a repeated field
	Plain                 // without one
	Never                 // without one, in any intermediary's table either (RFC 7541 section 7.1.3)
)

const (
	// A value of fewer bytes may be guessed: an attacker that sees the size of blocks, and
	// can add fields to them, finds out whether its guess was in the table.
	shortSecret = 20
	// A larger value evicts many entries, and mostly belongs to one message.
	longValue = 1024
)

// IndexingOf returns how a field is best represented. It is Plain for names whose values
// mostly differ from message to message. The id of a pseudo-field is Unknown, so the caller
// decides: Plain for ":path", and Index for the others.
func IndexingOf(id field.ID, value []byte) Indexing {
	how := indexing[id]
	if how == Index && len(value) > longValue {
		return Plain
	}
	if id == field.Cookie && len(value) < shortSecret {
		return Never
	}
	return how
}

// indexing has the exceptions from Index.
var indexing = [256]Indexing{
	field.Authorization: Never, field.ProxyAuthorization: Never, field.XApiKey: Never, field.XCsrfToken: Never,

	field.Age: Plain, field.ContentDisposition: Plain, field.ContentLength: Plain, field.ContentRange: Plain,
	field.Etag: Plain, field.Expires: Plain, field.LastModified: Plain, field.Location: Plain, field.ContentLocation: Plain,
	field.SetCookie: Plain, field.IfMatch: Plain, field.IfNoneMatch: Plain, field.IfModifiedSince: Plain,
	field.IfUnmodifiedSince: Plain, field.IfRange: Plain, field.Range: Plain, field.IdempotencyKey: Plain,
	field.CfRay: Plain, field.ServerTiming: Plain, field.Traceparent: Plain, field.Tracestate: Plain,
	field.XAmznTraceId: Plain, field.XB3Spanid: Plain, field.XB3Traceid: Plain, field.XCloudTraceContext: Plain,
	field.XCorrelationId: Plain, field.XEnvoyUpstreamServiceTime: Plain, field.XRequestId: Plain, field.XRequestStart: Plain,
	field.XRatelimitRemaining: Plain, field.XRatelimitReset: Plain, field.XRuntime: Plain,
	field.Forwarded: Plain, field.XForwardedFor: Plain, field.XRealIp: Plain, field.CfConnectingIp: Plain, field.TrueClientIp: Plain,
	field.SecWebsocketKey: Plain, field.SecWebsocketAccept: Plain,
}

// fields is a dynamic table whose entries are found by a key, which is a hash of name and value.
// Entries whose keys have the same lowest bits are a chain: an entry's link has the number of the
// next older one. A chain ends at the first number that the table no longer has, so evicting an
// entry changes nothing here.
type fields struct {
	t     table
	links []link // at the same positions as in t.ring
}

// link has the key of an entry and the number of the next older one, and of another chain the
// number of its newest entry, or any number.
type link struct{ key, older, head uint32 }

// find returns the position of a field with this key, as in table.at.
func (f *fields) find(key uint32, id field.ID, name, value []byte) (i uint32, ok bool) {
	if len(f.links) == 0 {
		return 0, false
	}
	number, least := f.link(key).head, uint32(0)
	for {
		i = f.t.next - 1 - number
		// numbers wrap around: one that was evicted long ago could seem to belong to a newer entry
		if i < least || i >= f.t.n {
			return 0, false
		}
		l, known := f.link(number), f.t.at(i)
		if l.key == key && known.id == id && string(f.t.value(known)) == string(value) &&
			(id != field.Unknown || ascii.EqualFold(f.t.name(known), name)) {
			return i, true
		}
		number, least = l.older, i+1
	}
}

// link returns the link of the entry with a number, and of the chain with a key.
func (f *fields) link(number uint32) *link { return &f.links[number&uint32(len(f.links)-1)] }

// add adds an entry, which fits into the table.
func (f *fields) add(key uint32, id field.ID, name, value []byte) {
	f.t.add(name, value, id, 0)
	if len(f.links) != len(f.t.ring) {
		old := fields{links: f.links}
		f.links = make([]link, len(f.t.ring))
		for number := f.t.next - f.t.n; number != f.t.next-1; number++ {
			f.chain(number, old.link(number).key)
		}
	}
	f.chain(f.t.next-1, key)
}

// chain makes the entry with a number the newest one of the chain of key.
func (f *fields) chain(number, key uint32) {
	l, head := f.link(number), &f.link(key).head
	l.key, l.older = key, *head
	*head = number
}

// keyOf returns the key of a field. The case of the name does not matter.
func keyOf(id field.ID, name, value []byte) uint32 {
	h := uint64(id) + 1
	if id == field.Unknown {
		h = hash(h, name, 0x2020202020202020)
	}
	h = hash(h, value, 0)
	return uint32(h ^ h>>32)
}

// hash mixes text into h. The bits of set are set in all words of text.
func hash(h uint64, text []byte, set uint64) uint64 {
	const factor = 0x9e3779b97f4a7c15
	h += uint64(len(text))
	for len(text) >= 8 {
		high, low := bits.Mul64(h^(binary.LittleEndian.Uint64(text)|set), factor)
		h = high ^ low
		text = text[8:]
	}
	word := set
	for i, c := range text {
		word |= uint64(c) << (8 * i)
	}
	high, low := bits.Mul64(h^word, factor)
	return high ^ low
}
