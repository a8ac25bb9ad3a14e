package qpack

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	oracle "github.com/quic-go/qpack"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
)

var wide = hpack.Limits{Size: 1 << 20, Fields: 1000}

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lines returns the fields of a list as text.
func lines(l *field.List) (all []string) {
	for i := range l.Entries {
		all = append(all, string(l.Name(i))+": "+string(l.Value(i)))
	}
	return all
}

// oracleLines decodes a section with quic-go/qpack.
func oracleLines(section []byte) (all []string, err error) {
	next := oracle.NewDecoder().Decode(section)
	for {
		f, err := next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f.Name+": "+f.Value)
	}
}

func TestStaticTableIsThatOfAnotherImplementation(t *testing.T) {
	for i, f := range staticText {
		section := hpack.AppendInt([]byte{0, 0}, 0xc0, 6, uint64(i))
		theirs, err := oracleLines(section)
		if err != nil || len(theirs) != 1 || theirs[0] != f.name+": "+f.value {
			t.Errorf("entry %d is %q: %q, but %q, %v elsewhere", i, f.name, f.value, theirs, err)
		}
	}
	section := hpack.AppendInt([]byte{0, 0}, 0xc0, 6, uint64(len(staticText)))
	if _, err := oracleLines(section); err == nil {
		t.Error("the table has more entries elsewhere")
	}
	var d Decoder
	d.Init(0, false, nil)
	if _, err := d.Decode(new(field.List), section, wide); err != ErrDecompression {
		t.Errorf("an index after the table: %v", err)
	}
}

func TestStatusesAreReadElsewhere(t *testing.T) {
	for code := 100; code < 1000; code++ {
		section := Encoder{}.AppendStatus(Encoder{}.Begin(nil), code)
		if theirs, err := oracleLines(section); err != nil || len(theirs) != 1 || theirs[0] != fmt.Sprint(":status: ", code) {
			t.Fatalf("status %d is read as %q, %v", code, theirs, err)
		}
	}
	for _, n := range []int{0, 1, 9, 10, 1234567890} {
		section := Encoder{}.AppendLength(Encoder{}.Begin(nil), n)
		if theirs, err := oracleLines(section); err != nil || len(theirs) != 1 || theirs[0] != fmt.Sprint("content-length: ", n) {
			t.Fatalf("length %d is read as %q, %v", n, theirs, err)
		}
	}
}

func TestEncoderDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 4096)
	var enc hpack.Encoder
	enc.InitForm(Encoder{})
	name, value := []byte("X-Other"), []byte("some value")
	if n := testing.AllocsPerRun(100, func() {
		b := enc.AppendStatus(Encoder{}.Begin(dst), 200)
		b = enc.AppendLength(b, 17)
		b = enc.AppendField(b, field.ContentType, nil, value, hpack.Index)
		b = enc.AppendField(b, field.Unknown, name, value, hpack.Never)
		dst = b[:0]
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The example of RFC 9204 appendix B, from the encoder's side.
func TestExampleOfTheRFC(t *testing.T) {
	var d Decoder
	d.Init(220, false, nil)
	decode := func(section string, needs uint64, want ...string) {
		t.Helper()
		var l field.List
		n, err := d.Decode(&l, fromHex(t, section), wide)
		if got := lines(&l); err != nil || n != needs || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("decoded %q, which needs %d, %v; want %q", got, n, err, want)
		}
	}
	feed := func(stream string) {
		t.Helper()
		for _, c := range fromHex(t, stream) { // in pieces
			if err := d.Feed([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// B.1
	decode("0000 510b 2f69 6e64 6578 2e68 746d 6c", 0, ":path: /index.html")
	// B.2
	section := "0381 10 11"
	if needs, err := d.Decode(new(field.List), fromHex(t, section), wide); err != ErrBlocked || needs != 2 {
		t.Fatalf("before the entries arrive: %d, %v", needs, err)
	}
	feed("3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468")
	decode(section, 2, ":authority: www.example.com", ":path: /sample/path")
	if ack := d.AppendAck(nil, 4, 2); !bytes.Equal(ack, []byte{0x84}) {
		t.Fatalf("acknowledged with %x", ack)
	}
	// B.3
	feed("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565")
	if inc := d.AppendIncrement(nil); !bytes.Equal(inc, []byte{0x01}) {
		t.Fatalf("acknowledged with %x", inc)
	}
	if inc := d.AppendIncrement(nil); len(inc) != 0 {
		t.Fatalf("acknowledged again with %x", inc)
	}
	// B.4
	feed("02")
	decode("0500 80 c1 81", 4, ":authority: www.example.com", ":path: /", "custom-key: custom-value")
	if c := d.AppendCancel(nil, 8); !bytes.Equal(c, []byte{0x48}) {
		t.Fatalf("cancelled with %x", c)
	}
	// B.5
	feed("810d 6375 7374 6f6d 2d76 616c 7565 32")
	if d.t.size != 215 || len(d.t.entries) != 4 || d.t.dropped != 1 {
		t.Fatalf("the table has %d bytes in %d entries, and has dropped %d", d.t.size, len(d.t.entries), d.t.dropped)
	}
}

func TestMalformedSectionsAndInstructions(t *testing.T) {
	for _, section := range []string{
		"", "00", "0080", // no base; a base before 0
		"0100",                // requires more than the table may have
		"0000 80",             // dynamic, without insertions
		"0000 10",             // after the base
		"0000 00 00",          // name after the base
		"0000 ff40",           // beyond the static table
		"0000 2f",             // truncated
		"0000 51 85 ff",       // truncated value
		"0000 51 81 00",       // Huffman code that ends in zeros
		"0000 51 84 ffffffff", // the code of the end of a string
		"ff" + strings.Repeat("ff", 12) + "00",
	} {
		var d Decoder
		d.Init(0, false, nil)
		if _, err := d.Decode(new(field.List), fromHex(t, section), wide); err != ErrDecompression {
			t.Errorf("%q: %v", section, err)
		}
	}
	for _, stream := range []string{
		"3fe101",                // a capacity of 256 of 220
		"00",                    // a duplicate of nothing
		"80 00",                 // the name of nothing
		"3f45 ff40 00",          // beyond the static table
		"c0 01 61",              // an entry without capacity
		"3f01 c0 7f a0 01",      // larger than the table
		"3f45 c0 84 ffffffff",   // Huffman code
		"3f45" + "5fffffffff0f", // a name too long for the table
	} {
		var d Decoder
		d.Init(220, false, nil)
		if err := d.Feed(fromHex(t, stream)); err != ErrEncoderStream {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

func TestLimitsOfSections(t *testing.T) {
	section := Encoder{}.Begin(nil)
	for range 10 {
		section = Encoder{}.AppendField(section, field.Unknown, []byte("name"), []byte("value"), hpack.Plain)
	}
	pseudo := Encoder{}.Begin(nil)
	for range 10 {
		pseudo = Encoder{}.AppendField(pseudo, field.Unknown, []byte(":abc"), []byte("value"), hpack.Plain)
	}
	for _, row := range []struct {
		size   uint32
		fields int
		want   error
	}{
		{410, 10, nil}, {409, 10, ErrTooLarge}, {410, 9, ErrTooLarge}, {205, 10, ErrTooLarge},
		{204, 10, ErrExcessive}, {410, 4, ErrExcessive},
	} {
		var d Decoder
		d.Init(0, false, nil)
		if _, err := d.Decode(new(field.List), section, hpack.Limits{Size: row.size, Fields: row.fields}); err != row.want {
			t.Errorf("%d bytes, %d fields: %v, want %v", row.size, row.fields, err, row.want)
		}
	}
	// pseudo-fields are not counted, but have a size
	for size, want := range map[uint32]error{410: nil, 409: ErrTooLarge} {
		var d Decoder
		d.Init(0, false, nil)
		if _, err := d.Decode(new(field.List), pseudo, hpack.Limits{Size: size}); err != want {
			t.Errorf("%d bytes of pseudo-fields: %v, want %v", size, err, want)
		}
	}
}

func TestFieldsAreFlaggedAndNormalised(t *testing.T) {
	var section []byte
	section = append(section, 0, 0)
	for _, f := range [][2]string{{"X-Upper", "a"}, {"x-y", "a\nb"}, {"content-type", "a"}, {":method", "G T"}} {
		section = append(hpack.AppendInt(section, 0x20, 3, uint64(len(f[0]))), f[0]...)
		section = append(hpack.AppendInt(section, 0, 7, uint64(len(f[1]))), f[1]...)
	}
	var d Decoder
	d.Init(0, true, func(id field.ID, value []byte) bool { return id != hpack.Method || !bytes.Contains(value, []byte(" ")) })
	var l field.List
	if _, err := d.Decode(&l, section, wide); err != nil {
		t.Fatal(err)
	}
	want := []field.Flag{field.BadName, field.BadValue, 0, field.BadValue}
	for i, e := range l.Entries {
		if e.Flags != want[i] {
			t.Errorf("%q has the flags %b, want %b", l.Name(i), e.Flags, want[i])
		}
	}
	if string(l.Name(2)) != "Content-Type" || l.Entries[2].ID != field.ContentType {
		t.Errorf("the name is %q", l.Name(2))
	}
}

// peerEncoder is an encoder with a dynamic table, as a peer may have one.
type peerEncoder struct {
	t      table
	stream []byte // instructions
}

func (p *peerEncoder) setCapacity(n uint64) {
	p.t.setCapacity(n)
	p.stream = hpack.AppendInt(p.stream, 0x20, 5, n)
}

func (p *peerEncoder) insert(r *rand.Rand, name, value string) {
	e := entry{text: []byte(name + value), nameLen: len(name)}
	for i := range p.t.entries {
		known := &p.t.entries[i]
		if string(known.name()) != name || r.IntN(2) == 0 {
			continue
		}
		back := uint64(len(p.t.entries) - 1 - i)
		if string(known.value()) == value {
			p.stream = hpack.AppendInt(p.stream, 0, 5, back)
		} else {
			p.stream = hpack.AppendText(hpack.AppendInt(p.stream, 0x80, 6, back), 0, 7, []byte(value), false)
		}
		p.t.add(e)
		return
	}
	if p.t.add(e) {
		p.stream = hpack.AppendText(p.stream, 0x40, 5, []byte(name), false)
		p.stream = hpack.AppendText(p.stream, 0, 7, []byte(value), false)
	}
}

// section encodes fields, with entries if there are any, and a base in the middle.
func (p *peerEncoder) section(r *rand.Rand, fields [][2]string) []byte {
	base := p.t.dropped + uint64(r.IntN(len(p.t.entries)+1))
	var b []byte
	needs := uint64(0)
	ref := func(dst []byte, at uint64, before, after byte, beforePrefix, afterPrefix uint) []byte {
		needs = max(needs, at+1)
		if at < base {
			return hpack.AppendInt(dst, before, beforePrefix, base-1-at)
		}
		return hpack.AppendInt(dst, after, afterPrefix, at-base)
	}
next:
	for _, f := range fields {
		for i := range p.t.entries {
			e, at := &p.t.entries[i], p.t.dropped+uint64(i)
			switch {
			case string(e.name()) != f[0]:
			case string(e.value()) == f[1]:
				b = ref(b, at, 0x80, 0x10, 6, 4)
				continue next
			case r.IntN(2) == 0:
				b = hpack.AppendText(ref(b, at, 0x40, 0, 4, 3), 0, 7, []byte(f[1]), false)
				continue next
			}
		}
		b = Encoder{}.AppendField(b, field.Unknown, []byte(f[0]), []byte(f[1]), hpack.Plain)
	}
	encoded := uint64(0)
	if needs > 0 {
		encoded = needs%(2*(tableSize/hpack.EntryOverhead)) + 1
	}
	head := hpack.AppendInt(nil, 0, 8, encoded)
	if base >= needs {
		head = hpack.AppendInt(head, 0, 7, base-needs)
	} else {
		head = hpack.AppendInt(head, 0x80, 7, needs-base-1)
	}
	return append(head, b...)
}

const tableSize = 300

func TestDynamicTableAgainstAnEncoder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var d Decoder
	d.Init(tableSize, false, nil)
	var p peerEncoder
	p.setCapacity(tableSize)
	for round := range 3000 {
		if r.IntN(50) == 0 {
			p.setCapacity(uint64(r.IntN(tableSize + 1)))
		}
		for range r.IntN(4) {
			p.insert(r, fmt.Sprint("name-", r.IntN(5)), fmt.Sprint("value-", r.IntN(8)))
		}
		var fields [][2]string
		for range r.IntN(6) {
			fields = append(fields, [2]string{fmt.Sprint("name-", r.IntN(5)), fmt.Sprint("value-", r.IntN(8))})
		}
		section := p.section(r, fields)
		var l field.List
		if needs, err := d.Decode(&l, section, wide); needs > d.Inserted() != (err == ErrBlocked) || err != nil && err != ErrBlocked {
			t.Fatalf("round %d: needs %d of %d, %v", round, needs, d.Inserted(), err)
		}
		for len(p.stream) > 0 {
			n := 1 + r.IntN(len(p.stream))
			if err := d.Feed(p.stream[:n]); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			p.stream = p.stream[n:]
		}
		l.Reset()
		_, err := d.Decode(&l, section, wide)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, f := range fields {
			if string(l.Name(i)) != f[0] || string(l.Value(i)) != f[1] {
				t.Fatalf("round %d: field %d is %q, want %q", round, i, lines(&l)[i], f)
			}
		}
		if d.t.size != p.t.size || d.Inserted() != p.t.inserted() {
			t.Fatalf("round %d: the tables differ", round)
		}
	}
}

// The static table has the names normalised on request.
func TestInsertedNamesAreNormalised(t *testing.T) {
	var d Decoder
	d.Init(220, true, nil)
	if err := d.Feed(fromHex(t, "3fbd01 ff20 01 61 80 01 62 4a63 7573 746f 6d2d 6b65 79 01 63 80 01 64")); err != nil {
		t.Fatal(err)
	}
	var l field.List
	if _, err := d.Decode(&l, fromHex(t, "0500 80 81 82 83"), wide); err != nil {
		t.Fatal(err)
	}
	for i, e := range l.Entries {
		if want := []string{"Custom-Key: d", "Custom-Key: c", "User-Agent: b", "User-Agent: a"}[i]; lines(&l)[i] != want || e.Flags != 0 {
			t.Errorf("field %d is %q with the flags %b, want %q", i, lines(&l)[i], e.Flags, want)
		}
	}
}

func TestPeerDecoder(t *testing.T) {
	var d PeerDecoder
	for _, c := range fromHex(t, "40 7fff01 48") {
		if err := d.Feed([]byte{c}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, stream := range []string{"80", "01", "7fffffffffffffffffffff00"} {
		if err := new(PeerDecoder).Feed(fromHex(t, stream), nil); err != ErrDecoderStream {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

// FuzzDecode decodes sections: where quic-go/qpack, which has no dynamic table, accepts one, the
// fields are the same.
func FuzzDecode(f *testing.F) {
	f.Add(fromHex(f, "0000 510b 2f69 6e64 6578 2e68 746d 6c"), []byte(nil))
	f.Add(fromHex(f, "0381 10 11"), fromHex(f, "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468"))
	f.Add(fromHex(f, "0000 d1 d7 c1 50 82 aabb"), fromHex(f, "02"))
	f.Fuzz(func(t *testing.T, section, stream []byte) {
		var d, pieces Decoder
		d.Init(4096, false, nil)
		pieces.Init(4096, false, nil)
		err := d.Feed(stream)
		var inPieces error
		for i := range stream {
			if inPieces = pieces.Feed(stream[i : i+1]); inPieces != nil {
				break
			}
		}
		if err != inPieces || err == nil && d.Inserted() != pieces.Inserted() {
			t.Fatalf("in pieces: %v and %d entries, not %v and %d", inPieces, pieces.Inserted(), err, d.Inserted())
		}
		if d.t.size > d.allowed || len(d.partial) > 2*4096+32 {
			t.Fatalf("%d bytes in the table, %d of an instruction", d.t.size, len(d.partial))
		}
		var l field.List
		needs, err := d.Decode(&l, section, wide)
		if err != nil {
			if theirs, other := oracleLines(section); other == nil && err == ErrDecompression && len(section) > 1 && section[0] == 0 && section[1] == 0 {
				t.Fatalf("elsewhere it is %q", theirs)
			}
			return
		}
		if needs > d.Inserted() {
			t.Fatalf("needs %d of %d", needs, d.Inserted())
		}
		if theirs, other := oracleLines(section); other == nil && strings.Join(lines(&l), "\n") != strings.Join(theirs, "\n") {
			t.Fatalf("decoded %q, elsewhere %q", lines(&l), theirs)
		}
	})
}

// FuzzEncode encodes a field, and decodes it here and elsewhere.
func FuzzEncode(f *testing.F) {
	f.Add("content-type", "text/html; charset=utf-8", uint8(0))
	f.Add("x-other", "\x00\xff", uint8(2))
	f.Add("authorization", "secret", uint8(2))
	f.Fuzz(func(t *testing.T, name, value string, how uint8) {
		name = strings.ToLower(name)
		for i := range len(name) {
			if name[i] >= 0x80 {
				return
			}
		}
		section := Encoder{}.AppendField(Encoder{}.Begin(nil), field.Lookup([]byte(name)), []byte(name), []byte(value), hpack.Indexing(how%3))
		var d Decoder
		d.Init(0, false, nil)
		var l field.List
		if _, err := d.Decode(&l, section, hpack.Limits{Size: 1 << 30, Fields: 1}); err != nil || lines(&l)[0] != name+": "+value {
			t.Fatalf("%q: %q is %q, %v", name, value, lines(&l), err)
		}
		if theirs, err := oracleLines(section); err != nil && !errors.Is(err, io.EOF) || len(theirs) != 1 || theirs[0] != name+": "+value {
			t.Fatalf("%q: %q is %q, %v elsewhere", name, value, theirs, err)
		}
	})
}
