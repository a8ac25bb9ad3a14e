// Package importtest checks the layers of this module: the imports of its packages, and
// the uses between the files of the root package. It also checks that tests do not
// sleep. It has tests only. Add packages and files to the tables in layers_test.go and
// rootfiles_test.go.
package importtest
