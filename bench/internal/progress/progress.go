// Package progress shows the progress of a measurement, and the time left.
package progress

import (
	"fmt"
	"io"
	"time"
)

// A session reports its steps to a Log. It first calls Plan with the total weight of all
// steps; the weight of a step is proportional to its estimated time.
type Log interface {
	Plan(steps int, weight float64)
	// Begin announces the next step, and End reports its result.
	Begin(step string)
	End(weight float64, result string)
	// Note is for text that belongs to no step.
	Note(text string)
}

// Lines writes a line for each step.
type Lines struct {
	out         io.Writer
	done, steps int
	rest        Rest
	now         func() time.Time
	begin       time.Time
}

// NewLines returns a Log that writes to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: out, now: time.Now} }

// Plan implements Log.
func (l *Lines) Plan(steps int, weight float64) {
	l.done, l.steps, l.rest = 0, steps, Rest{all: weight}
}

// Begin implements Log.
func (l *Lines) Begin(step string) {
	l.done++
	l.begin = l.now()
	fmt.Fprintf(l.out, "[%*d/%d] %s", len(fmt.Sprint(l.steps)), l.done, l.steps, step)
}

// End implements Log.
func (l *Lines) End(weight float64, result string) {
	l.rest.Add(weight, l.now().Sub(l.begin))
	fmt.Fprintf(l.out, "  %s", result)
	if l.done < l.steps {
		fmt.Fprintf(l.out, "  (%v left)", l.rest.Left().Round(time.Second))
	}
	fmt.Fprintln(l.out)
}

// Note implements Log.
func (l *Lines) Note(text string) { fmt.Fprintln(l.out, text) }

// Rest estimates the time left: the remaining weight takes as long, in proportion, as the
// finished weight.
type Rest struct {
	all, done float64
	spent     time.Duration
}

// NewRest returns a Rest with a total weight.
func NewRest(weight float64) Rest { return Rest{all: weight} }

// Add reports that work of this weight is done, and how long it took.
func (r *Rest) Add(weight float64, took time.Duration) {
	r.done += weight
	r.spent += took
}

// Share returns the finished share, from 0 to 1.
func (r *Rest) Share() float64 {
	if r.all <= 0 {
		return 0
	}
	return min(1, r.done/r.all)
}

// Left returns the time left, or 0 if nothing is done yet.
func (r *Rest) Left() time.Duration {
	if r.done <= 0 {
		return 0
	}
	return time.Duration(float64(r.spent) / r.done * max(0, r.all-r.done))
}
