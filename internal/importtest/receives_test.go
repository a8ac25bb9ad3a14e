package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// A test that waits for a value that never comes should fail, and say which value, long before
// the time of all tests is up. So tests receive with servertest.Receive, or in a select. Bubbles
// notice by themselves that all goroutines wait. Handlers and goroutines may wait as long as
// they like, since the test that waits for them has a limit. Of the few other receives each has
// a comment with the reason at the end of the line:
//
//	<-c // ends: REASON
func TestReceivesHaveAnEnd(t *testing.T) {
	for _, at := range receivesOf(testFiles(t)) {
		t.Errorf("%s: receives without a limit, and has no comment that says why", inModule(t, at))
	}
}

// receivesOf returns the receives of tests that have no limit. Tests are grouped by folder.
func receivesOf(fset *token.FileSet, folders map[string][]*ast.File) (all []token.Position) {
	everywhere := sharedBubbles(folders)
	for _, files := range folders {
		b := bubbles{everywhere: everywhere}
		b.here = b.in(files)
		for _, f := range files {
			all = append(all, b.receivesIn(fset, f)...)
		}
	}
	slices.SortFunc(all, inOrder)
	return all
}

func (b bubbles) receivesIn(fset *token.FileSet, f *ast.File) (all []token.Position) {
	bubble := map[ast.Node]bool{}
	b.walk(f, func(n ast.Node, is bool) { bubble[n] = is })
	var around []ast.Node
	comments := commentsOf(fset, f)
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return false
		}
		around = append(around, n)
		if receive, ok := n.(*ast.UnaryExpr); !ok || receive.Op != token.ARROW || bubble[n] || !waits(around) {
			return true
		}
		at := fset.Position(n.Pos())
		if kind, text := comments.kindAt(at.Line); kind != "ends" && kind != "bubble" || text == "" {
			all = append(all, at)
		}
		return true
	})
	return all
}

// waits reports whether the last of the nodes, which are in each other, is a receive that a test
// itself waits for: it is not in a select, nor only taken if there is something, and its function
// is a test, or a helper of tests.
func waits(nodes []ast.Node) bool {
	last := len(nodes) - 1
	for i, n := range slices.Backward(nodes) {
		switch n := n.(type) {
		case *ast.CommClause:
			if i < last && nodes[i+1] == n.Comm {
				return false
			}
		case *ast.IfStmt:
			if asksForLength(n.Cond) && nodes[i+1] == n.Body {
				return false
			}
		case *ast.FuncLit:
			if takesTest(n.Type) {
				return true
			}
			if !runsInTest(n, nodes[:i]) {
				return false
			}
		case *ast.FuncDecl:
			return takesTest(n.Type)
		}
	}
	return false
}

// asksForLength reports whether a condition is len(c) > 0.
func asksForLength(cond ast.Expr) bool {
	is, ok := cond.(*ast.BinaryExpr)
	if !ok || is.Op != token.GTR {
		return false
	}
	call, ok := is.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == "len"
}

// takesTest reports whether a function has a testing.T, B, F or TB.
func takesTest(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		of := p.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		s, ok := of.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == "testing"
	})
}

// runsInTest reports whether a function without a test runs in the goroutine of the function
// around it: it is called or deferred there, or an argument of Cleanup.
func runsInTest(f *ast.FuncLit, around []ast.Node) bool {
	if len(around) < 2 {
		return false
	}
	call, ok := around[len(around)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	if call.Fun == f {
		_, begins := around[len(around)-2].(*ast.GoStmt)
		return !begins
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Cleanup"
}

func TestReceivesAreFound(t *testing.T) {
	const source = `package x
func TestA(t *testing.T) {
	<-c
	v, ok := <-c
	select {
	case <-c:
	case v := <-c: <-c
	default:
	}
	if n := len(c); n > 0 { <-c }
	if len(c) > 0 { t.Error(<-c) }
	go func() { <-c }()
	func() { <-c }()
	defer func() { <-c }()
	t.Cleanup(func() { <-c })
	serve(func(ctx *RequestCtx) { <-c })
	t.Run("", func(t *testing.T) { <-c })
	synctest.Test(t, func(t *testing.T) { <-c })
	<-c // because
	<-c // ends: it is closed
	c <- <-c
}
func helper(t testing.TB, c chan int) int { return <-c }
func (h *host) handle(ctx *RequestCtx) { <-c }
func in(t *testing.T) { <-c } // bubble: TestA
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x/a_test.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, at := range receivesOf(fset, map[string][]*ast.File{"x": {f}}) {
		got = append(got, at.Line)
	}
	if want := []int{3, 4, 7, 10, 13, 14, 15, 17, 19, 21, 23}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
