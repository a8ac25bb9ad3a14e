package lockorder

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const moduleDir = "../.."

// Each row of the table in docs/architecture.md is a lock of the code, in the same order.
func TestTableHasTheOrderOfTheCode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleDir, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| Lock | Guards | While it is held |\n| --- | --- | --- |\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of locks")
	}
	kinds := map[string]kind{"locks below": outer, "locks below, and others of its kind": nests, "nothing is taken": leaf}
	var rows []entry
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 {
			t.Fatalf("the row %q has %d cells", line, len(cells))
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		kind, known := kinds[cells[2]]
		if !known {
			t.Errorf("%s: %q is none of %q", cells[0], cells[2], kinds)
		}
		if n := len(strings.Fields(cells[1])); n == 0 || n > 4 {
			t.Errorf("%s: %q are not a few words", cells[0], cells[1])
		}
		rows = append(rows, entry{strings.Trim(cells[0], "`"), kind})
	}
	for i := range max(len(rows), len(order)) {
		var row, lock entry
		if i < len(rows) {
			row = rows[i]
		}
		if i < len(order) {
			lock = order[i]
		}
		if row != lock {
			t.Fatalf("row %d of docs/architecture.md is %v, and the lock in its place is %v", i+1, row, lock)
		}
	}
}

// Each name belongs to the one lock with its place in the order.
func TestNamesAreThoseOfTheLocks(t *testing.T) {
	places := placesOfTypes(t)
	found := map[string]int{}
	err := filepath.WalkDir(moduleDir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			other := false
			if name != moduleDir {
				_, err := os.Stat(filepath.Join(name, "go.mod"))
				other = err == nil || base[0] == '.' || base == "testdata"
			}
			if other {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, lock := range locksIn(f) {
			found[lock.name]++
			if want := places[lock.of]; lock.name != want {
				t.Errorf("%s: %s has the place of %q", name, lock.name, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range order {
		if found[lock.name] != 1 {
			t.Errorf("%d locks are named %s", found[lock.name], lock.name)
		}
	}
}

// placesOfTypes returns the names of locks by the names of their types.
func placesOfTypes(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "lockorder.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	constants, places := []string{}, map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if first, ok := n.Specs[0].(*ast.ValueSpec); ok && n.Tok == token.CONST && fmt.Sprint(first.Type) == "place" {
				for _, spec := range n.Specs {
					constants = append(constants, spec.(*ast.ValueSpec).Names[0].Name)
				}
			}
		case *ast.FuncDecl:
			if n.Name.Name == "place" {
				result := n.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident)
				if i := slices.Index(constants, result.Name); i >= 0 {
					places[n.Recv.List[0].Type.(*ast.Ident).Name] = order[i].name
				}
			}
		}
		return true
	})
	if len(places) != len(order) {
		t.Fatalf("%d types have places, and there are %d", len(places), len(order))
	}
	return places
}

// lockField is a lock in a struct: its package, type and field, and the type in brackets.
type lockField struct{ name, of string }

// locksIn returns the fields of a file that are locks of the order.
func locksIn(f *ast.File) (locks []lockField) {
	ast.Inspect(f, func(n ast.Node) bool {
		var owner string
		var in *ast.StructType
		switch n := n.(type) {
		case *ast.TypeSpec:
			owner = n.Name.Name
			in, _ = n.Type.(*ast.StructType)
		case *ast.ValueSpec:
			owner = n.Names[0].Name
			in, _ = n.Type.(*ast.StructType)
		}
		if in == nil {
			return true
		}
		for _, field := range in.Fields.List {
			of := lockOf(field.Type)
			if of == "" {
				continue
			}
			for _, name := range field.Names {
				locks = append(locks, lockField{f.Name.Name + "." + owner + "." + name.Name, of})
			}
		}
		return true
	})
	return locks
}

// lockOf returns L of the type lockorder.Mutex[L], or "".
func lockOf(of ast.Expr) string {
	if array, ok := of.(*ast.ArrayType); ok {
		of = array.Elt
	}
	index, ok := of.(*ast.IndexExpr)
	if !ok {
		return ""
	}
	generic, _ := index.X.(*ast.SelectorExpr)
	lock, _ := index.Index.(*ast.SelectorExpr)
	if generic == nil || lock == nil || fmt.Sprint(generic.X) != "lockorder" {
		return ""
	}
	return lock.Sel.Name
}
