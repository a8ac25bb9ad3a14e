package qpack

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lineField is a field of a test.
type lineField struct {
	name, value string
	how         hpack.Indexing
}

func (f lineField) String() string { return strings.ToLower(f.name) + ": " + f.value }

// encode appends fields to a section that was begun.
func (f lineField) encode(b []byte, s *Section) []byte {
	return s.Encoder.AppendField(b, field.Lookup([]byte(f.name)), []byte(f.name), []byte(f.value), f.how)
}

// sentFields is a section on its way.
type sentFields struct {
	stream  uint64
	section []byte
	want    []lineField
}

// link is an encoder with the decoder of its peer, and the bytes on their way between them.
type link struct {
	t       testing.TB
	enc     *EncoderTable
	peer    PeerDecoder
	dec     Decoder
	stream  []byte // of the encoder
	acks    []byte // of the decoder
	pending []sentFields
}

func newLink(t testing.TB, limit uint32, allowed uint32) *link {
	l := &link{t: t, enc: NewEncoderTable(limit, uint64(allowed))}
	l.dec.Init(allowed, false, nil)
	return l
}

// send encodes a section, and puts it on its way.
func (l *link) send(stream uint64, fields ...lineField) []byte {
	l.t.Helper()
	b, s := l.enc.Begin(nil, stream)
	for _, f := range fields {
		b = f.encode(b, s)
	}
	return l.end(b, s, stream, fields)
}

func (l *link) end(b []byte, s *Section, stream uint64, fields []lineField) []byte {
	l.t.Helper()
	size, want := s.Size(), uint64(0)
	for _, f := range fields {
		want += uint64(len(f.name)) + uint64(len(f.value)) + hpack.EntryOverhead
	}
	if size != want {
		l.t.Fatalf("the size is %d, want %d", size, want)
	}
	section, starts := s.End(b)
	l.collect(starts)
	l.pending = append(l.pending, sentFields{stream, section, fields})
	return section
}

// collect takes the instructions of the encoder.
func (l *link) collect(starts bool) {
	for n := -1; starts && n != len(l.stream); {
		n = len(l.stream)
		l.stream = l.enc.Instructions(l.stream)
	}
}

// feed delivers bytes of the encoder.
func (l *link) feed(n int) {
	l.t.Helper()
	if err := l.dec.Feed(l.stream[:n]); err != nil {
		l.t.Fatal(err)
	}
	l.stream = l.stream[n:]
	l.acks = l.dec.AppendIncrement(l.acks)
	if l.dec.t.size > uint64(l.enc.capacity) {
		l.t.Fatalf("the table has %d bytes of %d", l.dec.t.size, l.enc.capacity)
	}
}

// ack delivers bytes of the decoder.
func (l *link) ack(n int) {
	l.t.Helper()
	if err := l.peer.Feed(l.acks[:n], l.enc); err != nil {
		l.t.Fatal(err)
	}
	l.acks = l.acks[n:]
}

// receive decodes the first section of the stream of the section i, which never waits.
func (l *link) receive(i int) {
	l.t.Helper()
	for k := range i {
		if l.pending[k].stream == l.pending[i].stream {
			i = k
			break
		}
	}
	p := l.pending[i]
	l.pending = append(l.pending[:i:i], l.pending[i+1:]...)
	var got field.List
	needs, err := l.dec.Decode(&got, p.section, wide)
	if err != nil || len(got.Entries) != len(p.want) {
		l.t.Fatalf("%q, %v, want %q", lines(&got), err, p.want)
	}
	for i, line := range lines(&got) {
		if line != p.want[i].String() {
			l.t.Fatalf("%q, want %q", line, p.want[i])
		}
	}
	if needs > 0 {
		l.acks = l.dec.AppendAck(l.acks, p.stream, needs)
	}
}

// settle delivers everything.
func (l *link) settle() {
	l.t.Helper()
	for len(l.pending) > 0 {
		l.receive(0)
	}
	l.feed(len(l.stream))
	l.ack(len(l.acks))
}

