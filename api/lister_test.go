package api

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// lister turns the exported names of packages into lines of text. It reads
// what the compiler left in the build cache about them, which is much faster
// than type-checking the standard library from source.
type lister struct {
	importer types.Importer
}

// listers has the lister of each list of paths. Several tests have the same list, for which the go
// command takes seconds.
var listers = map[string]*lister{}

// listerOf returns the lister of these packages.
func listerOf(paths []string) (*lister, error) {
	key := strings.Join(paths, " ")
	if l := listers[key]; l != nil {
		return l, nil
	}
	l, err := newLister(paths)
	if err == nil {
		listers[key] = l
	}
	return l, err
}

// newLister compiles the packages that are not in the build cache. The platform is
// fixed, so that the result is the same on every one.
func newLister(paths []string) (*lister, error) {
	cmd := exec.Command("go", append([]string{
		"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "--",
	}, paths...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return &lister{importer: importer.ForCompiler(token.NewFileSet(), "gc", lookup)}, nil
}

// list returns the lines of the package with this import path, sorted.
func (l *lister) list(path string) ([]string, error) {
	pkg, err := l.importer.Import(path)
	if err != nil {
		return nil, err
	}
	f := features{pkg: pkg}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); o.Exported() {
			f.object(o)
		}
	}
	slices.Sort(f.lines)
	return f.lines, nil
}

// features collects the lines of one package.
type features struct {
	pkg   *types.Package
	lines []string
}

func (f *features) add(format string, args ...any) {
	f.lines = append(f.lines, "pkg "+f.pkg.Name()+", "+fmt.Sprintf(format, args...))
}

func (f *features) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		f.add("const %s = %s", o.Name(), o.Val().ExactString())
		f.add("const %s %s", o.Name(), f.text(o.Type()))
	case *types.Var:
		f.add("var %s %s", o.Name(), f.text(o.Type()))
	case *types.Func:
		f.add("func %s%s", o.Name(), f.signature(o.Signature()))
	case *types.TypeName:
		f.typeName(o)
	}
}

func (f *features) typeName(o *types.TypeName) {
	if o.IsAlias() {
		f.add("type %s = %s", o.Name(), f.text(types.Unalias(o.Type())))
		return
	}
	switch t := o.Type().Underlying().(type) {
	case *types.Interface:
		// The methods are part of the line.
		f.add("type %s interface { %s }", o.Name(), f.interfaceMethods(t))
		return
	case *types.Struct:
		f.add("type %s struct", o.Name())
		f.fields(o.Name(), t)
	case *types.Signature:
		f.add("type %s func%s", o.Name(), f.signature(t))
	default:
		f.add("type %s %s", o.Name(), f.text(t))
	}
	f.methods(o)
}

func (f *features) fields(typeName string, t *types.Struct) {
	for field := range t.Fields() {
		if !field.Exported() {
			continue
		}
		name := field.Name()
		if field.Embedded() {
			name = "embedded"
		}
		f.add("type %s struct, %s %s", typeName, name, f.text(field.Type()))
	}
}

func (f *features) interfaceMethods(t *types.Interface) string {
	var methods []string
	for m := range t.Methods() {
		methods = append(methods, m.Name()+f.signature(m.Signature()))
	}
	slices.Sort(methods)
	return strings.Join(methods, "; ")
}

// methods lists the methods of a pointer to the type, promoted ones included, each
// with its receiver.
func (f *features) methods(o *types.TypeName) {
	onValue := types.NewMethodSet(o.Type())
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		method := m.Obj().(*types.Func)
		if !method.Exported() {
			continue
		}
		receiver := o.Name()
		if onValue.Lookup(method.Pkg(), method.Name()) == nil {
			receiver = "*" + receiver
		}
		f.add("method (%s) %s%s", receiver, method.Name(), f.signature(method.Signature()))
	}
}

// signature returns parameters and results without their names.
func (f *features) signature(s *types.Signature) string {
	var typeParams, results string
	if s.TypeParams().Len() > 0 {
		var list []string
		for p := range s.TypeParams().TypeParams() {
			list = append(list, p.Obj().Name()+" "+f.text(p.Constraint()))
		}
		typeParams = "[" + strings.Join(list, ", ") + "]"
	}
	params := f.tuple(s.Params())
	if last := len(params) - 1; s.Variadic() {
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	switch list := f.tuple(s.Results()); len(list) {
	case 0:
	case 1:
		results = " " + list[0]
	default:
		results = " (" + strings.Join(list, ", ") + ")"
	}
	return typeParams + "(" + strings.Join(params, ", ") + ")" + results
}

func (f *features) tuple(t *types.Tuple) []string {
	var list []string
	for v := range t.Variables() {
		list = append(list, f.text(v.Type()))
	}
	return list
}

// text returns a type as text. Types of other packages have their package name in
// front.
func (f *features) text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg {
			return ""
		}
		return p.Name()
	})
}
