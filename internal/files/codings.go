package files

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
)

// The limits on the size of files to compress. Smaller files gain nothing, since the
// head takes more; larger ones would keep the first client waiting for too long.
const (
	minCompressed         = 128
	MaxCompressed         = 64 << 20
	MaxCompressedInMemory = 8 << 20 // if the result is kept in memory
)

// fileCodings makes the compressed representations of files.
type fileCodings struct {
	offered  coding.Set
	made     coding.Set // codings to encode with; the others are only looked for
	siblings bool
	types    *coding.TypeSet
	suffixes [coding.Count]string // of copies
	copies   *copyFolder          // nil if no copies are written
}

// siblingSuffixes are the suffixes of files that were compressed before they were
// put into the tree.
var siblingSuffixes = [coding.Count]string{coding.Gzip: ".gz", coding.Zstd: ".zst", coding.Brotli: ".br"}

// usualLevel means the default level of each coding.
const usualLevel = -1

// newFileCodings applies the settings. root is the directory of the files, if the
// operating system has them.
func newFileCodings(s *Settings, root string) *fileCodings {
	k := &fileCodings{made: s.Codings, siblings: s.Precompressed, types: coding.TypesFor(s.CompressTypes)}
	k.offered = k.made
	if k.siblings {
		k.offered |= coding.SetOf(coding.Gzip, coding.Zstd, coding.Brotli)
	}
	for c := range coding.Count {
		if k.made.Has(c) {
			k.suffixes[c] = s.Suffixes[c]
		}
	}
	if s.FS == nil && k.made != 0 {
		dir := root
		if s.CompressRoot != "" {
			dir = rootDir(s.CompressRoot, false)
		}
		k.copies = &copyFolder{dir: dir, confined: !isWholeVolume(dir) && !s.AllowSymlinksOutsideRoot}
		if s.CompressRoot != "" {
			k.copies.apart, k.copies.mark = true, markOf(root)
		}
	}
	return k
}

// original returns the name of the file of which name could be a copy.
func (k *fileCodings) original(name string) (string, bool) {
	name = strings.TrimSuffix(name, tempSuffix)
	for _, suffix := range k.suffixes {
		if base, ok := strings.CutSuffix(name, suffix); ok && suffix != "" {
			return base, true
		}
	}
	return "", false
}

// isCopy reports whether an open file is a copy with a suffix that the application
// has chosen. Only its stamp distinguishes it from other files.
func (k *fileCodings) isCopy(name string, f fs.File, info fs.FileInfo) bool {
	if k.copies == nil || isReservedName(name) {
		return false
	}
	if _, ok := k.original(name); !ok {
		return false
	}
	_, ok := readStamp(f, info.Size())
	return ok || strings.HasSuffix(name, tempSuffix)
}

// choose returns the content of a node in the coding that a client prefers. While
// it is being encoded, further clients get the plain content. A HEAD request also
// gets it if nothing was encoded yet.
func (k *fileCodings) choose(f *Finder, n *Node, fields *field.List, head bool) *Content {
	var accepted coding.Accepted
	for i := fields.FindID(field.AcceptEncoding, 0); i >= 0; i = fields.FindID(field.AcceptEncoding, i+1) {
		accepted.Add(fields.Value(i))
	}
	for offered := k.offered; ; {
		kind := accepted.Choose(offered)
		if kind == coding.Identity {
			return n.plain
		}
		if c := k.variant(f, n, kind, !head); c != n.plain || !k.siblings || k.isMade(n, kind) {
			return c
		}
		// it is not there yet: the next coding will do
		offered &^= coding.SetOf(kind)
	}
}

// variant returns a node's content in a coding, or the plain one.
func (k *fileCodings) variant(f *Finder, n *Node, kind coding.Coding, making bool) *Content {
	if c := n.variants[kind].Load(); c != nil {
		return c
	}
	if !n.encoding[kind].TryLock() {
		return n.plain
	}
	defer n.encoding[kind].Unlock()
	if c := n.variants[kind].Load(); c != nil {
		return c
	}
	plain := n.plain
	if !plain.Acquire() {
		return plain
	}
	defer plain.Release()
	c := k.find(f, n, kind)
	if c == nil {
		var known bool
		if c, known = k.make(f, n, kind, making); !known {
			return plain
		}
		if c == nil {
			c = plain
		}
	}
	if c != plain && f.tags.tag(c) != nil {
		c.Release()
		return plain
	}
	if !n.setVariant(kind, c) {
		if c != plain {
			c.Release()
		}
		return plain
	}
	return c
}

// isMade reports whether the content of a node should be encoded in a coding, if
// that saves space.
func (k *fileCodings) isMade(n *Node, kind coding.Coding) bool {
	return k.made.Has(kind) && n.plain.Size >= minCompressed && n.plain.Size <= MaxCompressed && k.types.Has(n.plain.Type)
}

// find returns existing encoded content, or nil. It tries the cheapest places
// first.
func (k *fileCodings) find(f *Finder, n *Node, kind coding.Coding) *Content {
	if k.siblings && !n.IsPage() {
		if c := k.sibling(f.tree, n, kind); c != nil {
			return c
		}
	}
	if !k.isMade(n, kind) {
		return nil
	}
	if k.copies != nil && !n.IsPage() && k.suffixes[kind] != "" {
		k.copies.tidyUp(f.tree, path.Dir(n.name), k.original)
		file, size, err := k.copies.get(k.copies.of(n.name, k.suffixes[kind], n.info, kind))
		if err == nil {
			return encodedContent(n.plain, kind, file, size, nil)
		}
	}
	return nil
}