func TestRepeatedFieldsAreSentAsIndices(t *testing.T) {
	l := newLink(t, 4096, 4096)
	fields := []lineField{{"Server", "a server", hpack.Index}, {"X-Other", "another value", hpack.Index}}
	// seen for the first time, inserted, and used once it was acknowledged
	for i, most := range []int{100, 100, 5} {
		if section := l.send(uint64(4*i), fields...); len(section) > most {
			t.Errorf("section %d: %x", i, section)
		}
		l.settle()
	}
	if n := l.dec.Inserted(); n != 2 {
		t.Errorf("%d insertions", n)
	}
	want := l.send(12, fields...)
	if again := l.send(16, fields...); !bytes.Equal(again, want) {
		t.Errorf("%x, and then %x", want, again)
	}
	l.settle()
	if len(l.enc.waiting) != 0 {
		t.Errorf("sections wait: %v", l.enc.waiting)
	}
}

func TestFieldsThatDoNotRepeatAreNotInserted(t *testing.T) {
	l := newLink(t, 4096, 4096)
	for i := range 10 {
		l.send(uint64(4*i),
			lineField{"Authorization", "a secret", hpack.Never}, lineField{"Etag", `"some tag"`, hpack.Plain},
			lineField{"Date", "Thu, 01 Jan 1970 00:00:00 GMT", hpack.Index}, lineField{"X-Number", fmt.Sprint(i), hpack.Index},
			lineField{"Content-Type", "application/json", hpack.Index}, lineField{"purpose", "prefetch", hpack.Index},
			lineField{":path", "/some/path", hpack.Plain}, lineField{":method", "GET", hpack.Index},
			lineField{"X-Large", strings.Repeat("x", 4096), hpack.Index})
		l.settle()
	}
	if n := l.dec.Inserted(); n != 0 {
		t.Errorf("%d insertions", n)
	}
}

func TestStatusesAndLengthsOfSections(t *testing.T) {
	for _, n := range []int{0, 9, 10, 1234567890} {
		l := newLink(t, 4096, 4096)
		b, s := l.enc.Begin(nil, 0)
		b = s.Encoder.AppendLength(s.Encoder.AppendStatus(b, 418), n)
		l.end(b, s, 0, []lineField{{":status", "418", 0}, {"content-length", fmt.Sprint(n), 0}})
		l.settle()
	}
}

// insert sends a field until it is in the table.
func (l *link) insert(f lineField) {
	l.t.Helper()
	n := l.dec.Inserted()
	for range 2 {
		l.send(0, f)
		l.settle()
	}
	if l.dec.Inserted() != n+1 {
		l.t.Fatalf("%q was not inserted", f)
	}
}

func TestEntriesInUseStay(t *testing.T) {
	for name, end := range map[string]func(l *link){
		"acknowledged": func(l *link) { l.settle() },
		"cancelled": func(l *link) {
			l.pending = nil
			l.acks = l.dec.AppendCancel(l.acks, 4)
			l.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLink(t, 100, 200)
			old, other := lineField{"x-old", "value", hpack.Index}, lineField{"x-other", "other value", hpack.Index}
			l.insert(old)
			late := lineField{"x-late", "late value", hpack.Index}
			l.insert(other)
			l.send(4, old)
			kept := l.pending
			l.pending = nil
			for range 3 {
				l.send(8, late)
				l.settle()
			}
			if n := l.dec.Inserted(); n != 2 {
				t.Fatalf("%d insertions", n)
			}
			l.pending = kept
			end(l)
			l.send(8, late)
			l.settle()
			if n := l.dec.Inserted(); n != 3 {
				t.Fatalf("%d insertions after the end", n)
			}
		})
	}
}

// A dropped section keeps no entry.
func TestDroppedSectionsFreeTheirEntries(t *testing.T) {
	l := newLink(t, 50, 50)
	old, late := lineField{"x-old", "value", hpack.Index}, lineField{"x-late", "value", hpack.Index}
	l.insert(old)
	b, s := l.enc.Begin(nil, 4)
	if b = old.encode(b, s); len(b) != maxPrefix+1 {
		t.Fatalf("encoded as %x", b)
	}
	if s.Drop() {
		t.Error("instructions of a section without insertions")
	}
	l.insert(late)
}

