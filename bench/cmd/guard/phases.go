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

// phases are searched in this order. Functions in none of them, such as memmove or the methods
// of a list of fields, belong to the phases that call them. So does all work of a handler with
// its context, since a handler is a function of the benchmark.
//
// Names of functions that no longer exist stay as long as older commits are compared.
var phases = []phase{
	{"harness", inPackage(`bench/internal/`, `\w+\.`)},
	{"handler", inPackage(`bench\.`, ``)},
	{"index", inPackage(``, `\(\*header\)\.(feed|adopt|adoptChunks)$`, `internal/http1\.\(\*Head\)\.(apply|place|lookUp|validName|note\w+)$`,
		`internal/http1\.ConnectionFlags$`, `internal/field\.(LookupWords|LookupForm|Lookup)$`)},
	{"parse", inPackage(`internal/http1\.`, `\(\*Head\)\.`, `ValidHost$`, `CheckTarget$`, `fieldValue$`, `valueEnd$`, `longName$`)},
	{"response", inPackage(``, `\(\*(exchange|h1Exchange)\)\.(respond\w*|encode|wantsClose|queueFile)$`, `\(\*ResponseHeader\)\.append\w+$`)},
	{"reset", inPackage(``, `\(\*(exchange|h1Exchange)\)\.(endRequest|resetCtx|begin)$`, `\(\*RequestCtx\)\.reset$`,
		`\(\*Server\)\.(acquireCtx|releaseCtx|cleanCtx)$`, `\(\*header\)\.shrink$`)},
	{"dispatch", inPackage(``, `\(\*(exchange|h1Exchange)\)\.`, `\(\*h1Conn\)\.(Step|advance|contain)\b`)},
	{"engine", inPackage(``, `internal/engine\.`, `\(\*h1Conn\)\.`)},
}

// others is the phase of functions that no function of a phase calls.
const others = "others"

// inPackage matches functions of this module by their names without its import path: the
// package, followed by one of rest.
func inPackage(name string, rest ...string) *regexp.Regexp {
	return regexp.MustCompile(`^github\.com/valyala/fasthttp[/.]` + name + `(?:` + strings.Join(rest, "|") + `)`)
}

// phaseOf returns the phase to which a function belongs by its name, or "".
func phaseOf(name string) string {
	for _, p := range phases {
		if p.functions.MatchString(name) {
			return p.name
		}
	}
	return ""
}

// byPhase returns the shares of the phases in an operation. The share of a function in none of
// them is divided among its callers, in proportion to their calls.
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
	// each round passes the shares of callers on by one call; functions that call each
	// other get closer to the phases of their first callers
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

// deepest is how many calls may be between a function of a phase and another function.
const deepest = 40

// sharesOf returns how a function with these callers is divided among the phases. Callers that
// are not yet known to be in a phase do not count.
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

// showPhases writes the shares of the phases in a row.
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
