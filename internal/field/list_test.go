package field

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// pairs returns the list as text, which tests compare.
func pairs(l *List) string {
	var out strings.Builder
	for i := range l.Len() {
		fmt.Fprintf(&out, "%s=%s;", l.Name(i), l.Value(i))
	}
	return out.String()
}

func add(l *List, name, value string) int {
	return addWithID(l, name, value, Lookup([]byte(name)))
}

// addWithID adds a pair and returns its position.
func addWithID(l *List, name, value string, id ID) int {
	l.Add(name, value).ID = id
	return l.Len() - 1
}

// remove removes the pair at i.
func remove(l *List, i int) { l.RemoveEach(i, func(int) int { return -1 }) }

func TestPairsKeepTheirOrder(t *testing.T) {
	var l List
	for i, p := range []string{"Host", "A", "Cookie", "a", "A"} {
		if at := add(&l, p, fmt.Sprint(i)); at != i {
			t.Errorf("pair %d was added at %d", i, at)
		}
	}
	if got := pairs(&l); got != "Host=0;A=1;Cookie=2;a=3;A=4;" {
		t.Error(got)
	}
	remove(&l, 1)
	if got := pairs(&l); got != "Host=0;Cookie=2;a=3;A=4;" {
		t.Error(got)
	}
	remove(&l, 3)
	remove(&l, 0)
	if got := pairs(&l); got != "Cookie=2;a=3;" || l.Len() != 2 {
		t.Error(got)
	}
	l.SetValue(1, "longer than before", NoValue)
	l.SetValue(0, "", 0)
	if got := pairs(&l); got != "Cookie=;a=longer than before;" {
		t.Error(got)
	}
	if e := l.Entries[1]; e.Flags != NoValue || e.ID != Unknown || l.Entries[0].ID != Cookie {
		t.Errorf("%+v", l.Entries)
	}
	l.Reset()
	if l.Len() != 0 || len(l.Block) != 0 {
		t.Error("a reset list is not empty")
	}
}

func TestFindLooksFromAPositionOn(t *testing.T) {
	var l List
	for _, name := range []string{"Host", "X-a", "x-A", "host", "Ho", ""} {
		add(&l, name, "v")
	}
	for _, c := range []struct {
		name                  string
		from, exact, fold, id int
	}{
		{"Host", 0, 0, 0, 0},
		{"Host", 1, -1, 3, 3},
		{"host", 0, 3, 0, 0},
		{"HOST", 4, -1, -1, -1},
		{"X-A", 0, -1, 1, 4},
		{"x-A", 0, 2, 1, 4},
		{"x-A", 2, 2, 2, 4},
		{"x-A", 3, -1, -1, 4},
		{"", 0, 5, 5, 4},
		{"", 6, -1, -1, 4},
		{"Ho", 0, 4, 4, 4},
		{"H", 0, -1, -1, 4},
		{"Host", 6, -1, -1, -1},
		{"Host", 99, -1, -1, -1},
	} {
		name, id := []byte(c.name), Lookup([]byte(c.name))
		if got := l.Find(c.name, c.from); got != c.exact {
			t.Errorf("Find(%q, %d) = %d, want %d", c.name, c.from, got, c.exact)
		}
		if got := l.FindFold(id, name, c.from); got != c.fold {
			t.Errorf("FindFold(%q, %d) = %d, want %d", c.name, c.from, got, c.fold)
		}
		if id != Unknown {
			if got := l.FindID(id, c.from); got != c.id {
				t.Errorf("FindID(%q, %d) = %d, want %d", c.name, c.from, got, c.id)
			}
		}
	}
}

