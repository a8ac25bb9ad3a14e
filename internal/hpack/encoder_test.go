package hpack

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	xnet "golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// peer is an encoder and both decoders at the other end.
type peer struct {
	e     Encoder
	d     Decoder
	x     *xnetDecoder
	block []byte
	want  []pair
}

func newPeer(cap uint32) *peer {
	p := &peer{x: newXnetDecoder(initialSize)}
	p.e.Init(cap)
	p.d.Init(initialSize)
	return p
}

// setMaxTable is called when the decoder's SETTINGS arrive.
func (p *peer) setMaxTable(n uint32) {
	p.e.SetMaxTable(n)
	p.d.allowed = n
	p.d.Acknowledged()
	p.x.d.SetAllowedMaxDynamicTableSize(n)
}

func (p *peer) begin() { p.block, p.want = p.e.Begin(p.block[:0]), nil }

func (p *peer) add(name, value string, how Indexing) {
	p.block = p.e.AppendField(p.block, field.Lookup([]byte(name)), []byte(name), []byte(value), how)
	p.want = append(p.want, pair{strings.ToLower(name), value})
}

func (p *peer) end(t *testing.T) {
	t.Helper()
	var l field.List
	if err := p.d.Decode(&l, p.block, noLimits); err != nil || fmt.Sprint(pairs(&l)) != fmt.Sprint(p.want) {
		t.Fatalf("%x: %v, %q, want %q", p.block, err, pairs(&l), p.want)
	}
	got, err := p.x.decode(p.block)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(p.want) {
		t.Fatalf("%x: x/net: %v, %q, want %q", p.block, err, got, p.want)
	}
	checkTable(t, &p.e.t)
}

func TestEncoderTellsSizesAtTheBeginningOfTheNextBlock(t *testing.T) {
	for _, c := range []struct {
		name    string
		cap     uint32
		sizes   []uint32
		updates string
	}{
		{"nothing", 4096, nil, ""},
		{"the default", 4096, []uint32{4096}, ""},
		{"more than our own limit", 4096, []uint32{1 << 20}, ""},
		{"less", 4096, []uint32{100}, "3f45"},
		{"zero", 4096, []uint32{0}, "20"},
		{"fell and rose", 4096, []uint32{0, 4096}, "203fe11f"},
		{"fell and rose to less", 4096, []uint32{0, 100}, "203f45"},
		{"rose and fell", 1 << 20, []uint32{1 << 16, 4096}, ""},
		{"rose and fell to less", 1 << 20, []uint32{1 << 16, 100}, "3f45"},
		{"fell twice", 4096, []uint32{1000, 100}, "3f45"},
		{"rose", 1 << 20, []uint32{1 << 16}, "3fe1ff03"},
		{"our own limit is less", 100, nil, "3f45"},
		{"our own limit is zero", 0, []uint32{4096}, "20"},
	} {
		var e Encoder
		e.Init(c.cap)
		for _, n := range c.sizes {
			e.SetMaxTable(n)
		}
		if got := fmt.Sprintf("%x", e.Begin(nil)); got != c.updates {
			t.Errorf("%s: %s, want %s", c.name, got, c.updates)
		}
		if again := e.Begin(nil); len(again) != 0 {
			t.Errorf("%s: the second block begins with %x", c.name, again)
		}
	}
}

func TestStatusOfEveryCode(t *testing.T) {
	p := newPeer(4096)
	for code := 100; code < 1000; code++ {
		p.begin()
		p.block = p.e.AppendStatus(p.block, code)
		p.want = []pair{{":status", fmt.Sprint(code)}}
		p.end(t)
		if len(p.block) > 5 {
			t.Errorf("%d takes %d bytes", code, len(p.block))
		}
	}
}

