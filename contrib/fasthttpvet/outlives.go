package fasthttpvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
)

func runOutlives(pass *analysis.Pass) (any, error) {
	f := pass.ResultOf[flows].(*flow)
	f.mu.Lock()
	defer f.mu.Unlock()
	reported := map[token.Pos]bool{}
	for _, fn := range f.functions {
		if fn.Parent() != nil {
			continue
		}
		for _, found := range f.findingsOf(fn) {
			pos := found.position()
			if lent := f.lent(found); len(lent) > 0 && !reported[pos] && pos.IsValid() {
				reported[pos] = true
				reportOutlives(pass, found, lent)
			}
		}
	}
	return nil, nil
}

// position returns the place of a finding in the source.
func (found finding) position() token.Pos {
	if found.pos.IsValid() {
		return found.pos
	}
	if pos := found.at.Pos(); pos.IsValid() {
		return pos
	}
	if at, ok := found.at.(*ssa.Store); ok {
		if pos := at.Addr.Pos(); pos.IsValid() {
			return pos
		}
		return at.Val.Pos()
	}
	return token.NoPos
}

// lent returns the roots of a finding that belong to a request which ends before.
func (f *flow) lent(found finding) []root {
	var lent []root
	for _, from := range found.roots {
		p, ok := from.value.(*ssa.Parameter)
		if !ok || from.deep && from.call == nil || !isContext(p.Type()) {
			continue
		}
		fn := p.Parent()
		if isFiber(f.pass.Pkg.Path()) && fn.Signature.Recv() != nil && fn.Params[0] == p {
			continue // the implementation of a context
		}
		if found.kind == kindStream && f.duplex(from.call, found.at.Parent()) {
			continue
		}
		if found.kind == kindStored && !outlives(found.into, fn) {
			continue
		}
		if (found.kind == kindStored || found.kind == kindGlobal) && inTest(f.pass, found.position()) {
			continue // a test looks at it while no other request is served
		}
		lent = append(lent, from)
	}
	slices.SortStableFunc(lent, func(a, b root) int {
		if (a.call != nil) == (b.call != nil) {
			return 0
		} else if a.call != nil {
			return -1
		}
		return 1
	})
	return lent
}

// duplex reports whether a call returns the body of a request that the producer of the response may
// read: the handler has called EnableFullDuplex.
func (f *flow) duplex(body *ssa.Call, fn *ssa.Function) bool {
	if body == nil || !isMethod(body, "RequestBodyStream") {
		return false
	}
	return slices.ContainsFunc(f.familyOf(fn).calls, func(call ssa.CallInstruction) bool { return isMethod(call, "EnableFullDuplex") })
}

// isMethod reports whether a call is of a method of RequestCtx.
func isMethod(call ssa.CallInstruction, name string) bool {
	return fullName(callee(call.Common())) == "(*"+fasthttpPath+".RequestCtx)."+name
}

// outlives reports whether an object lives longer than a call of the handler fn: it is from a
// function around fn, or the receiver of a handler.
func outlives(object ssa.Value, fn *ssa.Function) bool {
	if encloses(object.Parent(), fn) {
		return true
	}
	p, ok := object.(*ssa.Parameter)
	return ok && p.Parent() == fn && fn.Signature.Recv() != nil && fn.Params[0] == p && isHandler(fn)
}

// text describes a way by which a value outlives its handler.
func (found finding) text() string {
	switch found.kind {
	case kindGoroutine:
		return "is used by a goroutine that may outlive the handler"
	case kindCallback:
		return "is used by a function that " + found.name + " may call after the handler has returned"
	case kindStream:
		return "is used by the producer of the body, which runs after the handler has returned"
	case kindSent:
		return "is sent on a channel, and may be used after the handler has returned"
	case kindGlobal:
		return "is stored in the global variable " + found.name
	case kindPassed:
		return "is passed to " + found.name + ", which keeps it after the handler has returned"
	}
	if found.name == "" {
		return "is stored in a variable that outlives the handler"
	}
	return "is stored in " + found.name + ", which outlives the handler"
}

