package api

import (
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// migrating has the methods.
const migrating = "../docs/migrating.md"

// TestEveryNewFieldHasAMethod checks that each field that the promised API does not have can be
// set by a method that a program finds without naming the field. Such a program must also compile
// with v1.77.0, so the parameters have types of that version and of the standard library alone.
func TestEveryNewFieldHasAMethod(t *testing.T) {
	want := readLines(t, promised)
	names := packageNames(want)
	var paths []string
	for _, name := range names {
		paths = append(paths, pathOf(name))
	}
	l, err := listerOf(paths)
	if err != nil {
		t.Fatal(err)
	}
	s := fieldMethods{promised: want, rows: map[string][]string{}}
	for _, path := range paths {
		pkg, err := l.importer.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if o, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && s.has(o) {
				s.check(o)
			}
		}
	}
	for _, fault := range s.faults {
		t.Error(fault)
	}
	if len(s.order) < 50 {
		t.Errorf("only %d methods found", len(s.order))
	}
	text, err := os.ReadFile(migrating)
	if err != nil {
		t.Fatal(err)
	}
	if block := s.block(); !strings.Contains(string(text), block) {
		t.Errorf("%s does not have this block:\n%s", migrating, block)
	}
}

// pathOf returns the import path of a package that the list names.
func pathOf(name string) string {
	if name == "fasthttp" {
		return module
	}
	return module + "/" + name
}

// withoutMeaning are fields that need no method.
var withoutMeaning = set{
	"Client.HTTP2.ExtendedConnect":     true,
	"HostClient.HTTP2.ExtendedConnect": true,
}

// fieldMethods checks the methods that set fields.
type fieldMethods struct {
	promised set
	faults   []string
	order    []string            // the methods
	rows     map[string][]string // the types that have them
}

func (s *fieldMethods) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// has reports whether a type of this module is in the promised API.
func (s *fieldMethods) has(o types.Object) bool {
	return s.lists("pkg " + o.Pkg().Name() + ", type " + o.Name() + " ")
}

// check checks the fields of a type that the promised API has.
func (s *fieldMethods) check(o *types.TypeName) {
	fields, ok := o.Type().Underlying().(*types.Struct)
	if !ok || !o.Exported() {
		return
	}
	for field := range fields.Fields() {
		prefix := fmt.Sprintf("pkg %s, type %s struct, %s ", o.Pkg().Name(), o.Name(), field.Name())
		if !field.Exported() || field.Embedded() || s.lists(prefix) {
			continue
		}
		s.checkField(o, field)
	}
}

