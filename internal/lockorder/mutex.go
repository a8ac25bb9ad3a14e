//go:build !fasthttp_lockorder || !linux

package lockorder

import "sync"

// Mutex is a sync.Mutex that knows its place in the order.
type Mutex[L Lock] = sync.Mutex

// RWMutex is a sync.RWMutex that knows its place in the order.
type RWMutex[L Lock] = sync.RWMutex
