// Package progress shows the progress of a measurement, and the time left.
package progress

import (
	"fmt"
	"io"
	"time"
)

// Log writes a line for each step of a session. The session first calls Plan with the total
// weight of all steps; the weight of a step is proportional to its estimated time.
type Log struct {
	out           io.Writer
	done, steps   int
	all, finished float64       // weights
	spent         time.Duration // for the finished ones
	begin         time.Time
}

// New returns a Log that writes to out.
func New(out io.Writer) *Log { return &Log{out: out} }

// Plan begins a session.
func (l *Log) Plan(steps int, weight float64) {
	l.done, l.steps, l.all, l.finished, l.spent = 0, steps, weight, 0, 0
}

// Begin announces the next step.
func (l *Log) Begin(step string) {
	l.done++
	l.begin = time.Now()
	fmt.Fprintf(l.out, "[%*d/%d] %s", len(fmt.Sprint(l.steps)), l.done, l.steps, step)
}

// End reports the result of the step.
func (l *Log) End(weight float64, result string) {
	l.finished += weight
	l.spent += time.Since(l.begin)
	fmt.Fprintf(l.out, "  %s", result)
	if l.done < l.steps {
		fmt.Fprintf(l.out, "  (%v left)", l.left().Round(time.Second))
	}
	fmt.Fprintln(l.out)
}

// Note is for text that belongs to no step.
func (l *Log) Note(text string) { fmt.Fprintln(l.out, text) }

// left returns the time left: the remaining weight takes as long, in proportion, as the finished
// weight. It is 0 if nothing is done yet.
func (l *Log) left() time.Duration {
	if l.finished <= 0 {
		return 0
	}
	return time.Duration(float64(l.spent) / l.finished * max(0, l.all-l.finished))
}
