package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// TestNamesOfTheAPIExist checks that methods, fields and functions that documents name
// between backquotes, such as `ctx.ClientIP` and `Server.Protocols`, exist.
func TestNamesOfTheAPIExist(t *testing.T) {
	owners := map[string]reflect.Type{
		"ctx": reflect.TypeFor[fasthttp.RequestCtx](), "RequestCtx": reflect.TypeFor[fasthttp.RequestCtx](),
		"server": reflect.TypeFor[fasthttp.Server](), "Server": reflect.TypeFor[fasthttp.Server](),
		"client": reflect.TypeFor[fasthttp.Client](), "Client": reflect.TypeFor[fasthttp.Client](),
		"FS": reflect.TypeFor[fasthttp.FS](), "HTTP2Config": reflect.TypeFor[fasthttp.HTTP2Config](),
		"Request": reflect.TypeFor[fasthttp.Request](), "Response": reflect.TypeFor[fasthttp.Response](),
		"RequestConfig": reflect.TypeFor[fasthttp.RequestConfig](),
	}
	declared := declaredInRoot(t)
	code := regexp.MustCompile("`[^`\n]+`")
	dotted := regexp.MustCompile(`(^|[^.\w/])(\w+)\.([A-Z]\w*)`)
	names := 0
	for _, name := range documents(t) {
		for _, span := range code.FindAllString(read(t, name), -1) {
			for _, m := range dotted.FindAllStringSubmatch(span, -1) {
				owner, member := m[2], m[3]
				typ, known := owners[owner]
				if owner == "fasthttp" {
					names++
					if !declared[member] {
						t.Errorf("%s: there is no %s in %s", name, member, span)
					}
				}
				if !known {
					continue
				}
				names++
				_, field := typ.FieldByName(member)
				_, method := reflect.PointerTo(typ).MethodByName(member)
				if !field && !method {
					t.Errorf("%s: there is no %s.%s in %s", name, owner, member, span)
				}
			}
		}
	}
	if names < 200 {
		t.Errorf("only %d names found", names)
	}
	t.Logf("%d names", names)
}

// declaredInRoot returns the exported names that the root package declares outside of
// functions, without methods.
func declaredInRoot(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				declared[decl.Name.Name] = declared[decl.Name.Name] || decl.Recv == nil
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declared[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, ident := range spec.Names {
							declared[ident.Name] = true
						}
					}
				}
			}
		}
	}
	return declared
}
