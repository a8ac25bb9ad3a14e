package main

import (
	"slices"
	"strings"
)

// A verdict is what further runs make of a test that has not ended the same
// with both.
type verdict int

const (
	// lost: v1.77.0 passes it whenever it runs, and this tree does not.
	lost verdict = iota + 1
	// gained: this tree passes it whenever it runs, and v1.77.0 never does.
	gained
	// unsteady: it passes now and then with v1.77.0, or with both when it has
	// the machine for itself, and so says nothing about either.
	unsteady
)

func judge(theirs, here []string) verdict {
	switch {
	case all(theirs, pass) && !all(here, pass):
		return lost
	case all(here, pass) && !slices.Contains(theirs, pass):
		return gained
	}
	return unsteady
}

func all(results []string, want string) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(r string) bool { return r != want })
}

// differing returns the tests that pass with one side and not with the other.
func differing(theirs, here *outcome) []string {
	var names []string
	for _, name := range union(theirs, here) {
		if isTest(name) && (theirs.of(name) == pass) != (here.of(name) == pass) {
			names = append(names, name)
		}
	}
	return names
}

// leaves leaves out tests of which a part is in the list as well: they fail if
// one of their parts does.
func leaves(names []string) []string {
	var list []string
	for _, name := range names {
		if !slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			list = append(list, name)
		}
	}
	return list
}

func union(a, b *outcome) []string {
	names := append(a.names(), b.names()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// isTest reports whether a name is that of a test, and not of a package.
func isTest(name string) bool { return strings.Contains(name, " ") }

// root returns the package and the test that go test -run can name by itself.
func root(name string) (pkg, test string) {
	pkg, test, _ = strings.Cut(name, " ")
	test, _, _ = strings.Cut(test, "/")
	return pkg, test
}
