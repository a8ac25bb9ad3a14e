package importtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// group is a part of the root package.
type group struct {
	name     string
	patterns []string
}

// rootLevels are the files of the root package from the bottom up, as name patterns.
// A file belongs to the first group with a pattern that its name matches. It may use
// the declarations of its own level and of the levels below.
var rootLevels = [][]group{
	{{"values", []string{
		"doc.go", "errors.go", "headernames.go", "status.go",
		"args*.go", "uri*.go", "cookie*.go", "convert*.go", "timer.go",
		"codec.go", "protocols.go",
	}}},
	{{"headers", []string{
		"header*.go", "request_header*.go", "response_header*.go",
	}}},
	{{"messages", []string{
		"message*.go", "request*.go", "response*.go", "multipart*.go",
	}}},
	{
		{"client over HTTP/3", []string{"client_h3*.go"}},
		{"client", []string{"client*.go", "hostclient*.go", "dialer*.go", "roundtrippers*.go"}},
		// types with the methods of a client, which no call of Client or HostClient reaches
		{"other clients", []string{"pipelineclient*.go", "lbclient*.go"}},
	}, {
		{"server", []string{"server*.go", "timeout*.go", "compress*.go"}},
		{"contexts", []string{"ctx*.go"}},
		{"exchanges", []string{"exchange*.go", "h1*.go", "h2*.go"}},
		{"exchanges over HTTP/3", []string{"h3*.go"}},
		{"event connections", []string{"eventconn*.go"}},
		{"pushed bodies", []string{"push*.go"}},
	},
	{{"files", []string{"fs*.go"}}},
	{{"setters", []string{"setters*.go"}}},
}

// maxGroupLines is the largest number of lines of code in one group.
const maxGroupLines = 6000

// groupOf returns the group of a file, and the index of its level, or -1.
func groupOf(name string) (group, int) {
	for level, groups := range rootLevels {
		for _, g := range groups {
			if slices.ContainsFunc(g.patterns, func(pattern string) bool { return matches(pattern, name) }) {
				return g, level
			}
		}
	}
	return group{}, -1
}

func levelOf(name string) int {
	_, level := groupOf(name)
	return level
}

func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

func TestRootFilesNameNothingOfHigherLevels(t *testing.T) {
	fset := token.NewFileSet()
	var syntax []*ast.File
	for _, f := range rootFiles(t, fset) {
		if levelOf(f.name) < 0 {
			t.Errorf("%s is in no group; add it to the table in internal/importtest/rootfiles_test.go", f.name)
		}
		syntax = append(syntax, f.syntax)
	}
	found := map[string]bool{}
	for _, up := range upwardUses(fset, syntax, levelOf) {
		from := path.Base(filepath.ToSlash(up.at.Filename))
		arrow := from + " " + up.name
		if !up.isType && slices.Contains(knownArrows, arrow) {
			found[arrow] = true
			continue
		}
		upper, _ := groupOf(up.declaredIn)
		lower, _ := groupOf(from)
		t.Errorf("%s: %s names %s, which is declared in %s: %s come after %s",
			up.at, from, up.name, up.declaredIn, upper.name, lower.name)
	}
	for _, arrow := range knownArrows {
		if !found[arrow] {
			t.Errorf("%s is no upward use; take it off the list", arrow)
		}
	}
}

// knownArrows are the upward uses of names other than types. The list must not
// grow: a function that two levels share belongs to the lower one.
var knownArrows = []string{
	"ctx_response.go ServeFile", "ctx_response.go ServeFileBytes", "ctx_response.go ServeFileLiteral",
}

