// Package progress shows how far a measurement is, and how long the rest will take.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Log is told what a session does. A session first says what all its steps
// weigh together; how much a step weighs is about as long as it takes.
type Log interface {
	Plan(steps int, weight float64)
	// Begin says what step comes next, and End that it is over.
	Begin(step string)
	End(weight float64, result string)
	// Note is for what is no step.
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

// Rest estimates how long the rest of something takes: as long for its weight as
// what is done took.
type Rest struct {
	all, done float64
	spent     time.Duration
}

// NewRest returns the Rest of something that weighs as much as it says.
func NewRest(weight float64) Rest { return Rest{all: weight} }

// Add says that something of this weight is done, and how long it took.
func (r *Rest) Add(weight float64, took time.Duration) {
	r.done += weight
	r.spent += took
}

// Share is how much is done, from 0 to 1.
func (r *Rest) Share() float64 {
	if r.all <= 0 {
		return 0
	}
	return min(1, r.done/r.all)
}

// Left is 0 if nothing is done yet.
func (r *Rest) Left() time.Duration {
	if r.done <= 0 {
		return 0
	}
	return time.Duration(float64(r.spent) / r.done * max(0, r.all-r.done))
}
