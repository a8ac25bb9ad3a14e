// Package docs holds the documentation to the code. It has tests only: what is
// Go in README.md and in the files of this folder compiles, links lead
// somewhere, tests that are named are there, the reasons for which this module
// differs from v1.77.0 are all told, every exported name has a comment, and the
// calls of the root package that programs need most have an example.
package docs
