package files

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
)

// copyStamp identifies the original of a compressed copy: the size and the time of
// the file, and the coding. It follows the encoded content in the file of the copy,
// and is never sent. The time of the copy itself could not identify as much, and an
// incompletely written file has no stamp.
type copyStamp [stampSize]byte

const (
	stampMagic = "\x00fasthttp copy 1"
	stampSize  = len(stampMagic) + 1 + len(rootMark{}) + 8 + 8 + 4
)

// rootMark distinguishes roots whose copies are in the same folder.
type rootMark [8]byte

func markOf(root string) (m rootMark) {
	sum := sha256.Sum256([]byte(root))
	copy(m[:], sum[:])
	return m
}

// stampFor returns the stamp of a copy.
func stampFor(root rootMark, original fs.FileInfo, kind coding.Coding) (s copyStamp) {
	b := append(s[:0], stampMagic...)
	b = append(b, byte(kind))
	b = append(b, root[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(original.Size()))
	b = binary.BigEndian.AppendUint64(b, uint64(original.ModTime().Unix()))
	binary.BigEndian.AppendUint32(b, uint32(original.ModTime().Nanosecond()))
	return s
}

// root returns the mark of the root of the original.
func (s *copyStamp) root() (m rootMark) {
	copy(m[:], s[len(stampMagic)+1:])
	return m
}

// readStamp reads the stamp at the end of a file of size bytes.
func readStamp(f fs.File, size int64) (s copyStamp, ok bool) {
	at, isAt := f.(io.ReaderAt)
	if !isAt || size < int64(stampSize) {
		return s, false
	}
	if n, err := at.ReadAt(s[:], size-int64(stampSize)); n < stampSize && err != nil {
		return s, false
	}
	return s, string(s[:len(stampMagic)]) == stampMagic
}

// copyTime returns the time for a copy. Version 1.77.0 treats a file not
// older than the original as its own copy, and would send the stamp, too.
func copyTime(original time.Time) time.Time { return original.Add(-time.Minute) }

// reservedSuffixes are the suffixes of names that mean copies in any tree, whatever
// made them.
var reservedSuffixes = []string{".fasthttp.gz", ".fasthttp.br", ".fasthttp.zst"}

// isReservedName reports whether a file has the name of a copy, or of an
// unfinished one. Case does not matter, since some file systems ignore it.
func isReservedName(name string) bool {
	if hasSuffixFold(name, tempSuffix) {
		name = name[:len(name)-len(tempSuffix)]
	}
	for _, suffix := range reservedSuffixes {
		if hasSuffixFold(name, suffix) {
			return true
		}
	}
	return false
}

func hasSuffixFold(name, suffix string) bool {
	return len(name) >= len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix)
}
