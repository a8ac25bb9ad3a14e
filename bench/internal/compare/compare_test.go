package compare

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

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
