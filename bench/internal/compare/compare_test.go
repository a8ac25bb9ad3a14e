package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
)

var testNames = []string{"ServerGet", "ServerPost", "NetHTTPServerGet", "HarnessGet", "ArgsParse"}

func testBuilds() []*build {
	return []*build{{name: report.Ours, binary: "a"}, {name: report.Upstream, binary: "b"}}
}

func describe(steps []step) []string {
	var list []string
	for _, s := range steps {
		list = append(list, fmt.Sprintf("%s %s: %s %s %v", s.row, s.build, s.binary, s.benchmark, s.procs))
	}
	return list
}

func TestPlanRunsTheBuildsOfARowInTurn(t *testing.T) {
	get := []string{
		"ServerGet ours: a ServerGet [1 8]",
		"ServerGet upstream: b ServerGet [1 8]",
		"ServerGet net/http: a NetHTTPServerGet [1 8]",
	}
	post := []string{
		"ServerPost ours: a ServerPost [1 8]",
		"ServerPost upstream: b ServerPost [1 8]",
	}
	args := []string{
		"ArgsParse ours: a ArgsParse [1]",
		"ArgsParse upstream: b ArgsParse [1]",
	}
	tests := []struct {
		rows string
		want []string
	}{
		{"", slices.Concat(get, post, args)},
		{"Post|^Args", slices.Concat(post, args)},
		{"^ServerGet$", get},
		{"NetHTTP", nil},
		{"Harness", nil},
	}
	for _, test := range tests {
		got := describe(plan(testNames, regexp.MustCompile(test.rows), testBuilds(), []int{1, 8}))
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.rows, got, test.want)
		}
	}
}

// output is the output of a step that succeeds.
func output(s step, ns int) []byte {
	text := "cpu: Some CPU\n"
	for _, n := range s.procs {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf("-%d", n)
		}
		text += fmt.Sprintf("Benchmark%s%s \t 10 \t %d ns/op \t 3 B/op \t 1 allocs/op\n", s.benchmark, suffix, ns)
	}
	return []byte(text + "PASS\n")
}

func newSession(rounds int, run func(context.Context, step) ([]byte, error)) *session {
	return &session{
		rounds:  rounds,
		steps:   plan(testNames, regexp.MustCompile("^ServerGet"), testBuilds(), []int{1, 2}),
		run:     run,
		results: report.NewCollector(),
		log:     progress.NewLines(io.Discard),
	}
}

func TestSessionTakesTurnsAndCollectsEveryRound(t *testing.T) {
	var order []string
	s := newSession(3, func(_ context.Context, s step) ([]byte, error) {
		order = append(order, s.build)
		return output(s, 100*len(order)), nil
	})
	if err := s.runAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), strings.TrimSpace(strings.Repeat("ours upstream net/http ", 3)); got != want {
		t.Errorf("order: %s", got)
	}
	var r report.Report
	s.results.Finish(&r)
	if len(r.Rows) != 2 || len(s.failures) != 0 || s.cpu != "Some CPU" {
		t.Fatalf("%d rows, failures %q, CPU %q", len(r.Rows), s.failures, s.cpu)
	}
	for _, row := range r.Rows {
		if got := row.Builds[report.Upstream].NsPerOp.Samples; !slices.Equal(got, []float64{200, 500, 800}) {
			t.Errorf("upstream on %d: %v", row.Procs, got)
		}
	}
}

func TestSessionRemembersFailuresAndGoesOn(t *testing.T) {
	tests := []struct {
		name string
		run  func(step) ([]byte, error)
		want string
	}{
		{"exit code", func(s step) ([]byte, error) { return []byte("--- FAIL: wrong answer\n"), errors.New("exit status 1") }, "wrong answer"},
		{"no result", func(step) ([]byte, error) { return []byte("PASS\n"), nil }, "no results"},
		{"a result missing", func(s step) ([]byte, error) { s.procs = s.procs[:1]; return output(s, 1), nil }, "1 results of ServerGet, want 2"},
		{"another benchmark", func(s step) ([]byte, error) { s.benchmark = "Other"; return output(s, 1), nil }, "a result of Other"},
		{"other processors", func(s step) ([]byte, error) { s.procs = []int{1, 3}; return output(s, 1), nil }, "on 3"},
		{"unreadable", func(step) ([]byte, error) { return []byte("BenchmarkX 10 y ns/op\n"), nil }, "invalid syntax"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSession(2, func(_ context.Context, s step) ([]byte, error) {
				if s.build == report.Upstream {
					return test.run(s)
				}
				return output(s, 1), nil
			})
			if err := s.runAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(s.failures) != 2 || !strings.Contains(s.failures[0], test.want) {
				t.Errorf("failures: %q, want %q in each of two", s.failures, test.want)
			}
			var r report.Report
			s.results.Finish(&r)
			for _, row := range r.Rows {
				if row.Builds[report.Upstream] != nil || row.Builds[report.Ours] == nil {
					t.Errorf("row has %v", row.Builds)
				}
			}
		})
	}
}
