//go:build !purego

package field

import "golang.org/x/sys/cpu"

// Wide reports whether AppendLines appends lines at all. That takes AVX2, and BMI1 and BMI2,
// which nearly every processor with AVX2 has.
var Wide = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// entrySize is the size of an Entry.
const entrySize = 20

// AppendLines appends entries for the lines from w.At on, as long as they are complete and
// have the usual form: a name of at most 31 bytes, well known and normalised, a colon, a
// space, a value without tabs and without blanks at its ends, CRLF, and a byte that shows
// that the value does not continue. It stops at any other line, and at lines with an effect.
//
// It may read, but does not use, up to 32 bytes between the length and the capacity of
// w.Text. It must not be called unless Wide is set.
func (l *List) AppendLines(w *Walk) {
	// A value that ends before an end of line and one more byte of the text is not searched
	// further. Without that bound the search could go through all memory after the text.
	w.last, w.room = min(cap(w.Text)-32, len(w.Text)-3), cap(l.Entries)-len(l.Entries)
	n := appendLines(w, l.Entries)
	l.Entries = l.Entries[:len(l.Entries)+n/entrySize]
}

// appendLines is AppendLines. It stores entries after those of the slice, up to its
// capacity, and returns how many bytes they take.
//
//go:noescape
func appendLines(w *Walk, entries []Entry) (n int)
