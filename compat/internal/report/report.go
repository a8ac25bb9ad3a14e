// Package report prints the observations of a compatibility program, one line for each field,
// so that two runs of the same program can be compared field by field.
//
// A line is
//
//	case-id <TAB> field <TAB> value
//
// where the value is quoted in the manner of %q. A field whose name starts with '~' is for the
// reader only and is never compared: error texts and panic messages go there. A panic inside a
// case ends that case and is a result itself.
package report

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

var (
	out  = bufio.NewWriterSize(os.Stdout, 1<<16)
	seen = map[string]bool{}
)

// Flush writes all buffered output; main defers it.
func Flush() {
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Case collects the fields of one input.
type Case struct {
	id     string
	fields map[string]int
}

// Run calls f with a fresh case and catches its panic. Two cases of one name would be compared
// with the wrong case, so they end the program.
func Run(id string, f func(c *Case)) {
	quoted := strconv.Quote(id)
	id = quoted[1 : len(quoted)-1]
	if seen[id] {
		Flush()
		fmt.Fprintf(os.Stderr, "duplicate case %q\n", id)
		os.Exit(2)
	}
	seen[id] = true
	c := &Case{id: id, fields: map[string]int{}}
	defer func() {
		if v := recover(); v != nil {
			c.Str("panic", "yes")
			c.Str("~panic", fmt.Sprint(v))
		}
	}()
	f(c)
	if len(c.fields) == 0 {
		c.Str("done", "yes")
	}
}

// ID returns the name of the case.
func (c *Case) ID() string { return c.id }

func (c *Case) line(field, value string) {
	c.fields[field]++
	if n := c.fields[field]; n > 1 {
		field += "#" + strconv.Itoa(n)
	}
	fmt.Fprintf(out, "%s\t%s\t%s\n", c.id, field, value)
}

// Str prints a string.
func (c *Case) Str(field, s string) { c.line(field, strconv.Quote(s)) }

// Bytes prints a byte slice unless it is empty; nil and empty count as equal, since their
// difference is not documented. The comparison counts a missing field as a difference, so no
// difference is hidden.
func (c *Case) Bytes(field string, b []byte) {
	if len(b) > 0 {
		c.line(field, strconv.Quote(string(b)))
	}
}

// Val prints anything else in its %v form, as one quoted string.
func (c *Case) Val(field string, v any) { c.line(field, strconv.Quote(fmt.Sprint(v))) }

// List prints a list of byte slices unless it is empty.
func (c *Case) List(field string, list [][]byte) {
	if len(list) == 0 {
		return
	}
	parts := make([]string, len(list))
	for i, b := range list {
		parts[i] = strconv.Quote(string(b))
	}
	c.line(field, "["+strings.Join(parts, " ")+"]")
}

// Pairs prints name and value pairs in the given order unless there are none.
func (c *Case) Pairs(field string, pairs []string) {
	if len(pairs) > 0 {
		c.line(field, "["+strings.Join(pairs, " ")+"]")
	}
}

// Sorted prints name and value pairs whose order has no meaning.
func (c *Case) Sorted(field string, pairs []string) {
	sort.Strings(pairs)
	c.Pairs(field, pairs)
}

// Pair formats a name and its value for Pairs.
func Pair(k, v []byte) string { return strconv.Quote(string(k)) + "=" + strconv.Quote(string(v)) }