// A peer that acknowledges nothing costs a limited number of sections.
func TestUnacknowledgedSectionsAreLimited(t *testing.T) {
	l := newLink(t, 4096, 4096)
	f := lineField{"x-old", "some value", hpack.Index}
	l.insert(f)
	for i := range 2 * maxWaiting {
		section := l.send(uint64(i), f)
		if uses := section[0] != 0; uses != (i < maxWaiting) {
			t.Fatalf("section %d is %x", i, section)
		}
	}
	if len(l.enc.waiting) != maxWaiting {
		t.Errorf("%d sections wait", len(l.enc.waiting))
	}
	l.settle()
	if len(l.enc.waiting) != 0 {
		t.Errorf("%d sections wait after all", len(l.enc.waiting))
	}
}

func TestNoTableWithoutRoom(t *testing.T) {
	for _, row := range [][2]int{{0, 4096}, {4096, 0}, {4096, 32}, {32, 4096}} {
		if NewEncoderTable(uint32(row[0]), uint64(row[1])) != nil {
			t.Errorf("limits %v: a table", row)
		}
	}
	// the peer counts with its own limit
	l := newLink(t, 100, 1<<30)
	l.insert(lineField{"a", "b", hpack.Index})
	l.send(8, lineField{"a", "b", hpack.Index})
	l.settle()
}

// RFC 9204 section 4.4, with the instructions of its appendix B.
func TestInstructionsOfThePeersDecoder(t *testing.T) {
	for _, row := range []struct {
		stream string
		ok     bool
	}{
		{"84", true}, {"48", true}, {"01", true}, {"44 48 01", true}, {"7fffff7f", true},
		{"84 84", false}, // one section was sent
		{"44 84", false}, // it was cancelled
		{"88", false},    // no section on this stream
		{"00", false},    // no insertion
		{"02", false},    // one was sent
		{"01 01", false}, // no more
		{"3fffff7f", false},
		{"ffffffffffffffffffffff00", false},
	} {
		l := newLink(t, 220, 220)
		l.insert(lineField{"a", "b", hpack.Index})
		l.send(4, lineField{"a", "b", hpack.Index})
		// an unacknowledged insertion, and an unsent one
		l.send(12, lineField{"c", "d", hpack.Index})
		l.send(12, lineField{"c", "d", hpack.Index})
		for range 2 {
			b, s := l.enc.Begin(nil, 16)
			lineField{"e", "f", hpack.Index}.encode(b, s)
			s.Drop()
		}
		var err error
		for _, c := range fromHex(t, row.stream) {
			if err = l.peer.Feed([]byte{c}, l.enc); err != nil {
				break
			}
		}
		if err != nil && err != ErrDecoderStream || (err == nil) != row.ok {
			t.Errorf("%q: %v", row.stream, err)
		}
	}
}

