package importtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxSleeps is the largest number of real-time sleeps in all tests.
const maxSleeps = 20

// A test that sleeps in real time is slow, and depends on the speed of the machine. So tests
// wait for events, and check times in bubbles of synctest, where sleeping takes no time.
// Each of the few other sleeps has a comment with the reason at the end of the line:
//
//	time.Sleep(d) // real time: REASON
//	time.Sleep(d) // bubble: the functions that call this one in a bubble
//
// A function that sleeps counts wherever it is named: its callers sleep as well, unless they
// are in a bubble, or have such a comment. It counts once for a caller that runs in bubbles
// and in real time, and so does a sleep. Callers of its callers do not count.
func TestSleepsAreFewAndSayWhy(t *testing.T) {
	realTime := 0
	for _, s := range sleepsOf(testFiles(t)) {
		if s.bubble {
			continue
		}
		realTime += len(s.places)
		for _, at := range s.places {
			t.Logf("%s sleeps in real time: %s", inModule(t, at), s.reason)
		}
		if s.reason == "" {
			t.Errorf("%s: sleeps outside of a bubble, and has no comment that says why", inModule(t, s.at))
		}
	}
	if t.Logf("%d sleeps in real time", realTime); realTime > maxSleeps {
		t.Errorf("%d sleeps in real time, more than %d", realTime, maxSleeps)
	}
}

// The panic of synctest.Test ends the process, with all other tests.
func TestBubblesAreOfServertest(t *testing.T) {
	fset, folders := testFiles(t)
	found := 0
	for _, files := range folders {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if isName(n, "synctest", "Test") {
					at := inModule(t, fset.Position(n.Pos()))
					if strings.HasPrefix(at, "examples/") || strings.HasPrefix(at, "internal/servertest/bubble.go") {
						found++
					} else {
						t.Errorf("%s: a bubble of synctest instead of servertest.Bubble", at)
					}
				}
				return true
			})
		}
	}
	if found < 2 {
		t.Errorf("the test finds %d bubbles that it knows", found)
	}
}

// inModule returns the file and line of a place.
func inModule(t *testing.T, at token.Position) string {
	t.Helper()
	name, err := filepath.Rel(moduleDir, at.Filename)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(name), at.Line)
}

// testFiles returns all tests of this module and of the modules in its folders, and their
// shared package. They are grouped by folder.
func testFiles(t *testing.T) (*token.FileSet, map[string][]*ast.File) {
	t.Helper()
	folders, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return parsedSet, folders
}

var parsedSet = token.NewFileSet() // the files of parsed

// parsed parses the files of testFiles, once.
var parsed = sync.OnceValues(func() (map[string][]*ast.File, error) {
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
		f, err := parser.ParseFile(parsedSet, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		folders[dir] = append(folders[dir], f)
		return err
	})
	return folders, err
})

// shared is the package that tests share.
const shared = "servertest"

// sleep is a place in which a test sleeps. If it has a reason, the sleep is in real time.
type sleep struct {
	at     token.Position
	bubble bool
	reason string
	// places are the places that count in real time: the place itself, or the ones that name
	// the sleeping function
	places []token.Position
	pos    token.Pos
}

// sleepsOf returns all sleeps of tests, which are grouped by folder.
func sleepsOf(fset *token.FileSet, folders map[string][]*ast.File) []sleep {
	everywhere := sharedBubbles(folders)
	var all []sleep
	u := usesOf(fset, folders)
	for _, files := range folders {
		b := bubbles{everywhere: everywhere}
		b.here = b.in(files)
		for _, f := range files {
			all = append(all, b.sleepsIn(fset, f)...)
			u.note(b, f)
		}
	}
	for i := range all {
		if s := &all[i]; !s.bubble {
			if s.places = u.placesOf(s.pos); len(s.places) == 0 {
				s.places = append(s.places, s.at)
			}
		}
	}
	slices.SortFunc(all, func(a, b sleep) int { return inOrder(a.at, b.at) })
	return all
}

