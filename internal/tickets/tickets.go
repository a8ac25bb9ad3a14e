// Package tickets has the keys of TLS session tickets that several configurations share:
// those of one server that serves several listeners, or of its processes. So a client
// resumes its session with any of them.
//
// The keys follow from a secret and the day. Processes that have the secret need not
// talk to each other to change them. Start with Keys. inherit.go hands the secret to a
// child process.
package tickets

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Keys are the keys of one server. As with the keys that crypto/tls makes, there is a new
// one each day, and a ticket is accepted for seven days. The secret of a day gives that
// of the next one, but not that of the day before: whoever learns it cannot read older
// tickets.
type Keys struct {
	mu    sync.Mutex
	first int64      // the day of the oldest key, counted from 1970
	from  [Size]byte // the secret of that day
}

const (
	// Size is the size of a secret and of a key, in bytes.
	Size = 32

	// keptDays is for how many days a key is accepted, the first one included.
	keptDays = 7

	secondsOfDay = 24 * 60 * 60
)

// New returns keys that nobody else has.
func New(now time.Time) *Keys {
	k := &Keys{first: dayOf(now)}
	// it never fails
	_, _ = rand.Read(k.from[:])
	return k
}

func dayOf(t time.Time) int64 { return t.Unix() / secondsOfDay }

// forget makes the oldest day the last one whose key is accepted on a given day. A clock
// that was set back does not bring older keys back. mu is held.
func (k *Keys) forget(today int64) {
	for ; k.first+keptDays <= today; k.first++ {
		k.from = derive(k.from, "the next day")
	}
}

// at returns the keys of a day, the newest first.
func (k *Keys) at(today int64) (keys [][Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(today)
	secret := k.from
	for d := k.first; d == k.first || d <= today; d++ {
		keys = append(keys, derive(secret, "the key"))
		secret = derive(secret, "the next day")
	}
	slices.Reverse(keys)
	return keys
}

func derive(secret [Size]byte, what string) (derived [Size]byte) {
	// the length is within the bounds of HKDF, so there is no error
	b, _ := hkdf.Expand(sha256.New, secret[:], "fasthttp session tickets, "+what, Size)
	copy(derived[:], b)
	return derived
}

// Manage makes config, with which a server is about to serve, use the keys, and those of
// later days from then on. A configuration with keys of its own, or without tickets, stays
// as it is.
func (k *Keys) Manage(config *tls.Config) {
	if config.SessionTicketsDisabled || hasKeys(config) {
		return
	}
	var last atomic.Int64
	refresh := func() {
		now := time.Now
		if config.Time != nil {
			now = config.Time
		}
		// two handshakes may both do it
		if today := dayOf(now()); last.Load() != today {
			config.SetSessionTicketKeys(k.at(today))
			last.Store(today)
		}
	}
	refresh()
	// crypto/tls calls it for each handshake, before it looks at the keys. A
	// configuration that it returns has these keys, too, unless it has its own.
	chosen := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		refresh()
		if chosen == nil {
			return nil, nil
		}
		return chosen(hello)
	}
}

// hasKeys reports whether the application has set the keys of config, for which
// crypto/tls has no method. A key that crypto/tls has made is replaced after a day, for
// which it reads more random bytes than for a ticket alone.
func hasKeys(config *tls.Config) bool {
	var read counter
	now := time.Now()
	c := config.Clone()
	c.Rand, c.Time = &read, func() time.Time { return now }
	encrypt := func() (bytes counter) {
		before := read
		_, _ = c.EncryptTicket(tls.ConnectionState{}, new(tls.SessionState))
		return read - before
	}
	// the first time there may be more to be made
	_ = encrypt()
	usual := encrypt()
	now = now.AddDate(0, 1, 0)
	return encrypt() == usual
}

// counter is a source of zeros that counts them.
type counter int

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	clear(p)
	*c += counter(len(p))
	return len(p), nil
}
