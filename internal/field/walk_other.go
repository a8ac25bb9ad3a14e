//go:build !amd64 || purego

package field

// Wide reports whether AppendLines appends lines at all.
const Wide = false

// appendLines appends nothing here, and leaves every line to the caller of AppendLines.
func appendLines(w *Walk, _ []Entry) (n int) {
	w.Left = LeftLine
	return 0
}
