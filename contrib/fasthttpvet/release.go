package fasthttpvet

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// pooled are the types whose values fasthttp acquires and releases.
var pooled = []string{"Request", "Response", "Args", "URI", "Cookie", "Timer"}

// acquires returns the name of the type that a function of fasthttp gets from a pool, or "".
func acquires(obj *types.Func) string { return poolName(obj, "Acquire") }

// releases returns the name of the type that a function of fasthttp returns to a pool, or "".
func releases(obj *types.Func) string { return poolName(obj, "Release") }

func poolName(obj *types.Func, prefix string) string {
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != fasthttpPath || obj.Signature().Recv() != nil {
		return ""
	}
	if name, ok := strings.CutPrefix(obj.Name(), prefix); ok && slices.Contains(pooled, name) {
		return name
	}
	return ""
}

// same returns the value that v is: it follows loads from variables that are set only once.
func same(v ssa.Value) ssa.Value {
	for range 20 {
		switch x := v.(type) {
		case *ssa.ChangeType:
			v = x.X
			continue
		case *ssa.UnOp:
			if x.Op == token.MUL {
				if stored := onlyStore(x.X); stored != nil {
					v = stored
					continue
				}
			}
		}
		return v
	}
	return v
}

// onlyStore returns the only value stored in a variable, or nil.
func onlyStore(address ssa.Value) ssa.Value {
	for range 20 {
		free, ok := address.(*ssa.FreeVar)
		if !ok {
			break
		}
		address = nil
		i := slices.Index(free.Parent().FreeVars, free)
		for instr := range instructions(free.Parent().Parent()) {
			if closure, ok := instr.(*ssa.MakeClosure); ok && closure.Fn == free.Parent() {
				address = closure.Bindings[i]
			}
		}
	}
	alloc, ok := address.(*ssa.Alloc)
	if !ok {
		return nil
	}
	stores := new(flow).storesTo(alloc)
	if len(stores) != 1 || stores[0].Parent() != alloc.Parent() {
		return nil
	}
	return stores[0].Val
}

// released returns the arguments that a call returns to a pool.
func (f *flow) released(call ssa.CallInstruction) []ssa.Value {
	common := call.Common()
	obj := callee(common)
	if releases(obj) != "" && len(common.Args) == 1 {
		return common.Args
	}
	if isAPI(obj) {
		return nil
	}
	var found []ssa.Value
	if fn := common.StaticCallee(); fn != nil {
		args := values(common)
		for _, i := range f.effectsOf(fn).Released {
			if i < len(args) {
				found = append(found, args[i])
			}
		}
		if fn.Parent() != nil {
			for instr := range instructions(fn) {
				if inner, ok := instr.(ssa.CallInstruction); ok && releases(callee(inner.Common())) != "" {
					found = append(found, same(inner.Common().Args[0]))
				}
			}
		}
	}
	return found
}

func runRelease(pass *analysis.Pass) (any, error) {
	f := pass.ResultOf[flows].(*flow)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fn := range f.functions {
		for instr := range instructions(fn) {
			if call, ok := instr.(*ssa.Call); ok {
				if acquires(callee(call.Common())) != "" && !inTest(pass, call.Pos()) {
					f.checkLeak(pass, call)
				}
				for _, v := range f.released(call) {
					f.checkAfterRelease(pass, call, same(v))
				}
			}
			if deferred, ok := instr.(*ssa.Defer); ok {
				for _, v := range f.released(deferred) {
					f.checkDeferredRelease(pass, deferred, same(v))
				}
			}
		}
	}
	return nil, nil
}

// checkLeak reports a path from an acquisition to the end of the function on which the value
// is neither released nor handed over.
func (f *flow) checkLeak(pass *analysis.Pass, acquired *ssa.Call) {
	leaks := token.NoPos
	leaked := false
	unknown := f.handedOver(acquired)
	if unknown {
		return
	}
	forward(acquired, func(instr ssa.Instruction) bool {
		if f.ends(instr, acquired) {
			return true
		}
		ret, ok := instr.(*ssa.Return)
		if !ok {
			return false
		}
		if !leaked {
			leaked, leaks = true, ret.Pos()
		}
		return true
	})
	if !leaked {
		return
	}
	name := acquires(callee(acquired.Common()))
	text := fmt.Sprintf("the result of Acquire%s is not released on each path: call Release%s", name, name)
	if leaks.IsValid() {
		text += fmt.Sprintf(", also before the return in line %d", pass.Fset.Position(leaks).Line)
	}
	pass.Reportf(acquired.Pos(), "%s", text)
}