// TestFindComparesNamesOfEverySize has names of every size at the start of a block, in its
// middle and at its end, which differ in one byte.
func TestFindComparesNamesOfEverySize(t *testing.T) {
	for size := range 20 {
		name := "abcdefghijklmnopqrst"[:size]
		for before := range 12 {
			for behind := range 12 {
				block := []byte(strings.Repeat("-", before) + name + strings.Repeat("+", behind))
				l := List{Block: slices.Clip(block)}
				l.Entries = []Entry{{Name: Span{uint32(before), uint32(size)}, Value: Span{uint32(before), 0}}}
				if i := l.Find(name, 0); i != 0 || l.Get(name) == nil {
					t.Fatalf("%q in %q: found at %d", name, block, i)
				}
				for i := range size {
					other := name[:i] + "X" + name[i+1:]
					if at := l.Find(other, 0); at != -1 || l.Get(other) != nil {
						t.Fatalf("%q in %q: found at %d", other, block, at)
					}
				}
				if l.Find(name+"X", 0) != -1 || size > 0 && l.Find(name[1:], 0) != -1 {
					t.Fatalf("another size than that of %q was found", name)
				}
			}
		}
	}
}

func TestGetTellsAnEmptyValueFromNone(t *testing.T) {
	var l List
	if v := l.Get(""); v != nil {
		t.Errorf("an empty list has %q", v)
	}
	add(&l, "", "")
	copied := new(List)
	copied.CopyFrom(&l)
	for _, l := range []*List{&l, copied} {
		if v := l.Get(""); v == nil || len(v) > 0 {
			t.Errorf("of a pair without text: %#v", v)
		}
	}
	for _, name := range []string{"sort", "port", "sore", "s", "sort"} {
		add(&l, name, fmt.Sprint(l.Len()))
	}
	for name, want := range map[string]string{"sort": "1", "port": "2", "sore": "3", "s": "4"} {
		if got := l.Get(name); string(got) != want || cap(got) != len(got) {
			t.Errorf("%q: %q with room for %d bytes, want %q", name, got, cap(got), want)
		}
	}
	for _, name := range []string{"Sort", "ort", "sorts", "fort"} {
		if got := l.Get(name); got != nil {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestRemoveAllTakesEveryPairWithTheName(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""}, {"a", ""}, {"b", "b=0;"}, {"aa", ""}, {"ab", "b=1;"}, {"ba", "b=0;"}, {"abac", "b=1;c=3;"},
		{"bacaad", "b=0;c=2;d=5;"}, {"aab", "b=2;"}, {"bcaa", "b=0;c=1;"},
	} {
		var l List
		for i, name := range c.names {
			add(&l, string(name), fmt.Sprint(i))
		}
		l.Changed = false
		if l.RemoveAll("a"); l.Changed != strings.Contains(c.names, "a") {
			t.Errorf("%s: changed %v", c.names, l.Changed)
		}
		if got := pairs(&l); got != c.want {
			t.Errorf("%s: %s are left, want %s", c.names, got, c.want)
		}
	}
}

func TestRemoveIDLeavesWhatComesBefore(t *testing.T) {
	for from, want := range []string{
		"A=1;B=3;", "Host=0;A=1;B=3;", "Host=0;A=1;B=3;", "Host=0;A=1;Host=2;B=3;", "Host=0;A=1;Host=2;B=3;", "Host=0;A=1;Host=2;B=3;Host=4;",
	} {
		var l List
		for i, name := range []string{"Host", "A", "Host", "B", "Host"} {
			add(&l, name, fmt.Sprint(i))
		}
		l.Changed = false
		if l.RemoveID(Host, from); l.Changed != (from < 5) || pairs(&l) != want {
			t.Errorf("from %d on: %s are left, changed %v", from, pairs(&l), l.Changed)
		}
	}
}

func TestAppendingToAReturnedSliceLeavesTheBlockAlone(t *testing.T) {
	var l List
	add(&l, "a", "1")
	add(&l, "b", "2")
	_ = append(l.Name(0), "xxxxxx"...)
	_ = append(l.Value(0), "yyyyyy"...)
	if got := pairs(&l); got != "a=1;b=2;" {
		t.Error(got)
	}
}

func TestValuesAreStoredInPlaceWhereTheyFit(t *testing.T) {
	var l List
	add(&l, "a", "12345")
	size := len(l.Block)
	for _, v := range []string{"abcde", "abc", "xyz", ""} {
		l.SetValue(0, v, 0)
		if got := pairs(&l); got != "a="+v+";" || len(l.Block) != size {
			t.Errorf("%s, block of %d bytes", got, len(l.Block))
		}
	}
	l.SetValue(0, "123456", 0)
	if got := pairs(&l); got != "a=123456;" || len(l.Block) != size+6 {
		t.Errorf("%s, block of %d bytes", got, len(l.Block))
	}
}

func TestReceivedTextIsNeverOverwritten(t *testing.T) {
	const head = "Host: a\r\nX: bcd"
	l := List{Block: []byte(head)}
	l.Entries = []Entry{{Name: Span{0, 4}, Value: Span{6, 1}, ID: Host}, {Name: Span{9, 1}, Value: Span{12, 3}}}
	l.Freeze()
	host, x := l.Value(0), l.Value(1)
	for range 3 {
		l.SetValue(0, "b", 0)
		l.SetValue(1, "zzz", 0)
		remove(&l, add(&l, "Y", "yyyy"))
	}
	if string(host) != "a" || string(x) != "bcd" || string(l.Block[:len(head)]) != head {
		t.Errorf("%q, %q, block %q", host, x, l.Block)
	}
	if got := pairs(&l); got != "Host=b;X=zzz;" {
		t.Error(got)
	}
	// text that the program has set is not received text
	size := len(l.Block)
	l.SetValue(0, "c", 0)
	if len(l.Block) != size {
		t.Errorf("block grew from %d to %d bytes", size, len(l.Block))
	}
}

func TestAValueMayBeSetToAPieceOfTheList(t *testing.T) {
	var l List
	add(&l, "a", "12345")
	add(&l, "b", "x")
	l.SetValue(1, bytesconv.String(l.Value(0)), 0)
	l.SetValue(0, bytesconv.String(l.Value(0)[2:]), 0)
	for range 50 { // so that the block must grow under the text that is added
		l.Add(bytesconv.String(l.Name(0)), bytesconv.String(l.Value(1)))
	}
	for i := range l.Len() {
		want := "12345"
		if i == 0 {
			want = "345"
		}
		if got := string(l.Value(i)); got != want {
			t.Errorf("pair %d: %q, want %q", i, got, want)
		}
	}
}

func TestACopyIsIndependent(t *testing.T) {
	src := new(List)
	add(src, "a", "1")
	src.Freeze()
	dst := new(List)
	add(dst, "old", "old")
	dst.CopyFrom(src)
	src.SetValue(0, "2", 0)
	src.Reset()
	add(src, "z", "9")
	if got := pairs(dst); got != "a=1;" {
		t.Error(got)
	}
	old := dst.Value(0)
	dst.SetValue(0, "3", 0)
	if string(old) != "1" {
		t.Error("the received text of a copy was overwritten")
	}
}

func TestSettingOverAndOverDoesNotGrowTheBlockWithoutEnd(t *testing.T) {
	var l List
	add(&l, "Kept", "kept")
	add(&l, "Name", "")
	long, short := strings.Repeat("v", 1000), "v"
	first := l.Value(0)
	for range 2000 {
		l.SetValue(1, short, 0)
		l.SetValue(1, long, 0)
		if cap(l.Block) > 20*compactFrom {
			t.Fatalf("%d bytes of block for one kilobyte of text", cap(l.Block))
		}
	}
	for range 2000 {
		remove(&l, 1)
		add(&l, "Name", string(long))
		if cap(l.Block) > 20*compactFrom {
			t.Fatalf("%d bytes of block for one kilobyte of text", cap(l.Block))
		}
	}
	if got, want := pairs(&l), "Kept=kept;Name="+string(long)+";"; got != want {
		t.Error(got)
	}
	if string(first) != "kept" {
		t.Errorf("a slice that was handed out changed to %q", first)
	}
}

func TestTidyingLeavesOldSlicesAlone(t *testing.T) {
	var l List
	var names, values [][]byte
	for i := range 20 {
		at := add(&l, fmt.Sprintf("name-%d", i), strings.Repeat(fmt.Sprint(i%10), 600))
		names, values = append(names, l.Name(at)), append(values, l.Value(at))
	}
	before := &l.Block[0]
	for l.Len() > 2 {
		remove(&l, 1)
	}
	// tidying waits until the block is full
	last := strings.Repeat("l", cap(l.Block)-len(l.Block))
	add(&l, "last", last)
	if &l.Block[0] == before {
		t.Fatal("the block was not tidied")
	}
	for i := range names {
		if string(names[i]) != fmt.Sprintf("name-%d", i) || string(values[i]) != strings.Repeat(fmt.Sprint(i%10), 600) {
			t.Errorf("pair %d changed to %s=%s", i, names[i], values[i])
		}
	}
	want := "name-0=" + strings.Repeat("0", 600) + ";name-19=" + strings.Repeat("9", 600) + ";last=" + last + ";"
	if got := pairs(&l); got != want {
		t.Error(got)
	}
}

func TestReceivedTextDoesNotKeepAListFromTidying(t *testing.T) {
	l := List{Block: []byte("a=1&b=2")}
	l.Entries = []Entry{{Name: Span{0, 1}, Value: Span{2, 1}}, {Name: Span{4, 1}, Value: Span{6, 1}}}
	l.Freeze()
	received := l.Value(1)
	for i := range 5000 {
		l.SetValue(0, strings.Repeat("v", 1+i%200), 0)
		if cap(l.Block) > 20*compactFrom {
			t.Fatalf("%d bytes of block for 200 bytes of text", cap(l.Block))
		}
	}
	// received text is still not overwritten
	later := l.Value(1)
	l.SetValue(1, "x", 0)
	if string(received) != "2" || string(later) != "2" {
		t.Errorf("received text changed to %q, %q", received, later)
	}
	if got, want := pairs(&l), "a="+strings.Repeat("v", 200)+";b=x;"; got != want {
		t.Error(got)
	}
}

func TestAnOwnerOfSpansDecidesWhenToTidy(t *testing.T) {
	l := List{Pinned: true}
	outside := l.Append([]byte("outside"))
	add(&l, "a", "1")
	for range 3 {
		remove(&l, add(&l, "long", strings.Repeat("v", 3000)))
	}
	add(&l, "b", "2")
	if string(l.Bytes(outside)) != "outside" || !l.IsSparse() {
		t.Fatalf("text moved: %q", l.Bytes(outside))
	}
	l.Compact(&outside)
	if got := pairs(&l); got != "a=1;b=2;" || string(l.Bytes(outside)) != "outside" || l.IsSparse() {
		t.Errorf("%s, %q", got, l.Bytes(outside))
	}
	if len(l.Block) != len("outsidea1b2") {
		t.Errorf("block of %d bytes", len(l.Block))
	}
	l.Reset()
	if !l.Pinned {
		t.Error("a reset list forgot whose the spans are")
	}
}

func TestAReusedListDoesNotAllocate(t *testing.T) {
	var l List
	name, value, longer := "Content-Type", "text/plain", "text/plain; charset=utf-8"
	allocs := testing.AllocsPerRun(100, func() {
		l.Reset()
		for range 20 {
			l.Add(name, value).ID = ContentType
		}
		remove(&l, 3)
		l.SetValue(5, longer, 0)
		if l.FindFold(ContentType, []byte(name), 5) != 5 || l.Find(name, 18) != 18 || l.FindID(Host, 0) != -1 {
			t.Error("found the wrong pair")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// modelPair is a pair of the model, with the slices that the list has returned for it and
// the text that these must keep.
type modelPair struct {
	name, value   string
	names, values []handedOut
}

type handedOut struct {
	slice []byte
	text  string
}

// model is a simple implementation of the list.
type model struct {
	pairs []*modelPair
	kept  []handedOut // slices that no later change may touch
}

func (m *model) add(l *List, at int, name, value string) {
	m.pairs = append(m.pairs, &modelPair{name: name, value: value})
	m.remember(l, at)
}

// remember keeps the slices that the list returns for pair i.
func (m *model) remember(l *List, i int) {
	p := m.pairs[i]
	p.names = append(p.names, handedOut{l.Name(i), p.name})
	p.values = append(p.values, handedOut{l.Value(i), p.value})
}

// keep records that the slices of p must stay unchanged from now on.
func (m *model) keep(p *modelPair) {
	m.kept = append(append(m.kept, p.names...), p.values...)
	p.names, p.values = nil, nil
}

// find returns the expected result of Find, and with fold of FindFold.
func (m *model) find(name string, from int, equal func(a, b string) bool) int {
	for i := from; i < len(m.pairs); i++ {
		if equal(m.pairs[i].name, name) {
			return i
		}
	}
	return -1
}

func (m *model) check(t *testing.T, l *List) {
	t.Helper()
	if l.Len() != len(m.pairs) {
		t.Fatalf("%d pairs, want %d", l.Len(), len(m.pairs))
	}
	unchanged := func(slices []handedOut) {
		t.Helper()
		for _, h := range slices {
			if string(h.slice) != h.text {
				t.Fatalf("a slice that was handed out changed from %q to %q", h.text, h.slice)
			}
		}
	}
	for i, p := range m.pairs {
		if string(l.Name(i)) != p.name || string(l.Value(i)) != p.value {
			t.Fatalf("pair %d: %q=%q, want %q=%q", i, l.Name(i), l.Value(i), p.name, p.value)
		}
		unchanged(p.names)
		unchanged(p.values)
	}
	unchanged(m.kept)
}

// FuzzList runs a program of operations, three bytes each, on a List and on
// plain pairs.
func FuzzList(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add([]byte("aAbBcCdDeEfFgGhHiIjJ\xff\xfe\xfd\x80\x81\x82"))
	f.Add(bytes.Repeat([]byte{0, 3, 240, 1, 0, 250, 0, 1, 200, 2, 0, 0, 1, 0, 130}, 12))
	f.Add(bytes.Repeat([]byte{0, 0, 255, 0, 1, 255, 2, 0, 0, 1, 0, 255}, 20))
	f.Add(bytes.Repeat([]byte{0, 0, 200, 3, 0, 0, 1, 0, 10, 6, 0, 0, 5, 1, 1, 1, 0, 9, 4, 2, 1}, 9))
	names := []string{"Host", "host", "HOST", "X-Custom", "x-custom", "Set-Cookie", "", "a", "b\x00"}
	f.Fuzz(func(t *testing.T, program []byte) {
		var l List
		var m model
		for program = program[:min(len(program), 3*100)]; len(program) >= 3; program = program[3:] {
			op, which, size := program[0], int(program[1]), int(program[2])
			// the upper half of the sizes is long, so that tidying takes place
			if size >= 128 {
				size *= 16
			}
			name, value := names[which%len(names)], strings.Repeat(string(rune('a'+which%26)), size)
			if len(m.pairs) == 0 {
				op = 0
			}
			runOperation(t, &l, &m, op, which, name, value)
			m.check(t, &l)
		}
	})
}

func runOperation(t *testing.T, l *List, m *model, op byte, which int, name, value string) {
	id := Lookup([]byte(name))
	i := which % max(len(m.pairs), 1)
	switch op % 8 {
	case 0:
		m.add(l, addWithID(l, name, value, id), name, value)
	case 1:
		l.SetValue(i, value, NoValue)
		m.pairs[i].value, m.pairs[i].values = value, nil
		m.remember(l, i)
		if l.Entries[i].Flags != NoValue {
			t.Fatal("the flags were not set")
		}
	case 2:
		m.keep(m.pairs[i])
		remove(l, i)
		m.pairs = append(m.pairs[:i], m.pairs[i+1:]...)
	case 3:
		l.Freeze()
		for _, p := range m.pairs {
			m.keep(p)
		}
	case 4:
		from := len(value) % (len(m.pairs) + 1)
		exact := m.find(name, from, func(a, b string) bool { return a == b })
		fold := m.find(name, from, strings.EqualFold)
		if got := l.Find(name, from); got != exact {
			t.Fatalf("Find(%q, %d) = %d, want %d", name, from, got, exact)
		}
		if got := l.FindFold(id, []byte(name), from); got != fold {
			t.Fatalf("FindFold(%q, %d) = %d, want %d", name, from, got, fold)
		}
		if got := l.FindID(id, from); id != Unknown && got != fold {
			t.Fatalf("FindID(%q, %d) = %d, want %d", name, from, got, fold)
		}
	case 5:
		var other List
		other.CopyFrom(l)
		m.check(t, &other)
		// changes of the copy must not affect the list
		other.SetValue(i, "changed", 0)
		other.Reset()
		addWithID(&other, name, value, id)
	case 6:
		// a pair with text from the list itself
		p := m.pairs[i]
		m.add(l, addWithID(l, bytesconv.String(l.Name(i)), bytesconv.String(l.Value(i)), l.Entries[i].ID), p.name, p.value)
	case 7:
		if op < 248 {
			m.remember(l, i)
			return
		}
		l.Reset()
		*m = model{}
	}
}

// Text that is replaced again and again needs no more memory than the longest one, and
// never the memory of other texts.
func TestStoreUsesTheMemoryOfLongerTexts(t *testing.T) {
	var l List
	l.Block = append(l.Block, "received"...)
	l.Freeze()
	var span Span
	var spare uint16
	first, last := add(&l, "a", "0123456789"), 0
	for i, tt := range []struct {
		text    string
		grows   int
		garbage uint32
	}{
		{"abcdef", 6, 0}, {"ab", 0, 0}, {"", 0, 0}, {"abcde", 0, 0}, {"uvwxyz", 0, 0}, {"longer-text", 11, 6}, {"x", 0, 6}, {"other-texts", 0, 6},
	} {
		if last = add(&l, "b", "v"); i == 0 {
			l.SetValue(last, "w", 0)
		}
		before := len(l.Block)
		span = l.Store(span, &spare, []byte(tt.text))
		if string(l.Bytes(span)) != tt.text || len(l.Block)-before != tt.grows || l.garbage != tt.garbage {
			t.Errorf("%q: %q, %d more bytes, %d of garbage", tt.text, l.Bytes(span), len(l.Block)-before, l.garbage)
		}
	}
	for _, value := range []string{"01", "0123", "", "9876543210"} {
		if l.SetValue(first, value, 0); string(l.Value(first)) != value {
			t.Errorf("%q: %q", value, l.Value(first))
		}
	}
	if got := pairs(&l); got != "a=9876543210;b=w;"+strings.Repeat("b=v;", 7) || string(l.Block[:8]) != "received" {
		t.Errorf("%s behind %q", got, l.Block[:8])
	}
	large := l.Store(span, &spare, make([]byte, 1<<17))
	if large = l.Store(large, &spare, nil); spare != math.MaxUint16 || l.garbage != 6+11+1<<16+1 {
		t.Errorf("%d bytes behind the text, and %d of garbage", spare, l.garbage)
	}
	l.SetValue(first, "0", 0)
	l.RemoveAll("a")
	if want := uint32(6 + 11 + 1<<16 + 1 + len("a") + 10); l.garbage != want {
		t.Errorf("%d bytes of garbage, want %d", l.garbage, want)
	}
	l.SetValue(last-1, "", 0)
	if l.Compact(&large); l.Entries[last-1].Slack != 0 {
		t.Error("a text has room behind it that belongs to another one")
	}
}
