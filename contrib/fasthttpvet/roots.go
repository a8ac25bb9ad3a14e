package fasthttpvet

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// root is where a value is from: a parameter, or a call that acquires a value from a pool.
type root struct {
	value ssa.Value
	call  *ssa.Call // the last call whose result is memory of value, or nil
	deep  bool      // from within a parameter, not the parameter itself
}

// walk follows a value back to its roots.
type walk struct {
	*flow
	seen  map[visit]bool
	found []root
}

// visit is a step of a walk: reads of variables depend on their place.
type visit struct {
	value ssa.Value
	at    ssa.Instruction
	field int
	call  *ssa.Call
}

// roots returns the roots of v at an instruction that uses it.
func (f *flow) roots(v ssa.Value, at ssa.Instruction) []root {
	if v == nil || !carries(v.Type()) {
		return nil
	}
	w := &walk{flow: f, seen: map[visit]bool{}}
	w.value(v, at, root{})
	return w.found
}

func (w *walk) add(v ssa.Value, to root) {
	to.value = v
	if !slices.Contains(w.found, to) {
		w.found = append(w.found, to)
	}
}

// value adds the roots of v. The call and depth of to belong to the walk so far.
func (w *walk) value(v ssa.Value, at ssa.Instruction, to root) {
	step := visit{v, nil, wholeObject, to.call}
	if _, ok := v.(*ssa.Alloc); ok {
		step.at = at
	}
	if v == nil || w.seen[step] || len(w.seen) > 10000 {
		return
	}
	w.seen[step] = true
	if _, tuple := v.Type().(*types.Tuple); !tuple && !carries(v.Type()) {
		return
	}
	switch v := v.(type) {
	case *ssa.Parameter:
		w.parameter(v, to)
	case *ssa.FreeVar:
		w.captured(v, to)
	case *ssa.Alloc:
		w.contents(v, wholeObject, at, to)
	case *ssa.MakeMap, *ssa.MakeSlice:
		w.contents(v, wholeObject, at, to)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			w.load(v, to)
		}
	case *ssa.FieldAddr:
		w.field(v.X, v.Field, v.Type(), v, to)
	case *ssa.Field:
		w.field(v.X, v.Field, v.Type(), v, to)
	case *ssa.MakeClosure:
		for _, binding := range v.Bindings {
			w.value(binding, v, to)
		}
	case *ssa.Phi:
		for _, edge := range v.Edges {
			w.value(edge, v, to)
		}
	case *ssa.Extract:
		w.extract(v, to)
	case *ssa.Call:
		w.call(v, 0, to)
	case *ssa.Convert:
		if isString(v.X.Type()) && isString(v.Type()) || !isString(v.X.Type()) && !isString(v.Type()) {
			w.value(v.X, v, to)
		}
	default:
		if x := operandOf(v); x != nil {
			w.value(x, v.(ssa.Instruction), to)
		}
	}
}

// operandOf returns the operand to which the result of an instruction refers.
func operandOf(v ssa.Value) ssa.Value {
	switch v.(type) {
	case *ssa.IndexAddr, *ssa.Index, *ssa.Lookup, *ssa.Slice, *ssa.SliceToArrayPointer, *ssa.ChangeType,
		*ssa.ChangeInterface, *ssa.MakeInterface, *ssa.TypeAssert, *ssa.Range:
		return *v.(ssa.Instruction).Operands(nil)[0]
	}
	return nil
}

// parameter adds a parameter, or the object that lends it to a function literal.
func (w *walk) parameter(p *ssa.Parameter, to root) {
	w.add(p, to)
	for _, site := range w.sites[p.Parent()] {
		for _, call := range w.usesOf(p.Parent(), site) {
			common := call.Common()
			receiver, _ := receiverAndArgs(common)
			if obj := callee(common); isAPI(obj) && receiver != nil && isMessage(receiver.Type()) {
				lent := to
				if visit, ok := call.(*ssa.Call); ok && lent.call == nil {
					lent.call = visit
				}
				w.value(receiver, call, lent)
			} else if path, _ := namedType(common.Value.Type()); !common.IsInvoke() && path == "iter" {
				w.value(common.Value, call, to)
			}
		}
	}
}

