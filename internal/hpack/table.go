package hpack

import "github.com/valyala/fasthttp/internal/field"

const (
	// entryOverhead is the size of an entry in addition to its text (RFC 7541 section 4.1).
	entryOverhead = 32
	// initialSize is the size of both tables until it is changed (RFC 9113 section 6.5.2,
	// SETTINGS_HEADER_TABLE_SIZE).
	initialSize = 4096

	smallestText = 128 // bytes of the first text of a table
	smallestRing = 8   // entries of its first ring
)

// entry is one field of a dynamic table: 16 bytes.
type entry struct {
	off, nameLen, valueLen uint32 // in table.text, with the value after the name
	id                     field.ID
	flags                  field.Flag
}

func (e *entry) len() uint32 { return e.nameLen + e.valueLen }

// table is a dynamic table (RFC 7541 section 2.3.2). The text of its entries is in one
// slice, the oldest first. Both slices grow with the stored fields.
type table struct {
	text []byte
	ring []entry // its length is a power of two; entry number k is at k modulo that
	next uint32  // number of the next entry; numbers wrap around
	n    uint32  // how many entries there are
	size uint32  // as RFC 7541 section 4.1 counts it
	max  uint32
}

// at returns the entry i places older than the newest. i is less than t.n.
func (t *table) at(i uint32) *entry { return &t.ring[(t.next-1-i)&uint32(len(t.ring)-1)] }

// all returns name and value of e as one piece.
func (t *table) all(e *entry) []byte { return t.text[e.off : e.off+e.len()] }

func (t *table) name(e *entry) []byte { return t.text[e.off : e.off+e.nameLen] }

func (t *table) value(e *entry) []byte { return t.text[e.off+e.nameLen : e.off+e.len()] }

// init empties the table and keeps its memory.
func (t *table) init(max uint32) {
	t.n, t.size, t.text = 0, 0, t.text[:0]
	t.max = max
}

// setMax changes the largest size and evicts entries beyond it.
func (t *table) setMax(max uint32) {
	t.max = max
	t.evictTo(max)
}

// evictTo evicts the oldest entries until the size is at most size.
func (t *table) evictTo(size uint32) {
	for t.size > size {
		t.size -= t.at(t.n-1).len() + entryOverhead
		t.n--
	}
	if t.n == 0 {
		t.text = t.text[:0]
	}
}

// add adds an entry and reports whether there is room for it. An entry larger than the
// table empties it (RFC 7541 section 4.4). name and value are not parts of t.text.
func (t *table) add(name, value []byte, id field.ID, flags field.Flag) bool {
	need := uint64(len(name)) + uint64(len(value))
	if need+entryOverhead > uint64(t.max) {
		t.evictTo(0)
		return false
	}
	t.evictTo(t.max - uint32(need) - entryOverhead)
	if len(t.text)+int(need) > cap(t.text) {
		t.makeRoom(int(need))
	}
	off := uint32(len(t.text))
	t.text = append(append(t.text, name...), value...)
	if int(t.n) == len(t.ring) {
		t.growRing()
	}
	t.next++
	t.n++
	*t.at(0) = entry{off, uint32(len(name)), uint32(len(value)), id, flags}
	t.size += uint32(need) + entryOverhead
	return true
}

// makeRoom moves the text of the entries to the front, and to new memory if it would
// fill most of the old.
func (t *table) makeRoom(need int) {
	start := uint32(len(t.text))
	if t.n > 0 {
		start = t.at(t.n - 1).off
	}
	live := t.text[start:]
	// the limit leaves entryOverhead unused for every entry, so that text at the limit is
	// not moved for each added entry
	limit := int(t.max)
	if total := len(live) + need; total > cap(t.text)-cap(t.text)/4 && cap(t.text) < limit {
		t.text = make([]byte, 0, min(max(2*cap(t.text), total, smallestText), limit))
	}
	t.text = append(t.text[:0], live...)
	for i := range t.n {
		t.at(i).off -= start
	}
}

// trim releases memory that no entry needs.
func (t *table) trim() {
	if t.n == 0 {
		t.text, t.ring = nil, nil
		return
	}
	live := t.text[t.at(t.n-1).off:]
	ring := uint32(1)
	for ring < t.n {
		ring *= 2
	}
	if cap(t.text) == len(live) && len(t.ring) == int(ring) {
		return
	}
	old := *t
	t.text, t.ring = append(make([]byte, 0, len(live)), live...), make([]entry, ring)
	start := old.at(t.n - 1).off
	for i := range t.n {
		*t.at(i) = *old.at(i)
		t.at(i).off -= start
	}
}

