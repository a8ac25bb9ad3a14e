package fasthttp

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
)

// tagKind says what the entity tags of files are made of.
type tagKind uint8

const (
	noTags tagKind = iota
	weakTags
	strongTags
)

// maxHashed is the size of the largest content of which a strong tag is made: it
// keeps the first client waiting for as long as the content is read.
const maxHashed = 64 << 20

func tagsFor(s *FS) tagKind {
	switch {
	case s.StrongETag:
		return strongTags
	case s.GenerateETag:
		return weakTags
	}
	return noTags
}

// tag gives content its entity tag.
func (k tagKind) tag(c *fileContent) error {
	if k == noTags {
		return nil
	}
	if k == weakTags || c.size > maxHashed {
		c.setWeakTag()
		return nil
	}
	return c.setStrongTag()
}

// setWeakTag derives an entity tag from the time of the change and the size.
// That is a guess at whether the content is the same, so the tag is weak. Content
// whose time is not known gets none: the size alone says too little.
func (c *fileContent) setWeakTag() {
	if c.modified.IsZero() {
		return
	}
	b := append(make([]byte, 0, 48), `W/"`...)
	b = strconv.AppendInt(b, c.modified.UnixNano(), 16)
	b = append(b, '-')
	b = strconv.AppendInt(b, c.size, 16)
	if c.coding != "" {
		b = append(append(b, '-'), c.coding...)
	}
	c.etag = append(b, '"')
}

// setStrongTag derives an entity tag from the bytes of the content. Half of a
// SHA-256 is more than enough to tell two contents apart.
func (c *fileContent) setStrongTag() error {
	src, err := c.reader()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	sum := sha256.New()
	n, err := copyStream(sum, io.LimitReader(src, c.size))
	if err != nil {
		return err
	}
	if n != c.size {
		return errChanged
	}
	const bytes = sha256.Size / 2
	b := append(make([]byte, 0, 2*bytes+len(`""`)), '"')
	b = hex.AppendEncode(b, sum.Sum(nil)[:bytes])
	c.etag = append(b, '"')
	return nil
}
