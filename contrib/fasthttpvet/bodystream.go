package fasthttpvet

import (
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

func runBodyStream(pass *analysis.Pass) (any, error) {
	f := pass.ResultOf[flows].(*flow)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fn := range f.functions {
		for instr := range instructions(fn) {
			call, ok := instr.(*ssa.Call)
			if !ok || !isBodyStream(call) {
				continue
			}
			if owner := responseOf(call); owner != nil && !f.closes(fn, call, owner) {
				pass.Reportf(call.Pos(), "the stream of the response is not closed: defer CloseBodyStream, or release the response")
			}
		}
	}
	return nil, nil
}

// responseOf returns the response whose stream a call returns if this function owns it: it has
// acquired or declared it.
func responseOf(call *ssa.Call) ssa.Value {
	v := same(call.Call.Args[0])
	switch owner := v.(type) {
	case *ssa.Call:
		if acquires(callee(owner.Common())) == "Response" {
			return v
		}
	case *ssa.Alloc:
		if isMessage(owner.Type()) {
			return v
		}
	}
	return nil
}

// closes reports whether a function closes the stream that a call has returned, releases or
// resets its response, or hands one of them to a function that may do so.
func (f *flow) closes(fn *ssa.Function, stream *ssa.Call, owner ssa.Value) bool {
	if _, acquired := owner.(*ssa.Call); acquired && f.handedOver(owner) {
		return true
	}
	if read, taken := f.streamUses(stream); taken || !read {
		return true
	}
	for _, member := range f.familyOf(fn).members {
		for instr := range instructions(member) {
			if call, ok := instr.(*ssa.Call); ok && isBodyStream(call) && responseOf(call) == owner {
				if _, taken := f.streamUses(call); taken {
					return true
				}
			}
			if call, ok := instr.(ssa.CallInstruction); ok && f.closesResponse(call, owner) {
				return true
			}
			if ret, ok := instr.(*ssa.Return); ok && slices.ContainsFunc(ret.Results, func(v ssa.Value) bool { return same(v) == owner }) {
				return true
			}
		}
	}
	return false
}

// streamUses reports whether a stream is read, and whether it is taken over: closed, stored, returned,
// handed to a function that may close it, or asserted to be a closer.
func (f *flow) streamUses(stream *ssa.Call) (read, taken bool) {
	for _, user := range *stream.Referrers() {
		switch user := user.(type) {
		case *ssa.BinOp, *ssa.DebugRef:
		case *ssa.ChangeInterface, *ssa.MakeInterface:
			read = true
		case ssa.CallInstruction:
			read = true
			if f.takesOver(user, stream) {
				return true, true
			}
		default:
			return read, true
		}
	}
	return read, false
}

func isBodyStream(call *ssa.Call) bool {
	return fullName(callee(call.Common())) == "(*"+fasthttpPath+".Response).BodyStream"
}

// takesOver reports whether a function gets the stream and may close it later: all but those
// of the standard library, which only read it, and methods of the stream.
func (f *flow) takesOver(call ssa.CallInstruction, stream ssa.Value) bool {
	common := call.Common()
	if common.IsInvoke() && common.Value == stream {
		return common.Method.Name() == "Close"
	}
	obj := callee(common)
	return obj == nil || obj.Pkg() == nil || !isStandard(obj.Pkg().Path())
}

// closesResponse reports whether a call closes the stream of a response, or gets the response
// and may do so.
func (f *flow) closesResponse(call ssa.CallInstruction, owner ssa.Value) bool {
	for _, v := range f.released(call) {
		if same(v) == owner {
			return true
		}
	}
	common := call.Common()
	if !slices.ContainsFunc(values(common), func(v ssa.Value) bool { return same(v) == owner || isCapturedAlloc(v, owner) }) {
		return false
	}
	obj := callee(common)
	if !isAPI(obj) {
		return obj == nil || !isClientMethod(obj.Name())
	}
	switch obj.Name() {
	case "CloseBodyStream", "Reset", "ResetBody", "Body", "SwapBody", "BodyWriteTo", "ReleaseBody", "CopyTo":
		return true
	}
	return false
}

// isCapturedAlloc reports whether v is a captured variable that is the response itself.
func isCapturedAlloc(v, owner ssa.Value) bool {
	free, ok := v.(*ssa.FreeVar)
	if !ok {
		return false
	}
	return slices.Contains(new(flow).bindingsIn(free), owner)
}

// bindingsIn returns the bindings of a captured variable by a search of the function around.
func (*flow) bindingsIn(v *ssa.FreeVar) []ssa.Value {
	var found []ssa.Value
	i := slices.Index(v.Parent().FreeVars, v)
	for instr := range instructions(v.Parent().Parent()) {
		if closure, ok := instr.(*ssa.MakeClosure); ok && closure.Fn == v.Parent() {
			found = append(found, closure.Bindings[i])
		}
	}
	return found
}
