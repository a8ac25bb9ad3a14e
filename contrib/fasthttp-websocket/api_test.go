package websocket

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// original is the module whose API this one has.
const original = "github.com/fasthttp/websocket"

const version = "v1.5.12"

var update = flag.Bool("update", false, "write testdata/api.txt")

// otherwise are lines of the API of the original that this module does not have, with the
// reasons.
var otherwise = map[string]string{}

// TestAPIIsThatOfTheOriginal compares the exported names, and their types.
func TestAPIIsThatOfTheOriginal(t *testing.T) {
	imp := exports(t)
	pkg, err := imp.Import(original)
	if err != nil {
		t.Fatal(err)
	}
	have := lines(pkg)
	want := readAPI(t)
	if len(want) < 100 {
		t.Fatalf("testdata/api.txt has %d lines only", len(want))
	}
	for _, line := range want {
		reason, listed := otherwise[line]
		switch has := slices.Contains(have, line); {
		case !has && reason == "":
			t.Errorf("is not here: %s", line)
		case has && listed:
			t.Errorf("is here, and listed with a reason why not: %s", line)
		}
	}
	for line := range otherwise {
		if !slices.Contains(want, line) {
			t.Errorf("is listed with a reason, but the original does not have it: %s", line)
		}
	}
}

// TestListIsTheDocumentationOfTheOriginal compares testdata/api.txt with "go doc -all".
func TestListIsTheDocumentationOfTheOriginal(t *testing.T) {
	dir := t.TempDir()
	mod := "module list\n\ngo 1.26.0\n\nrequire " + original + " " + version + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		err := cmd.Run()
		if err != nil {
			err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &stderr)
		}
		return out.String(), err
	}
	if _, err := run("mod", "download", original); err != nil {
		t.Skip("the original is not to be had:", err)
	}
	text, err := run("doc", "-all", original)
	if err != nil {
		t.Fatal(err)
	}
	documented := lines(documentedPackage(t, text))
	if *update {
		if err := os.WriteFile("testdata/api.txt", []byte(strings.Join(documented, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if listed := readAPI(t); !slices.Equal(listed, documented) {
		t.Errorf("testdata/api.txt has\n%s\nthe documentation has\n%s", strings.Join(listed, "\n"), strings.Join(documented, "\n"))
	}
}

func readAPI(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/api.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")), "\n")
}

// exports imports this package, and its dependencies, from the build cache.
func exports(t *testing.T) types.Importer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

var declaration = regexp.MustCompile(`^(const|var|type|func) `)

// documentedPackage type-checks the declarations in the output of go doc.
func documentedPackage(t *testing.T, text string) *types.Package {
	t.Helper()
	var src strings.Builder
	src.WriteString("package websocket\n")
	for _, path := range []string{"bufio", "context", "crypto/tls", "errors", "io", "net", "net/http", "net/url", "time", "github.com/valyala/fasthttp"} {
		fmt.Fprintf(&src, "import %q\n", path)
	}
	_, text, _ = strings.Cut(text, "\nCONSTANTS\n")
	inside := false
	for line := range strings.Lines(text) {
		if !inside && !declaration.MatchString(line) {
			continue
		}
		src.WriteString(line)
		line = strings.TrimSpace(line)
		inside = inside && line != ")" && line != "}" || !inside && (strings.HasSuffix(line, "(") || strings.HasSuffix(line, "{"))
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "doc.go", src.String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: exports(t), IgnoreFuncBodies: true, Error: func(err error) {
		// functions have no bodies, and may leave imports unused
		if msg := err.Error(); !strings.Contains(msg, "missing function body") && !strings.Contains(msg, "imported and not used") {
			t.Error(err)
		}
	}}
	pkg, _ := conf.Check(original, fset, []*ast.File{file}, nil)
	return pkg
}

// lines returns a line for each exported constant, variable, function, type, field and method.
func lines(pkg *types.Package) []string {
	qualify := func(p *types.Package) string { return p.Name() }
	text := func(t types.Type) string {
		return strings.ReplaceAll(types.TypeString(t, qualify), "interface{}", "any")
	}
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	signature := func(s *types.Signature) string {
		// without the names of parameters
		unnamed := func(tuple *types.Tuple) *types.Tuple {
			var vars []*types.Var
			for v := range tuple.Variables() {
				vars = append(vars, types.NewParam(token.NoPos, nil, "", v.Type()))
			}
			return types.NewTuple(vars...)
		}
		return strings.TrimPrefix(text(types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())), "func")
	}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			add("const %s %s = %s", name, text(o.Type()), o.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, text(o.Type()))
		case *types.Func:
			add("func %s%s", name, signature(o.Signature()))
		case *types.TypeName:
			switch u := o.Type().Underlying().(type) {
			case *types.Struct:
				add("type %s struct", name)
				for f := range u.Fields() {
					if f.Exported() {
						add("field %s.%s %s", name, f.Name(), text(f.Type()))
					}
				}
			case *types.Interface:
				add("type %s interface", name)
			default:
				add("type %s %s", name, text(u))
			}
			methods := func(receiver string, set *types.MethodSet) {
				for m := range set.Methods() {
					if m.Obj().Exported() {
						add("method (%s) %s%s", receiver, m.Obj().Name(), signature(m.Type().(*types.Signature)))
					}
				}
			}
			methods(name, types.NewMethodSet(o.Type()))
			methods("*"+name, types.NewMethodSet(types.NewPointer(o.Type())))
		}
	}
	slices.Sort(all)
	return all
}