func (t *table) growRing() {
	old := *t
	t.ring = make([]entry, max(smallestRing, 2*len(t.ring)))
	for i := range t.n {
		*t.at(i) = *old.at(i)
	}
}

// dynamicIndex is the index of the newest entry of the dynamic table, after the indices of
// the static table, which begin at 1.
const dynamicIndex = 62

// static is the static table in the form that Decoder uses, with the names as they are
// received; staticNormalized has them normalised. The entry with an index is at that
// position in the ring. staticIndex has the first index of each well-known name, or 0.
var static, staticNormalized, staticIndex = buildStatic()

func buildStatic() (received, normalized table, index [256]uint8) {
	received.ring, normalized.ring = make([]entry, dynamicIndex), make([]entry, dynamicIndex)
	for i, f := range staticText {
		name := []byte(f.name)
		id := lookup(name)
		e := entry{uint32(len(received.text)), uint32(len(f.name)), uint32(len(f.value)), id, 0}
		received.ring[i], normalized.ring[i] = e, e
		received.text = append(append(received.text, name...), f.value...)
		field.Normalize(name)
		normalized.text = append(append(normalized.text, name...), f.value...)
		if id != field.Unknown && !IsPseudo(id) && index[id] == 0 {
			index[id] = uint8(i)
		}
	}
	return received, normalized, index
}

// staticText is the table of RFC 7541 appendix A. Nothing has the index 0.
var staticText = [dynamicIndex]struct{ name, value string }{
	1:  {":authority", ""},
	2:  {":method", "GET"},
	3:  {":method", "POST"},
	4:  {":path", "/"},
	5:  {":path", "/index.html"},
	6:  {":scheme", "http"},
	7:  {":scheme", "https"},
	8:  {":status", "200"},
	9:  {":status", "204"},
	10: {":status", "206"},
	11: {":status", "304"},
	12: {":status", "400"},
	13: {":status", "404"},
	14: {":status", "500"},
	15: {"accept-charset", ""},
	16: {"accept-encoding", "gzip, deflate"},
	17: {"accept-language", ""},
	18: {"accept-ranges", ""},
	19: {"accept", ""},
	20: {"access-control-allow-origin", ""},
	21: {"age", ""},
	22: {"allow", ""},
	23: {"authorization", ""},
	24: {"cache-control", ""},
	25: {"content-disposition", ""},
	26: {"content-encoding", ""},
	27: {"content-language", ""},
	28: {"content-length", ""},
	29: {"content-location", ""},
	30: {"content-range", ""},
	31: {"content-type", ""},
	32: {"cookie", ""},
	33: {"date", ""},
	34: {"etag", ""},
	35: {"expect", ""},
	36: {"expires", ""},
	37: {"from", ""},
	38: {"host", ""},
	39: {"if-match", ""},
	40: {"if-modified-since", ""},
	41: {"if-none-match", ""},
	42: {"if-range", ""},
	43: {"if-unmodified-since", ""},
	44: {"last-modified", ""},
	45: {"link", ""},
	46: {"location", ""},
	47: {"max-forwards", ""},
	48: {"proxy-authenticate", ""},
	49: {"proxy-authorization", ""},
	50: {"range", ""},
	51: {"referer", ""},
	52: {"refresh", ""},
	53: {"retry-after", ""},
	54: {"server", ""},
	55: {"set-cookie", ""},
	56: {"strict-transport-security", ""},
	57: {"transfer-encoding", ""},
	58: {"user-agent", ""},
	59: {"vary", ""},
	60: {"via", ""},
	61: {"www-authenticate", ""},
}

// The ids that Decode gives to pseudo-fields. They differ from the ids of package field,
// which are less than field.NumIDs.
const (
	Method      field.ID = 0xff - iota // ":method"
	Path                               // ":path"
	Scheme                             // ":scheme"
	Authority                          // ":authority"
	Status                             // ":status"
	Protocol                           // ":protocol"
	OtherPseudo                        // every other name that begins with a colon
)

// IsPseudo reports whether id is the id of a pseudo-field.
func IsPseudo(id field.ID) bool { return id >= OtherPseudo }

// lookup returns the id of a name in lower case.
func lookup(name []byte) field.ID {
	if len(name) == 0 || name[0] != ':' {
		return field.Lookup(name)
	}
	switch string(name[1:]) {
	case "method":
		return Method
	case "path":
		return Path
	case "scheme":
		return Scheme
	case "authority":
		return Authority
	case "status":
		return Status
	case "protocol":
		return Protocol
	}
	return OtherPseudo
}
