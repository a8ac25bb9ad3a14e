package files

import (
	"crypto/sha256"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// MaxEncodedKept is the limit, in bytes, of encoded content kept for Finders that
// look up every file anew.
const MaxEncodedKept = 32 << 20

// encodedCache caches encoded content by a hash of the plain content. A Finder
// without a cache of nodes would otherwise encode it for each request.
type encodedCache struct {
	mu    lockorder.Mutex[lockorder.EncodedCache]
	kept  map[encodedKey]*encodedEntry
	bytes int
	uses  int64 // counts look-ups
}

// encodedKey is a hash of the content, or of data that identifies it.
type encodedKey struct {
	sum    [sha256.Size]byte
	coding coding.Coding
}

type encodedEntry struct {
	data  []byte // nil if the coding saves nothing
	ready bool   // otherwise it is being encoded
	used  int64
}

// encodedOverhead is the approximate memory of an entry besides its data.
const encodedOverhead = 200

// encodings is shared by all Finders: some are made for one request.
var encodings encodedCache

// encodedKeyOf returns the key of content, which it reads from the start to the end.
func encodedKeyOf(plain *Content, kind coding.Coding) (key encodedKey, err error) {
	src, err := plain.reader()
	if err != nil {
		return key, err
	}
	defer func() { _ = src.Close() }()
	sum := sha256.New()
	_, err = copyAll(sum, src)
	sum.Sum(key.sum[:0])
	key.coding = kind
	return key, err
}

// get returns the data of a key, which is nil if the coding saves nothing; known
// reports whether the key was found.
func (c *encodedCache) get(key encodedKey) (data []byte, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept[key]
	if e == nil || !e.ready {
		return nil, false
	}
	c.uses++
	e.used = c.uses
	return e.data, true
}

// make stores the result of encode, and returns it. It returns nil if encode fails.
// It returns nil without calling encode if another goroutine is encoding the same.
func (c *encodedCache) make(key encodedKey, encode func() ([]byte, error)) []byte {
	e := &encodedEntry{}
	c.mu.Lock()
	busy := c.kept[key] != nil
	if !busy {
		if c.kept == nil {
			c.kept = map[encodedKey]*encodedEntry{}
		}
		c.kept[key] = e
	}
	c.mu.Unlock()
	if busy {
		return nil
	}
	failed := true // stays true if encode panics
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if failed {
			delete(c.kept, key)
			return
		}
		c.uses++
		e.ready, e.used = true, c.uses
		c.bytes += encodedOverhead + len(e.data)
		for c.bytes > MaxEncodedKept && len(c.kept) > 1 {
			if !c.evictOldest(e) {
				break
			}
		}
	}()
	data, err := encode()
	failed = err != nil
	e.data = data
	return data
}

// evictOldest drops, of the first few entries other than keep, the least recently
// used one. It reports whether there was one.
func (c *encodedCache) evictOldest(keep *encodedEntry) bool {
	const few = 8
	var oldest *encodedEntry
	var oldestKey encodedKey
	looked := 0
	for key, e := range c.kept {
		if e == keep || !e.ready {
			continue
		}
		if oldest == nil || e.used < oldest.used {
			oldest, oldestKey = e, key
		}
		if looked++; looked == few {
			break
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.kept, oldestKey)
	c.bytes -= encodedOverhead + len(oldest.data)
	return true
}
