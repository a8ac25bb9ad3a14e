package importtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
)

// uses holds the places that name functions declared by tests, or variables with such a
// function.
type uses struct {
	fset      *token.FileSet
	info      types.Info
	functions []function
	places    map[types.Object][]token.Position // in real time
}

// function is a function with a name.
type function struct {
	name types.Object
	body ast.Node
}

// usesOf resolves the names in tests. It does not resolve names of other packages than the
// shared one.
func usesOf(fset *token.FileSet, folders map[string][]*ast.File) *uses {
	u := &uses{
		fset:   fset,
		info:   types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
		places: map[types.Object][]token.Position{},
	}
	imports := sharedOnly{}
	config := types.Config{Importer: imports, Error: func(error) {}} // of names that it does not know
	check := func(dir string) {
		packages := map[string][]*ast.File{}
		for _, f := range folders[dir] {
			packages[f.Name.Name] = append(packages[f.Name.Name], f)
		}
		for name, files := range packages {
			p, _ := config.Check(dir, fset, files, &u.info)
			if name == shared {
				imports[shared] = p
			}
		}
	}
	for dir := range folders {
		if path.Base(dir) == shared {
			check(dir)
		}
	}
	for dir := range folders {
		if path.Base(dir) != shared {
			check(dir)
		}
	}
	return u
}

// sharedOnly imports only the package that tests share.
type sharedOnly map[string]*types.Package

func (s sharedOnly) Import(name string) (*types.Package, error) {
	if p := s[path.Base(name)]; p != nil {
		return p, nil
	}
	return nil, errors.New("not a package of tests")
}

// note records the functions that a file declares and names.
func (u *uses) note(b bubbles, f *ast.File) {
	set := map[*ast.Ident]bool{} // variables that get a value
	comments := commentsOf(u.fset, f)
	b.walk(f, func(n ast.Node, bubble bool) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			u.functions = append(u.functions, function{u.info.Defs[n.Name], n})
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
					u.assigned(name, n.Rhs[i])
					set[name] = true
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Names) == len(n.Values) {
					u.assigned(name, n.Values[i])
				}
			}
		case *ast.Ident:
			o := u.info.Uses[n]
			if o == nil || bubble || set[n] {
				return
			}
			if method, ok := o.(*types.Func); ok {
				o = method.Origin()
			}
			at := u.fset.Position(n.Pos())
			if kind, _ := comments.kindAt(at.Line); kind != "bubble" {
				u.places[o] = append(u.places[o], at)
			}
		}
	})
}

// assigned records that a variable is a function, or names time.Sleep.
func (u *uses) assigned(name *ast.Ident, value ast.Expr) {
	_, isFunc := value.(*ast.FuncLit)
	if o := u.info.ObjectOf(name); o != nil && (isFunc || isName(value, "time", "Sleep")) {
		u.functions = append(u.functions, function{o, value})
	}
}

// placesOf returns the places outside of bubbles that name the innermost named function
// around pos, except places inside that function.
func (u *uses) placesOf(pos token.Pos) (places []token.Position) {
	var f *function
	for i := range u.functions {
		if g := &u.functions[i]; within(g.body, pos) && (f == nil || within(f.body, g.body.Pos())) {
			f = g
		}
	}
	if f == nil || f.name == nil {
		return nil
	}
	from, to := u.fset.Position(f.body.Pos()), u.fset.Position(f.body.End())
	return slices.DeleteFunc(slices.Clone(u.places[f.name]), func(at token.Position) bool {
		return at.Filename == from.Filename && from.Offset <= at.Offset && at.Offset < to.Offset
	})
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
