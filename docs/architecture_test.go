package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfTheArchitectureAreDeclared checks that the code declares the functions, types,
// methods, fields and packages that architecture.md names: each name between backquotes, and in
// the diagrams each name with a dot or with a capital letter in its middle.
func TestNamesOfTheArchitectureAreDeclared(t *testing.T) {
	quoted := regexp.MustCompile("`((?:internal/)?[A-Za-z][A-Za-z0-9]*(?:\\.[A-Za-z][A-Za-z0-9]*)*)`")
	drawn := regexp.MustCompile(`\b(?:[A-Za-z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*|[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*)\b`)
	known := declaredNames(t)
	named := map[string]bool{}
	diagram := false
	for line := range strings.Lines(read(t, "architecture.md")) {
		switch {
		case strings.HasPrefix(line, "```"):
			diagram = !diagram
		case diagram:
			for _, name := range drawn.FindAllString(line, -1) {
				named[name] = true
			}
		default:
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				named[strings.TrimPrefix(m[1], "internal/")] = true
			}
		}
	}
	checked := 0
	for _, name := range slices.Sorted(maps.Keys(named)) {
		first, _, _ := strings.Cut(name, ".")
		if path := packages[first]; path != "" && !strings.HasPrefix(path, module) {
			continue // of the standard library
		}
		if strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md") {
			continue // a file: TestFilesThatAreNamedAreThere
		}
		checked++
		for part := range strings.SplitSeq(name, ".") {
			if !known[part] {
				t.Errorf("architecture.md names %s: %s is not declared", name, part)
			}
		}
	}
	t.Logf("%d names", checked)
	if checked < 150 {
		t.Errorf("only %d names found", checked)
	}
}

// declaredNames returns the names that the packages of this repository declare: of packages,
// constants, variables, types, fields, functions and methods.
func declaredNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(idents []*ast.Ident) {
		for _, ident := range idents {
			names[ident.Name] = true
		}
	}
	dirs := folders(t, func(name string) bool {
		base := filepath.Base(name)
		return base[0] == '.' || base == "testdata" || base == "compat" || base == "bench"
	})
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			names[file.Name.Name] = true
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					names[n.Name.Name] = true
					return false
				case *ast.ValueSpec:
					add(n.Names)
				case *ast.TypeSpec:
					names[n.Name.Name] = true
				case *ast.Field:
					add(n.Names)
				}
				return true
			})
		}
	}
	return names
}