// subject describes the value at a root.
func (r root) subject() (text, remedy string) {
	path, name := namedType(r.value.Type())
	if r.call == nil {
		if path == fasthttpPath {
			name = "*fasthttp." + name
		} else {
			name = types.TypeString(r.value.Type(), func(p *types.Package) string { return p.Name() })
		}
		return fmt.Sprintf("%s (%s)", r.value.Name(), name), "copy what is needed from it before"
	}
	obj := callee(r.call.Common())
	return "the result of " + obj.Name(), "copy it"
}

func reportOutlives(pass *analysis.Pass, found finding, lent []root) {
	subject, remedy := lent[0].subject()
	d := analysis.Diagnostic{
		Pos:     found.position(),
		Message: fmt.Sprintf("%s %s: %s", subject, found.text(), remedy),
	}
	var calls []*ssa.Call
	for _, from := range lent {
		if from.call == nil {
			calls = nil
			break
		}
		if !slices.Contains(calls, from.call) {
			calls = append(calls, from.call)
		}
	}
	if fix, ok := cloneFix(pass, calls); ok {
		d.SuggestedFixes = []analysis.SuggestedFix{fix}
	}
	pass.Report(d)
}

// cloneFix returns a fix that copies the results of calls, if all of them are slices of bytes
// or strings.
func cloneFix(pass *analysis.Pass, calls []*ssa.Call) (analysis.SuggestedFix, bool) {
	fix := analysis.SuggestedFix{Message: "Copy it"}
	imported := map[string]bool{}
	for _, call := range calls {
		t := call.Type()
		pkg := "bytes"
		switch {
		case types.Identical(t, types.Typ[types.String]):
			pkg = "strings"
		case !types.Identical(t, types.NewSlice(types.Typ[types.Byte])):
			return fix, false
		}
		file, expr := enclosingCall(pass, call.Pos())
		if expr == nil {
			return fix, false
		}
		name, edit := importFix(file, pkg)
		if edit != nil && !imported[pkg] {
			fix.TextEdits = append(fix.TextEdits, *edit)
		}
		imported[pkg] = true
		fix.TextEdits = append(fix.TextEdits,
			analysis.TextEdit{Pos: expr.Pos(), End: expr.Pos(), NewText: []byte(name + ".Clone(")},
			analysis.TextEdit{Pos: expr.End(), End: expr.End(), NewText: []byte(")")})
	}
	return fix, len(calls) > 0
}

// enclosingCall returns the call expression with a left parenthesis at pos, and its file.
func enclosingCall(pass *analysis.Pass, pos token.Pos) (*ast.File, *ast.CallExpr) {
	for _, file := range pass.Files {
		if pos < file.FileStart || pos > file.FileEnd {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(file, pos, pos)
		for _, node := range path {
			if call, ok := node.(*ast.CallExpr); ok && call.Lparen == pos {
				return file, call
			}
		}
	}
	return nil, nil
}

// importFix returns the name by which a file imports a package, and an edit if it does not do
// so yet.
func importFix(file *ast.File, path string) (string, *analysis.TextEdit) {
	for _, spec := range file.Imports {
		if got, _ := strconv.Unquote(spec.Path.Value); got == path && (spec.Name == nil || spec.Name.Name != "_" && spec.Name.Name != ".") {
			if spec.Name != nil {
				return spec.Name.Name, nil
			}
			return path, nil
		}
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if ok && group.Tok == token.IMPORT && group.Lparen.IsValid() && len(group.Specs) > 0 {
			at := group.Specs[0].Pos()
			return path, &analysis.TextEdit{Pos: at, End: at, NewText: []byte(strconv.Quote(path) + "\n\t")}
		}
	}
	at := file.Name.End()
	return path, &analysis.TextEdit{Pos: at, End: at, NewText: []byte("\n\nimport " + strconv.Quote(path))}
}
