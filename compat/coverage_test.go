package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/valyala/fasthttp"

// TestProgramsCallAllOfTheAPI fails for an exported function or method that no
// program calls, unless uncalled.tsv has a reason. It also fails for a line of that
// file if a program calls the function.
func TestProgramsCallAllOfTheAPI(t *testing.T) {
	paths := publicPackages(t)
	packages := listPackages(t, paths)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		p := packages[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(p.Export)
	})
	exported := map[string]bool{}
	for _, path := range paths {
		pkg, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range functionsOf(pkg) {
			exported[f] = true
		}
	}
	called := map[string]bool{}
	for path, p := range packages {
		if strings.HasPrefix(path, module+"/compat/") {
			calls(t, fset, imports, p, called)
		}
	}
	reasons := readReasons(t, "uncalled.tsv")
	for _, f := range slices.Sorted(maps.Keys(exported)) {
		switch {
		case !called[f] && reasons[f] == "":
			t.Errorf("no program calls %s", f)
		case called[f] && reasons[f] != "":
			t.Errorf("a program calls %s by now: take it out of uncalled.tsv", f)
		}
	}
	for f := range reasons {
		if !exported[f] {
			t.Errorf("uncalled.tsv: there is no %s", f)
		}
	}
	t.Logf("%d exported functions and methods, %d of them not called for a reason", len(exported), len(reasons))
}

type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// publicPackages returns the packages in the list of the API.
func publicPackages(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "api", "fasthttp-1.77.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for line := range strings.Lines(string(b)) {
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "pkg "), ",")
		if !ok {
			t.Fatalf("a line of the API names no package: %q", line)
		}
		if name != "fasthttp" {
			paths = append(paths, module+"/"+name)
		}
	}
	slices.Sort(paths)
	return append(slices.Compact(paths), module)
}

// listPackages returns the programs and the public packages with all their imports.
// It uses v1.77.0, because the programs use nothing else.
func listPackages(t *testing.T, public []string) map[string]*listedPackage {
	t.Helper()
	args := []string{"list", "-modfile=" + upstream.modfile, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./programs/..."}
	cmd := exec.CommandContext(t.Context(), "go", append(args, public...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	packages := map[string]*listedPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listedPackage{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

// functionsOf lists the exported functions of a package: functions, and methods of its types
// and interfaces.
func functionsOf(pkg *types.Package) []string {
	var list []string
	for _, name := range pkg.Scope().Names() {
		switch o := pkg.Scope().Lookup(name).(type) {
		case *types.Func:
			if o.Exported() {
				list = append(list, nameOf(o))
			}
		case *types.TypeName:
			named, ok := o.Type().(*types.Named)
			if !ok || !o.Exported() {
				continue
			}
			for m := range named.Methods() {
				if m.Exported() {
					list = append(list, nameOf(m))
				}
			}
		}
	}
	return list
}

// nameOf names a function as its documentation does: with the package and, for
// a method, the type.
func nameOf(f *types.Func) string {
	pkg := strings.TrimPrefix(strings.TrimPrefix(f.Pkg().Path(), module), "/")
	if pkg == "" {
		pkg = "fasthttp"
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return pkg + "." + f.Name()
	}
	typ := recv.Type()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	if named, ok := typ.(*types.Named); ok {
		return pkg + "." + named.Obj().Name() + "." + f.Name()
	}
	return pkg + ".interface." + f.Name()
}

// calls adds the functions of the API that a package of this module mentions.
func calls(t *testing.T, fset *token.FileSet, imports types.Importer, p *listedPackage, called map[string]bool) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, o := range info.Uses {
		if f, ok := o.(*types.Func); ok && f.Pkg() != nil && strings.HasPrefix(f.Pkg().Path(), module) {
			called[nameOf(f)] = true
		}
	}
}

// readReasons reads a table of two columns: a function and why no program calls
// it.
func readReasons(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, "\t")
		if reason == "" {
			t.Errorf("%s: %s has no reason", path, name)
		}
		reasons[name] = reason
	}
	return reasons
}
