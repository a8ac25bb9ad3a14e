// Package hostmap holds what belongs to hosts (Hosts). It finds that without a lock that
// others take as well (Known), and counts who uses it (Users), so that it is dropped
// between two uses and never during one.
//
// It imports nothing of this module. Start with Hosts.Find.
package hostmap

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// Known is what was found of late. For each way to write a host there is one place,
// that others share: the first one has it, and keeps it until it is dropped. If two
// took turns, each of their calls would write what all processors read.
type Known[T any] [Size]atomic.Pointer[known[T]]

// Size is how many places there are.
const (
	Size     = 1 << sizeBits
	sizeBits = 6
)

type known[T any] struct {
	name  string
	isTLS bool
	value T
	users *Users
}

// place returns the place of a host.
func (k *Known[T]) place(host []byte, isTLS bool) *atomic.Pointer[known[T]] {
	const golden = 0x9e3779b97f4a7c15
	h := uint64(len(host)) << 1
	if isTLS {
		h++
	}
	for len(host) >= 8 {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(host))*golden, 32)
		host = host[8:]
	}
	for _, c := range host {
		h = h<<8 ^ h>>56 ^ uint64(c)
	}
	return &k[h*golden>>(64-sizeBits)]
}

// Find returns what belongs to a host, which has one more user then, and reports
// whether it is known.
func (k *Known[T]) Find(host []byte, isTLS bool) (value T, ok bool) {
	found := k.place(host, isTLS).Load()
	if found == nil || found.isTLS != isTLS || found.name != string(host) || !found.users.Enter() {
		return value, false
	}
	return found.value, true
}

// Keep makes a host known if its place is free. Nobody drops hosts meanwhile.
func (k *Known[T]) Keep(host []byte, isTLS bool, value T, users *Users) {
	if place := k.place(host, isTLS); place.Load() == nil {
		place.CompareAndSwap(nil, &known[T]{string(host), isTLS, value, users})
	}
}

// Forget frees the places of hosts that were dropped.
func (k *Known[T]) Forget() {
	for i := range k {
		if found := k[i].Load(); found != nil && found.users.Dropped() {
			k[i].Store(nil)
		}
	}
}

// Taken returns how many places are taken.
func (k *Known[T]) Taken() (n int) {
	for i := range k {
		if k[i].Load() != nil {
			n++
		}
	}
	return n
}
