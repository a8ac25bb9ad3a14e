package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFiguresOfTheReadmeAreMeasured checks that each figure of README.md, and the command beside
// it, is a row of performance.md, which a program writes.
func TestFiguresOfTheReadmeAreMeasured(t *testing.T) {
	measured := map[string][]string{}
	for _, row := range rows(t, "performance.md", "What", "this", "v1.77.0", "net/http", "best other", "Command, in `bench`") {
		measured[row[0]] = row
	}
	for _, row := range rows(t, "../README.md", "What", "this", "v1.77.0", "net/http", "best other", "Command, in `bench`") {
		if !slices.Equal(row, measured[row[0]]) {
			t.Errorf("README.md has %q, performance.md %q", row, measured[row[0]])
		}
	}
}

// TestSuitesOfTheReadmeHaveRun checks that README.md has the results that run-suites has
// written.
func TestSuitesOfTheReadmeHaveRun(t *testing.T) {
	results := map[string][]string{}
	suites := 0
	for _, row := range rows(t, "../compat/README.md", "suite", "version", "pass with v1.77.0", "pass with this tree", "pass with neither", "differences", "remarks") {
		if row[2] != "" {
			suites++
			results[row[0]+" "+row[1]] = row[2:4]
		}
	}
	for _, row := range rows(t, "../README.md", "Suite", "pass with v1.77.0", "pass with this module", "Command, in `compat`") {
		if !slices.Equal(row[1:3], results[row[0]]) {
			t.Errorf("%s: README.md has %q, compat/README.md %q", row[0], row[1:3], results[row[0]])
		}
		if want := "`./run-suites " + strings.ReplaceAll(row[0], " ", "@") + "`"; row[3] != want {
			t.Errorf("%s: the command is %s, not %s", row[0], row[3], want)
		}
	}
	if want := strconv.Itoa(suites) + " suites"; !strings.Contains(read(t, "../README.md"), want) {
		t.Errorf("README.md does not have %q", want)
	}
}

// TestEveryModuleHasATag checks that releasing.md has the tag of each module that programs may
// require, or the reason if it gets none.
func TestEveryModuleHasATag(t *testing.T) {
	tags := map[string]string{}
	for _, row := range rows(t, "releasing.md", "Module", "Tag") {
		tags[row[0]] = row[1]
	}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains([]string{"bench", "compat", "examples", "testdata"}, entry.Name()) || name != "." && name[0] == '.'):
			return fs.SkipDir
		case entry.Name() != "go.mod" || name == "go.mod":
			return nil
		}
		module := path.Dir(name)
		if tag := tags["`"+module+"`"]; tag != "`"+module+"/v1.0.0`" && !strings.HasPrefix(tag, "none: ") {
			t.Errorf("%s: the tag in releasing.md is %q", module, tag)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCommandsHaveSomethingToRun checks that go run in the documents names a program, of this module
// or of bench, and that go test -run names a test.
func TestCommandsHaveSomethingToRun(t *testing.T) {
	programs := regexp.MustCompile(`go run (\./[a-z0-9/-]+)`)
	tests := regexp.MustCompile(`go test -run ([A-Z]\w+) (\.[./a-z0-9]*)`)
	commands := 0
	for _, name := range append(documents(t), "../bench/README.md") {
		text := read(t, name)
		for _, m := range programs.FindAllStringSubmatch(text, -1) {
			commands++
			here, _ := filepath.Glob(filepath.Join("..", m[1], "*.go"))
			inBench, _ := filepath.Glob(filepath.Join("../bench", m[1], "*.go"))
			if len(here)+len(inBench) == 0 {
				t.Errorf("%s: there is no program %s", name, m[1])
			}
		}
		for _, m := range tests.FindAllStringSubmatch(text, -1) {
			commands++
			files, _ := filepath.Glob(filepath.Join("..", m[2], "*_test.go"))
			if !slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "\nfunc "+m[1]) }) {
				t.Errorf("%s: there is no test %s in %s", name, m[1], m[2])
			}
		}
	}
	if commands < 30 {
		t.Errorf("only %d commands found", commands)
	}
}