func TestEncoderRepresentsFields(t *testing.T) {
	for _, c := range []struct {
		name, value string
		how         Indexing
		once, twice string // hexadecimal, of the first field and of a second, equal one
	}{
		{":method", "GET", Plain, "82", "82"},
		{":method", "PUT", Index, "4203505554", "be"},
		{":path", "/", Plain, "84", "84"},
		{":path", "/*", Plain, "04022f2a", "04022f2a"},
		{":authority", "a", Index, "410161", "be"},
		{":protocol", "*", Index, "", ""},
		{"Accept-Encoding", "gzip, deflate", Index, "90", "90"},
		{"Accept-Encoding", "gzip, deflate", Never, "", ""},
		{"Content-Length", "1", Plain, "0f0d0131", "0f0d0131"},
		{"Cookie", "*", Never, "1f11012a", "1f11012a"},
		{"cookie", "*", Index, "60012a", "be"},
		{"X-*", "*", Index, "", "be"},
		{"#@$", "*", Index, "4003234024012a", "be"},
		{"#@$", "*", Plain, "0003234024012a", "0003234024012a"},
		{"#@$", "*", Never, "1003234024012a", "1003234024012a"},
	} {
		p := newPeer(4096)
		for i, want := range []string{c.once, c.twice} {
			p.begin()
			p.add(c.name, c.value, c.how)
			p.end(t)
			if got := fmt.Sprintf("%x", p.block); want != "" && got != want {
				t.Errorf("%d: %s: %s (%d): %s, want %s", i, c.name, c.value, c.how, got, want)
			}
		}
	}
}

// A Never field is not sent as an index, even if another caller has indexed it before.
func TestNeverFieldsAreLiteralAlthoughInATable(t *testing.T) {
	p := newPeer(4096)
	p.begin()
	p.add("x-secret", "abc", Index)
	p.add("X-Secret", "abc", Never)
	p.add("accept-encoding", "gzip, deflate", Never)
	p.end(t)
	dec := xnet.NewDecoder(4096, nil)
	fields, err := dec.DecodeFull(p.block)
	if err != nil || fields[0].Sensitive || !fields[1].Sensitive || !fields[2].Sensitive {
		t.Errorf("%v, %+v", err, fields)
	}
}

func TestNameOfAnEntryIsUsedForOtherValues(t *testing.T) {
	for _, name := range []string{"X-Request-Id", "x-unknown-name"} {
		p := newPeer(4096)
		p.begin()
		p.add(name, "***", Index)
		first := len(p.block)
		p.add(strings.ToUpper(name), "###", Plain)
		p.end(t)
		if n := len(p.block) - first; n != 6 {
			t.Errorf("%s: the second field takes %d bytes: %x", name, n, p.block)
		}
	}
}

func TestCaseOfANameDoesNotMatter(t *testing.T) {
	p := newPeer(4096)
	p.begin()
	for _, name := range []string{"X-Unknown-Name", "x-unknown-name", "X-UNKNOWN-NAME"} {
		p.add(name, "value", Index)
	}
	p.end(t)
	if !bytes.HasSuffix(p.block, []byte{0xbe, 0xbe}) || p.e.t.n != 1 {
		t.Errorf("%x: %d entries", p.block, p.e.t.n)
	}
}

func TestFieldsWithTheSameKeyAreNotTakenForEachOther(t *testing.T) {
	p := newPeer(4096)
	p.begin()
	p.add("x-name", "value", Index)
	p.add("via", "value", Index)
	key := keyOf(field.Unknown, []byte("x-name"), []byte("value"))
	for _, c := range []struct {
		id          field.ID
		name, value string
		want        bool
	}{
		{field.Unknown, "x-name", "value", true},
		{field.Unknown, "x-name", "eulav", false},
		{field.Unknown, "x-eman", "value", false},
		{field.Via, "via", "value", false},
	} {
		if i, ok := p.e.find(key, c.id, []byte(c.name), []byte(c.value)); ok != c.want {
			t.Errorf("%s: %s is at %d, %v", c.name, c.value, i, ok)
		}
	}
}

func TestEveryFieldOfTheTableIsFound(t *testing.T) {
	p := newPeer(4096)
	for round := range 2 {
		p.begin()
		for i := range 60 { // more than the first ring has, and none is evicted
			p.add("a", fmt.Sprint(i), Index)
		}
		p.end(t)
		if round == 1 && len(p.block) != 60 {
			t.Errorf("%d bytes for 60 fields that are in the table: %x", len(p.block), p.block)
		}
	}
}

