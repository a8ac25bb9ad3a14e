package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Lines draws a line for each series over a few equidistant places. Values that are not
// positive are omitted.
type Lines struct {
	Title, Note, Foot string
	X                 string   // the label of the places
	Places            []string // from left to right
	Lines             []Line
}

// Line is one series.
type Line struct {
	Series
	Dashed bool
	Values []float64 // one for each place
}

const (
	linesTop    = 70.0
	linesBottom = 330.0
	labelGap    = 16.0
)

// SVG returns the chart.
func (l *Lines) SVG() string {
	most, names := 0.0, 0.0
	for _, line := range l.Lines {
		for _, v := range line.Values {
			if finite(v) {
				most = max(most, v)
			}
		}
		names = max(names, textWidth(line.Name))
	}
	ticks := steps(most, 5)
	left, right := 56.0, width-names-40
	x := func(i int) float64 {
		return left + 24 + float64(i)*(right-left-48)/float64(max(1, len(l.Places)-1))
	}
	y := func(v float64) float64 {
		return linesBottom - v/ticks[len(ticks)-1]*(linesBottom-linesTop)
	}

	var c canvas
	c.begin(linesBottom+56, l.Title, l.Note, l.Foot)
	for _, tick := range ticks {
		class := "grid"
		if tick == 0 {
			class = "axis"
		}
		c.line(class, left, y(tick), right, y(tick))
		c.text(left-8, y(tick)+4.5, "small muted end", fmt.Sprintf("%g", tick))
	}
	for i, place := range l.Places {
		c.text(x(i), linesBottom+20, "small muted middle", place)
	}
	c.text((left+right)/2, linesBottom+42, "small muted middle", l.X)

	type ending struct {
		Series
		y float64
	}
	var endings []ending
	for _, line := range l.Lines {
		var points []string
		last := 0.0
		for i, v := range line.Values {
			if !finite(v) || v <= 0 {
				continue
			}
			last = v
			points = append(points, number(x(i))+","+number(y(v)))
			fmt.Fprintf(&c, `<circle class="%s" cx="%s" cy="%s" r="4"/>`+"\n", line.Colour, number(x(i)), number(y(v)))
		}
		if len(points) == 0 {
			continue
		}
		class := "line " + string(line.Colour)
		if line.Dashed {
			class += " dash"
		}
		fmt.Fprintf(&c, `<polyline class="%s" points="%s"/>`+"\n", class, strings.Join(points, " "))
		endings = append(endings, ending{line.Series, y(last)})
	}
	// Names are at the ends of their lines. They move down if they would overlap, and up again
	// if that takes them below the chart.
	slices.SortStableFunc(endings, func(a, b ending) int { return cmp.Compare(a.y, b.y) })
	for i := 1; i < len(endings); i++ {
		endings[i].y = max(endings[i].y, endings[i-1].y+labelGap)
	}
	limit := linesBottom
	for i := len(endings) - 1; i >= 0; i-- {
		endings[i].y = min(endings[i].y, limit)
		limit = endings[i].y - labelGap
	}
	for _, e := range endings {
		c.text(right+10, e.y+4.5, "small "+string(e.Colour), e.Name)
	}
	return c.end()
}
