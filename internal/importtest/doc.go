// Package importtest checks the layers of this module: which package may import
// which, and which file of the root package may name what of which other file. It
// also checks that tests do not sleep. It has tests only. Add packages and files to the
// tables in layers_test.go and rootfiles_test.go.
package importtest
