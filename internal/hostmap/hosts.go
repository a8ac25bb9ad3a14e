package hostmap

import (
	"maps"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
	"golang.org/x/sys/cpu"
)

// SweepInterval is the interval at which unused hosts are dropped.
const SweepInterval = 10 * time.Second

// Host is an entry for a host.
type Host[T any] struct {
	// Value is the result of Find.
	Value T
	// Users counts the users of the value.
	Users *Users
	// Unused reports whether the entry may be dropped if it has no users.
	Unused func() bool
}

// Hosts holds an entry for each host, without and with TLS. Entries without users are
// dropped now and then. The zero value is empty, and needs no timer while it has no
// hosts. The methods may be called concurrently.
type Hosts[T any] struct {
	known Cache[T]
	_     cpu.CacheLinePad // so that locking mu does not slow down look-ups in known
	mu    lockorder.RWMutex[lockorder.Hosts]
	hosts [2]map[string]Host[T] // without and with TLS, by host as written
	sweep *time.Timer
	// opening has a channel for each entry being made, closed afterwards
	opening [2]map[string]chan struct{}
}

func side(isTLS bool) int {
	if isTLS {
		return 1
	}
	return 0
}

// Find returns the value of a host and adds a user to it, and reports whether the host
// has an entry: as long as it has a user, it is not dropped.
func (h *Hosts[T]) Find(host []byte, isTLS bool) (value T, ok bool) {
	if value, ok = h.known.Find(host, isTLS); ok {
		return value, true
	}
	return h.lookUp(host, isTLS)
}

// lookUp is Find for a host that known does not have.
func (h *Hosts[T]) lookUp(host []byte, isTLS bool) (value T, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	found, ok := h.hosts[side(isTLS)][string(host)]
	if ok {
		// no entry is dropped before the lock is released
		found.Users.Add()
		h.known.Keep(host, isTLS, found.Value, found.Users)
	}
	return found.Value, ok
}

// Add is Find for a host that was not found. It may have an entry by its full name, or
// one that was added meanwhile; otherwise open makes the entry, without a lock. Only calls for
// the same host wait for it.
func (h *Hosts[T]) Add(host, fullName string, isTLS bool, open func() (Host[T], error)) (value T, err error) {
	found, ok := h.reserve(host, fullName, isTLS)
	if ok {
		return found.Value, nil
	}
	opened := false
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		opening := h.opening[side(isTLS)]
		close(opening[fullName])
		delete(opening, fullName)
		if opened {
			h.add(host, fullName, isTLS, found)
		}
	}()
	if found, err = open(); err != nil {
		return value, err
	}
	opened = true
	return found.Value, nil
}

// reserve returns the entry of a host, with one more user. If there is none, ok is false, and
// the caller must make it: other callers wait for that.
func (h *Hosts[T]) reserve(host, fullName string, isTLS bool) (found Host[T], ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		hosts := h.hosts[side(isTLS)]
		if found, ok = hosts[host]; !ok {
			found, ok = hosts[fullName]
		}
		if ok {
			h.add(host, fullName, isTLS, found)
			return found, true
		}
		opening := &h.opening[side(isTLS)]
		made := (*opening)[fullName]
		if made == nil {
			if *opening == nil {
				*opening = make(map[string]chan struct{})
			}
			(*opening)[fullName] = make(chan struct{})
			return found, false
		}
		h.mu.Unlock()
		<-made
		h.mu.Lock()
	}
}

// add adds a user to an entry that has these names. mu is held.
func (h *Hosts[T]) add(host, fullName string, isTLS bool, found Host[T]) {
	hosts := h.hosts[side(isTLS)]
	if hosts == nil {
		hosts = make(map[string]Host[T])
		h.hosts[side(isTLS)] = hosts
	}
	hosts[host], hosts[fullName] = found, found
	found.Users.Add()
	h.known.Keep([]byte(host), isTLS, found.Value, found.Users)
	if h.sweep == nil {
		h.sweep = time.AfterFunc(SweepInterval, h.Sweep)
	}
}

// Sweep drops unused entries. As long as any entries are left it runs again.
func (h *Hosts[T]) Sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := 0
	for _, hosts := range h.hosts {
		for _, host := range hosts {
			host.Users.RemoveIf(host.Unused)
		}
		// one may have two names
		maps.DeleteFunc(hosts, func(_ string, host Host[T]) bool { return host.Users.Removed() })
		left += len(hosts)
	}
	h.known.Forget()
	if h.sweep != nil {
		h.sweep.Stop()
		h.sweep = nil
	}
	if left > 0 {
		h.sweep = time.AfterFunc(SweepInterval, h.Sweep)
	}
}

// All returns the values of all hosts.
func (h *Hosts[T]) All() (all []T) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	seen := make(map[*Users]bool)
	for _, hosts := range h.hosts {
		for _, host := range hosts {
			if !seen[host.Users] {
				seen[host.Users] = true
				all = append(all, host.Value)
			}
		}
	}
	return all
}

// Cached returns the number of hosts found without a lock.
func (h *Hosts[T]) Cached() int { return h.known.Len() }
