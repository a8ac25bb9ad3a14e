package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// phase is a part of the work for a request, and the functions that do it.
type phase struct {
	name      string
	functions *regexp.Regexp
}

// phases are looked through in this order. Functions that are in none of them, such as
// memmove or the methods of a list of fields, belong to the phases that call them. So
// does a handler's whole work with its context, since a handler is a function of the
// benchmark.
//
// Names that a commit has given up stay as long as comparisons with it are made.
var phases = []phase{
	{"harness", inPackage(`bench/internal/`, `\w+\.`)},
	{"handler", inPackage(`bench\.`, ``)},
	{"index", inPackage(``, `\(\*header\)\.(feed|adopt|adoptChunks)$`, `internal/http1\.\(\*Head\)\.(apply|place|lookUp|validName|note\w+)$`,
		`internal/http1\.ConnectionFlags$`, `internal/field\.(LookupWords|LookupForm|Lookup)$`)},
	{"parse", inPackage(`internal/http1\.`, `\(\*Head\)\.`, `ValidHost$`, `CheckTarget$`, `fieldValue$`, `valueEnd$`, `longName$`)},
	{"response", inPackage(``, `\(\*exchange\)\.(respond\w*|encode|wantsClose|queueFile)$`, `\(\*ResponseHeader\)\.append\w+$`)},
	{"reset", inPackage(``, `\(\*exchange\)\.(endRequest|resetCtx|begin)$`, `\(\*RequestCtx\)\.reset$`,
		`\(\*Server\)\.(acquireCtx|releaseCtx|cleanCtx)$`, `\(\*header\)\.shrink$`)},
	{"dispatch", inPackage(``, `\(\*exchange\)\.`, `\(\*h1Conn\)\.(Step|advance|contain)\b`)},
	{"engine", inPackage(``, `internal/engine\.`, `\(\*h1Conn\)\.`)},
}

// others is the phase of functions that no function of a phase calls.
const others = "others"

// inPackage matches the functions of this fasthttp whose names, without its import path,
// begin with the package, followed by one of the rest.
func inPackage(name string, rest ...string) *regexp.Regexp {
	return regexp.MustCompile(`^github\.com/valyala/fasthttp[/.]` + name + `(?:` + strings.Join(rest, "|") + `)`)
}

// phaseOf returns the phase that a function is in by its name, or "".
func phaseOf(name string) string {
	for _, p := range phases {
		if p.functions.MatchString(name) {
			return p.name
		}
	}
	return ""
}

// byPhase returns what the phases take of an operation. What a function takes that is in
// none is divided among its callers in the proportion of their calls.
func byPhase(p profile, operations int) map[string]float64 {
	callers := map[string]map[string]int64{}
	for name, t := range p {
		for callee, times := range t.calls {
			if times > 0 && callee != name {
				if callers[callee] == nil {
					callers[callee] = map[string]int64{}
				}
				callers[callee][name] = times
			}
		}
	}
	shares := map[string]map[string]float64{}
	for name := range p {
		if in := phaseOf(name); in != "" {
			shares[name] = map[string]float64{in: 1}
		}
	}
	// each round hands the shares of callers one call further, and functions that call
	// each other come closer to what called them first
	for range deepest {
		for name, by := range callers {
			if phaseOf(name) == "" {
				shares[name] = sharesOf(by, shares)
			}
		}
	}
	took := map[string]float64{}
	for name, t := range p {
		self := float64(t.self) / float64(operations)
		for in, part := range shares[name] {
			took[in] += part * self
		}
		if len(shares[name]) == 0 {
			took[others] += self
		}
	}
	return took
}

// deepest is how many calls may be between a function and that of a phase.
const deepest = 40

// sharesOf returns how a function is divided among the phases that has these callers.
// Those that are in no phase, as far as is known, do not count.
func sharesOf(callers map[string]int64, shares map[string]map[string]float64) map[string]float64 {
	share, sum := map[string]float64{}, 0.0
	for caller, times := range callers {
		for in, part := range shares[caller] {
			share[in] += part * float64(times)
			sum += part * float64(times)
		}
	}
	for in := range share {
		share[in] /= sum
	}
	return share
}

// showPhases writes what the phases take of a row.
func (m *meter) showPhases(row workload, out io.Writer) error {
	p, err := m.difference(row)
	if err != nil {
		return err
	}
	took := byPhase(p, row.operations)
	for _, p := range phases {
		fmt.Fprintf(out, "  %8.0f  %s\n", took[p.name], p.name)
	}
	fmt.Fprintf(out, "  %8.0f  %s\n", took[others], others)
	return nil
}
