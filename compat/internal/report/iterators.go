package report

import (
	"iter"
	"regexp"
	"slices"
	"time"
)

// PairsOf returns the pairs of an iterator for Pairs and Sorted.
func PairsOf(seq iter.Seq2[[]byte, []byte]) (pairs []string) {
	for k, v := range seq {
		pairs = append(pairs, Pair(k, v))
	}
	return pairs
}

// Visited returns the pairs that visit passes to its function.
func Visited(visit func(func(k, v []byte))) (pairs []string) {
	visit(func(k, v []byte) { pairs = append(pairs, Pair(k, v)) })
	return pairs
}

// Copied prints copies of the values of an iterator.
func (c *Case) Copied(field string, seq iter.Seq[[]byte]) {
	var list [][]byte
	for b := range seq {
		list = append(list, slices.Clone(b))
	}
	c.List(field, list)
}

var dateField = regexp.MustCompile(`\r\nDate: [^\r\n]*`)

// MaskDates hides the values of generated Date fields, which are the current time.
func MaskDates(s string) string {
	return dateField.ReplaceAllStringFunc(s, func(field string) string {
		const name = "\r\nDate: "
		if _, err := time.Parse(time.RFC1123, field[len(name):]); err != nil {
			return field
		}
		return name + "DATE"
	})
}
