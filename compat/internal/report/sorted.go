package report

import (
	"iter"
	"maps"
	"slices"
)

// Sorted yields the entries of m by name. A program that runs its cases in the order of a map
// runs them in another order each time. Then an object that a case has left in a pool shows in
// one run and not in the next.
func Sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
