//go:build fasthttp_lockorder && linux

package lockorder

// Mutex is a sync.Mutex that checks its place in the order.
type Mutex[L Lock] = checkedMutex[L]

// RWMutex is a sync.RWMutex that checks its place in the order.
type RWMutex[L Lock] = checkedRWMutex[L]