// inOrder compares places by file and offset.
func inOrder(a, b token.Position) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), a.Offset-b.Offset)
}

// bubbles are the names of functions that call the functions they are given in bubbles, as
// synctest.Test does.
type bubbles struct{ here, everywhere map[string]bool }

// in returns the names of the bubbles that files declare.
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

// isOne reports whether f calls a function argument inside a bubble.
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

// sharedBubbles returns the bubbles of the package that tests share.
func sharedBubbles(folders map[string][]*ast.File) map[string]bool {
	for dir, files := range folders {
		if path.Base(dir) == shared {
			return bubbles{}.in(files)
		}
	}
	return nil
}

// walk calls f with all nodes, and whether they are in a bubble.
func (b bubbles) walk(root ast.Node, f func(n ast.Node, bubble bool)) {
	type span struct{ from, to token.Pos }
	var inside []span // arguments called in a bubble
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && b.begins(call) {
			for _, arg := range call.Args {
				inside = append(inside, span{arg.Pos(), arg.End()})
			}
		}
		at := n.Pos()
		f(n, slices.ContainsFunc(inside, func(arg span) bool { return arg.from <= at && at < arg.to && n.End() <= arg.to }))
		return true
	})
}

// sleepsIn returns the places in which a file names time.Sleep, or waits only for
// time.After.
func (b bubbles) sleepsIn(fset *token.FileSet, f *ast.File) (all []sleep) {
	// a case of a select limits another wait, unless its comment declares a sleep
	limits := map[ast.Node]bool{}
	comments := commentsOf(fset, f)
	b.walk(f, func(n ast.Node, bubble bool) {
		if c, ok := n.(*ast.CommClause); ok && c.Comm != nil {
			limits[c.Comm] = true
			if receive, ok := c.Comm.(*ast.ExprStmt); ok {
				limits[receive.X] = true
			}
			return
		}
		if !isName(n, "time", "Sleep") && !waitsOnly(n) {
			return
		}
		s := sleep{at: fset.Position(n.Pos()), bubble: bubble, pos: n.Pos()}
		kind, text := comments.kindAt(s.at.Line)
		switch kind {
		case "real time":
			s.reason = text
		case "bubble":
			s.bubble = s.bubble || text != ""
		}
		if !limits[n] || kind == "real time" {
			all = append(all, s)
		}
	})
	return all
}

// comments are the texts of the comments at the ends of lines, by the number of the line.
type comments map[int]string

// commentsOf returns the comments of a file.
func commentsOf(fset *token.FileSet, f *ast.File) comments {
	all := comments{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			line := fset.Position(c.Pos()).Line
			if text, ok := strings.CutPrefix(c.Text, "//"); ok && all[line] == "" {
				all[line] = strings.TrimSpace(text)
			}
		}
	}
	return all
}

