// Package plot draws the few kinds of charts of the performance page, as SVG. A chart has its
// own background, and other colours if the reader prefers a dark screen. See Ratios, Amounts
// and Lines.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Colour is the colour of a series, which is the same in all charts.
type Colour string

// The colours, named by their use.
const (
	Ours     Colour = "ours"
	Second   Colour = "second" // a second variant of ours
	Upstream Colour = "upstream"
	Other    Colour = "other"
	Floor    Colour = "floor"
	Worse    Colour = "worse"
)

// Every colour has a contrast of at least 3 to its background.
const style = `
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 12px }
.muted { fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
.back { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #e4e8ec }
.axis { stroke: #818b98 }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.dash { stroke-dasharray: 6 4 }
.ours { fill: #0969da } .line.ours { stroke: #0969da }
.second { fill: #8250df } .line.second { stroke: #8250df }
.upstream { fill: #6e7781 } .line.upstream { stroke: #6e7781 }
.other { fill: #bc4c00 } .line.other { stroke: #bc4c00 }
.floor { fill: #1a7f37 } .line.floor { stroke: #1a7f37 }
.worse { fill: #cf222e } .line.worse { stroke: #cf222e }
.line { fill: none !important }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .muted { fill: #9198a1 }
  .back { fill: #0d1117; stroke: #3d444d }
  .grid { stroke: #262c36 }
  .axis { stroke: #656c76 }
  .ours { fill: #4493f8 } .line.ours { stroke: #4493f8 }
  .second { fill: #ab7df8 } .line.second { stroke: #ab7df8 }
  .upstream { fill: #9198a1 } .line.upstream { stroke: #9198a1 }
  .other { fill: #db6d28 } .line.other { stroke: #db6d28 }
  .floor { fill: #3fb950 } .line.floor { stroke: #3fb950 }
  .worse { fill: #f85149 } .line.worse { stroke: #f85149 }
}
`

const width = 760

// canvas collects the elements of a chart.
type canvas struct {
	strings.Builder
}

// footHeight is the height of a line below the chart.
const footHeight = 20.0

// begin writes the part before the elements, and the line below them if there is one. The
// description is for screen readers.
func (c *canvas) begin(height float64, title, note, foot string) {
	at := height + 4
	if foot != "" {
		height += footHeight
	}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" viewBox="0 0 %d %s" role="img">`+"\n",
		width, number(height), width, number(height))
	fmt.Fprintf(c, "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n", html.EscapeString(title), html.EscapeString(strings.TrimSpace(note+" "+foot)), style)
	fmt.Fprintf(c, `<rect class="back" x="0.5" y="0.5" width="%d" height="%s" rx="6"/>`+"\n", width-1, number(height-1))
	c.text(16, 28, "title", title)
	c.text(16, 47, "small muted", note)
	if foot != "" {
		c.text(16, at, "small muted", foot)
	}
}

func (c *canvas) end() string {
	c.WriteString("</svg>\n")
	return c.String()
}

func (c *canvas) text(x, y float64, class, text string) {
	fmt.Fprintf(c, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, number(x), number(y), html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, number(x1), number(y1), number(x2), number(y2))
}

// bar draws a bar from x1 to x2, in either direction. It is visible even if the two are equal.
func (c *canvas) bar(colour Colour, x1, x2, y, height float64) {
	left, right := min(x1, x2), max(x1, x2)
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`+"\n",
		colour, number(left), number(y), number(max(right-left, 2)), number(height))
}

// legend draws the names of series in a row, from x on.
func (c *canvas) legend(x, y float64, series []Series) {
	for _, s := range series {
		c.bar(s.Colour, x, x+12, y-10, 12)
		c.text(x+18, y, "small", s.Name)
		x += 18 + textWidth(s.Name) + 22
	}
}

// textWidth estimates the width of a text at 12 or 13 pixels; it is more often too large than
// too small.
func textWidth(text string) float64 { return 7.4 * float64(len([]rune(text))) }

// number writes a coordinate with one decimal.
func number(x float64) string {
	if !finite(x) {
		x = 0
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// steps returns about n round numbers from 0 on, the last of which is no less
// than most.
func steps(most float64, n int) []float64 {
	if !finite(most) || most <= 0 {
		most = 1
	}
	rough := most / float64(n)
	size := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if size*factor >= rough {
			size *= factor
			break
		}
	}
	var list []float64
	for i := 0; ; i++ {
		list = append(list, float64(i)*size)
		if list[i] >= most {
			return list
		}
	}
}