// exchangeAtRandom encodes, loses, delivers and decodes sections in the order of choices.
func exchangeAtRandom(t testing.TB, limit, allowed uint32, choose func(n int) int) {
	l := newLink(t, limit, allowed)
	if l.enc == nil {
		return
	}
	type begun struct {
		b      []byte
		s      *Section
		stream uint64
		fields []lineField
	}
	var open []begun
	end := func(i int, drop bool) {
		o := open[i]
		open = append(open[:i:i], open[i+1:]...)
		if drop {
			l.collect(o.s.Drop())
		} else {
			l.end(o.b, o.s, o.stream, o.fields)
		}
	}
	names := []string{"Server", "Cookie", "X-One", "X-Two", ":authority", "x-three", "purpose", "Vary"}
	for kind := choose(16); kind > 0; kind = choose(16) {
		switch {
		case kind < 3 && len(open) < 3:
			stream := uint64(4 * choose(5))
			b, s := l.enc.Begin(nil, stream)
			open = append(open, begun{b, s, stream, nil})
		case kind < 8 && len(open) > 0:
			o := &open[choose(len(open))]
			f := lineField{names[choose(len(names))], strings.Repeat("v", 1+choose(9)*choose(5)), hpack.Indexing(max(choose(6)-3, 0))}
			o.b, o.fields = f.encode(o.b, o.s), append(o.fields, f)
		case kind < 10 && len(open) > 0:
			end(choose(len(open)), choose(8) == 0)
		case kind < 12 && len(l.pending) > 0:
			l.receive(choose(len(l.pending)))
		case kind == 12 && len(l.pending) > 0:
			// the stream is abandoned
			stream, kept := l.pending[choose(len(l.pending))].stream, []sentFields(nil)
			for _, p := range l.pending {
				if p.stream != stream {
					kept = append(kept, p)
				}
			}
			l.pending, l.acks = kept, l.dec.AppendCancel(l.acks, stream)
			// sections that follow on it are of the past: they would be decoded
			l.ack(len(l.acks))
		case kind == 13:
			l.feed(choose(len(l.stream) + 1))
		default:
			l.ack(choose(len(l.acks) + 1))
		}
	}
	for len(open) > 0 {
		end(0, false)
	}
	l.settle()
	if len(l.enc.waiting) > 0 || l.enc.acked != l.enc.d.Next() || uint64(l.enc.d.Size()) != l.dec.t.size || uint64(l.enc.d.Len()) != uint64(len(l.dec.t.entries)) {
		t.Fatalf("%d sections wait, %d of %d insertions were acknowledged, %d bytes here and %d there",
			len(l.enc.waiting), l.enc.acked, l.enc.d.Next(), l.enc.d.Size(), l.dec.t.size)
	}
	for n := l.enc.d.Next() - l.enc.d.Len(); n < l.enc.d.Next(); n++ {
		if *l.enc.pin(n) != 0 {
			t.Fatalf("entry %d is in use after all", n)
		}
	}
}

func TestSectionsNeverWaitAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 0
		exchangeAtRandom(t, 40+uint32(r.IntN(400)), 40+uint32(r.IntN(500)), func(most int) int {
			if n++; most == 16 && n < 2000 {
				return 1 + r.IntN(15)
			}
			if most == 16 {
				return 0
			}
			return r.IntN(most)
		})
	}
}

// FuzzEncoderTable sends sections to a decoder, and delivers and loses them in any order.
func FuzzEncoderTable(f *testing.F) {
	f.Add(uint16(220), uint16(220), []byte("\x01\x00\x03\x00\x02\x03\x03\x00\x08\x00\x01\x01\x00\x03\x00\x02\x03\x03\x00\x08\x00\x01\x0d\x20\x0e\x01\x0a\x00"))
	f.Add(uint16(80), uint16(1000), bytes.Repeat([]byte("\x01\x02\x04\x00\x05\x08\x04\x00\x09\x00\x07\x0d\xff\x0f\xff\x0b\x00\x0c\x00"), 20))
	f.Fuzz(func(t *testing.T, limit, allowed uint16, choices []byte) {
		exchangeAtRandom(t, uint32(limit), uint32(allowed), func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		})
	})
}

