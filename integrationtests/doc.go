// Package integrationtests has the tests of whole servers and whole clients, which
// need no name of the root package but those that it exports. What they share with
// the tests of that is in internal/servertest.
package integrationtests
