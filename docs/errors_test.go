package docs

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// speaksOfErrors matches comments that mention errors.
	speaksOfErrors = regexp.MustCompile(`(?i)\berrors?\b|\bfails?\b|\bfailed\b|\bErr[A-Z]\w+`)
	// refersTo matches the name of a function to which a comment refers.
	refersTo = regexp.MustCompile(`(?:\bis|\bcalls|\bwhat|\b[Ss]ee|\bas|\bthat of|\blike) +\[?((?:\w+\.)*[A-Z]\w*)`)
)

// failing is an exported function or method that returns an error.
type failing struct {
	at, name, doc string
}

// TestErrorsAreDocumented checks all public packages: the comment of a function that
// returns an error must mention errors, or refer to a function that does.
func TestErrorsAreDocumented(t *testing.T) {
	count := 0
	for _, dir := range packageFolders(t) {
		if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "internal") {
			continue
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none || pkg.Name == "main" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all := failingOf(t, dir, append(pkg.GoFiles, pkg.IgnoredGoFiles...))
		byName := make(map[string][]failing)
		for _, f := range all {
			byName[f.name] = append(byName[f.name], f)
		}
		for _, f := range all {
			if !saysItsErrors(f, byName, nil) {
				t.Errorf("%s: %s returns an error, of which its comment says nothing", f.at, f.name)
			}
		}
		count += len(all)
	}
	if count < 180 {
		t.Errorf("only %d functions that return an error were found", count)
	}
	t.Logf("%d functions return an error", count)
}

func saysItsErrors(f failing, byName map[string][]failing, seen []string) bool {
	if speaksOfErrors.MatchString(f.doc) {
		return true
	}
	seen = append(seen, f.at)
	for _, m := range refersTo.FindAllStringSubmatch(f.doc, -1) {
		name := m[1][strings.LastIndexByte(m[1], '.')+1:]
		for _, other := range byName[name] {
			if !slices.Contains(seen, other.at) && saysItsErrors(other, byName, seen) {
				return true
			}
		}
	}
	return false
}

// failingOf returns the exported functions of a package with an error as their last
// result. Methods of an unexported type count if an exported type embeds it.
func failingOf(t *testing.T, dir string, files []string) (all []failing) {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	shown := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				shown[spec.Name.Name] = true
				addEmbedded(shown, spec)
			}
			return true
		})
	}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Name.Name == "Unwrap" || !returnsError(fn) {
				continue
			}
			if fn.Recv != nil && !shown[typeName(fn.Recv.List[0].Type)] {
				continue
			}
			doc := strings.Join(strings.Fields(fn.Doc.Text()), " ")
			all = append(all, failing{fmt.Sprint(fset.Position(fn.Pos())), fn.Name.Name, doc})
		}
	}
	return all
}

func addEmbedded(shown map[string]bool, spec *ast.TypeSpec) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range body.Fields.List {
		if len(f.Names) == 0 {
			shown[typeName(f.Type)] = true
		}
	}
}

func typeName(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	name, _ := t.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

func returnsError(fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil {
		return false
	}
	last, ok := fn.Type.Results.List[len(fn.Type.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}