func TestFieldsLargerThanTheTableAreNotStored(t *testing.T) {
	p := newPeer(4096)
	p.begin()
	p.add("a", "b", Index)
	p.add("large", strings.Repeat("x", 4096), Index)
	p.add("a", "b", Index)
	p.end(t)
	if p.block[len(p.block)-1] != 0xbe {
		t.Errorf("the table was emptied: % x", p.block[len(p.block)-4:])
	}
	p.setMaxTable(0)
	p.begin()
	p.add("a", "b", Index)
	p.add("a", "b", Index)
	p.end(t)
	p.setMaxTable(4096)
	p.begin()
	p.add("a", "b", Index)
	p.end(t)
}

func TestIndexingOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		want  Indexing
	}{
		{"x-unknown", "v", Index},
		{"content-type", "text/plain", Index},
		{"date", "Mon, 21 Oct 2013 20:13:21 GMT", Index},
		{"server", "fasthttp", Index},
		{"content-length", "12", Plain},
		{"x-request-id", "1", Plain},
		{"authorization", "Basic x", Never},
		{"authorization", "Bearer " + strings.Repeat("x", 500), Never},
		{"proxy-authorization", "Basic x", Never},
		{"cookie", "a=1", Never},
		{"cookie", "sid=8d7f0c1e5a6b4c3d9e2f1a0b", Index},
		{"set-cookie", "sid=8d7f0c1e5a6b4c3d9e2f1a0b", Plain},
		{"cookie", strings.Repeat("x", 2000), Plain},
	} {
		if got := IndexingOf(field.Lookup([]byte(c.name)), []byte(c.value)); got != c.want {
			t.Errorf("%s: %s: %d, want %d", c.name, c.value, got, c.want)
		}
	}
}

// randomField returns a field of a small set, so that many repeat, or another one.
func randomField(r *rand.Rand) (name, value string) {
	names := []string{"Content-Type", "x-Unknown", "X-other", "cookie", "Via", ":path", ":authority", ":method", "X-Request-Id", "a", "refresh", ""}
	name = names[r.IntN(len(names))]
	if r.IntN(10) == 0 {
		name += fmt.Sprint("-", r.IntN(30))
	}
	value = fmt.Sprint(r.IntN(6))
	switch r.IntN(6) {
	case 0:
		value = strings.Repeat(value, r.IntN(300))
	case 1:
		value += string([]byte{byte(r.IntN(256)), byte(r.IntN(256))})
	case 2:
		value += " value of a usual length"
	}
	return name, value
}

func randomRun(t *testing.T, p *peer, r *rand.Rand, blocks int) {
	for range blocks {
		for r.IntN(8) == 0 {
			p.setMaxTable([]uint32{0, 40, 100, 300, 1000, 4096, 10000, math.MaxUint32}[r.IntN(8)])
		}
		p.begin()
		for range r.IntN(20) {
			name, value := randomField(r)
			p.add(name, value, Indexing(r.IntN(5)%3))
		}
		p.end(t)
	}
}

func TestDecodersUnderstandTheEncoder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := newPeer([]uint32{4096, 4096, 500, 0, 20000}[seed%5])
		if seed%2 == 1 {
			// numbers of entries wrap around, and heads of chains are from another time
			p.e.t.next = math.MaxUint32 - uint32(r.IntN(300))
		}
		randomRun(t, p, r, 100)
		// the values may be used for another connection
		again := newPeer(4096)
		p.e.Init(4096)
		p.d.Init(4096)
		p.d.acknowledged = false
		p.x = again.x
		randomRun(t, p, r, 50)
	}
}

func TestDecoderUnderstandsTheEncoderOfXnet(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var buf bytes.Buffer
		enc := xnet.NewEncoder(&buf)
		enc.SetMaxDynamicTableSizeLimit(1 << 16)
		var d Decoder
		d.Init(1 << 16)
		x := newXnetDecoder(1 << 16)
		max := Limits{Size: 20000, Fields: 100, Normalize: seed%2 == 1}
		for range 100 {
			for r.IntN(8) == 0 {
				enc.SetMaxDynamicTableSize([]uint32{0, 40, 100, 300, 1000, 4096, 10000}[r.IntN(7)])
			}
			buf.Reset()
			for range r.IntN(20) {
				name, value := randomField(r)
				enc.WriteField(xnet.HeaderField{Name: strings.ToLower(name), Value: value, Sensitive: r.IntN(5) == 0})
			}
			if max.Normalize {
				// the other side of compare sees names as they were sent
				var l field.List
				want, err := x.decode(buf.Bytes())
				if derr := d.Decode(&l, buf.Bytes(), max); derr != nil || err != nil || !strings.EqualFold(fmt.Sprint(pairs(&l)), fmt.Sprint(want)) {
					t.Fatalf("%v, %v: %q, %q", err, derr, pairs(&l), want)
				}
				continue
			}
			if !compare(t, &d, x, buf.Bytes(), max) {
				t.Fatalf("%x is refused", buf.Bytes())
			}
		}
	}
}

