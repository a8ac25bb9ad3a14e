package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Bar shows one bar for a number of sessions, which are its parts. On a terminal
// it is drawn in place; elsewhere a line appears now and then.
type Bar struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	begin    time.Time
	said     time.Time
	wide     int // runes of the line on a terminal

	names     []string
	estimates []time.Duration
	part      int // -1 before the first
	rest      Rest
	step      string
}

// NewBar returns a Bar without parts.
func NewBar(out io.Writer, terminal bool) *Bar {
	return &Bar{out: out, terminal: terminal, now: time.Now, part: -1}
}

// Expect announces a part, and how long it takes on an idle machine. All parts are announced
// before the first begins.
func (b *Bar) Expect(name string, estimate time.Duration) {
	b.names, b.estimates = append(b.names, name), append(b.estimates, estimate)
}

// Next begins the next part; after the last one it ends the bar.
func (b *Bar) Next() {
	if b.part < 0 {
		b.begin = b.now()
	}
	b.part++
	b.rest, b.step = Rest{}, ""
	b.said = time.Time{}
	b.show()
	if b.part == len(b.names) && b.terminal {
		fmt.Fprintln(b.out)
	}
}

// Plan implements Log.
func (b *Bar) Plan(_ int, weight float64) { b.rest = NewRest(weight) }

// Begin implements Log.
func (b *Bar) Begin(step string) {
	b.step = step
	b.show()
}

// End implements Log.
func (b *Bar) End(weight float64, result string) {
	b.rest.Add(weight, 0)
	if strings.HasPrefix(result, "FAILED") {
		b.Note(b.step + "  " + result)
	}
	b.show()
}

// Note implements Log.
func (b *Bar) Note(text string) {
	b.wipe()
	fmt.Fprintln(b.out, text)
	b.show()
}

// progress returns the finished share, and the time left: the estimate, corrected by the ratio
// of actual to estimated time so far.
func (b *Bar) progress() (share float64, left time.Duration) {
	var all, done time.Duration
	for i, estimate := range b.estimates {
		all += estimate
		switch {
		case i < b.part:
			done += estimate
		case i == b.part:
			done += time.Duration(b.rest.Share() * float64(estimate))
		}
	}
	if all <= 0 {
		return 0, 0
	}
	left = all - done
	// In the first seconds the estimate is better than its correction.
	if spent := b.now().Sub(b.begin); done > all/50 {
		left = time.Duration(float64(left) * float64(spent) / float64(done))
	}
	return float64(done) / float64(all), left
}

// The width of the bar, and the interval between lines if there is no terminal.
const (
	barWidth = 24
	pause    = 15 * time.Second
	maxLine  = 110
)

func (b *Bar) show() {
	if b.part < 0 {
		return
	}
	now := b.now()
	if !b.terminal && now.Sub(b.said) < pause {
		return
	}
	b.said = now
	share, left := b.progress()
	full := int(share * barWidth)
	line := fmt.Sprintf("[%s%s] %3.0f%%  %v left", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*share, left.Round(time.Second))
	if b.part < len(b.names) {
		line += "  " + b.names[b.part]
		if b.step != "" {
			line += ": " + b.step
		}
	}
	if runes := []rune(line); len(runes) > maxLine {
		line = string(runes[:maxLine])
	}
	if !b.terminal {
		fmt.Fprintln(b.out, line)
		return
	}
	b.wipe()
	b.wide = len([]rune(line))
	fmt.Fprint(b.out, line)
}

// wipe clears the line on a terminal.
func (b *Bar) wipe() {
	if b.terminal && b.wide > 0 {
		fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", b.wide))
		b.wide = 0
	}
}
