package hpack

import (
	"encoding/binary"
	"math/bits"

	"github.com/valyala/fasthttp/internal/field"
)

// chains finds the entries of a table by a key, which is a hash of name and value. An
// entry's link has the number of the next older entry in the same chain. A chain ends at
// the first number that the table no longer has, so evicting an entry changes nothing here.
type chains struct {
	heads []uint32 // the number of the newest entry, or any number
	links []link   // at the same positions as in the table's ring
}

type link struct{ key, older uint32 }

// newest returns the position, as in table.at, of the newest entry that may have key. It
// is at least t.n if there is none.
func (c *chains) newest(t *table, key uint32) uint32 {
	if len(c.heads) == 0 {
		return t.n
	}
	i := t.next - 1 - c.heads[key&uint32(len(c.heads)-1)]
	return c.skip(t, i, key)
}

// older returns the position of the next entry that may have the key of the entry at i.
func (c *chains) older(t *table, i uint32) uint32 {
	l := c.at(t, i)
	return c.skip(t, c.next(t, i, l), l.key)
}

func (c *chains) at(t *table, i uint32) link {
	return c.links[(t.next-1-i)&uint32(len(c.links)-1)]
}

// next returns the position after i in the chain. Numbers wrap around, so one that was
// evicted long ago could seem to belong to a newer entry: it ends the chain.
func (c *chains) next(t *table, i uint32, l link) uint32 {
	if next := t.next - 1 - l.older; next > i {
		return next
	}
	return t.n
}

// skip returns the first position with key, at i or after it in the chain.
func (c *chains) skip(t *table, i, key uint32) uint32 {
	for i < t.n {
		l := c.at(t, i)
		if l.key == key {
			break
		}
		i = c.next(t, i, l)
	}
	return i
}

// add adds the newest entry of t.
func (c *chains) add(t *table, key uint32) {
	if size := uint32(len(t.ring)); len(c.links) != len(t.ring) {
		old := *c
		c.heads, c.links = make([]uint32, size), make([]link, size)
		for i := t.n - 1; i > 0; i-- {
			c.put(t.next-1-i, old.at(t, i).key)
		}
	}
	c.put(t.next-1, key)
}

func (c *chains) put(number, key uint32) {
	mask := uint32(len(c.links) - 1)
	head := &c.heads[key&mask]
	c.links[number&mask] = link{key, *head}
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
