package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/valyala/fasthttp/internal/field"
)

// Which files are compressed, by their size. Less gains nothing, as the head
// takes more; more would keep the first client waiting for too long.
const (
	minCompressed      = 128
	maxCompressed      = 64 << 20
	maxCompressedAlone = 8 << 20 // where the result is kept in memory
)

// fileCodings makes the compressed representations of files.
type fileCodings struct {
	offered  codingSet
	suffixes [numCodings]string // of copies
	copies   *copyFolder        // nil where none are written
}

// siblingSuffixes are what the names of files end in that were compressed by
// whoever made the tree.
var siblingSuffixes = [numCodings]string{codingGzip: ".gz", codingZstd: ".zst", codingBrotli: ".br"}

// fileLevels are the levels for files.
var fileLevels = [numCodings]int{
	codingGzip:   CompressDefaultCompression,
	codingZstd:   CompressZstdDefault,
	codingBrotli: CompressBrotliDefaultCompression,
}

// newFileCodings makes what the settings say. root is that of the files, where
// they are those of the operating system.
func newFileCodings(s *FS, root string) *fileCodings {
	k := &fileCodings{offered: codingsOf(codingGzip)}
	if s.CompressBrotli {
		k.offered |= codingsOf(codingBrotli)
	}
	if s.CompressZstd {
		k.offered |= codingsOf(codingZstd)
	}
	for c := range numCodings {
		if !k.offered.has(c) {
			continue
		}
		k.suffixes[c] = FSCompressedFileSuffixes[c.String()]
		if c == codingGzip && s.CompressedFileSuffix != "" {
			k.suffixes[c] = s.CompressedFileSuffix
		}
		if own := s.CompressedFileSuffixes[c.String()]; own != "" {
			k.suffixes[c] = own
		}
	}
	if s.FS == nil {
		dir := root
		if s.CompressRoot != "" {
			dir = rootDir(s.CompressRoot, false)
		}
		k.copies = &copyFolder{dir: dir, confined: !isWholeVolume(dir) && !s.AllowSymlinksOutsideRoot, made: s.CompressRoot != ""}
	}
	return k
}

// original returns the name of the file that name could be a copy of.
func (k *fileCodings) original(name string) (string, bool) {
	name = strings.TrimSuffix(name, tempSuffix)
	for _, suffix := range k.suffixes {
		if base, ok := strings.CutSuffix(name, suffix); ok && suffix != "" {
			return base, true
		}
	}
	return "", false
}

// choose returns the representation of a node that a client likes best. A
// client that comes while it is being made gets the plain one.
func (k *fileCodings) choose(h *fileHandler, n *node, header *RequestHeader) *fileContent {
	var accepted acceptedCodings
	for value := range fieldValues(header, field.AcceptEncoding) {
		accepted.add(value)
	}
	coding := accepted.choose(k.offered)
	if coding == codingIdentity {
		return n.plain
	}
	if c := n.variants[coding].Load(); c != nil {
		return c
	}
	if !n.encoding.TryLock() {
		return n.plain
	}
	defer n.encoding.Unlock()
	if c := n.variants[coding].Load(); c != nil {
		return c
	}
	c := k.make(h, n, coding)
	if !n.setVariant(coding, c) {
		if c != n.plain {
			c.release()
		}
		return n.plain
	}
	return c
}

// make returns a node's content in a coding, or the plain one where that is not
// worthwhile, or fails.
func (k *fileCodings) make(h *fileHandler, n *node, coding contentCoding) *fileContent {
	plain := n.plain
	if !encodesWell(plain.typ) || plain.size < minCompressed || !plain.acquire() {
		return plain
	}
	defer plain.release()
	c := k.find(h, n, coding)
	if c == nil {
		return plain
	}
	if h.tags {
		c.setTag()
	}
	return c
}

// find looks for the encoded content in the order of what it costs.
func (k *fileCodings) find(h *fileHandler, n *node, coding contentCoding) *fileContent {
	if n.isPage() {
		return encodeInMemory(n.plain, coding)
	}
	if c := k.sibling(h.tree, n, coding); c != nil {
		return c
	}
	if n.plain.size > maxCompressed {
		return nil
	}
	if k.copies != nil && k.suffixes[coding] != "" {
		f, info, err := k.copies.get(n.name, k.suffixes[coding], n.plain, coding)
		switch {
		case err == nil:
			return encodedContent(n.plain, coding, f, info, nil)
		case errors.Is(err, errGainsNothing):
			return nil
		}
		// such as in a directory that cannot be written to
	}
	return encodeInMemory(n.plain, coding)
}

// sibling returns the content of a file beside the original that has it in a
// coding already, or nil.
func (k *fileCodings) sibling(tree fs.FS, n *node, coding contentCoding) *fileContent {
	name := n.name + siblingSuffixes[coding]
	f, info, err := openWithInfo(tree, name)
	if err != nil {
		return nil
	}
	if info.IsDir() || info.ModTime().Before(n.info.ModTime()) {
		_ = f.Close()
		return nil
	}
	return encodedContent(n.plain, coding, f, info, func() (fs.File, error) { return tree.Open(name) })
}

// encodedContent makes the representation that is in an open file, which it
// takes over. The result is nil where that cannot be read.
func encodedContent(plain *fileContent, coding contentCoding, f fs.File, info fs.FileInfo, open func() (fs.File, error)) *fileContent {
	// any name with a known type does: that of the plain content counts
	raw, err := loadContent(f, info, "a.gz", open)
	if err != nil {
		return nil
	}
	raw.coding, raw.typ, raw.modified, raw.date = coding.String(), plain.typ, plain.modified, plain.date
	return raw
}

// encodeInMemory returns plain in a coding, kept in memory, or nil where it is
// too large for that or does not get smaller.
func encodeInMemory(plain *fileContent, coding contentCoding) *fileContent {
	if plain.size > maxCompressedAlone {
		return nil
	}
	var out appendWriter
	if encodeTo(&out, plain, coding) != nil || int64(len(out.b)) >= plain.size {
		return nil
	}
	return &fileContent{
		size: int64(len(out.b)), data: out.b, coding: coding.String(),
		typ: plain.typ, modified: plain.modified, date: plain.date,
	}
}

// encodeTo writes plain to w in a coding. It fails where the file has no longer
// the size that it had.
func encodeTo(w io.Writer, plain *fileContent, coding contentCoding) error {
	src, err := plain.reader()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	buffered := bufio.NewWriterSize(w, copyBufferSize)
	e := newEncoder(coding, fileLevels[coding], buffered)
	defer e.release()
	n, err := copyStream(e, src)
	if err == nil && n != plain.size {
		err = fmt.Errorf("%w: it has %d bytes, not %d", errChanged, n, plain.size)
	}
	if err != nil {
		return err
	}
	return errors.Join(e.Close(), buffered.Flush())
}

// forget removes the copies of a file that is no longer there.
func (k *fileCodings) forget(n *node) {
	if k.copies == nil || n.isPage() {
		return
	}
	for c, suffix := range k.suffixes {
		if suffix != "" && n.variants[c].Load() != nil {
			k.copies.remove(n.name, suffix, n.plain)
		}
	}
}

// splitName splits the name of a file into that of its folder and its own.
func splitName(name string) (dir, base string) {
	dir, base = path.Split(name)
	return path.Clean(dir), base
}
