package importtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxSleeps is how many times all tests together may sleep in real time.
const maxSleeps = 20

// A test that sleeps in real time is slow, and relies on how fast the machine is. So tests
// wait for events, and what they check of time they check in bubbles of synctest, where
// sleeping takes no time. The few other sleeps say why they are needed, in a comment at
// the end of the line:
//
//	time.Sleep(d) // real time: REASON
//	time.Sleep(d) // bubble: the functions that call this one in a bubble
func TestSleepsAreFewAndSayWhy(t *testing.T) {
	fset := token.NewFileSet()
	realTime := 0
	for _, s := range sleepsOf(fset, testFiles(t, fset)) {
		if s.bubble {
			continue
		}
		realTime++
		if s.reason == "" {
			name, err := filepath.Rel(moduleDir, s.at.Filename)
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s:%d: sleeps outside of a bubble, and has no comment that says why", filepath.ToSlash(name), s.at.Line)
		}
	}
	if t.Logf("%d sleeps in real time", realTime); realTime > maxSleeps {
		t.Errorf("%d sleeps in real time, more than %d", realTime, maxSleeps)
	}
}

// testFiles parses all tests of this module and of those in its folders, and what they
// share. They are grouped by folder.
func testFiles(t *testing.T, fset *token.FileSet) map[string][]*ast.File {
	t.Helper()
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(moduleDir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base, dir := entry.Name(), filepath.ToSlash(filepath.Dir(name))
		ignored := base[0] == '_' || base[0] == '.' && name != moduleDir
		if entry.IsDir() {
			if ignored || base == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if ignored || !strings.HasSuffix(base, ".go") || !strings.HasSuffix(base, "_test.go") && path.Base(dir) != shared {
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		folders[dir] = append(folders[dir], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// shared is the package of what tests share.
const shared = "servertest"

// sleep is a place in which a test sleeps. If it has a reason, it does so in real time.
type sleep struct {
	at     token.Position
	bubble bool
	reason string
}

// sleepsOf returns all sleeps of tests, which are grouped by folder.
func sleepsOf(fset *token.FileSet, folders map[string][]*ast.File) []sleep {
	var everywhere map[string]bool
	for dir, files := range folders {
		if path.Base(dir) == shared {
			everywhere = bubbles{}.in(files)
		}
	}
	var all []sleep
	for _, files := range folders {
		b := bubbles{everywhere: everywhere}
		b.here = b.in(files)
		for _, f := range files {
			all = append(all, b.sleepsIn(fset, f)...)
		}
	}
	slices.SortFunc(all, func(a, b sleep) int {
		if a.at.Filename != b.at.Filename {
			return strings.Compare(a.at.Filename, b.at.Filename)
		}
		return a.at.Offset - b.at.Offset
	})
	return all
}

// bubbles are the names of functions that call the functions they are given in bubbles, as
// synctest.Test does.
type bubbles struct{ here, everywhere map[string]bool }

// in returns the names of those that files declare.
func (b bubbles) in(files []*ast.File) map[string]bool {
	b.here = map[string]bool{}
	for more := true; more; {
		more = false
		for _, f := range files {
			for _, d := range f.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && !b.here[f.Name.Name] && b.isOne(f) {
					b.here[f.Name.Name], more = true, true
				}
			}
		}
	}
	return b.here
}

// isOne reports whether f names a function that it is given inside a bubble.
func (b bubbles) isOne(f *ast.FuncDecl) (is bool) {
	given := map[string]bool{}
	for _, p := range f.Type.Params.List {
		for _, name := range p.Names {
			_, isFunc := p.Type.(*ast.FuncType)
			given[name.Name] = isFunc
		}
	}
	if f.Body != nil {
		b.walk(f.Body, func(n ast.Node, bubble bool) {
			name, ok := n.(*ast.Ident)
			is = is || ok && bubble && given[name.Name]
		})
	}
	return is
}

// begins reports whether a call calls its arguments in a bubble.
func (b bubbles) begins(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return b.here[f.Name]
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == shared {
			return b.everywhere[f.Sel.Name]
		}
		return isName(f, "synctest", "Test") || b.here[f.Sel.Name]
	}
	return false
}

// walk calls f with all nodes, and whether they are in a bubble.
func (b bubbles) walk(root ast.Node, f func(n ast.Node, bubble bool)) {
	var inside []ast.Expr // arguments that are called in a bubble
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && b.begins(call) {
			inside = append(inside, call.Args...)
		}
		f(n, slices.ContainsFunc(inside, func(arg ast.Expr) bool { return arg.Pos() <= n.Pos() && n.End() <= arg.End() }))
		return true
	})
}

// sleepsIn returns the places in which a file names time.Sleep, or waits for time.After
// and nothing else.
func (b bubbles) sleepsIn(fset *token.FileSet, f *ast.File) (all []sleep) {
	// a case of a select limits the wait for another one
	limits := map[ast.Node]bool{}
	b.walk(f, func(n ast.Node, bubble bool) {
		if c, ok := n.(*ast.CommClause); ok && c.Comm != nil {
			limits[c.Comm] = true
			if receive, ok := c.Comm.(*ast.ExprStmt); ok {
				limits[receive.X] = true
			}
			return
		}
		if !isName(n, "time", "Sleep") && (limits[n] || !waitsOnly(n)) {
			return
		}
		s := sleep{at: fset.Position(n.Pos()), bubble: bubble}
		switch kind, text, _ := strings.Cut(commentAt(fset, f, s.at.Line), ": "); kind {
		case "real time":
			s.reason = text
		case "bubble":
			s.bubble = s.bubble || text != ""
		}
		all = append(all, s)
	})
	return all
}

// waitsOnly reports whether n is <-time.After(d).
func waitsOnly(n ast.Node) bool {
	receive, ok := n.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	call, ok := receive.X.(*ast.CallExpr)
	return ok && isName(call.Fun, "time", "After")
}

func isName(n ast.Node, pkg, name string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// commentAt returns the text of the comment at the end of a line.
func commentAt(fset *token.FileSet, f *ast.File, line int) string {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if text, ok := strings.CutPrefix(c.Text, "//"); ok && fset.Position(c.Pos()).Line == line {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

func TestSleepsAreFound(t *testing.T) {
	sources := map[string]string{
		"x/internal/servertest/a.go": `package servertest
			func Bubble(t T, f func()) { synctest.Test(t, func(t T) { f() }) }
			func Waits() { time.Sleep(1) } // real time: it waits`,
		"x/a_test.go": `package x
			func TestA(t T) {
				time.Sleep(1)
				time.Sleep(1) // because
				time.Sleep(1) // real time:
				time.Sleep(1) // real time: no other way
				synctest.Test(t, func(t T) { time.Sleep(1) })
				servertest.Bubble(t, func() { time.Sleep(1) })
				in(t, func(t T) { time.Sleep(1) })
				x.in2(t, func() { time.Sleep(1) })
				synctest.Test(t, called)
				beside(t, func() { time.Sleep(1) })
				for !done() { <-time.After(1) }
				select { case <-done: case <-time.After(1): }
			}
			func called() { time.Sleep(1) } // bubble: TestA
			func beside(t T, f func()) { f(); synctest.Test(t, func() {}) }`,
		"x/b_test.go": `package x
			func (*X) in2(t T, f func()) { in(t, func(T) { f() }) }
			func in(t T, f func(t T)) { t.Run("", func(t T) { synctest.Test(t, f) }) }
			var pause = time.Sleep`,
	}
	fset := token.NewFileSet()
	folders := map[string][]*ast.File{}
	for name, text := range sources {
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], f)
	}
	var got []string
	for _, s := range sleepsOf(fset, folders) {
		got = append(got, fmt.Sprint(path.Base(s.at.Filename), ":", s.at.Line, " ", s.bubble, " ", s.reason))
	}
	want := []string{
		"a_test.go:3 false ", "a_test.go:4 false ", "a_test.go:5 false ", "a_test.go:6 false no other way",
		"a_test.go:7 true ", "a_test.go:8 true ", "a_test.go:9 true ", "a_test.go:10 true ",
		"a_test.go:12 false ", "a_test.go:13 false ", "a_test.go:16 true ",
		"b_test.go:4 false ", "a.go:3 false it waits",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
