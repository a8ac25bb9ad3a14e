// Command generated reports how the parsers behave on inputs generated from a fixed seed:
// well-formed inputs, and damaged copies.
//
// If a rule makes the two modules differ on an input, the name of the case contains the
// oddity, so that one line of a table can cover a kind of input.
package main

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/gen"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	runArgs()
	runURI()
	runCookies()
	runRanges()
	runDates()
	runNumbers()
	runText()
	runHeads()
	runChunks()
}

// each calls look with count inputs; the first third is as make returns them, the others are
// damaged with the pieces.
func each(kind string, count int, make func(s *gen.Source) string, pieces []string, tags func(string) []string, look func(c *report.Case, in string)) {
	s := gen.New(kind)
	for i := range count {
		in := make(s)
		if i >= count/3 {
			in = s.Mutate(in, pieces...)
		}
		id := fmt.Sprintf("%s/%d", kind, i)
		if tags != nil {
			id = strings.Join(append([]string{id}, tags(in)...), "+")
		}
		report.Run(id, func(c *report.Case) {
			c.Str("~in", in)
			look(c, in)
		})
	}
}
