package qpack

import (
	"errors"
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
)

// Encoder encodes field sections with the static table and literals alone. All connections whose
// peers have no dynamic table can share one Encoder; see EncoderTable for others.
type Encoder struct{}

// Begin begins a section: one that requires no insertions.
func (Encoder) Begin(dst []byte) []byte { return append(dst, 0, 0) }

// State implements hpack.Form. All fields are always encoded in the same way.
func (Encoder) State() uint64 { return 0 }

// SectionSize returns the size of a section of an Encoder as RFC 9114 section 4.2.2 counts it.
func SectionSize(section []byte) (size uint64) {
	var d Decoder
	d.Init(0, false, nil)
	var l field.List
	if _, err := d.Decode(&l, section, hpack.Limits{Size: math.MaxUint32, Fields: math.MaxInt32}); err != nil {
		return math.MaxUint64
	}
	for _, e := range l.Entries {
		size += uint64(e.Name.Len) + uint64(e.Value.Len) + hpack.EntryOverhead
	}
	return size
}

// MostExpansion is how many bytes of SectionSize a byte of a section has at most, with the static
// table.
const MostExpansion = 128

// statuses has the indices of statuses in the static table, plus one.
var statuses = func() (t [1000]uint8) {
	for i, f := range staticText {
		if f.name == ":status" {
			t[int(f.value[0]-'0')*100+int(f.value[1]-'0')*10+int(f.value[2]-'0')] = uint8(i + 1)
		}
	}
	return t
}()

// statusIndex is the index of the name ":status".
const statusIndex = 24

// AppendStatus implements hpack.Form. code has three digits.
func (Encoder) AppendStatus(dst []byte, code int) []byte {
	if code > 0 && code < len(statuses) && statuses[code] != 0 {
		return hpack.AppendInt(dst, 0xc0, 6, uint64(statuses[code]-1))
	}
	dst = hpack.AppendInt(dst, 0x50, 4, statusIndex)
	return append(dst, 3, '0'+byte(code/100%10), '0'+byte(code/10%10), '0'+byte(code%10))
}

// lengthIndex is the index of Content-Length.
const lengthIndex = 4

// AppendLength implements hpack.Form.
func (Encoder) AppendLength(dst []byte, n int) []byte {
	if n == 0 {
		return append(dst, 0xc0|lengthIndex)
	}
	dst = append(dst, 0x50|lengthIndex, 0)
	at := len(dst)
	dst = ascii.AppendUint(dst, n)
	dst[at-1] = byte(len(dst) - at)
	return dst
}

// AppendField implements hpack.Form.
func (Encoder) AppendField(dst []byte, id field.ID, name, value []byte, how hpack.Indexing) []byte {
	never := byte(0)
	if how == hpack.Never {
		never = 0x20
	}
	index, full := find(id, name, value)
	if full && never == 0 {
		return hpack.AppendInt(dst, 0xc0, 6, uint64(index))
	}
	if index < 0 && id != field.Unknown {
		name = hpack.LowerName(id)
	}
	return appendLiteral(dst, index, name, value, never)
}

// appendLiteral appends a field whose name has an index in the static table, or -1. never is 0x20 for a
// field that no table may have, or 0.
func appendLiteral(dst []byte, index int, name, value []byte, never byte) []byte {
	if index >= 0 {
		dst = hpack.AppendInt(dst, 0x50|never, 4, uint64(index))
	} else {
		dst = hpack.AppendText(dst, 0x20|never>>1, 3, name, true)
	}
	return hpack.AppendText(dst, 0, 7, value, false)
}

// find returns the index of a name in the static table, or -1, and whether the entry has the
// value.
func find(id field.ID, name, value []byte) (index int, full bool) {
	from := 0
	if id != field.Unknown {
		if from = int(first[id]) - 1; from < 0 {
			return -1, false
		}
		// entries with the same name follow one another, but for pseudo-fields and one more
		name = static[from].name()
	}
	index = -1
	for i := from; i < len(static); i++ {
		e := &static[i]
		if !ascii.EqualFold(e.name(), name) {
			if index >= 0 && e.id != hpack.Status {
				break
			}
			continue
		}
		if string(e.value()) == string(value) {
			return i, true
		}
		if index < 0 {
			index = i
		}
	}
	return index, false
}

// ErrDecoderStream is the error of PeerDecoder.
var ErrDecoderStream = errors.New("http3: malformed instruction of a QPACK decoder")

// PeerDecoder reads the stream of the peer's decoder (RFC 9204 section 4.4).
type PeerDecoder struct{ partial []byte }

// Feed takes bytes of the stream. Without a table nothing was inserted, so nothing can be acknowledged;
// but streams may be cancelled.
func (d *PeerDecoder) Feed(p []byte, t *EncoderTable) error {
	if len(d.partial) > 0 {
		d.partial = append(d.partial, p...)
		p = d.partial
	}
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	for len(p) > 0 {
		prefix := uint(6)
		if p[0]&0x80 != 0 {
			prefix = 7
		}
		n, rest, err := hpack.ReadInt(p, prefix)
		if err == hpack.ErrTruncated {
			break
		}
		if err == nil {
			err = t.handle(p[0], n)
		}
		if err != nil {
			return ErrDecoderStream
		}
		p = rest
	}
	d.partial = append(d.partial[:0], p...)
	return nil
}

// handle handles an instruction of the peer's decoder, whose first byte is given. t may be nil. mu is held.
func (t *EncoderTable) handle(first byte, n uint64) error {
	switch cancels := first&0xc0 == 0x40; {
	case t == nil && cancels:
		return nil
	case t == nil:
		return ErrDecoderStream
	case cancels:
		t.cancel(n)
		return nil
	case first&0x80 != 0:
		return t.acknowledge(n)
	}
	return t.increment(n)
}
