// Package importtest holds the order of this house: which package may import
// which, and which file of the root package may name what of which other.
// It has tests only. The tables to add to are in layers_test.go and in
// rootfiles_test.go.
package importtest
