package servertls

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"
)

// ExportedSize is the size of the result of Export.
const ExportedSize = 8 + Size

// Export returns the data that another process needs to have the same keys, from now on
// and for the tickets accepted now.
func (k *Keys) Export(now time.Time) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(dayOf(now))
	b := binary.BigEndian.AppendUint64(make([]byte, 0, ExportedSize), uint64(k.first))
	return append(b, k.from[:]...)
}

// ImportKeys returns the keys in b, a result of Export.
func ImportKeys(b []byte) (*Keys, error) {
	if len(b) != ExportedSize {
		return nil, errors.New("fasthttp: the keys of session tickets are not whole")
	}
	k := &Keys{first: int64(binary.BigEndian.Uint64(b))}
	copy(k.from[:], b[8:])
	return k, nil
}

// inheritance holds the keys that a process has from its parent.
type inheritance struct {
	server any
	keys   *Keys
}

var inherited atomic.Pointer[inheritance]

// Inherit makes For return the keys k for a server. Servers with other clients must not
// have the same keys, so For returns them for this server only.
func Inherit(server any, k *Keys) { inherited.Store(&inheritance{server, k}) }

// For returns the keys for a server: those passed to Inherit, or new ones.
func For(server any) *Keys {
	if i := inherited.Load(); i != nil && i.server == server {
		return i.keys
	}
	return New(time.Now())
}