// Many streams encode at once, while the decoder acknowledges.
func TestStreamsEncodeAtOnce(t *testing.T) {
	l := newLink(t, 300, 300)
	var mu sync.Mutex // of l
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 50 {
				fields := []lineField{
					{"Server", "a server", hpack.Index}, {"x-one", fmt.Sprint((i + k) % 5), hpack.Index}, {"x-two", fmt.Sprint(k % 9), hpack.Index},
				}
				b, s := l.enc.Begin(nil, uint64(4*i))
				for _, f := range fields {
					b = f.encode(b, s)
				}
				mu.Lock()
				l.end(b, s, uint64(4*i), fields)
				l.settle()
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestSectionsDoNotAllocate(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector makes pools forget")
	}
	l := newLink(t, 4096, 4096)
	f := lineField{"x-old", "some value", hpack.Index}
	l.insert(f)
	name, value, room, ack := []byte(f.name), []byte(f.value), make([]byte, 0, 1000), []byte{0x80 | 4}
	if n := testing.AllocsPerRun(100, func() {
		b, s := l.enc.Begin(room, 4)
		b = s.Encoder.AppendStatus(b, 200)
		b = s.Encoder.AppendField(b, field.Unknown, name, value, hpack.Index)
		b = s.Encoder.AppendLength(b, 17)
		if section, _ := s.End(b); section[0] == 0 || l.peer.Feed(ack, l.enc) != nil {
			t.Fatal("the entry is not used")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// lsqpackDecodes decodes lines: "e", 0 and bytes of the encoder's stream, or "s", a stream and a section, as hex. No
// section may wait.
const lsqpackDecodes = `
import sys, pylsqpack
d = pylsqpack.Decoder(300, 0)
for line in sys.stdin:
    kind, stream, text = line.split()
    if kind == "e":
        d.feed_encoder(bytes.fromhex(text))
    else:
        print("|".join((name + b": " + value).decode() for name, value in d.feed_header(int(stream), bytes.fromhex(text))[1]))
`

// Sections with entries, and their instructions, are read by ls-qpack.
func TestDynamicSectionsAreReadElsewhere(t *testing.T) {
	python := cmp.Or(os.Getenv("FASTHTTP_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import pylsqpack").Run(); err != nil {
		t.Skipf("%s has no pylsqpack", python)
	}
	r := rand.New(rand.NewPCG(3, 4))
	l := newLink(t, 300, 300)
	var in, want strings.Builder
	used := 0
	for i := range 2000 {
		var fields []lineField
		var texts []string
		for range 1 + r.IntN(4) {
			f := lineField{[]string{"server", "x-one", ":authority", "cookie"}[r.IntN(4)], strings.Repeat("v", 1+r.IntN(3)), hpack.Index}
			fields, texts = append(fields, f), append(texts, f.String())
		}
		section := l.send(uint64(4*i), fields...)
		if section[0] != 0 {
			used++
		}
		fmt.Fprintf(&in, "s %d %x\n", 4*i, section)
		if len(l.stream) > 0 {
			fmt.Fprintf(&in, "e 0 %x\n", l.stream)
		}
		fmt.Fprintln(&want, strings.Join(texts, "|"))
		l.settle()
	}
	cmd := exec.Command(python, "-c", lsqpackDecodes)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != want.String() || used < 500 {
		t.Errorf("%v, the same %v, %d sections with entries", err, string(out) == want.String(), used)
	}
	t.Logf("%d sections with entries, %d insertions", used, l.dec.Inserted())
}

// heads are typical field sections: of a browser and its server, and of an API and its client.
var heads = map[string][]lineField{
	"response of a site": {
		{"Server", "fasthttp", hpack.Index}, {"Content-Type", "text/html; charset=utf-8", hpack.Index}, {"Vary", "Accept-Encoding", hpack.Index},
		{"Content-Encoding", "br", hpack.Index}, {"Cache-Control", "private, max-age=0, must-revalidate", hpack.Index},
		{"Etag", `"5f3a-18c2"`, hpack.Plain}, {"Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload", hpack.Index},
		{"Content-Security-Policy", "default-src 'self'; img-src 'self' https://images.example.com; script-src 'self'", hpack.Index},
		{"X-Content-Type-Options", "nosniff", hpack.Index}, {"Referrer-Policy", "strict-origin-when-cross-origin", hpack.Index},
		{"Permissions-Policy", "camera=(), microphone=(), geolocation=()", hpack.Index}, {"X-Request-Id", "0af7651916cd43dd8448eb211c80319c", hpack.Plain},
	},
	"response of an API": {
		{"Server", "fasthttp", hpack.Index}, {"Content-Type", "application/json; charset=utf-8", hpack.Index},
		{"Cache-Control", "no-store", hpack.Index}, {"Access-Control-Allow-Origin", "https://app.example.com", hpack.Index},
		{"X-Request-Id", "0af7651916cd43dd8448eb211c80319c", hpack.Plain}, {"X-Ratelimit-Remaining", "4711", hpack.Plain},
	},
	"smallest response": {{"Server", "fasthttp", hpack.Index}, {"Content-Type", "text/plain; charset=utf-8", hpack.Index}},
	"request of a browser": {
		{":method", "GET", hpack.Index}, {":scheme", "https", hpack.Index}, {":authority", "www.example.com", hpack.Index}, {":path", "/static/style.css?v=17", hpack.Plain},
		{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36", hpack.Index},
		{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", hpack.Index},
		{"Accept-Encoding", "gzip, deflate, br, zstd", hpack.Index}, {"Accept-Language", "en-GB,en;q=0.9,de;q=0.8", hpack.Index},
		{"Sec-Fetch-Dest", "document", hpack.Index}, {"Sec-Fetch-Mode", "navigate", hpack.Index}, {"Sec-Fetch-Site", "same-origin", hpack.Index},
		{"Referer", "https://www.example.com/", hpack.Index}, {"Cookie", "session=0af7651916cd43dd8448eb211c80319c; theme=dark", hpack.Index},
	},
	"request of an API": {
		{":method", "GET", hpack.Index}, {":scheme", "https", hpack.Index}, {":authority", "api.example.com", hpack.Index}, {":path", "/v1/items/4711", hpack.Plain},
		{"User-Agent", "client/1.0", hpack.Index}, {"Accept", "application/json", hpack.Index}, {"Authorization", "Bearer 0af7651916cd43dd8448eb211c80319c", hpack.Never},
	},
}

// staticSection encodes a head without a dynamic table.
func staticSection(enc *hpack.Encoder, b []byte, ids []field.ID, texts [][2][]byte, head []lineField) []byte {
	b = Encoder{}.Begin(b)
	for i, f := range head {
		b = enc.AppendField(b, ids[i], texts[i][0], texts[i][1], f.how)
	}
	return b
}

// parts returns the ids, names and values of a head.
func parts(head []lineField) (ids []field.ID, texts [][2][]byte) {
	for _, f := range head {
		ids = append(ids, field.Lookup([]byte(f.name)))
		texts = append(texts, [2][]byte{[]byte(f.name), []byte(f.value)})
	}
	return ids, texts
}

func TestTypicalHeadsAreSmaller(t *testing.T) {
	for name, head := range heads {
		var enc hpack.Encoder
		enc.InitForm(Encoder{})
		ids, texts := parts(head)
		without := len(staticSection(&enc, nil, ids, texts, head))
		l := newLink(t, 4096, 4096)
		with, instructions := 0, 0
		for i := range uint64(3) {
			with = len(l.send(4*i, head...))
			instructions += len(l.stream)
			l.settle()
		}
		t.Logf("%s: %d bytes without a table, %d with it, after %d bytes of instructions", name, without, with, instructions)
		if with >= without {
			t.Errorf("%s: %d bytes, and %d with a table", name, without, with)
		}
	}
}

func BenchmarkSections(b *testing.B) {
	for name, head := range heads {
		ids, texts := parts(head)
		room := make([]byte, 0, 4096)
		b.Run(name+"/static", func(b *testing.B) {
			var enc hpack.Encoder
			enc.InitForm(Encoder{})
			b.ReportAllocs()
			for b.Loop() {
				room = staticSection(&enc, room[:0], ids, texts, head)
			}
		})
		b.Run(name+"/dynamic", func(b *testing.B) {
			l := newLink(b, 4096, 4096)
			for range 3 {
				l.send(4, head...)
				l.settle()
			}
			ack := []byte{0x80 | 4}
			b.ReportAllocs()
			for b.Loop() {
				p, s := l.enc.Begin(room[:0], 4)
				for i, f := range head {
					p = s.Encoder.AppendField(p, ids[i], texts[i][0], texts[i][1], f.how)
				}
				if _, starts := s.End(p); starts || l.peer.Feed(ack, l.enc) != nil {
					b.Fatal("the table has not settled")
				}
			}
		})
	}
}