// handedOver reports whether an acquired value leaves the function in a way that is not
// followed: it is stored, merged with other values, or used by a function literal.
func (f *flow) handedOver(v ssa.Value) bool {
	for _, user := range *v.Referrers() {
		switch user := user.(type) {
		case *ssa.Store:
			if user.Val != v {
				continue
			}
			alloc, ok := user.Addr.(*ssa.Alloc)
			if !ok || onlyStore(alloc) != v {
				return true
			}
			if f.capturedForLater(alloc) {
				return true
			}
		case *ssa.Phi, *ssa.MakeInterface, *ssa.MakeClosure, *ssa.MapUpdate, *ssa.Send, *ssa.Go, *ssa.ChangeType:
			return true
		}
	}
	return false
}

// capturedForLater reports whether a literal that captures a variable may release its value or
// keep it: one that is not only deferred.
func (f *flow) capturedForLater(alloc *ssa.Alloc) bool {
	for _, user := range *alloc.Referrers() {
		closure, ok := user.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		for _, use := range *closure.Referrers() {
			if _, deferred := use.(*ssa.Defer); !deferred {
				return true
			}
		}
	}
	return false
}

// ends reports whether an instruction releases a value or hands it over.
func (f *flow) ends(instr ssa.Instruction, v ssa.Value) bool {
	switch instr := instr.(type) {
	case *ssa.Return:
		for _, result := range instr.Results {
			if f.isFrom(result, v, instr) {
				return true
			}
		}
	case *ssa.Panic:
		return true
	case ssa.CallInstruction:
		common := instr.Common()
		for _, released := range f.released(instr) {
			if same(released) == v {
				return true
			}
		}
		if !slices.ContainsFunc(values(common), func(arg ssa.Value) bool { return same(arg) == v }) {
			return false
		}
		obj := callee(common)
		if isAPI(obj) {
			return false
		}
		fn := common.StaticCallee()
		if fn == nil {
			return obj == nil || !isClientMethod(obj.Name())
		}
		e := f.effectsOf(fn)
		for i, arg := range values(common) {
			if same(arg) != v {
				continue
			}
			if slices.Contains(e.Kept, i) || slices.ContainsFunc(e.Stored, func(pair [2]int) bool { return pair[0] == i }) ||
				slices.ContainsFunc(e.Results, func(result []int) bool { return slices.Contains(result, i) }) {
				return true
			}
		}
	case *ssa.Store:
		return same(instr.Val) == v && !isVariable(instr.Addr)
	}
	return false
}

// isLocal reports whether an address is of a local variable, or within one.
func isLocal(address ssa.Value) bool {
	for {
		switch a := address.(type) {
		case *ssa.FieldAddr:
			address = a.X
		case *ssa.IndexAddr:
			address = a.X
		case *ssa.Alloc:
			return true
		default:
			return false
		}
	}
}

func isVariable(address ssa.Value) bool {
	_, ok := address.(*ssa.Alloc)
	return ok
}

// isClientMethod reports whether a method with this name sends requests, as methods of clients
// do, and does not keep its arguments.
func isClientMethod(name string) bool {
	return strings.HasPrefix(name, "Do") || name == "RoundTrip"
}

// isFrom reports whether v refers to the memory of an acquired value or parameter.
func (f *flow) isFrom(v, from ssa.Value, at ssa.Instruction) bool {
	if same(v) == from {
		return true
	}
	return slices.ContainsFunc(f.roots(v, at), func(r root) bool { return r.value == from })
}

// checkAfterRelease reports uses of a value after a call that has released it.
func (f *flow) checkAfterRelease(pass *analysis.Pass, release *ssa.Call, v ssa.Value) {
	if !f.isTracked(v) {
		return
	}
	reported := false
	forward(release, func(instr ssa.Instruction) bool {
		if made, ok := instr.(ssa.Value); reported || ok && made == v {
			return true
		}
		if store, ok := instr.(*ssa.Store); ok && isLocal(store.Addr) {
			return false
		}
		used, again := f.uses(instr, v)
		if !used {
			return false
		}
		reported = true
		pos := instr.Pos()
		if !pos.IsValid() {
			pos = release.Pos()
		}
		if again {
			pass.Reportf(pos, "%s is released twice", describe(v))
		} else {
			pass.Reportf(pos, "%s is used after its release in line %d: release it later, or copy what is needed", describe(v), pass.Fset.Position(release.Pos()).Line)
		}
		return true
	})
}

