package qpack

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
)

// entry is a field of a table.
type entry struct {
	text    []byte // the value after the name
	nameLen int
	id      field.ID
	flags   field.Flag
}

func (e *entry) name() []byte  { return e.text[:e.nameLen:e.nameLen] }
func (e *entry) value() []byte { return e.text[e.nameLen:] }
func (e *entry) size() uint64  { return uint64(len(e.text)) + hpack.EntryOverhead }

// table is a dynamic table (RFC 9204 section 3.2). Its entries have absolute indices: the first
// one that was ever inserted has 0.
type table struct {
	entries  []entry // the oldest first
	dropped  uint64  // how many were evicted, and so the index of the oldest
	size     uint64
	capacity uint64
}

// inserted returns how many entries were ever inserted.
func (t *table) inserted() uint64 { return t.dropped + uint64(len(t.entries)) }

// at returns the entry with an absolute index, or nil.
func (t *table) at(index uint64) *entry {
	if index < t.dropped || index >= t.inserted() {
		return nil
	}
	return &t.entries[index-t.dropped]
}

// setCapacity changes the capacity, and evicts entries beyond it.
func (t *table) setCapacity(n uint64) {
	t.capacity = n
	t.evictTo(n)
}

// evictTo evicts the oldest entries until the size is at most n.
func (t *table) evictTo(n uint64) {
	k := 0
	for ; t.size > n; k++ {
		t.size -= t.entries[k].size()
		t.entries[k] = entry{}
	}
	t.entries = t.entries[k:]
	t.dropped += uint64(k)
	if len(t.entries) == 0 {
		t.entries = nil
	}
}

// add adds an entry, and reports whether the capacity has room for it.
func (t *table) add(e entry) bool {
	if e.size() > t.capacity {
		return false
	}
	t.evictTo(t.capacity - e.size())
	t.entries = append(t.entries, e)
	t.size += e.size()
	return true
}
