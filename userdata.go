package fasthttp

import (
	"io"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// userData holds the values that an application keeps with a request. There
// are few, so a list is searched faster than a map.
type userData []userValue

type userValue struct {
	key, value any
	// holders counts the lists that the value, an io.Closer, is in, of which the
	// last closes it. It is nil for one.
	holders *atomic.Int32
}

// let says that a list has the value no more, and reports whether none has.
func (v *userValue) let() bool { return v.holders == nil || v.holders.Add(-1) == 0 }

func (d *userData) set(key, value any) {
	for i := range *d {
		if (*d)[i].key == key {
			(*d)[i].let()
			(*d)[i].value, (*d)[i].holders = value, nil
			return
		}
	}
	if value != nil {
		*d = append(*d, userValue{key: key, value: value})
	}
}

func (d userData) get(key any) any {
	for i := range d {
		if d[i].key == key {
			return d[i].value
		}
	}
	return nil
}

func (d userData) getString(key []byte) any {
	for i := range d {
		if k, ok := d[i].key.(string); ok && k == bytesconv.String(key) {
			return d[i].value
		}
	}
	return nil
}

func (d *userData) remove(key any) {
	for i := range *d {
		if (*d)[i].key == key {
			(*d)[i].let()
			last := len(*d) - 1
			copy((*d)[i:], (*d)[i+1:])
			(*d)[last] = userValue{}
			*d = (*d)[:last]
			return
		}
	}
}

// forget removes the values that other has, whose they are, too, and which are
// therefore not closed.
func (d *userData) forget(other userData) {
	kept := (*d)[:0]
	for _, v := range *d {
		if !other.has(v.key) {
			kept = append(kept, v)
		}
	}
	clear((*d)[len(kept):])
	*d = kept
}

func (d userData) has(key any) bool {
	for i := range d {
		if d[i].key == key {
			return true
		}
	}
	return false
}

// lendTo makes the values of dst these, for a time in which both are in use.
func (d userData) lendTo(dst *userData) {
	for i := range d {
		v := &d[i]
		if _, ok := v.value.(io.Closer); !ok {
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

// takeBack ends that time: the values are those of from, which has none then.
func (d *userData) takeBack(from *userData) {
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

// reset removes all values and closes those that are io.Closers.
func (d *userData) reset() {
	for i := range *d {
		v := (*d)[i]
		// one whose Close panics is not closed again
		(*d)[i] = userValue{}
		if c, ok := v.value.(io.Closer); ok && v.let() {
			_ = c.Close()
		}
	}
	*d = (*d)[:0]
}
