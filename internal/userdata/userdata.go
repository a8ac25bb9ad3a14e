// Package userdata holds the values that an application attaches to a request, and
// closes the values that implement io.Closer.
package userdata

import (
	"io"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// List holds the values. There are few, so searching a list is faster than a map.
type List []Value

// Value is one of the values with its key.
type Value struct {
	Key, Value any // as the application has set them

	// holders counts the lists that hold the value, an io.Closer. The last list
	// closes it. holders is nil for one list.
	holders *atomic.Int32
}

// release records that a list has dropped the value, and reports whether it was the
// last.
func (v *Value) release() bool { return v.holders == nil || v.holders.Add(-1) == 0 }

// Set sets the value of a key. It does not add a new key with a nil value.
func (d *List) Set(key, value any) {
	for i := range *d {
		if (*d)[i].Key == key {
			(*d)[i].release()
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

// GetString is Get for a string key, given as bytes.
func (d List) GetString(key []byte) any {
	for i := range d {
		if k, ok := d[i].Key.(string); ok && k == bytesconv.String(key) {
			return d[i].Value
		}
	}
	return nil
}

// Remove removes the value of a key without closing it.
func (d *List) Remove(key any) {
	for i := range *d {
		if (*d)[i].Key == key {
			(*d)[i].release()
			last := len(*d) - 1
			copy((*d)[i:], (*d)[i+1:])
			(*d)[last] = Value{}
			*d = (*d)[:last]
			return
		}
	}
}

// Forget removes the values that other also holds. It does not close them, since
// they belong to other, too.
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

// ShareWith lends the values to dst, for a time in which both lists are in use.
func (d List) ShareWith(dst *List) {
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

// MoveFrom ends that time: it replaces the values of d by the values of from, and empties
// from.
func (d *List) MoveFrom(from *List) {
	for i := range *d {
		(*d)[i].release()
	}
	old := len(*d)
	*d = append((*d)[:0], *from...)
	if n := len(*d); n < old {
		clear((*d)[n:old])
	}
	clear(*from)
	*from = (*from)[:0]
}

// Reset removes all values and closes each io.Closer.
func (d *List) Reset() {
	for i := range *d {
		v := (*d)[i]
		// if Close panics, the value is not closed again
		(*d)[i] = Value{}
		if c, ok := v.Value.(io.Closer); ok && v.release() {
			_ = c.Close()
		}
	}
	*d = (*d)[:0]
}
