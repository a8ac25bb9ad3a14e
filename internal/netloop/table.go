//go:build linux

package netloop

import (
	"sync"
	"sync/atomic"
)

// conns maps descriptors to connections. Descriptors are small numbers that the
// system reuses, so a table of pages is enough.
var conns table

const (
	pageBits = 10
	pageSize = 1 << pageBits
)

type page [pageSize]atomic.Pointer[Conn]

// table grows with the highest descriptor that it has seen. Its pages never move, so that
// looking up a connection takes no lock.
type table struct {
	pages   atomic.Pointer[[]*page]
	growing sync.Mutex
}

// get returns the connection with the descriptor fd, or nil.
func (t *table) get(fd int) *Conn {
	if slot := t.slot(fd); slot != nil {
		return slot.Load()
	}
	return nil
}

func (t *table) put(fd int, c *Conn) {
	slot := t.slot(fd)
	for slot == nil {
		t.grow(fd)
		slot = t.slot(fd)
	}
	slot.Store(c)
}

func (t *table) slot(fd int) *atomic.Pointer[Conn] {
	pages := t.pages.Load()
	if n := fd >> pageBits; pages != nil && n < len(*pages) && (*pages)[n] != nil {
		return &(*pages)[n][fd&(pageSize-1)]
	}
	return nil
}

// grow allocates the page of fd. It replaces the list of pages, since readers may
// hold the old one.
func (t *table) grow(fd int) {
	t.growing.Lock()
	defer t.growing.Unlock()
	var old []*page
	if pages := t.pages.Load(); pages != nil {
		old = *pages
	}
	n := fd >> pageBits
	pages := make([]*page, max(len(old), n+1))
	copy(pages, old)
	if pages[n] == nil {
		pages[n] = new(page)
	}
	t.pages.Store(&pages)
}
