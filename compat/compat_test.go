// Package compat runs the same programs against this module and against the published one and
// compares their output, field by field.
package compat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A side is one of the two modules that the programs are built against.
type side struct{ name, modfile string }

var (
	ours     = side{"this module", "go.mod"}
	upstream = side{"v1.77.0", "go.upstream.mod"}
)

// TestProgramsAgree fails for every difference that no line of the tables in
// intended/ explains, and for every line that explains no difference.
func TestProgramsAgree(t *testing.T) {
	entries, err := os.ReadDir("programs")
	if err != nil {
		t.Fatal(err)
	}
	theirs, own := build(t, upstream), build(t, ours)
	var all result
	defer func() { t.Log(all.summary(fmt.Sprint(len(entries), " programs"))) }()
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			table, err := readTable(filepath.Join("intended", e.Name()+".tsv"))
			if err != nil {
				t.Fatal(err)
			}
			want := run(t, upstream, filepath.Join(theirs, e.Name()))
			got := run(t, ours, filepath.Join(own, e.Name()))
			r := compare(want, got, table)
			for i, d := range r.unexplained {
				if i == 40 {
					t.Errorf("and %d more", len(r.unexplained)-i)
					break
				}
				t.Errorf("unexplained difference\n%s", d)
			}
			for _, line := range r.stale {
				t.Errorf("there is no such difference, remove the line: %s", line)
			}
			t.Log(r.summary(e.Name()))
			all.add(r)
		})
	}
}

// build builds all programs against one side, and returns the folder that has them.
func build(t *testing.T, s side) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-modfile="+s.modfile, "-o", dir, "./programs/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building against %s: %v\n%s", s.name, err, out)
	}
	return dir
}

// run runs a program that was built against one side, and returns its output.
func run(t *testing.T, s side, bin string) []byte {
	t.Helper()
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), bin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("running against %s: %v\n%s", s.name, err, tail(stderr.String()))
	}
	return stdout.Bytes()
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func TestTableRefusesReasonsThatNameNoRule(t *testing.T) {
	for _, line := range []string{
		"case\tfield\tvalue",
		"case\tfield\tvalue\tit is better so",
		"(\tfield\tvalue\tRFC 9112 section 5",
		"case\tfield\t\tknown failure 12",
	} {
		if _, err := parseEntry(line); err == nil {
			t.Errorf("line %q was accepted", line)
		}
	}
	if _, err := parseEntry("read/lf.*\terr\t\"error\"\tknown failure 12: bare LF ends no line"); err != nil {
		t.Error(err)
	}
}

func TestCompareFindsEveryKindOfDifference(t *testing.T) {
	want := []byte("a\tx\t\"1\"\na\t~err\t\"text\"\nb\tx\t\"1\"\nb\ty\t\"2\"\nc\tx\t\"1\"\ne\tx\t\"1\"\n")
	got := []byte("a\tx\t\"1\"\na\t~err\t\"other text\"\nb\tx\t\"9\"\nd\tx\t\"1\"\nc\tx\t\"2\"\ne\tx\t\"1\"\n")
	explained, err := parseEntry("c\tx\t\"2\"\tknown failure 1: an example")
	if err != nil {
		t.Fatal(err)
	}
	stale, err := parseEntry("a\tx\t\"1\"\tRFC 9110 section 1")
	if err != nil {
		t.Fatal(err)
	}
	r := compare(want, got, []*entry{explained, stale})
	var found []string
	for _, d := range r.unexplained {
		found = append(found, d.id+"/"+d.field)
	}
	if s := fmt.Sprint(found); s != "[b/x b/y d/x]" {
		t.Errorf("unexplained: %s", s)
	}
	if len(r.stale) != 1 || !strings.HasPrefix(r.stale[0], "a\t") {
		t.Errorf("stale: %q", r.stale)
	}
	if r.cases != 5 || r.agreeing != 2 || r.explained != 1 {
		t.Errorf("cases=%d agreeing=%d explained=%d", r.cases, r.agreeing, r.explained)
	}
}
