package servertls

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// Keys holds the keys of one server. As with the keys of crypto/tls, there is a new key
// each day, and a ticket is accepted for seven days. The secret of each day is
// derived from the secret of the day before. This cannot be reversed, so a leaked secret
// does not decrypt older tickets.
type Keys struct {
	mu    lockorder.Mutex[lockorder.TicketKeys]
	first int64      // the day of the oldest key, counted from 1970
	from  [Size]byte // the secret of that day
}

const (
	// Size is the size of a secret and of a key, in bytes.
	Size = 32

	// keptDays is the number of days that a key is accepted, including the first.
	keptDays = 7

	secondsOfDay = 24 * 60 * 60
)

// New returns new random keys.
func New(now time.Time) *Keys {
	k := &Keys{first: dayOf(now)}
	// rand.Read never fails
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

// Manage makes config, with which a server is about to serve, use the keys, and from then
// on the keys of later days. A configuration with its own keys, or without tickets, is not
// changed.
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
		// two concurrent handshakes may both do it
		if today := dayOf(now()); last.Load() != today {
			config.SetSessionTicketKeys(k.at(today))
			last.Store(today)
		}
	}
	refresh()
	// crypto/tls calls it for each handshake, before it reads the keys. A configuration
	// that it returns gets these keys, too, unless it has its own.
	chosen := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		refresh()
		if chosen == nil {
			return nil, nil
		}
		return chosen(hello)
	}
}

// hasKeys reports whether the application has set the keys of config. crypto/tls has no
// method for that. But it replaces its own key after a day, for which it reads more random
// bytes than for a ticket alone.
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
	// the first time crypto/tls may make other things, too
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