func TestEveryPatternMatchesAFileAndNoGroupIsTooLarge(t *testing.T) {
	files := rootFiles(t, token.NewFileSet())
	for _, g := range slices.Concat(rootLevels...) {
		for _, pattern := range g.patterns {
			if !slices.ContainsFunc(files, func(f file) bool { return matches(pattern, f.name) }) {
				t.Errorf("%s: no file matches %s", g.name, pattern)
			}
		}
		lines := 0
		for _, f := range files {
			if in, _ := groupOf(f.name); in.name == g.name {
				text, err := os.ReadFile(filepath.Join(moduleDir, f.name))
				if err != nil {
					t.Fatal(err)
				}
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if lines > maxGroupLines {
			t.Errorf("%s has %d lines, more than %d", g.name, lines, maxGroupLines)
		}
	}
}

func TestUpwardUsesAreFound(t *testing.T) {
	sources := map[string]string{
		"low.go": `package p
			import "missing"
			type Low struct{ High int; field missing.Type }
			func (l *Low) Mid() int { return l.High }
			func use(High int) any { x := Mid{}; return x.Low }
			func same() { use(limit); l := Low{}; l.Mid(); l.above(); table = nil }
			func calls() { up(); missing.Up() }
			type alias = []map[string]*High`,
		"mid.go":  "package p\ntype Mid struct{ Low Low }\nvar table []int",
		"high.go": "package p\ntype High Mid\nconst limit = 1\nfunc up() { use(1) }\nfunc (*Low) above() {}",
	}
	order := []string{"low.go", "mid.go", "high.go"}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range order {
		f, err := parser.ParseFile(fset, name, sources[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var got []string
	for _, up := range upwardUses(fset, files, func(name string) int { return slices.Index(order, name) }) {
		got = append(got, fmt.Sprint(up.at.Filename, " ", up.name, " ", up.declaredIn, " ", up.isType))
	}
	slices.Sort(got)
	want := []string{
		"low.go High high.go true", "low.go Low.above high.go false", "low.go Mid mid.go true",
		"low.go limit high.go false", "low.go table mid.go false", "low.go up high.go false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestEveryFileNameHasItsGroup(t *testing.T) {
	for name, want := range map[string]string{
		"headernames.go":    "values",
		"header.go":         "headers",
		"request_header.go": "headers",
		"request.go":        "messages",
		"request_body.go":   "messages",
		"server_tls.go":     "server",
		"exchange_body.go":  "exchanges",
		"fs_tree.go":        "files",
	} {
		if g, level := groupOf(name); level < 0 || g.name != want {
			t.Errorf("%s is in group %q, want %q", name, g.name, want)
		}
	}
	if _, level := groupOf("misc.go"); level != -1 {
		t.Errorf("misc.go is in level %d", level)
	}
}

func rootFiles(t *testing.T, fset *token.FileSet) []file {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(moduleDir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of the root package found: %v", err)
	}
	var files []file
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parseFile(name, parser.SkipObjectResolution, fset)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// upwardUse is the use of a name in a file of a lower level than the one that
// declares it.
type upwardUse struct {
	at         token.Position
	name       string // Type.Name for methods
	isType     bool
	declaredIn string
}

// upwardUses returns the uses of types, functions, methods, variables and constants
// in a file of a lower level than the one that declares them. Only names of the
// package itself matter. So imports are not loaded, and the resulting errors are
// ignored. Other errors are left to the compiler.
func upwardUses(fset *token.FileSet, files []*ast.File, levelOf func(string) int) []upwardUse {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("p", fset, files, &info)

	var uses []upwardUse
	for ident, object := range info.Uses {
		name := nameOf(pkg, object)
		if name == "" {
			continue
		}
		at := fset.Position(ident.Pos())
		declaredIn := path.Base(filepath.ToSlash(fset.Position(object.Pos()).Filename))
		from, to := levelOf(path.Base(filepath.ToSlash(at.Filename))), levelOf(declaredIn)
		if from >= 0 && to > from {
			_, isType := object.(*types.TypeName)
			uses = append(uses, upwardUse{at, name, isType, declaredIn})
		}
	}
	slices.SortFunc(uses, func(a, b upwardUse) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset))
	})
	return uses
}

// nameOf returns the name of a declaration at the top level of a package, or of a
// method, and "" for all others.
func nameOf(pkg *types.Package, object types.Object) string {
	if object.Parent() == pkg.Scope() {
		return object.Name()
	}
	f, ok := object.(*types.Func)
	if !ok || f.Pkg() != pkg || f.Signature().Recv() == nil {
		return ""
	}
	receiver := f.Signature().Recv().Type()
	if pointer, ok := receiver.(*types.Pointer); ok {
		receiver = pointer.Elem()
	}
	if named, ok := receiver.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return "" // a method of an unnamed interface
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("not needed")
}
