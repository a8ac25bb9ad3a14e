package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// userData holds the values that an application keeps with a request. There
// are few, so a list is searched faster than a map.
type userData []userValue

type userValue struct {
	key, value any
}

func (d *userData) set(key, value any) {
	for i := range *d {
		if (*d)[i].key == key {
			(*d)[i].value = value
			return
		}
	}
	if value != nil {
		*d = append(*d, userValue{key, value})
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

// reset removes all values and closes those that are io.Closers.
func (d *userData) reset() {
	for i := range *d {
		if c, ok := (*d)[i].value.(io.Closer); ok {
			_ = c.Close()
		}
		(*d)[i] = userValue{}
	}
	*d = (*d)[:0]
}
