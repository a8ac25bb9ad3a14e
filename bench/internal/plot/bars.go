package plot

import (
	"fmt"
	"math"
	"slices"
)

// Series is the name of a series and its colour.
type Series struct {
	Name   string
	Colour Colour
}

// Ratios draws ratios as bars that begin at 1, on a logarithmic scale: the bars for twice as
// fast and half as fast have the same length, in opposite directions. A row has a value for
// each series; values that are not positive are omitted.
type Ratios struct {
	Title, Note, Foot string
	Series            []Series
	Rows              []Row
}

// Row is a label and its values.
type Row struct {
	Label  string
	Values []float64
}

const (
	top       = 84.0 // top of the first row
	barHeight = 13.0
	rowGap    = 9.0
)

// SVG returns the chart. If there is only one series, values below 1 have a different colour.
func (r *Ratios) SVG() string {
	low, high := 1.0, 2.0
	for _, v := range allValues(r.Rows) {
		low, high = min(low, v), max(high, v)
	}
	first, last := math.Floor(math.Log2(low)), math.Ceil(math.Log2(high))
	labels := labelWidth(r.Rows)
	left, right := labels+24, float64(width)-62
	at := func(v float64) float64 { return left + (math.Log2(v)-first)/(last-first)*(right-left) }

	var c canvas
	height, ys := rowPlaces(r.Rows, len(r.Series))
	c.begin(height, r.Title, r.Note, r.Foot)
	if len(r.Series) > 1 {
		c.legend(16, 68, r.Series)
	}
	for tick := first; tick <= last; tick++ {
		v := math.Exp2(tick)
		class := "grid"
		if v == 1 {
			class = "axis"
		}
		c.line(class, at(v), top-6, at(v), height-30)
		c.text(at(v), height-12, "small muted middle", formatTick(int(tick)))
	}
	for i, row := range r.Rows {
		c.text(labels+12, ys[i]+float64(len(r.Series))*barHeight/2+4.5, "small end", row.Label)
		for j, v := range row.Values {
			if !finite(v) || v <= 0 {
				continue
			}
			colour := r.Series[j].Colour
			if len(r.Series) == 1 && v < 1 {
				colour = Worse
			}
			y := ys[i] + float64(j)*barHeight
			c.bar(colour, at(1), at(v), y+1, barHeight-2)
			c.text(max(at(1), at(v))+5, y+barHeight-2.5, "small", formatRatio(v))
		}
	}
	return c.end()
}

// formatTick writes a power of 2.
func formatTick(power int) string {
	if power < 0 {
		return fmt.Sprintf("1/%d", 1<<-power)
	}
	return fmt.Sprintf("%d×", 1<<power)
}

func formatRatio(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f×", v)
	}
	return fmt.Sprintf("%.2f×", v)
}

// Amounts draws amounts as bars from 0 on, each with its own colour.
type Amounts struct {
	Title, Note, Foot string
	Bars              []Amount
}

// Amount is one bar. Text is written at its end.
type Amount struct {
	Label  string
	Colour Colour
	Value  float64
	Text   string
}

// SVG returns the chart.
func (a *Amounts) SVG() string {
	most, texts := 0.0, 0.0
	var rows []Row
	for _, bar := range a.Bars {
		if finite(bar.Value) {
			most = max(most, bar.Value)
		}
		texts = max(texts, textWidth(bar.Text))
		rows = append(rows, Row{Label: bar.Label})
	}
	labels := labelWidth(rows)
	left, right := labels+24, width-texts-24
	if most == 0 {
		most = 1
	}
	const height, begin = 24.0, 68.0
	bottom := begin + float64(len(a.Bars))*(height+rowGap) + 8
	var c canvas
	c.begin(bottom, a.Title, a.Note, a.Foot)
	c.line("axis", left, begin-4, left, bottom-12)
	for i, bar := range a.Bars {
		y := begin + float64(i)*(height+rowGap)
		c.text(labels+12, y+height/2+4.5, "end", bar.Label)
		value := bar.Value
		if !finite(value) {
			value = 0
		}
		x := left + value/most*(right-left)
		c.bar(bar.Colour, left, x, y, height)
		c.text(max(x, left+2)+6, y+height/2+4.5, "", bar.Text)
	}
	return c.end()
}

func labelWidth(rows []Row) float64 {
	wide := 0.0
	for _, row := range rows {
		wide = max(wide, textWidth(row.Label))
	}
	return min(wide, width/2)
}

// rowPlaces returns the height of a chart with bars, and the top of each row.
func rowPlaces(rows []Row, series int) (height float64, ys []float64) {
	y := top
	for range rows {
		ys = append(ys, y)
		y += float64(series)*barHeight + rowGap
	}
	return y + 30, ys
}

func allValues(rows []Row) []float64 {
	var all []float64
	for _, row := range rows {
		all = append(all, row.Values...)
	}
	return slices.DeleteFunc(all, func(v float64) bool { return !finite(v) || v <= 0 })
}
