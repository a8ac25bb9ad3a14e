package compat

import (
	"fmt"
	"strings"
)

// observation is the output of a program: fields by case, both in the order of their
// first line.
type observation struct {
	order []string
	cases map[string]*fields
}

type fields struct {
	order []string
	value map[string]string
}

func parse(out []byte) *observation {
	o := &observation{cases: map[string]*fields{}}
	for line := range strings.Lines(string(out)) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		f := o.cases[id]
		if f == nil {
			f = &fields{value: map[string]string{}}
			o.cases[id] = f
			o.order = append(o.order, id)
		}
		field, value, _ := strings.Cut(rest, "\t")
		// A field that starts with '~' is for the reader only.
		if strings.HasPrefix(field, "~") {
			continue
		}
		f.order = append(f.order, field)
		f.value[field] = value
	}
	return o
}

// absent marks a field that one side did not print.
const absent = "(absent)"

type difference struct{ id, field, want, got string }

func (d difference) String() string {
	return fmt.Sprintf("  case   %s\n  field  %s\n  theirs %s\n  ours   %s", d.id, d.field, clip(d.want), clip(d.got))
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:300] + " ... " + s[len(s)-200:]
	}
	return s
}

// result counts cases; its lists name single fields.
type result struct {
	cases, agreeing, explained, failing int

	fields      int
	unexplained []difference
	stale       []string
}

func (r *result) summary(program string) string {
	return fmt.Sprintf("%s: %d inputs, %d agreeing, %d differing with a reason (%d fields), %d unexplained (%d fields), %d stale lines",
		program, r.cases, r.agreeing, r.explained, r.fields, r.failing, len(r.unexplained), len(r.stale))
}

func (r *result) add(o *result) {
	r.cases += o.cases
	r.agreeing += o.agreeing
	r.explained += o.explained
	r.failing += o.failing
	r.fields += o.fields
	r.unexplained = append(r.unexplained, o.unexplained...)
	r.stale = append(r.stale, o.stale...)
}

// compare compares the two outputs and sorts their differences by the table.
func compare(want, got []byte, table []*entry) *result {
	r := &result{}
	a, b := parse(want), parse(got)
	for _, id := range union(a.order, b.order, a.cases) {
		r.cases++
		diffs := compareCase(id, a.cases[id], b.cases[id])
		open := 0
		for _, d := range diffs {
			if explain(table, d) {
				r.fields++
				continue
			}
			open++
			r.unexplained = append(r.unexplained, d)
		}
		switch {
		case len(diffs) == 0:
			r.agreeing++
		case open == 0:
			r.explained++
		default:
			r.failing++
		}
	}
	for _, e := range table {
		if e.used == 0 {
			r.stale = append(r.stale, e.line)
		}
	}
	return r
}

func compareCase(id string, a, b *fields) []difference {
	if a == nil {
		a = &fields{}
	}
	if b == nil {
		b = &fields{}
	}
	var diffs []difference
	for _, field := range union(a.order, b.order, a.value) {
		want, ok := a.value[field]
		if !ok {
			want = absent
		}
		got, ok := b.value[field]
		if !ok {
			got = absent
		}
		if want != got {
			diffs = append(diffs, difference{id, field, want, got})
		}
	}
	return diffs
}

// union lists a and then the cases that only b has.
func union[V any](a, b []string, inA map[string]V) []string {
	all := a[:len(a):len(a)]
	for _, s := range b {
		if _, ok := inA[s]; !ok {
			all = append(all, s)
		}
	}
	return all
}

// explain counts d for every line that covers it, so that a line is stale only if it
// covers no difference.
func explain(table []*entry, d difference) bool {
	found := false
	for _, e := range table {
		if e.covers(d) {
			e.used++
			found = true
		}
	}
	return found
}
