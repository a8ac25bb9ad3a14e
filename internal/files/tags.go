package files

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
)

// TagKind is the source of the entity tags of files.
type TagKind uint8

const (
	NoTags       TagKind = iota // no tags
	TimelessTags                // weak ones, from the content, for content without a known time
	WeakTags                    // the same, and for other content weak ones from its time and size
	StrongTags                  // from the content
)

// MaxHashed is the size of the largest content whose tag is a hash of it. The first
// client waits while the content is hashed.
const MaxHashed = 64 << 20

// tag gives content its entity tag.
func (k TagKind) tag(c *Content) error {
	timeless := c.modified.IsZero()
	switch {
	case k == NoTags:
	case k == StrongTags && c.Size <= MaxHashed:
		return c.hash("")
	case timeless && c.Size <= MaxHashed:
		// two responses may have different content, if the file is written to meanwhile
		return c.hash("W/")
	case !timeless && k != TimelessTags:
		c.setWeakTag()
	}
	return nil
}

// setWeakTag derives an entity tag from the modification time and the size. They do not
// prove that the content is the same, so the tag is weak.
func (c *Content) setWeakTag() {
	b := append(make([]byte, 0, 48), `W/"`...)
	b = strconv.AppendInt(b, c.modified.UnixNano(), 16)
	b = append(b, '-')
	b = strconv.AppendInt(b, c.Size, 16)
	if c.Coding != "" {
		b = append(append(b, '-'), c.Coding...)
	}
	c.ETag = append(b, '"')
}

// hash derives an entity tag from the bytes of the content; prefix is W/ for a weak one.
// Half of a SHA-256 is more than enough to distinguish two contents.
func (c *Content) hash(prefix string) error {
	src, err := c.reader()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	sum := sha256.New()
	n, err := copyAll(sum, io.LimitReader(src, c.Size))
	if err != nil {
		return readError(err)
	}
	if n != c.Size {
		return errChanged
	}
	const bytes = sha256.Size / 2
	b := append(make([]byte, 0, len(prefix)+2*bytes+len(`""`)), prefix...)
	b = append(b, '"')
	b = hex.AppendEncode(b, sum.Sum(nil)[:bytes])
	c.ETag = append(b, '"')
	return nil
}
