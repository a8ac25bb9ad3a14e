package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variables are the names that documents give to values, with their types.
var variables = map[string]string{
	"ctx": "RequestCtx", "server": "Server", "client": "Client",
}

// namesOfOthers are names that belong to a package that is not public, or to another module, although
// their first part is also a name of this API, each with the package.
var namesOfOthers = map[string]string{
	"websocket.Accept": "github.com/coder/websocket",
	"websocket.Dial":   "github.com/coder/websocket",
	"Decoder.Decode":   "internal/hpack",
	"Config.CGI":       "golang.org/x/net/http/httpproxy",
}

// TestNamesOfTheAPIExist checks that methods, fields, functions and types that documents name
// between backquotes, such as `ctx.ClientIP`, `Server.Protocols` and `sse.Options.Slow`, exist in a
// public package.
func TestNamesOfTheAPIExist(t *testing.T) {
	api := publicNames(t)
	code := regexp.MustCompile("`[^`\n]+`")
	dotted := regexp.MustCompile(`(?:^|[^.\w/])(\w+(?:\.[A-Z]\w*)+)`)
	names, ofOthers := 0, map[string]bool{}
	for _, name := range allDocuments(t) {
		for _, span := range code.FindAllString(read(t, name), -1) {
			for _, m := range dotted.FindAllStringSubmatch(span, -1) {
				if strings.Contains(m[1], ".Test") || strings.Contains(m[1], ".Fuzz") {
					continue // TestDocumentedTestsAreThere
				}
				known, missing := api.look(m[1])
				if known {
					names++
				}
				if missing == "" {
					continue
				}
				if namesOfOthers[missing] == "" {
					t.Errorf("%s: there is no %s in %s", name, missing, span)
				}
				ofOthers[missing] = true
			}
		}
	}
	for name := range namesOfOthers {
		if !ofOthers[name] {
			t.Errorf("no document names %s", name)
		}
	}
	if names < 600 {
		t.Errorf("only %d names found", names)
	}
	t.Logf("%d names", names)
}

// owner has the exported names that a package declares, or the members of a type.
type owner struct {
	// pkg is true for packages
	pkg   bool
	names map[string]bool
	// embedded are types whose members it has as well
	embedded []string
	// open is true if it embeds a type of another module, whose members are not known
	open bool
}

// ownersByName are packages and types by name. Types of several packages with one name are one owner.
type ownersByName map[string]*owner

func (o ownersByName) add(name string) *owner {
	if o[name] == nil {
		o[name] = &owner{names: map[string]bool{}}
	}
	return o[name]
}

// has reports whether an owner has the name.
func (o ownersByName) has(of, name string) bool {
	from := o[of]
	if from == nil || from.open || from.names[name] {
		return from != nil
	}
	return slices.ContainsFunc(from.embedded, func(typ string) bool { return typ != of && o.has(typ, name) })
}

// look looks up each part of a name. known reports whether the first part is a package or a type of
// this repository; missing is the part that does not exist, with its owner.
func (o ownersByName) look(dotted string) (known bool, missing string) {
	parts := strings.Split(dotted, ".")
	if typ := variables[parts[0]]; typ != "" {
		parts[0] = typ
	}
	for i, name := range parts[1:] {
		of := parts[i]
		if o[of] == nil || !o[of].pkg && !ast.IsExported(of) {
			break
		}
		known = true
		if !o.has(of, name) {
			return true, of + "." + name
		}
	}
	return known, ""
}

// publicNames returns the exported names of all packages that programs can import.
func publicNames(t *testing.T) ownersByName {
	t.Helper()
	api := ownersByName{}
	dirs := folders(t, func(name string) bool {
		base := filepath.Base(name)
		return base[0] == '.' || slices.Contains([]string{"testdata", "internal", "examples", "compat", "bench"}, base)
	})
	for _, dir := range dirs {
		for _, name := range filesIn(t, dir, "*.go") {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			pkg := api.add(file.Name.Name)
			pkg.pkg = true
			for _, decl := range file.Decls {
				api.declare(pkg, decl)
			}
		}
	}
	return api
}

// declare adds a declaration of a package.
func (o ownersByName) declare(pkg *owner, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			pkg.names[decl.Name.Name] = true
		} else {
			o.add(receiver(decl.Recv.List[0].Type)).names[decl.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				pkg.names[spec.Name.Name] = true
				o.add(spec.Name.Name).take(spec.Type)
			case *ast.ValueSpec:
				for _, ident := range spec.Names {
					pkg.names[ident.Name] = true
				}
			}
		}
	}
}

// take adds the members that the declaration of a type has.
func (o *owner) take(typ ast.Expr) {
	var fields *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	case *ast.Ident: // an alias, or a type with the fields of another one
		o.embedded = append(o.embedded, typ.Name)
		return
	case *ast.SelectorExpr:
		o.embed(typ)
		return
	default:
		return
	}
	for _, field := range fields.List {
		for _, ident := range field.Names {
			o.names[ident.Name] = true
		}
		if len(field.Names) == 0 {
			o.embed(field.Type)
		}
	}
}

// embed adds the members of an embedded type.
func (o *owner) embed(typ ast.Expr) {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch typ := typ.(type) {
	case *ast.Ident:
		o.names[typ.Name] = true
		o.embedded = append(o.embedded, typ.Name)
	case *ast.SelectorExpr:
		o.names[typ.Sel.Name] = true
		o.embedded = append(o.embedded, typ.Sel.Name)
		o.open = o.open || !ours(typ)
	}
}

// ours reports whether a name of another package is one of the root, whose types are known.
func ours(name *ast.SelectorExpr) bool {
	pkg, ok := name.X.(*ast.Ident)
	return ok && pkg.Name == "fasthttp"
}
