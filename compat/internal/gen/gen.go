// Package gen generates inputs for the compatibility programs. They depend only on the
// name of a source, so that a program gets the same inputs with both modules.
package gen

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// A Source generates one input after another.
type Source struct{ r *rand.Rand }

// New returns a source that always generates the same inputs for one name.
func New(name string) *Source {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &Source{rand.New(rand.NewPCG(h.Sum64(), 1))}
}

// N returns a number from 0 to n-1.
func (s *Source) N(n int) int { return s.r.IntN(n) }

// Chance is true in percent of all cases.
func (s *Source) Chance(percent int) bool { return s.r.IntN(100) < percent }

// Pick returns one of the list.
func (s *Source) Pick(list ...string) string { return list[s.r.IntN(len(list))] }

// Maybe returns text in percent of all cases, else nothing.
func (s *Source) Maybe(percent int, text string) string {
	if s.Chance(percent) {
		return text
	}
	return ""
}

// Join joins between low and high parts, with sep between them.
func (s *Source) Join(low, high int, sep string, part func() string) string {
	parts := make([]string, low+s.r.IntN(high-low+1))
	for i := range parts {
		parts[i] = part()
	}
	return strings.Join(parts, sep)
}

// Word returns 1 to 8 letters and digits.
func (s *Source) Word() string {
	const set = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789"
	return s.Join(1, 8, "", func() string { return string(set[s.r.IntN(len(set))]) })
}

// Mutate changes text at one to three places: bytes are dropped, doubled or replaced, or one
// of the pieces is inserted.
func (s *Source) Mutate(text string, pieces ...string) string {
	for range 1 + s.r.IntN(3) {
		at := s.r.IntN(len(text) + 1)
		end := min(len(text), at+1+s.r.IntN(4))
		switch s.r.IntN(6) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:end] + text[at:]
		case 2:
			text = text[:at] + s.Pick(pieces...) + text[end:]
		case 3:
			if at < len(text) {
				text = text[:at] + string([]byte{byte(s.r.IntN(256))}) + text[at+1:]
			}
		default:
			text = text[:at] + s.Pick(pieces...) + text[at:]
		}
	}
	return text
}
