// Package userdata has the list of values that an application keeps with a request,
// and closes those that can be closed.
package userdata

import (
	"io"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// List holds the values. There are few, so a list is searched faster than a map.
type List []Value

// Value is one of the values, and its key.
type Value struct {
	Key, Value any // as the application has set them

	// holders counts the lists that the value, an io.Closer, is in, of which the
	// last closes it. It is nil for one.
	holders *atomic.Int32
}

// let says that a list has the value no more, and reports whether none has.
func (v *Value) let() bool { return v.holders == nil || v.holders.Add(-1) == 0 }

// Set sets the value of a key. A key that is not there is not added for nil.
func (d *List) Set(key, value any) {
	for i := range *d {
		if (*d)[i].Key == key {
			(*d)[i].let()
			(*d)[i].Value, (*d)[i].holders = value, nil
			return
		}
	}
	if value != nil {
		*d = append(*d, Value{Key: key, Value: value})
	}
}

// Get returns the value of a key, or nil.
func (d List) Get(key any) any {
	for i := range d {
		if d[i].Key == key {
			return d[i].Value
		}
	}
	return nil
}

// GetString is Get for a key that is a string, in bytes.
func (d List) GetString(key []byte) any {
	for i := range d {
		if k, ok := d[i].Key.(string); ok && k == bytesconv.String(key) {
			return d[i].Value
		}
	}
	return nil
}

// Remove removes the value of a key, and does not close it.
func (d *List) Remove(key any) {
	for i := range *d {
		if (*d)[i].Key == key {
			(*d)[i].let()
			last := len(*d) - 1
			copy((*d)[i:], (*d)[i+1:])
			(*d)[last] = Value{}
			*d = (*d)[:last]
			return
		}
	}
}

// Forget removes the values that other has, whose they are, too, and which are
// therefore not closed.
func (d *List) Forget(other List) {
	kept := (*d)[:0]
	for _, v := range *d {
		if !other.has(v.Key) {
			kept = append(kept, v)
		}
	}
	clear((*d)[len(kept):])
	*d = kept
}

func (d List) has(key any) bool {
	for i := range d {
		if d[i].Key == key {
			return true
		}
	}
	return false
}

// LendTo makes the values of dst these, for a time in which both are in use.
func (d List) LendTo(dst *List) {
	for i := range d {
		v := &d[i]
		if _, ok := v.Value.(io.Closer); !ok {
			continue
		}
		if v.holders == nil {
			v.holders = new(atomic.Int32)
			v.holders.Store(1)
		}
		v.holders.Add(1)
	}
	*dst = append((*dst)[:0], d...)
}

// TakeBack ends that time: the values are those of from, which has none then.
func (d *List) TakeBack(from *List) {
	for i := range *d {
		(*d)[i].let()
	}
	old := len(*d)
	*d = append((*d)[:0], *from...)
	if n := len(*d); n < old {
		clear((*d)[n:old])
	}
	clear(*from)
	*from = (*from)[:0]
}

// Reset removes all values and closes those that are io.Closers.
func (d *List) Reset() {
	for i := range *d {
		v := (*d)[i]
		// one whose Close panics is not closed again
		(*d)[i] = Value{}
		if c, ok := v.Value.(io.Closer); ok && v.let() {
			_ = c.Close()
		}
	}
	*d = (*d)[:0]
}
