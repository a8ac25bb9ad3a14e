package fasthttpvet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// planted are the packages with faults. Each fault has a comment with the report that it must
// get, of one of the analyzers.
var planted = []string{"lateness", "latefiber", "latefiber3", "pools", "streams"}

// correct are the packages that have no fault.
var correct = []string{"copied", "copiedfiber", "immutable", "keeper"}

// all runs all analyzers. They share the work on the standard library, which takes longest.
var all = &analysis.Analyzer{
	Name:     "all",
	Doc:      "run all analyzers of this package",
	Requires: []*analysis.Analyzer{flows},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, analyzer := range Analyzers() {
			if _, err := analyzer.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

// TestFaultsAreFoundAndCorrectProgramsAreNot runs all analyzers over the corpus. A correct
// package has no comment that expects a report, so that each report fails.
func TestFaultsAreFoundAndCorrectProgramsAreNot(t *testing.T) {
	for _, name := range correct {
		if strings.Contains(source(t, name), "// want ") {
			t.Errorf("package %s expects reports", name)
		}
	}
	packages := slices.Concat(planted, correct)
	if results := analysistest.Run(t, analysistest.TestData(), all, packages...); len(results) != len(packages) {
		t.Errorf("%d of %d packages were analyzed", len(results), len(packages))
	}
}

// TestFixesCopy applies all fixes to a package and compares it with its golden file.
func TestFixesCopy(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), all, "fixes")
}

func TestAnalyzersAreValid(t *testing.T) {
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Error(err)
	}
}

// TestCorpusIsLarge checks that there are as many faults and correct functions as README.md
// claims, so that no package is left out by mistake.
func TestCorpusIsLarge(t *testing.T) {
	faults := 0
	for _, name := range planted {
		faults += strings.Count(source(t, name), "// want ")
	}
	functions := 0
	for _, name := range correct {
		functions += countFunctions(t, name)
	}
	t.Logf("%d faults, %d correct functions", faults, functions)
	if faults < 75 || functions < 60 {
		t.Errorf("the corpus has %d faults and %d correct functions", faults, functions)
	}
}

// source returns all files of a package of the corpus.
func source(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "src", name, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s: files %v, error %v", name, files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func countFunctions(t *testing.T, name string) int {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, decl := range file.Decls {
		if _, ok := decl.(*ast.FuncDecl); ok {
			n++
		}
	}
	return n
}