// make encodes the content of a node, or only looks for encoded content unless
// making is set. It returns nil if encoding saves nothing or fails (known is true),
// and if it was not tried.
func (k *fileCodings) make(f *Finder, n *Node, kind coding.Coding, making bool) (c *Content, known bool) {
	if !k.isMade(n, kind) {
		return nil, true
	}
	e := memoryEncoding{n.plain, kind, f.cache == nil, making}
	if k.copies == nil || n.IsPage() || k.suffixes[kind] == "" {
		return e.content()
	}
	wanted := k.copies.of(n.name, k.suffixes[kind], n.info, kind)
	var key encodedKey
	if e.keep {
		// no node caches it
		key = encodedKey{sha256.Sum256(bytes.Join([][]byte{[]byte(k.copies.dir), []byte(n.name), wanted.stamp[:]}, []byte{0})), kind}
		if _, known := encodings.get(key); known {
			return nil, true
		}
	}
	if !making {
		return e.content()
	}
	file, size, err := k.copies.make(wanted, n.plain)
	switch {
	case err == nil:
		return encodedContent(n.plain, kind, file, size, nil), true
	case !errors.Is(err, errGainsNothing):
		// for example in a directory without write permission
		return e.content()
	case e.keep:
		encodings.make(key, func() ([]byte, error) { return nil, nil })
	}
	return nil, true
}

// sibling returns the content of an already encoded file beside the original, or
// nil.
func (k *fileCodings) sibling(tree fs.FS, n *Node, kind coding.Coding) *Content {
	name := n.name + siblingSuffixes[kind]
	n.findSibling(tree, kind)
	f, info, err := openWithInfo(tree, name)
	if err != nil {
		return nil
	}
	if info.IsDir() || info.ModTime().Before(n.info.ModTime()) || k.isCopy(name, f, info) {
		_ = f.Close()
		return nil
	}
	return encodedContent(n.plain, kind, f, info.Size(), func() (fs.File, error) { return tree.Open(name) })
}

// encodedContent makes a representation of the first size bytes of an open file,
// which it takes over. It returns nil if they cannot be read.
func encodedContent(plain *Content, kind coding.Coding, f fs.File, size int64, open func() (fs.File, error)) *Content {
	raw, err := loadContent(f, size, string(plain.Type), open)
	if err != nil {
		return nil
	}
	raw.Coding, raw.Type, raw.modified, raw.LastModified = kind.String(), plain.Type, plain.modified, plain.LastModified
	return raw
}

// memoryEncoding encodes content in memory.
type memoryEncoding struct {
	plain  *Content
	coding coding.Coding
	keep   bool // cache the result, also outside of the node
	making bool // encode; otherwise only look
}

// content returns the representation. It is nil if the content is too large or does
// not get smaller, with known set, and if there is none yet.
func (e memoryEncoding) content() (c *Content, known bool) {
	if e.plain.Size > MaxCompressedInMemory {
		// it may still be made on the disk
		return nil, e.making
	}
	var data []byte
	switch {
	case e.keep:
		key, err := encodedKeyOf(e.plain, e.coding)
		if err != nil {
			return nil, true
		}
		if data, known = encodings.get(key); !known && e.making {
			data, known = encodings.make(key, e.encode), true
		}
	case e.making:
		// if this fails, the plain content is as good
		data, _ = e.encode()
		known = true
	}
	if data == nil {
		return nil, known
	}
	return &Content{
		Size: int64(len(data)), data: data, Coding: e.coding.String(),
		Type: e.plain.Type, modified: e.plain.modified, LastModified: e.plain.LastModified,
	}, true
}

// encode returns the encoded content, or nil if it is not smaller.
func (e memoryEncoding) encode() ([]byte, error) {
	var out bufpool.Buffer
	if err := encodeTo(&out, e.plain, e.coding); err != nil || int64(len(out.B)) >= e.plain.Size {
		return nil, err
	}
	return out.B, nil
}

// encodeTo writes plain to w in a coding. It fails if the size of the file has
// changed.
func encodeTo(w io.Writer, plain *Content, kind coding.Coding) error {
	src, err := plain.reader()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	buffered := bufio.NewWriterSize(w, copyBufferSize)
	e := coding.NewEncoder(kind, usualLevel, buffered)
	defer e.Release()
	n, err := copyAll(e, src)
	if err == nil && n != plain.Size {
		err = fmt.Errorf("%w: it has %d bytes, not %d", errChanged, n, plain.Size)
	}
	if err != nil {
		return err
	}
	return errors.Join(e.Close(), buffered.Flush())
}

// forget removes the copies of a file that no longer exists.
func (k *fileCodings) forget(name string) {
	if folder, _ := splitName(name); k.copies == nil || !k.copies.knows(folder) {
		return
	}
	for _, suffix := range k.suffixes {
		if suffix != "" {
			k.copies.remove(name, suffix)
		}
	}
}

// splitName splits the name of a file into its folder and its base name.
func splitName(name string) (dir, base string) {
	dir, base = path.Split(name)
	return path.Clean(dir), base
}