// kindAt returns the kind of a sleep and the reason, from the comment at the end of a line.
func (c comments) kindAt(line int) (kind, text string) {
	kind, text, _ = strings.Cut(c[line], ": ")
	return kind, text
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

// sleepsIn returns the sleeps of tests, by the names of their files.
func sleepsIn(t *testing.T, sources map[string]string) []sleep {
	t.Helper()
	fset := token.NewFileSet()
	folders := map[string][]*ast.File{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], f)
	}
	return sleepsOf(fset, folders)
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
				select { case <-done: case <-time.After(1): } // real time: so long
			}
			func called() { time.Sleep(1) } // bubble: TestA
			func beside(t T, f func()) { f(); synctest.Test(t, func() {}) }`,
		"x/b_test.go": `package x
			func (*X) in2(t T, f func()) { in(t, func(T) { f() }) }
			func in(t T, f func(t T)) { t.Run("", func(t T) { synctest.Test(t, f) }) }
			var pause = time.Sleep`,
	}
	var got []string
	for _, s := range sleepsIn(t, sources) {
		got = append(got, fmt.Sprint(path.Base(s.at.Filename), ":", s.at.Line, " ", s.bubble, " ", s.reason))
	}
	want := []string{
		"a_test.go:3 false ", "a_test.go:4 false ", "a_test.go:5 false ", "a_test.go:6 false no other way",
		"a_test.go:7 true ", "a_test.go:8 true ", "a_test.go:9 true ", "a_test.go:10 true ",
		"a_test.go:12 false ", "a_test.go:13 false ", "a_test.go:15 false so long", "a_test.go:17 true ",
		"b_test.go:4 false ", "a.go:3 false it waits",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestSleepsCountForThoseWhoCall(t *testing.T) {
	const helpers = `package x
		func nap() { time.Sleep(1) } // real time: it must
		func doze() { snooze() }
		func snooze() { time.Sleep(1) }
		func napTwice() { time.Sleep(1); time.Sleep(1) }
		func (*bed) nap(d int) { select { case <-d: case <-time.After(1): } } // real time: it must
		func (*floor) nap(d int) {}
		func (*floor) Read() { time.Sleep(1) }
		func again(n int) { time.Sleep(1); again(n - 1) }
		func inside() { time.Sleep(1) } // bubble: TestX
		func sleeper[V any](v V) { time.Sleep(1) }
		var rest = time.Sleep
		type reader interface { Read() }
		type bed struct { soft any }
		type floor struct { hard any }
		func in(t T, f func()) { synctest.Test(t, func(t T) { f() }) }
	`
	// each sleep counts once if its function is never named; two of them are in servertest
	const least = 11
	for _, tt := range []struct {
		body string
		more int // sleeps that count in addition
	}{
		{"", 0},
		{"nap()", 0},
		{"nap(); nap()", 1},
		{"nap(); go nap(); t.Run(name, nap)", 2},
		{"for { nap() }; defer nap()", 1},
		{"nap(); napTwice(); napTwice()", 2},
		{"synctest.Test(t, func(t T) { nap(); nap() })", 0},
		{"in(t, func() { nap() }); in(t, nap); nap()", 0},
		{"nap() \n nap() // bubble: nobody else", 0},
		{"nap() \n nap() \n nap() // real time: for its own reason", 2},
		{"doze(); doze(); doze()", 0},
		{"nap := func() {}; nap(); nap(); nap()", 0},
		{"wait := func() { time.Sleep(1) }; wait(); wait(); wait()", 3},
		{"wait := func() { time.Sleep(1) }; in(t, func() { wait() }); other(wait)", 1},
		{"var wait = func() { time.Sleep(1) }; wait(); wait()", 2},
		{"x := fasthttp.Server{Handler: func() { nap(); nap() }}", 1},
		{"unknown.Call(unknown.X{Y: nap}, func() { nap() })", 1},
		{"b := new(bed); b.nap(1); b.nap(2)", 1},
		{"b := &bed{}; g := new(floor); b.nap(1); g.nap(2); g.nap(3)", 0},
		{"var r reader; r.Read(); r.Read()", 0},
		{"again(3)", 0},
		{"inside(); inside()", 0},
		{"sleeper(1); sleeper(true)", 1},
		{"rest(1); rest(2)", 1},
		{"servertest.Wait(); servertest.Wait(); new(servertest.Line).Wait()", 1},
	} {
		sources := map[string]string{
			"x/a_test.go": helpers,
			"x/b_test.go": "package x\nimport \"m/internal/servertest\"\nfunc TestX(t T) {\n" + tt.body + "\n}",
			// another package of the folder, which has a function of that name
			"x/c_test.go": "package x_test\nfunc TestY(t T) { nap(); nap() }\nfunc nap() {}",
			"m/internal/servertest/a.go": `package servertest
				func Wait() { time.Sleep(1) }
				type Line struct{}
				func (*Line) Wait() { time.Sleep(1) }`,
		}
		got := -least
		for _, s := range sleepsIn(t, sources) {
			got += len(s.places)
		}
		if got != tt.more {
			t.Errorf("%q: %d more sleeps, want %d", tt.body, got, tt.more)
		}
	}
}
