package hpack

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	xnet "golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

// pair is a field as both implementations see it.
type pair struct{ name, value string }

func pairs(l *field.List) (all []pair) {
	for i := range l.Len() {
		all = append(all, pair{string(l.Name(i)), string(l.Value(i))})
	}
	return all
}

// noLimits are larger than any block of a test.
var noLimits = Limits{Size: 1 << 31, Fields: 1 << 30}

// xnetDecoder is the decoder of x/net, for which these differences are made up:
//
//   - it refuses a second size update at the beginning of a block if the table is not
//     empty, and accepts any number otherwise: it gets each as a block of its own, and
//     more than two are refused here;
//   - it accepts size updates after fields while the table is empty, and integers of ten
//     bytes: isStricter excuses these.
type xnetDecoder struct {
	d      *xnet.Decoder
	fields []pair
}

func newXnetDecoder(maxTable uint32) *xnetDecoder {
	x := &xnetDecoder{}
	x.d = xnet.NewDecoder(initialSize, func(f xnet.HeaderField) { x.fields = append(x.fields, pair{f.Name, f.Value}) })
	x.d.SetAllowedMaxDynamicTableSize(maxTable)
	return x
}

func (x *xnetDecoder) decode(block []byte) ([]pair, error) {
	x.fields = nil
	for range maxSizeUpdates {
		if len(block) == 0 || block[0]&0xe0 != 0x20 {
			break
		}
		n := 1
		if block[0]&0x1f == 0x1f {
			for n < len(block) && block[n] >= 0x80 {
				n++
			}
			n = min(n+1, len(block))
		}
		if err := x.write(block[:n]); err != nil {
			return nil, err
		}
		block = block[n:]
	}
	if len(block) > 0 && block[0]&0xe0 == 0x20 {
		return nil, errors.New("three size updates")
	}
	err := x.write(block)
	return x.fields, err
}

func (x *xnetDecoder) write(block []byte) error {
	if _, err := x.d.Write(block); err != nil {
		return err
	}
	return x.d.Close()
}

// isStricter reports whether err may occur for a block that x/net accepts.
func isStricter(err error) bool {
	return errors.Is(err, ErrSizeUpdate) || errors.Is(err, ErrInteger)
}

// compare decodes a block with both decoders and reports whether both can continue.
func compare(t *testing.T, d *Decoder, x *xnetDecoder, block []byte, max Limits) bool {
	t.Helper()
	var l field.List
	err := d.Decode(&l, block, max)
	want, xerr := x.decode(block)
	checkTable(t, &d.t)
	switch {
	case errors.Is(err, ErrTooLarge) || errors.Is(err, ErrExcessive):
		if xerr == nil || err == ErrTooLarge {
			checkLimits(t, &l, want, max, err)
		}
	case (err == nil) != (xerr == nil):
		if xerr != nil || !isStricter(err) {
			t.Fatalf("%x: %v; x/net: %v", block, err, xerr)
		}
	case err == nil && fmt.Sprint(pairs(&l)) != fmt.Sprint(want):
		t.Fatalf("%x: %q, x/net: %q", block, pairs(&l), want)
	}
	for i := range l.Len() {
		checkEntry(t, &l, i)
	}
	return xerr == nil && (err == nil || err == ErrTooLarge)
}

// checkLimits checks a list that was cut, against the whole.
func checkLimits(t *testing.T, l *field.List, whole []pair, max Limits, err error) {
	t.Helper()
	size, fields, counted := uint64(0), 0, 0
	count := func(p pair) {
		size += uint64(len(p.name)+len(p.value)) + entryOverhead
		if !strings.HasPrefix(p.name, ":") {
			counted++
		}
	}
	for _, p := range whole {
		if count(p); size > uint64(max.Size) || counted > max.Fields {
			break
		}
		fields++
	}
	if l.Len() != fields || fmt.Sprint(pairs(l)) != fmt.Sprint(whole[:fields]) || fields == len(whole) {
		t.Fatalf("%+v: %d of %d fields, want %d: %q", max, l.Len(), len(whole), fields, pairs(l))
	}
	size, counted = 0, 0
	for _, p := range whole {
		count(p)
	}
	excessive := size > 2*uint64(max.Size) || counted > 2*max.Fields
	if (err == ErrExcessive) != excessive {
		t.Fatalf("%+v: %v for %d fields of size %d", max, err, len(whole), size)
	}
}

// checkEntry compares the decoder's result for a field with a separate check.
func checkEntry(t *testing.T, l *field.List, i int) {
	t.Helper()
	e, name, value := l.Entries[i], l.Name(i), l.Value(i)
	if e.ID != lookup(name) || e.Flags&field.BadName != 0 != isBadName(name) || e.Flags&field.BadValue != 0 != isBadValue(value) {
		t.Fatalf("%q = %q: %+v", name, value, e)
	}
}

// checkTable checks that the parts of a table agree.
func checkTable(t *testing.T, d *table) {
	t.Helper()
	size, end := uint32(0), uint32(len(d.text))
	for i := range d.n {
		e := d.at(i)
		if e.off+e.len() != end {
			t.Fatalf("entry %d of %d ends at %d, want %d", i, d.n, e.off+e.len(), end)
		}
		end = e.off
		size += e.len() + entryOverhead
	}
	if size != d.size || size > d.max || len(d.ring)&(len(d.ring)-1) != 0 {
		t.Fatalf("size %d, counted %d, at most %d", d.size, size, d.max)
	}
}

// splitBlocks cuts data into blocks; the byte before each is its length.
func splitBlocks(data []byte) (blocks [][]byte) {
	for len(data) > 0 {
		n := min(int(data[0]), len(data)-1)
		blocks = append(blocks, data[1:1+n])
		data = data[1+n:]
	}
	return blocks
}

func joinBlocks(blocks ...string) (data []byte) {
	for _, b := range blocks {
		data = append(append(data, byte(len(b))), b...)
	}
	return data
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(4096), uint32(1<<16), 100, joinBlocks("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff", "\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf"))
	f.Add(uint32(4096), uint32(100), 2, joinBlocks("\x40\x01a\x01b\xbe\xbe\xbe", "\xbe"))
	f.Add(uint32(64), uint32(1<<16), 100, joinBlocks("\x3f\x21\x40\x01a\x01b", "\x20\x3f\x01\x7e\x02bc", "\x82\x20"))
	f.Add(uint32(256), uint32(1<<16), 100, joinBlocks("\x3f\xe1\x01\x40\x03Foo\x01\n", "\x7e\x01 ", "\xff\x80\x80\x80\x80\x80\x80\x00", "\x10\x00\x00"))
	f.Fuzz(func(t *testing.T, maxTable, size uint32, fields int, data []byte) {
		if len(data) > 4096 {
			return
		}
		max := Limits{Size: size % (1 << 20), Fields: fields & 0xfff}
		var d Decoder
		d.Init(maxTable % (1 << 16))
		x := newXnetDecoder(maxTable % (1 << 16))
		for _, block := range splitBlocks(data) {
			if !compare(t, &d, x, block, max) {
				return
			}
		}
	})
}
