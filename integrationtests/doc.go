// Package integrationtests has the tests of whole servers and whole clients, which use only
// exported names of the root package. Helpers shared with the tests of the root package are in
// internal/servertest.
package integrationtests
