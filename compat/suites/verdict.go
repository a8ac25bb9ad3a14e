package main

import (
	"slices"
	"strings"
)

// A verdict is the result of further runs of a test that differs between the sides.
type verdict int

const (
	// lost: it always passes with v1.77.0, and not always with this tree.
	lost verdict = iota + 1
	// gained: it always passes with this tree, and never with v1.77.0.
	gained
	// unsteady: it passes only sometimes with v1.77.0, or passes with both when it runs alone,
	// so it is no evidence about either.
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

// withFirst adds the result of the first run of a test with v1.77.0 to the results of further
// runs if it is a failure: then the test passes only sometimes there.
func withFirst(first string, again []string) []string {
	if first != fail {
		return again
	}
	return append([]string{first}, again...)
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

// leaves drops tests of which a part is also in the list: they fail if one of their parts
// fails.
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

// isTest reports whether a name belongs to a test, not to a package.
func isTest(name string) bool { return strings.Contains(name, " ") }

// root returns the package and the top-level test, which go test -run can select.
func root(name string) (pkg, test string) {
	pkg, test, _ = strings.Cut(name, " ")
	test, _, _ = strings.Cut(test, "/")
	return pkg, test
}
