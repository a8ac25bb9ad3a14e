package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

// charts returns usual charts, and charts without some parts.
func charts() map[string]string {
	two := []Series{{"one <processor>", Ours}, {"two & more", Second}}
	return map[string]string{
		"ratios": (&Ratios{Title: "a < b", Note: `"quoted"`, Foot: "c & d", Series: two, Rows: []Row{
			{"ServerGet", []float64{2.5, 0.4}}, {"ServerPost & more", []float64{17, 0}},
		}}).SVG(),
		"ratios, one series":      (&Ratios{Series: two[:1], Rows: []Row{{"A", []float64{0.5}}, {"B", []float64{1}}}}).SVG(),
		"ratios that are none":    (&Ratios{Series: two, Rows: []Row{{"A", []float64{nan, inf}}, {"B", []float64{-1, 0}}}}).SVG(),
		"no ratios":               (&Ratios{}).SVG(),
		"amounts":                 (&Amounts{Title: "t", Bars: []Amount{{"ours", Ours, 300, "300 B"}, {"upstream", Upstream, 16500, "16.5 kB"}}}).SVG(),
		"amounts that are none":   (&Amounts{Bars: []Amount{{"ours", Ours, nan, "?"}, {"upstream", Upstream, 0, "0"}}}).SVG(),
		"no amounts":              (&Amounts{}).SVG(),
		"lines":                   (&Lines{Title: "t", X: "connections", Places: []string{"1", "64"}, Lines: []Line{{two[0], false, []float64{1, 2}}, {two[1], true, []float64{2, 2}}}}).SVG(),
		"lines with holes":        (&Lines{Places: []string{"1", "64", "512"}, Lines: []Line{{two[0], false, []float64{1, nan, 3}}, {two[1], false, []float64{0, 0, inf}}}}).SVG(),
		"lines at a single place": (&Lines{Places: []string{"1"}, Lines: []Line{{two[0], false, []float64{1}}}}).SVG(),
		"no lines":                (&Lines{}).SVG(),
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	for name, text := range charts() {
		decoder := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				break
			}
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, attr := range element.Attr {
				if strings.Contains(attr.Value, "NaN") || strings.Contains(attr.Value, "Inf") {
					t.Errorf("%s: %s=%q in <%s>", name, attr.Name.Local, attr.Value, element.Name.Local)
				}
			}
		}
		if !strings.Contains(text, "prefers-color-scheme: dark") {
			t.Errorf("%s: no colours for the dark", name)
		}
	}
}
