package api

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module      = "github.com/valyala/fasthttp"
	promised    = "fasthttp-1.77.txt"
	later       = "fasthttp-1.78.txt"
	missingFile = "missing.txt"
)

var update = flag.Bool("update", false, "take what is there by now off "+missingFile)

func TestExportedAPI(t *testing.T) {
	want := readLines(t, promised)
	maps.Copy(want, readLines(t, later))
	have := exported(t, packageNames(want))
	report(t, want, have)

	// Only lines that the file had may be missing. Without a file, all may.
	allowed := want
	if _, err := os.Stat(missingFile); !*update || !errors.Is(err, fs.ErrNotExist) {
		allowed = readLines(t, missingFile)
	}
	missing := slices.Sorted(maps.Keys(without(want, have)))
	if *update {
		writeLines(t, missingFile, slices.DeleteFunc(slices.Clone(missing), func(line string) bool {
			return !allowed[line]
		}))
	}
	for _, line := range missing {
		if !allowed[line] {
			t.Errorf("this was there before, or was never allowed to be missing: %s", line)
		}
	}
	if *update {
		return
	}
	for _, line := range slices.Sorted(maps.Keys(allowed)) {
		switch {
		case !want[line]:
			t.Errorf("%s is not in %s: take it off %s", line, promised, missingFile)
		case have[line]:
			t.Errorf("this name exists: %s\nrun go generate ./api", line)
		}
	}
}

type set map[string]bool

// without returns a without the elements of b.
func without(a, b set) set {
	rest := maps.Clone(a)
	maps.DeleteFunc(rest, func(line string, _ bool) bool { return b[line] })
	return rest
}

// packageNames returns the packages of the lines.
func packageNames(lines set) []string {
	names := set{}
	for line := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "pkg "), ",")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// exported returns the lines of those packages that exist. The folder of a package
// has its name; the root package is in the folder of the module.
func exported(t *testing.T, packages []string) set {
	t.Helper()
	var paths []string
	for _, name := range packages {
		if name == "fasthttp" {
			paths = append(paths, module)
		} else if sources, _ := filepath.Glob("../" + name + "/*.go"); len(sources) > 0 {
			paths = append(paths, module+"/"+name)
		}
	}
	l, err := listerOf(paths)
	if err != nil {
		t.Fatal(err)
	}
	lines := set{}
	for _, path := range paths {
		list, err := l.list(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, line := range list {
			lines[line] = true
		}
	}
	return lines
}

// report logs the share of lines that exist in each area, except for complete areas.
func report(t *testing.T, want, have set) {
	t.Helper()
	there, total := map[string]int{}, map[string]int{}
	sum := 0
	for line := range want {
		a := area(line)
		total[a]++
		if have[line] {
			there[a]++
			sum++
		}
	}
	var b strings.Builder
	for _, a := range slices.Sorted(maps.Keys(total)) {
		if there[a] < total[a] {
			fmt.Fprintf(&b, "%4d of %4d  %s\n", there[a], total[a], a)
		}
	}
	t.Logf("%d of %d lines exist, and %d more that are not on the list\n%s",
		sum, len(want), len(without(have, want)), b.String())
}

// area returns the package and the type of a line, or its kind.
func area(line string) string {
	pkg, feature, _ := strings.Cut(strings.TrimPrefix(line, "pkg "), ", ")
	words := strings.Fields(feature)
	switch words[0] {
	case "type":
		return pkg + "." + strings.TrimSuffix(words[1], ",")
	case "method":
		return pkg + "." + strings.Trim(words[1], "(*)")
	}
	return pkg + " " + words[0] + "s"
}

func readLines(t *testing.T, name string) set {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := set{}
	for line := range strings.Lines(string(content)) {
		lines[strings.TrimRight(line, "\r\n")] = true
	}
	return lines
}

func writeLines(t *testing.T, name string, lines []string) {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
