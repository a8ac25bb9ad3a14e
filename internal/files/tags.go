package files

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
)

// TagKind says what the entity tags of files are made of.
type TagKind uint8

const (
	NoTags     TagKind = iota // none at all
	WeakTags                  // made of the time and the size
	StrongTags                // made of the content
)

// MaxHashed is the size of the largest content that gets a strong tag. The first
// client waits until the content was read for that.
const MaxHashed = 64 << 20

// tag gives content its entity tag.
func (k TagKind) tag(c *Content) error {
	if k == NoTags {
		return nil
	}
	if k == WeakTags || c.Size > MaxHashed {
		c.setWeakTag()
		return nil
	}
	return c.setStrongTag()
}

// setWeakTag derives an entity tag from the time of the change and the size.
// That is a guess at whether the content is the same, so the tag is weak. Content
// whose time is not known gets none: the size alone says too little.
func (c *Content) setWeakTag() {
	if c.modified.IsZero() {
		return
	}
	b := append(make([]byte, 0, 48), `W/"`...)
	b = strconv.AppendInt(b, c.modified.UnixNano(), 16)
	b = append(b, '-')
	b = strconv.AppendInt(b, c.Size, 16)
	if c.Coding != "" {
		b = append(append(b, '-'), c.Coding...)
	}
	c.ETag = append(b, '"')
}

// setStrongTag derives an entity tag from the bytes of the content. Half of a
// SHA-256 is more than enough to tell two contents apart.
func (c *Content) setStrongTag() error {
	src, err := c.reader()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	sum := sha256.New()
	n, err := copyAll(sum, io.LimitReader(src, c.Size))
	if err != nil {
		return err
	}
	if n != c.Size {
		return errChanged
	}
	const bytes = sha256.Size / 2
	b := append(make([]byte, 0, 2*bytes+len(`""`)), '"')
	b = hex.AppendEncode(b, sum.Sum(nil)[:bytes])
	c.ETag = append(b, '"')
	return nil
}
