package docs

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryExportedNameIsDocumented checks all packages of this module. Each package
// has a comment, and so has each exported name, including fields of structs and
// methods of interfaces. In a group, a comment for the group is enough, and so is
// one that names several.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	names := 0
	for _, dir := range packageFolders(t) {
		pkg, err := build.ImportDir(dir, build.ImportComment)
		if _, none := err.(*build.NoGoError); none {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		d := &documented{dir: dir, fset: token.NewFileSet()}
		described := pkg.Doc != ""
		for _, name := range append(pkg.GoFiles, pkg.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(d.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			described = described || file.Doc != nil
			if pkg.Name != "main" {
				d.file(file)
			}
		}
		if !described {
			t.Errorf("%s: the package has no comment", dir)
		}
		for _, at := range d.missing {
			t.Errorf("%s is not documented", at)
		}
		names += d.names
	}
	t.Logf("%d exported names", names)
	if names < 1000 {
		t.Errorf("only %d exported names were found", names)
	}
}

// packageFolders returns the folders of this module that may have a package.
func packageFolders(t *testing.T) []string {
	t.Helper()
	return folders(t, func(name string) bool {
		base := filepath.Base(name)
		return base[0] == '.' || base[0] == '_' || base == "testdata" || isModule(name)
	})
}

// folders returns the folders of this repository, without the ones that skip selects and
// all that they contain.
func folders(t *testing.T, skip func(name string) bool) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name != ".." && skip(name) {
			return filepath.SkipDir
		}
		dirs = append(dirs, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func isModule(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(found) > 0
}

// documented has the number of exported names in a package, and the names without a
// comment.
type documented struct {
	dir     string
	fset    *token.FileSet
	names   int
	missing []string
}

func (d *documented) name(ident *ast.Ident, owner string, has bool) {
	if !ident.IsExported() {
		return
	}
	d.names++
	if !has {
		d.missing = append(d.missing, d.fset.Position(ident.Pos()).String()+": "+owner+ident.Name)
	}
}

func (d *documented) file(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				d.name(decl.Name, "", decl.Doc != nil)
			} else if owner := receiver(decl.Recv.List[0].Type); ast.IsExported(owner) {
				d.name(decl.Name, owner+".", decl.Doc != nil)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				d.spec(decl, spec)
			}
		}
	}
}

func (d *documented) spec(decl *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, ident := range spec.Names {
			d.name(ident, "", decl.Doc != nil || spec.Doc != nil || spec.Comment != nil || names(decl, ident))
		}
	case *ast.TypeSpec:
		d.name(spec.Name, "", spec.Doc != nil || decl.Doc != nil)
		if !spec.Name.IsExported() {
			return
		}
		var fields *ast.FieldList
		switch kind := spec.Type.(type) {
		case *ast.StructType:
			fields = kind.Fields
		case *ast.InterfaceType:
			fields = kind.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, ident := range field.Names {
				d.name(ident, spec.Name.Name+".", field.Doc != nil || field.Comment != nil || names(decl, ident))
			}
		}
	}
}

// names reports whether a comment inside of a declaration, or before it, has the
// name. One comment may have several names.
func names(decl *ast.GenDecl, ident *ast.Ident) (found bool) {
	word := regexp.MustCompile(`\b` + ident.Name + `\b`)
	ast.Inspect(decl, func(n ast.Node) bool {
		if comment, ok := n.(*ast.CommentGroup); ok {
			found = found || word.MatchString(comment.Text())
		}
		return !found
	})
	return found
}

// receiver returns the name of the type of a method.
func receiver(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}
