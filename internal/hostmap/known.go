// Package hostmap maps hosts to values (Hosts). It finds recent ones without a contended
// lock (Known), and counts their users (Users), so that a value is dropped between two
// uses and never during one.
//
// Start with Hosts.Find.
package hostmap

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// Cache caches recently found values. Each spelling of a host has one place, which it
// shares with others: the first one takes it, and keeps it until it is dropped. If two
// took turns, each of their calls would write memory that all processors read.
type Cache[T any] [Size]atomic.Pointer[cacheEntry[T]]

// Size is the number of places.
const (
	Size     = 1 << sizeBits
	sizeBits = 6
)

type cacheEntry[T any] struct {
	name  string
	isTLS bool
	value T
	users *Users
}

// place returns the place of a host.
func (k *Cache[T]) place(host []byte, isTLS bool) *atomic.Pointer[cacheEntry[T]] {
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

// Find returns the value of a host and adds a user to it, and reports whether the host
// is known.
func (k *Cache[T]) Find(host []byte, isTLS bool) (value T, ok bool) {
	found := k.place(host, isTLS).Load()
	if found == nil || found.isTLS != isTLS || found.name != string(host) || !found.users.TryAdd() {
		return value, false
	}
	return found.value, true
}

// Keep makes a host known if its place is free. No hosts may be dropped meanwhile.
func (k *Cache[T]) Keep(host []byte, isTLS bool, value T, users *Users) {
	if place := k.place(host, isTLS); place.Load() == nil {
		place.CompareAndSwap(nil, &cacheEntry[T]{string(host), isTLS, value, users})
	}
}

// Forget frees the places of hosts that were dropped.
func (k *Cache[T]) Forget() {
	for i := range k {
		if found := k[i].Load(); found != nil && found.users.Removed() {
			k[i].Store(nil)
		}
	}
}

// Len returns the number of taken places.
func (k *Cache[T]) Len() (n int) {
	for i := range k {
		if k[i].Load() != nil {
			n++
		}
	}
	return n
}
