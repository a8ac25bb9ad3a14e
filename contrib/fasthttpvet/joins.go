package fasthttpvet

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// joined reports whether the function of an instruction that starts other work waits for it on
// each path, as far as that can be seen: by a method Wait, by a receive from a channel that
// the function has made, or by stopping a timer. It is also true if the handler calls
// TimeoutError or Abandon, which permit that goroutines still use the context.
func (f *flow) joined(at ssa.Instruction) bool {
	fn := at.Parent()
	for _, call := range f.familyOf(fn).calls {
		if f.leaves(call.Common(), 2) {
			return true
		}
	}
	for outer := fn; ; outer = outer.Parent() {
		if outer != fn && f.hasJoin(outer) {
			return true
		}
		if outer.Parent() == nil || takesContext(outer) {
			break
		}
	}
	blocks, edges := map[*ssa.BasicBlock]bool{}, map[edge]bool{}
	for instr := range instructions(fn) {
		if deferred, ok := instr.(*ssa.Defer); ok && f.waits(deferred) {
			return true
		}
		if sel, ok := instr.(*ssa.Select); ok {
			for _, e := range f.joinEdges(sel) {
				edges[e] = true
			}
		}
		if block := instr.Block(); f.isJoin(instr) {
			blocks[block] = true
			for d := block; d != nil; d = d.Idom() {
				if leads(block, d) {
					blocks[d] = true // the head of a loop that waits
					for _, before := range d.Preds {
						// the test of the loop before its first round
						if _, test := before.Instrs[len(before.Instrs)-1].(*ssa.If); test {
							blocks[before] = true
						}
					}
				}
			}
		}
	}
	return !returnsPast(at, blocks, edges)
}

// leaves reports whether a call leaves the context to goroutines of the handler: it is a
// TimeoutError method of fasthttp, Abandon of Fiber, or a function that calls one of them.
func (f *flow) leaves(call *ssa.CallCommon, depth int) bool {
	if obj := callee(call); isAPI(obj) {
		return strings.HasPrefix(obj.Name(), "TimeoutError") || obj.Name() == "Abandon"
	}
	fn := call.StaticCallee()
	if depth == 0 || fn == nil || !takesContext(fn) {
		return false
	}
	for instr := range instructions(fn) {
		if inner, ok := instr.(ssa.CallInstruction); ok && f.leaves(inner.Common(), depth-1) {
			return true
		}
	}
	return false
}

// edge is a way from one block to another.
type edge struct{ from, to *ssa.BasicBlock }

// returnsPast reports whether a function may return after an instruction without passing any
// of the blocks and edges.
func returnsPast(at ssa.Instruction, blocks map[*ssa.BasicBlock]bool, edges map[edge]bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	work := []*ssa.BasicBlock{at.Block()}
	for len(work) > 0 {
		block := work[len(work)-1]
		work = work[:len(work)-1]
		if blocks[block] {
			continue
		}
		if _, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return); ok {
			return true
		}
		for _, next := range block.Succs {
			if !seen[next] && !edges[edge{block, next}] {
				seen[next] = true
				work = append(work, next)
			}
		}
	}
	return false
}

func takesContext(fn *ssa.Function) bool {
	for _, p := range fn.Params {
		if isContext(p.Type()) {
			return true
		}
	}
	return false
}

// leads reports whether control can flow from one block to another.
func leads(from, to *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	work := []*ssa.BasicBlock{from}
	for len(work) > 0 {
		block := work[len(work)-1]
		work = work[:len(work)-1]
		for _, next := range block.Succs {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				work = append(work, next)
			}
		}
	}
	return false
}

// hasJoin reports whether a function waits for anything.
func (f *flow) hasJoin(fn *ssa.Function) bool {
	for instr := range instructions(fn) {
		sel, ok := instr.(*ssa.Select)
		if f.isJoin(instr) || ok && len(f.joinEdges(sel)) > 0 {
			return true
		}
	}
	return false
}

// waits reports whether a call waits for goroutines, or stops a timer.
func (f *flow) waits(call ssa.CallInstruction) bool {
	common := call.Common()
	obj := callee(common)
	if obj == nil {
		return false
	}
	if fn := common.StaticCallee(); fn != nil && fn.Parent() != nil && f.hasJoin(fn) {
		return true // a literal
	}
	if obj.Signature().Recv() == nil || obj.Signature().Params().Len() > 0 {
		return false
	}
	return obj.Name() == "Wait" || strings.HasPrefix(obj.Name(), "StopAndWait") || fullName(obj) == "(*time.Timer).Stop"
}

// isJoin reports whether an instruction waits for work.
func (f *flow) isJoin(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Defer:
		return f.waits(instr)
	case *ssa.Call:
		return f.waits(instr)
	case *ssa.UnOp:
		return instr.Op == token.ARROW && f.isLocalChannel(instr.X)
	case *ssa.Select:
		return instr.Blocking && !slices.ContainsFunc(instr.States, func(state *ssa.SelectState) bool {
			return state.Dir != types.RecvOnly || !f.isLocalChannel(state.Chan)
		})
	}
	return false
}

// joinEdges returns the edges to the cases of a select statement that wait for work.
func (f *flow) joinEdges(sel *ssa.Select) []edge {
	var edges []edge
	for i, state := range sel.States {
		if state.Dir == types.RecvOnly && f.isLocalChannel(state.Chan) {
			edges = append(edges, edgesOf(sel, i)...)
		}
	}
	return edges
}

// isLocalChannel reports whether a channel was made in the same function or in one around it,
// or is in an object that was made there.
func (f *flow) isLocalChannel(v ssa.Value) bool {
	for _, object := range f.objects(v) {
		switch object := object.(type) {
		case *ssa.MakeChan, *ssa.Alloc:
			return true
		case *ssa.Call:
			if fn := object.Call.StaticCallee(); fn != nil && len(fn.Blocks) > 0 {
				return true
			}
		}
	}
	return false
}

// edgesOf returns the edges that control takes if a select statement has chosen a case.
func edgesOf(sel *ssa.Select, chosen int) []edge {
	var edges []edge
	for _, user := range *sel.Referrers() {
		index, ok := user.(*ssa.Extract)
		if !ok || index.Index != 0 {
			continue
		}
		for _, test := range *index.Referrers() {
			compare, ok := test.(*ssa.BinOp)
			if !ok || compare.Op != token.EQL {
				continue
			}
			c, ok := compare.Y.(*ssa.Const)
			if !ok || c.Value == nil || !constant.Compare(c.Value, token.EQL, constant.MakeInt64(int64(chosen))) {
				continue
			}
			for _, branch := range *compare.Referrers() {
				if branch, ok := branch.(*ssa.If); ok {
					edges = append(edges, edge{branch.Block(), branch.Block().Succs[0]})
				}
			}
		}
	}
	return edges
}
