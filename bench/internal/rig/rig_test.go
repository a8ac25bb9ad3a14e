package rig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

func TestOtherCore(t *testing.T) {
	tests := []struct {
		name           string
		cpus, siblings []int
		want           int
	}{
		{"two cores", []int{0, 1}, []int{0}, 1},
		{"two threads of one core", []int{0, 1}, []int{0, 1}, 1},
		{"siblings side by side", []int{0, 1, 2, 3}, []int{0, 1}, 2},
		{"siblings far apart", []int{0, 1, 2, 3}, []int{0, 2}, 1},
		{"only some processors allowed", []int{4, 6}, []int{4, 5}, 6},
		{"siblings unknown", []int{3, 7}, nil, 7},
	}
	for _, test := range tests {
		if got := otherCore(test.cpus, test.siblings); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestRatioText(t *testing.T) {
	sum := func(samples ...float64) stats.Summary { return stats.Summarize(samples) }
	tests := []struct {
		of, by stats.Summary
		want   string
	}{
		{sum(1, 2, 3), sum(4, 5, 6), "0.40"},
		{sum(1, 2, 4), sum(4, 5, 6), "(0.40)"},
		{sum(5, 5, 5), sum(4, 4, 4), "1.25"},
		{sum(), sum(4), markdown.None},
		{sum(4), sum(), markdown.None},
		{sum(4), sum(0), markdown.None},
	}
	for _, test := range tests {
		if got := NewRatio(test.of, test.by).String(); got != test.want {
			t.Errorf("%v by %v: %s, want %s", test.of.Samples, test.by.Samples, got, test.want)
		}
	}
}

// childVariable makes the test binary act as the child of TestChild.
const childVariable = "RIG_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(0)
	case "fail":
		fmt.Println("last words")
		fmt.Fprintln(os.Stderr, "what went wrong")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func startTest(t *testing.T, role string) *Child {
	t.Helper()
	child, err := StartChild(t.Context(), []string{childVariable + "=" + role}, []string{os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	return child
}

func TestChildAnswersUntilItIsStopped(t *testing.T) {
	child := startTest(t, "echo")
	for _, line := range []string{"one", "two"} {
		if err := child.Say(line); err != nil {
			t.Fatal(err)
		}
		if got, err := child.Line(t.Context()); err != nil || got != line {
			t.Errorf("%q, %v, want %q", got, err, line)
		}
	}
	for range 2 {
		if err := child.Stop(); err != nil {
			t.Error(err)
		}
	}
	if got, err := child.Line(t.Context()); err == nil {
		t.Errorf("it still says %q", got)
	}
}

func TestChildThatFailsSaysWhy(t *testing.T) {
	child := startTest(t, "fail")
	await.Receive(t, "the end of the child", child.over)
	if got, err := child.Line(t.Context()); err != nil || got != "last words" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := child.Line(t.Context())
	if _, ok := errors.AsType[*exec.ExitError](err); !ok || !strings.Contains(err.Error(), "what went wrong") {
		t.Errorf("got %v", err)
	}
	if err := child.Stop(); err == nil {
		t.Error("stopped a program that had failed")
	}
}
