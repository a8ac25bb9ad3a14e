//go:build !amd64 || purego

package field

// Wide reports whether AppendLines appends lines at all.
const Wide = false

// AppendLines appends nothing here, and leaves every line to its caller.
func (l *List) AppendLines(w *Walk) { w.Left = LeftLine }
