//go:build linux

package netloop

import (
	"sync"
	"testing"
)

func TestTableHoldsDescriptorsOfAnySize(t *testing.T) {
	var tab table
	fds := []int{0, 1, 1023, 1024, 4_194_303, 4_194_304, 50_000_000, 7}
	conns := make([]Conn, len(fds))
	for i, fd := range fds {
		if tab.holds(fd) != nil {
			t.Errorf("%d is there before it was put", fd)
		}
		tab.put(fd, &conns[i])
	}
	for i, fd := range fds {
		if tab.holds(fd) != &conns[i] {
			t.Errorf("%d is not what was put", fd)
		}
	}
	tab.put(1024, nil)
	if tab.holds(1024) != nil || tab.holds(1023) != &conns[2] {
		t.Error("removing one has changed others")
	}
}

func TestTableGrowsForMany(t *testing.T) {
	var tab table
	conns := make([]Conn, 64*pageSize/16)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < len(conns); i += 4 {
				tab.put(i*16, &conns[i])
			}
		})
	}
	wg.Wait()
	for i := range conns {
		if tab.holds(i*16) != &conns[i] {
			t.Fatalf("%d is lost", i*16)
		}
	}
}

// holds returns the connection with the descriptor fd, or nil.
func (t *table) holds(fd int) *Conn {
	if slot := t.slot(fd); slot != nil {
		return slot.Load()
	}
	return nil
}