// isTracked reports whether v is a value whose uses are known: an acquired one, or a parameter.
func (f *flow) isTracked(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Parameter:
		return true
	case *ssa.Call:
		return acquires(callee(v.Common())) != ""
	}
	return false
}

// uses reports whether an instruction uses v or its memory, and whether it releases v.
func (f *flow) uses(instr ssa.Instruction, v ssa.Value) (used, again bool) {
	switch instr := instr.(type) {
	case *ssa.Return, *ssa.Send, *ssa.MapUpdate, *ssa.Store, *ssa.Convert, *ssa.Index, *ssa.Lookup:
	case *ssa.IndexAddr:
		if _, array := instr.X.Type().Underlying().(*types.Pointer); array {
			return false, false
		}
	case ssa.CallInstruction:
		for _, released := range f.released(instr) {
			if same(released) == v {
				return true, true
			}
		}
	default:
		return false, false // only instructions that read or keep the memory
	}
	for _, operand := range instr.Operands(nil) {
		if *operand != nil && carries((*operand).Type()) && f.isFrom(*operand, v, instr) {
			return true, false
		}
	}
	return false, false
}

// describe names a value in a report.
func describe(v ssa.Value) string {
	if call, ok := v.(*ssa.Call); ok {
		return "the result of " + callee(call.Common()).Name()
	}
	return v.Name()
}

// bodyKeepers are methods that set a body without a copy of their argument.
var bodyKeepers = map[string]bool{"SetBodyRaw": true, "SetBodyStream": true, "Send": true, "SendStream": true}

// checkDeferredRelease reports results of the function that belong to a value which a deferred
// call releases, bodies that refer to it, and calls that release it as well.
func (f *flow) checkDeferredRelease(pass *analysis.Pass, deferred *ssa.Defer, v ssa.Value) {
	if !f.isTracked(v) || v.Parent() != deferred.Parent() {
		return
	}
	fn := deferred.Common().StaticCallee()
	direct := fn != nil && releases(callee(deferred.Common())) != ""
	reach := func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Return:
			for _, result := range instr.Results {
				if carries(result.Type()) && f.isFrom(result, v, instr) {
					f.reportLate(pass, instr.Pos(), fmt.Sprintf("the function returns memory of %s, which a deferred call releases", describe(v)), result, instr)
					return true
				}
			}
		case *ssa.Defer:
			if direct && releases(callee(instr.Common())) != "" && same(instr.Common().Args[0]) == v {
				pass.Reportf(instr.Pos(), "%s is released twice: line %d defers a release, too", describe(v), pass.Fset.Position(deferred.Pos()).Line)
			}
		case *ssa.Call:
			obj := callee(instr.Common())
			if direct && releases(obj) != "" && same(instr.Common().Args[0]) == v {
				pass.Reportf(instr.Pos(), "%s is released twice: line %d defers a release, too", describe(v), pass.Fset.Position(deferred.Pos()).Line)
				return false
			}
			if isAPI(obj) && bodyKeepers[obj.Name()] {
				receiver, args := receiverAndArgs(instr.Common())
				if len(args) > 0 && receiver != nil && f.isFrom(args[0], v, instr) && !f.isFrom(receiver, v, instr) && f.belongsToRequest(receiver, instr) {
					f.reportLate(pass, instr.Pos(), fmt.Sprintf("%s does not copy its argument, which is memory of %s, and a deferred call releases it before the response is sent", obj.Name(), describe(v)), args[0], instr)
				}
			}
		}
		return false
	}
	forward(deferred, reach)
}

// belongsToRequest reports whether v is a context, or a part of one.
func (f *flow) belongsToRequest(v ssa.Value, at ssa.Instruction) bool {
	return isContext(v.Type()) || slices.ContainsFunc(f.roots(v, at), func(r root) bool { return isContext(r.value.Type()) })
}

// reportLate reports a value that is used after its release, with a fix that copies it.
func (f *flow) reportLate(pass *analysis.Pass, pos token.Pos, text string, v ssa.Value, at ssa.Instruction) {
	d := analysis.Diagnostic{Pos: pos, Message: text + ": copy it"}
	var calls []*ssa.Call
	for _, from := range f.roots(v, at) {
		if from.call != nil && from.call.Parent() == at.Parent() && !slices.Contains(calls, from.call) {
			calls = append(calls, from.call)
		}
	}
	if fix, ok := cloneFix(pass, calls); ok {
		d.SuggestedFixes = []analysis.SuggestedFix{fix}
	}
	pass.Report(d)
}
