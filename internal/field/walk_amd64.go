//go:build !purego

package field

import "golang.org/x/sys/cpu"

// Wide reports whether AppendLines appends lines at all. That takes AVX2, and BMI1 and BMI2,
// which nearly every processor with AVX2 has.
var Wide = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// appendLines is List.AppendLines. It stores entries after those of the slice, up to its
// capacity, and returns how many bytes they take.
//
//go:noescape
func appendLines(w *Walk, entries []Entry) (n int)
