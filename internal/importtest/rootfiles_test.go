package importtest

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// group is a part of the root package.
type group struct {
	name     string
	patterns []string
}

// rootGroups are the files of the root package from the bottom up, as name
// patterns. A file belongs to the first group with a pattern that its name
// matches, and names no type that a file of a later group declares.
var rootGroups = []group{
	{"values", []string{
		"doc.go", "errors.go", "strings.go", "status.go", "statusline.go", "method.go", "headernames.go",
		"args*.go", "uri*.go", "cookie*.go", "date.go", "timer.go", "ip*.go", "number*.go",
		"userdata.go", "source.go", "codec.go", "byterange*.go", "hostport*.go", "text*.go",
	}},
	{"headers", []string{
		"header*.go", "request_header*.go", "response_header*.go",
	}},
	{"messages", []string{
		"message*.go", "request*.go", "response*.go", "body*.go", "stream*.go", "multipart*.go", "poison_o*.go",
	}},
	{"server, client and files", []string{
		"ctx*.go", "server*.go", "exchange*.go", "h1conn*.go", "conn*.go", "timeout*.go",
		"tls*.go", "compress*.go", "client*.go", "hostclient*.go", "pipelineclient*.go",
		"lbclient*.go", "dialer*.go", "redirect*.go", "retry*.go", "fs*.go", "engine*.go",
	}},
}

// groupOf returns the index of a file's group, or -1.
func groupOf(name string) int {
	return slices.IndexFunc(rootGroups, func(g group) bool {
		return slices.ContainsFunc(g.patterns, func(pattern string) bool {
			matched, err := path.Match(pattern, name)
			return err == nil && matched
		})
	})
}

func TestRootFilesNameNoTypesOfHigherGroups(t *testing.T) {
	fset := token.NewFileSet()
	var syntax []*ast.File
	for _, f := range rootFiles(t, fset) {
		if groupOf(f.name) < 0 {
			t.Errorf("%s is in no group; add it to the table in internal/importtest/rootfiles_test.go", f.name)
		}
		syntax = append(syntax, f.syntax)
	}
	for _, up := range upwardUses(fset, syntax, groupOf) {
		t.Errorf("%s: %s names %s, which is declared in %s: %s come after %s",
			up.at, path.Base(up.at.Filename), up.name, up.declaredIn,
			rootGroups[groupOf(up.declaredIn)].name, rootGroups[groupOf(path.Base(up.at.Filename))].name)
	}
}

func TestUpwardUsesAreFound(t *testing.T) {
	sources := map[string]string{
		"low.go": `package p
			import "missing"
			type Low struct{ High int; field missing.Type }
			func (l *Low) Mid() int { return l.High }
			func use(High int) any { x := Mid{}; return x.Low }
			func fine() { fineToo() }
			type alias = []map[string]*High`,
		"mid.go":  "package p\ntype Mid struct{ Low Low }",
		"high.go": "package p\ntype High Mid\nfunc fineToo() {}",
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
		got = append(got, up.at.Filename+" "+up.name+" "+up.declaredIn)
	}
	slices.Sort(got)
	if want := []string{"low.go High high.go", "low.go Mid mid.go"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestEveryFileNameHasItsGroup(t *testing.T) {
	for name, want := range map[string]string{
		"headernames.go":          "values",
		"header.go":               "headers",
		"request_header_write.go": "headers",
		"request.go":              "messages",
		"request_body.go":         "messages",
		"server_tls.go":           "server, client and files",
	} {
		if got := groupOf(name); got < 0 || rootGroups[got].name != want {
			t.Errorf("%s is in group %d, want %q", name, got, want)
		}
	}
	if got := groupOf("misc.go"); got != -1 {
		t.Errorf("misc.go is in group %d", got)
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
		f, err := parseFile(name, parser.SkipObjectResolution, fset)
		if err != nil {
			t.Fatal(err)
		}
		if !f.isTest {
			files = append(files, f)
		}
	}
	return files
}

type upwardUse struct {
	at         token.Position
	name       string
	declaredIn string
}

// upwardUses returns where a file names a type that is declared in a file of
// a higher group.
//
// Only names of the package itself matter, so nothing that is imported gets
// loaded, and the errors that follow from that are ignored. A file that does
// not build otherwise is for the compiler to complain about.
func upwardUses(fset *token.FileSet, files []*ast.File, groupOf func(string) int) []upwardUse {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("p", fset, files, &info)

	var uses []upwardUse
	for ident, object := range info.Uses {
		name, ok := object.(*types.TypeName)
		if !ok || name.Parent() != pkg.Scope() {
			continue
		}
		at := fset.Position(ident.Pos())
		declaredIn := path.Base(filepath.ToSlash(fset.Position(name.Pos()).Filename))
		from, to := groupOf(path.Base(filepath.ToSlash(at.Filename))), groupOf(declaredIn)
		if from >= 0 && to > from {
			uses = append(uses, upwardUse{at, name.Name(), declaredIn})
		}
	}
	slices.SortFunc(uses, func(a, b upwardUse) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset))
	})
	return uses
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("not needed")
}
