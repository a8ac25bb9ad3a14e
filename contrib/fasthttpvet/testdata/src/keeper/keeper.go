// Package keeper keeps memory that it is passed, and has helpers that do not.
package keeper

var kept [][]byte

// Keep stores b.
func Keep(b []byte) { kept = append(kept, b) }

// KeepCopy stores a copy of b.
func KeepCopy(b []byte) { kept = append(kept, append([]byte(nil), b...)) }

// First returns the first element.
func First(b []byte) []byte { return b[:1] }
