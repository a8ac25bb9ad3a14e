package study

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type load string

func (l load) Row() Row                 { return Row{Name: string(l)} }
func (l load) IsFor(s *rig.Server) bool { return l != "tls" || s.Name != "c" }

// TestServersTakeTurns checks the order of runs, and their figures.
func TestServersTakeTurns(t *testing.T) {
	kind := &Kind{Title: "T", Columns: []Column{
		{Figure: Rate, Spread: true}, {Figure: Rate, Title: "÷ b", To: "b"}, {Figure: Rate, Title: "a ÷ this", From: "a"},
		{Figure: Rate, Title: "÷ first", ToRow: true}, {Figure: "errors", Sum: true}, {Figure: "odd"},
	}}
	s := &Study{Options: Options{Rounds: 2}, Kind: kind, Place: rig.Anywhere, ClientPlace: rig.Anywhere, Log: progress.New(io.Discard)}
	s.Servers = []*rig.Server{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	var order []string
	rates := map[string]float64{"a": 100, "b": 200, "c": 400}
	r, err := Measure(t.Context(), s, []load{"plain", "tls"}, func(_ context.Context, l load, server *rig.Server) (Figures, error) {
		order = append(order, string(l)+" "+server.Name)
		if l == "tls" && server.Name == "b" {
			return nil, errors.New("no")
		}
		v := rates[server.Name]
		if l == "tls" {
			v /= 2
		}
		return Figures{Rate: v, "errors": 3, "odd": math.NaN()}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	round := "plain a,plain b,plain c,tls a,tls b"
	if got := strings.Join(order, ","); got != round+","+round || r.Runs != 10 || len(r.Failures) != 2 {
		t.Errorf("%s; %d runs, failures %q", got, r.Runs, r.Failures)
	}
	text := kind.Markdown(r)
	for _, want := range []string{
		"| a | 100 ±0% | 0.50 | – | – | 6 | – |\n",
		"| c | 400 ±0% | 2.00 | 0.25 | – | 6 | – |\n",
		"| a | 50 ±0% | – | – | 0.50 | 6 | – |\n",
		"- round 2, tls, b: no\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
