//go:build linux

package netloop

import "sync/atomic"

// conns finds the connection of a descriptor. Descriptors are small numbers
// that the process uses again, so a table of pages will do; an event of a
// descriptor that was closed and used again meanwhile is a false alarm for the
// new connection, which does no harm.
var conns table

const (
	pageBits = 10
	pageSize = 1 << pageBits
	maxPages = 1 << 12
)

type page [pageSize]atomic.Pointer[Conn]

type table struct {
	pages [maxPages]atomic.Pointer[page]
}

func (t *table) get(fd int) *Conn {
	if p := t.pages[fd>>pageBits].Load(); p != nil {
		return p[fd&(pageSize-1)].Load()
	}
	return nil
}

func (t *table) put(fd int, c *Conn) {
	slot := &t.pages[fd>>pageBits]
	p := slot.Load()
	for p == nil {
		slot.CompareAndSwap(nil, new(page))
		p = slot.Load()
	}
	p[fd&(pageSize-1)].Store(c)
}