// usesOf returns the calls that get the literal fn as an argument at a site.
func (w *walk) usesOf(fn *ssa.Function, site ssa.Instruction) []ssa.CallInstruction {
	if call, ok := site.(ssa.CallInstruction); ok && slices.Contains(call.Common().Args, ssa.Value(fn)) {
		return []ssa.CallInstruction{call}
	}
	var calls []ssa.CallInstruction
	if closure, ok := site.(*ssa.MakeClosure); ok {
		for _, user := range *closure.Referrers() {
			if call, ok := user.(ssa.CallInstruction); ok && slices.Contains(call.Common().Args, ssa.Value(closure)) {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// captured adds the roots of a captured variable where its literal is made, and of the values
// that the literal itself stores in it.
func (w *walk) captured(v *ssa.FreeVar, to root) {
	i := slices.Index(v.Parent().FreeVars, v)
	for _, site := range w.sites[v.Parent()] {
		if closure, ok := site.(*ssa.MakeClosure); ok && closure.Fn == v.Parent() {
			w.value(closure.Bindings[i], closure, to)
		}
	}
}

// load adds the roots of the value at an address.
func (w *walk) load(v *ssa.UnOp, to root) {
	switch address := v.X.(type) {
	case *ssa.Alloc:
		w.contents(address, wholeObject, v, to)
	case *ssa.FieldAddr:
		w.field(address.X, address.Field, v.Type(), v, to)
	case *ssa.Global:
	default:
		w.value(v.X, v, to)
	}
}

// field adds the roots of a field of base, which is a struct or a pointer to one.
func (w *walk) field(base ssa.Value, field int, t types.Type, at ssa.Instruction, to root) {
	if isContext(base.Type()) || isMessage(base.Type()) {
		// other fields of a context, such as a logger, do not belong to the request
		if p, ok := t.Underlying().(*types.Pointer); !isContext(t) && !isMessage(t) && !isBytes(t) && !(ok && isContext(p.Elem())) && !embedsContext(t) {
			return
		}
		if len(w.objectsWithWrites(base, field)) == 0 {
			w.value(base, at, to)
			return
		}
	}
	for _, object := range w.objects(base) {
		switch object := object.(type) {
		case *ssa.Parameter:
			deeper := to
			deeper.deep = true
			w.contents(object, field, at, to)
			w.add(object, deeper)
		case *ssa.Call:
			w.contents(object, field, at, to)
			w.value(object, at, to)
		case *ssa.Global:
		default:
			w.contents(object, field, at, to)
		}
	}
	if load, ok := base.(*ssa.UnOp); ok && load.Op == token.MUL {
		if alloc, ok := load.X.(*ssa.Alloc); ok {
			w.contents(alloc, field, at, to)
		}
	}
}

// objectsWithWrites returns the local objects of base whose field is written.
func (w *walk) objectsWithWrites(base ssa.Value, field int) []ssa.Value {
	var found []ssa.Value
	for _, object := range w.objects(base) {
		if _, ok := object.(*ssa.Alloc); !ok {
			continue
		}
		for _, wr := range w.familyOf(object.Parent()).writes[object] {
			if wr.field == field {
				found = append(found, object)
			}
		}
	}
	return found
}

// contents adds the roots of the values that an object may hold at an instruction.
func (w *walk) contents(object ssa.Value, field int, at ssa.Instruction, to root) {
	if object.Parent() == nil {
		return
	}
	step := visit{object, at, field + 2, to.call}
	if w.seen[step] {
		return
	}
	w.seen[step] = true
	alloc, _ := object.(*ssa.Alloc)
	for _, wr := range w.familyOf(object.Parent()).writes[object] {
		if field != wholeObject && wr.field != wholeObject && wr.field != field {
			continue
		}
		if alloc != nil && at != nil && !reaches(wr, alloc, field, at) {
			continue
		}
		if call, ok := wr.at.(*ssa.Call); ok && wr.value == ssa.Value(call) {
			w.filled(call, to) // by a method that fills its argument
			continue
		}
		if load, ok := wr.value.(*ssa.UnOp); ok && field != wholeObject && wr.field == wholeObject {
			if source, ok := load.X.(*ssa.Alloc); ok && types.Identical(source.Type(), object.Type()) {
				w.contents(source, field, load, to) // the same field of a struct that is copied
				continue
			}
		}
		w.value(wr.value, wr.at, to)
	}
}

// filled adds the roots of the receiver of a method that fills its argument.
func (w *walk) filled(call *ssa.Call, to root) {
	receiver, _ := receiverAndArgs(call.Common())
	if to.call == nil {
		to.call = call
	}
	w.value(receiver, call, to)
}

// reaches reports whether the value that wr stores in a variable may still be in a field of it
// at an instruction. Only stores in the function of the variable have an order.
func reaches(wr write, alloc *ssa.Alloc, field int, at ssa.Instruction) bool {
	if wr.at.Parent() != alloc.Parent() || at.Parent() != alloc.Parent() {
		return true
	}
	if wr.field != wholeObject {
		field = wr.field
	}
	overwrites := func(instr ssa.Instruction) bool {
		other, ok := instr.(*ssa.Store)
		if !ok || !isCell(other.Addr, alloc) {
			return false
		}
		f, ok := other.Addr.(*ssa.FieldAddr)
		return !ok || f.Field == field
	}
	reached := false
	forward(wr.at, func(instr ssa.Instruction) bool {
		reached = reached || instr == at
		return reached || overwrites(instr)
	})
	return reached
}

// isCell reports whether an address is of a variable or of one of its fields.
func isCell(address ssa.Value, alloc *ssa.Alloc) bool {
	if f, ok := address.(*ssa.FieldAddr); ok {
		address = f.X
	}
	return address == ssa.Value(alloc)
}

// forward calls visit for the instructions that may run after from, in the same function. A
// path ends if visit returns true.
func forward(from ssa.Instruction, visit func(ssa.Instruction) bool) {
	seen := map[*ssa.BasicBlock]bool{}
	var run func(block *ssa.BasicBlock, start int)
	run = func(block *ssa.BasicBlock, start int) {
		for _, instr := range block.Instrs[start:] {
			if visit(instr) {
				return
			}
		}
		for _, next := range block.Succs {
			if !seen[next] {
				seen[next] = true
				run(next, 0)
			}
		}
	}
	run(from.Block(), slices.Index(from.Block().Instrs, from)+1)
}

// extract adds the roots of one value of a tuple.
func (w *walk) extract(v *ssa.Extract, to root) {
	switch tuple := v.Tuple.(type) {
	case *ssa.Call:
		w.call(tuple, v.Index, to)
	case *ssa.Next:
		w.value(tuple.Iter, tuple, to)
	case *ssa.TypeAssert, *ssa.Lookup:
		if v.Index == 0 {
			w.value(operandOf(tuple), v, to)
		}
	}
}

// call adds the roots of a result of a call.
func (w *walk) call(c *ssa.Call, result int, to root) {
	common := c.Common()
	if b, ok := common.Value.(*ssa.Builtin); ok {
		w.builtin(c, b.Name(), to)
		return
	}
	obj := callee(common)
	results := common.Signature().Results()
	if result >= results.Len() || !carries(results.At(result).Type()) {
		return
	}
	if isAPI(obj) {
		if acquires(obj) != "" {
			w.add(c, to)
			return
		}
		receiver, args := receiverAndArgs(common)
		if receiver == nil && len(args) > 0 {
			receiver = args[0]
		}
		if t := results.At(result).Type(); receiver != nil && lends(obj, t, w.immutable) {
			if to.call == nil && (isBytes(t) || !isContext(t)) {
				to.call = c
			}
			w.value(receiver, c, to)
		}
		return
	}
	fn := common.StaticCallee()
	if fn == nil || obj != nil && isCopier(obj) {
		return
	}
	args := values(common)
	if obj != nil && obj.Pkg() != nil && aliases(obj) {
		for _, arg := range args {
			w.value(arg, c, to)
		}
		return
	}
	if e := w.effectsOf(fn); result < len(e.Results) {
		for _, i := range e.Results[result] {
			if i < len(args) {
				w.value(args[i], c, to)
			}
		}
	}
}

// builtin adds the roots of the result of a built-in function.
func (w *walk) builtin(c *ssa.Call, name string, to root) {
	args := c.Common().Args
	switch name {
	case "append":
		defer w.value(args[0], c, to) // a report names an appended value first
		if s, ok := c.Type().Underlying().(*types.Slice); ok && len(args) > 1 {
			if _, basic := s.Elem().Underlying().(*types.Basic); !basic || isString(s.Elem()) {
				w.value(args[1], c, to)
			}
		}
	case "String", "StringData", "Slice", "SliceData", "Add", "min", "max":
		for _, arg := range args {
			w.value(arg, c, to)
		}
	}
}