// A number that was evicted 2^32 entries ago must not make a chain circular.
func TestChainsEndAtNumbersFromAnotherTime(t *testing.T) {
	p := newPeer(4096)
	p.begin()
	p.add("a", "b", Index)
	p.add("c", "d", Index)
	p.end(t)
	for i := range p.e.links {
		p.e.links[i].older = p.e.t.next - 1
	}
	for i := range p.e.links {
		p.e.links[i].head = p.e.t.next - 2
	}
	p.begin()
	p.add("not", "there", Index)
	p.add("a", "b", Index)
	p.end(t)
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint32(4096), uint32(4096), "a\nb\n:path\n/\nA\nb\nx-request-id\n1\na\nb")
	f.Add(uint32(100), uint32(0), "a\nb\na\nb\n\n\n\n\n")
	f.Add(uint32(4096), uint32(70), "aaaaaa\nbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nc\nd\naaaaaa\nbbbbbbbbbbbbbbbbbbbbbbbbbbbb\nx\x80\xff\n\x00")
	f.Fuzz(func(t *testing.T, cap, later uint32, text string) {
		if len(text) > 4096 {
			return
		}
		p := newPeer(cap)
		parts := strings.Split(text, "\n")
		for round := range uint8(3) {
			p.begin()
			for i := 0; i+1 < len(parts); i += 2 {
				name := []byte(parts[i])
				// ToLower of package strings would replace invalid UTF-8
				p.block = p.e.AppendField(p.block, field.Lookup(name), name, []byte(parts[i+1]), Indexing((uint8(len(parts[i+1]))+round)%3))
				p.want = append(p.want, pair{asciiLower(parts[i]), parts[i+1]})
			}
			p.end(t)
			p.setMaxTable(later)
		}
	})
}

func asciiLower(s string) string {
	b := []byte(s)
	ascii.ToLower(b)
	return string(b)
}

var response = []pair{
	{"content-type", "text/plain; charset=utf-8"}, {"content-length", "13"}, {"server", "fasthttp"},
	{"date", "Mon, 21 Oct 2013 20:13:21 GMT"}, {"x-frame-options", "DENY"}, {"x-request-id", "8d7f0c1e5a6b4c3d9e2f1a0b"}, {"x-unknown", "value"},
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	var e Encoder
	e.Init(4096)
	fields := make([]sent, len(response))
	for i, f := range response {
		fields[i] = sentField(f)
	}
	block := make([]byte, 0, 4096)
	n := 0
	encode := func() {
		block = e.AppendStatus(e.Begin(block[:0]), 200)
		for i := range fields {
			f := &fields[i]
			block = e.AppendField(block, f.id, f.name, f.value, IndexingOf(f.id, f.value))
		}
		n++
		fields[6].value[0] = 'a' + byte(n%26)
		fields[6].value[1] = 'a' + byte(n/26%26)
	}
	for range 1000 {
		encode()
	}
	if allocs := testing.AllocsPerRun(1000, encode); allocs != 0 {
		t.Errorf("%v allocations a response", allocs)
	}
}

// sent is a field as callers of the encoder have it.
type sent struct {
	id          field.ID
	name, value []byte
}

func sentField(p pair) sent {
	name := []byte(p.name)
	id := field.Lookup(name)
	field.Normalize(name)
	return sent{id, name, []byte(p.value)}
}

func TestAppendLength(t *testing.T) {
	for _, n := range []int{0, 7, 13, 1234567890, math.MaxInt} {
		var e Encoder
		e.Init(4096)
		var d Decoder
		d.Init(4096)
		var l field.List
		err := d.Decode(&l, e.AppendLength(nil, n), noLimits)
		if err != nil || text(&l) != "content-length="+strconv.Itoa(n)+";" || d.t.n != 0 {
			t.Errorf("%d: %v, %q, %d entries", n, err, text(&l), d.t.n)
		}
	}
}