// lists reports whether a line of the promised API begins with prefix.
func (s *fieldMethods) lists(prefix string) bool {
	for line := range s.promised {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// checkField checks that there is a method for a field, and methods for its fields if it is a
// struct that the promised API does not have.
func (s *fieldMethods) checkField(o *types.TypeName, field *types.Var) {
	method := s.method(o, "Set"+field.Name())
	inner := s.newStruct(field.Type())
	if inner == nil || !hasExported(inner) {
		if method == nil {
			s.fault("%s.%s needs a method Set%[2]s", o.Name(), field.Name())
			return
		}
		s.checkHook(o, field.Type(), method)
		return
	}
	for part := range inner.Fields() {
		if !part.Exported() || method != nil && takes(method, part.Name()) {
			continue
		}
		if withoutMeaning[o.Name()+"."+field.Name()+"."+part.Name()] {
			continue
		}
		own := s.method(o, "Set"+field.Name()+part.Name())
		if own == nil {
			s.fault("%s.%s.%s needs a method Set%[2]s%[3]s", o.Name(), field.Name(), part.Name())
			continue
		}
		s.checkHook(o, part.Type(), own)
	}
}

// checkHook checks that a method for a function takes one with all that the function gets.
func (s *fieldMethods) checkHook(o *types.TypeName, field types.Type, method *types.Func) {
	hook, ok := field.Underlying().(*types.Signature)
	if !ok {
		return
	}
	for v := range hook.Params().Variables() {
		inner := s.newStruct(v.Type())
		if inner == nil {
			continue
		}
		for name := range flat(inner) {
			if !takes(method, name) {
				s.fault("%s.%s takes a function without a parameter for %s: add a method", o.Name(), method.Name(), name)
			}
		}
	}
}

// flat yields the names of the fields of a struct and of its embedded structs.
func flat(t *types.Struct) func(func(string) bool) {
	return func(yield func(string) bool) {
		for f := range t.Fields() {
			if inner, ok := f.Type().Underlying().(*types.Struct); ok && f.Embedded() {
				for name := range flat(inner) {
					if !yield(name) {
						return
					}
				}
			} else if !yield(f.Name()) {
				return
			}
		}
	}
}

// newStruct returns the struct of a type, or of a pointer to it, that the promised API does
// not have.
func (s *fieldMethods) newStruct(t types.Type) *types.Struct {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok || !ours(named.Obj()) || s.has(named.Obj()) {
		return nil
	}
	inner, _ := named.Underlying().(*types.Struct)
	return inner
}

func ours(o types.Object) bool {
	return o.Pkg() != nil && (o.Pkg().Path() == module || strings.HasPrefix(o.Pkg().Path(), module+"/"))
}

func hasExported(t *types.Struct) bool {
	for f := range t.Fields() {
		if f.Exported() {
			return true
		}
	}
	return false
}

// takes reports whether a parameter of the method is for the field with this name: it has the
// name, or is a struct of the standard library or a function with such a parameter.
func takes(method *types.Func, name string) bool {
	for v := range method.Signature().Params().Variables() {
		if strings.EqualFold(v.Name(), name) {
			return true
		}
		t := v.Type()
		if hook, ok := t.(*types.Signature); ok {
			for v := range hook.Params().Variables() {
				if strings.EqualFold(v.Name(), name) {
					return true
				}
			}
		}
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := t.(*types.Named); ok && !ours(named.Obj()) {
			if found, _, _ := types.LookupFieldOrMethod(named, false, nil, name); found != nil {
				return true
			}
		}
	}
	return false
}

// method returns a method of pointers to o, or nil. It checks its parameters and notes it.
func (s *fieldMethods) method(o *types.TypeName, name string) *types.Func {
	found := types.NewMethodSet(types.NewPointer(o.Type())).Lookup(o.Pkg(), name)
	if found == nil {
		return nil
	}
	method := found.Obj().(*types.Func)
	for v := range method.Signature().Params().Variables() {
		s.checkNames(o, method, v.Type())
	}
	text := types.TypeString(method.Signature(), (*types.Package).Name)
	row := name + strings.TrimPrefix(text, "func")
	if s.rows[row] == nil {
		s.order = append(s.order, row)
	}
	if owner := o.Pkg().Name() + "." + o.Name(); !slices.Contains(s.rows[row], owner) {
		s.rows[row] = append(s.rows[row], owner)
	}
	return method
}

// checkNames checks that v1.77.0 has the types of this module that a type consists of.
func (s *fieldMethods) checkNames(o *types.TypeName, method *types.Func, t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		if ours(t.Obj()) && !s.has(t.Obj()) {
			s.fault("%s.%s has %s in its parameters, which v1.77.0 does not have", o.Name(), method.Name(), t.Obj().Name())
		}
	case *types.Pointer:
		s.checkNames(o, method, t.Elem())
	case *types.Slice:
		s.checkNames(o, method, t.Elem())
	case *types.Map:
		s.checkNames(o, method, t.Key())
		s.checkNames(o, method, t.Elem())
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				s.checkNames(o, method, v.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.checkNames(o, method, m.Signature())
		}
	case *types.Basic:
	default:
		s.fault("%s.%s: a parameter that this test does not know: %s", o.Name(), method.Name(), t)
	}
}

// block returns declarations that compile if the types have the methods, as a block of Markdown.
func (s *fieldMethods) block() string {
	var order []string // the values of the types, in groups
	methods := map[string][]string{}
	for _, row := range s.order {
		owners := slices.Clone(s.rows[row])
		for i, owner := range owners {
			owners[i] = "(*" + owner + ")(nil)"
		}
		group := strings.Join(owners, ", ")
		if methods[group] == nil {
			order = append(order, group)
		}
		methods[group] = append(methods[group], "\t\t"+row+"\n")
	}
	var b strings.Builder
	b.WriteString("```go\nvar (\n")
	for _, group := range order {
		names := "_" + strings.Repeat(", _", strings.Count(group, ", "))
		fmt.Fprintf(&b, "\t%s interface {\n%s\t} = %s\n", names, strings.Join(methods[group], ""), group)
	}
	b.WriteString(")\n```\n")
	return b.String()
}
