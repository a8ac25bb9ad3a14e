package fasthttpvet

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// kind is the way by which a value may outlive the function that has it.
type kind int

const (
	kindGoroutine kind = iota // used by a go statement
	kindCallback              // passed to a function that calls it later
	kindStream                // used by the producer of a response body
	kindSent                  // sent on a channel
	kindGlobal                // stored in a global variable
	kindStored                // stored in an object that may live longer
	kindPassed                // passed to a function that keeps it
)

// finding is a place where values may outlive the function that has them.
type finding struct {
	kind  kind
	at    ssa.Instruction
	pos   token.Pos
	roots []root
	into  ssa.Value // the object for kindStored
	name  string    // of the function or variable
}

// callback describes a function that keeps another function.
type callback struct {
	arg      int  // its place, after the receiver
	joinable bool // callers often wait until it was called
	kind     kind
}

// callbacks are functions that call an argument later.
var callbacks = map[string]callback{
	"time.AfterFunc":                                                {1, true, kindCallback},
	"context.AfterFunc":                                             {1, true, kindCallback},
	"runtime.SetFinalizer":                                          {1, false, kindCallback},
	"(*sync.WaitGroup).Go":                                          {0, true, kindGoroutine},
	"(*golang.org/x/sync/errgroup.Group).Go":                        {0, true, kindGoroutine},
	"(*golang.org/x/sync/errgroup.Group).TryGo":                     {0, true, kindGoroutine},
	"github.com/panjf2000/ants/v2.Submit":                           {0, true, kindGoroutine},
	"(*github.com/panjf2000/ants/v2.Pool).Submit":                   {0, true, kindGoroutine},
	"(*github.com/gammazero/workerpool.WorkerPool).Submit":          {0, true, kindGoroutine},
	"(*github.com/sourcegraph/conc.WaitGroup).Go":                   {0, true, kindGoroutine},
	"(*github.com/sourcegraph/conc/pool.Pool).Go":                   {0, true, kindGoroutine},
	"(*github.com/valyala/fasthttp.RequestCtx).SetBodyStreamWriter": {0, false, kindStream},
	"(*github.com/valyala/fasthttp.Response).SetBodyStreamWriter":   {0, false, kindStream},
	"(*github.com/gofiber/fiber/v3.DefaultCtx).SendStreamWriter":    {0, false, kindStream},
	"(github.com/gofiber/fiber/v3.Ctx).SendStreamWriter":            {0, false, kindStream},
}

// keepers are methods that store their arguments in their receiver.
var keepers = map[string]bool{
	"(*sync.Map).Store": true, "(*sync.Map).LoadOrStore": true, "(*sync.Map).Swap": true,
	"(*sync/atomic.Value).Store": true, "(*sync/atomic.Value).Swap": true,
	"(*sync/atomic.Pointer[T]).Store": true, "(*sync/atomic.Pointer[T]).Swap": true,
	"(*container/list.List).PushBack": true, "(*container/list.List).PushFront": true,
}

// findingsOf returns the findings in a declared function and its literals.
func (f *flow) findingsOf(fn *ssa.Function) []finding {
	if found, ok := f.findings[fn]; ok {
		return found
	}
	f.findings[fn] = nil                                             // for recursion
	for _, member := range slices.Backward(f.familyOf(fn).members) { // literals before the functions that call them
		for instr := range instructions(member) {
			f.check(fn, instr)
		}
	}
	return f.findings[fn]
}

// note adds a finding if any of the values has a root.
func (f *flow) note(fn *ssa.Function, found finding, at ssa.Instruction, values ...ssa.Value) {
	for _, v := range values {
		for _, from := range f.roots(v, at) {
			if !slices.Contains(found.roots, from) {
				found.roots = append(found.roots, from)
			}
		}
	}
	if len(found.roots) > 0 {
		f.findings[fn] = append(f.findings[fn], found)
	}
}

// check adds the findings at an instruction to the list of the declared function fn.
func (f *flow) check(fn *ssa.Function, instr ssa.Instruction) {
	switch instr := instr.(type) {
	case *ssa.Go:
		f.checkGo(fn, instr)
	case *ssa.Send:
		f.checkSend(fn, instr, instr.Pos(), instr.Chan, instr.X)
	case *ssa.Select:
		for _, state := range instr.States {
			if state.Dir == types.SendOnly {
				f.checkSend(fn, instr, state.Pos, state.Chan, state.Send)
			}
		}
	case *ssa.Store:
		f.checkStore(fn, instr, instr.Addr, instr.Val)
	case *ssa.MapUpdate:
		f.checkStore(fn, instr, instr.Map, instr.Value, instr.Key)
	case *ssa.Call:
		f.checkCall(fn, instr)
	}
}

func (f *flow) checkGo(fn *ssa.Function, instr *ssa.Go) {
	if f.joined(instr) {
		return
	}
	common := instr.Common()
	found := finding{kind: kindGoroutine, at: instr}
	used := values(common)
	if closure, ok := common.Value.(*ssa.MakeClosure); ok {
		for _, binding := range closure.Bindings {
			for _, from := range f.roots(binding, closure) {
				if !slices.Contains(found.roots, from) {
					found.roots = append(found.roots, from)
				}
			}
		}
	} else if common.StaticCallee() == nil && !common.IsInvoke() {
		used = append([]ssa.Value{common.Value}, used...)
	}
	f.note(fn, found, instr, used...)
}

// checkSend checks a sent value. A channel that was made in the same function counts
// if a goroutine that may outlive it has the channel.
func (f *flow) checkSend(fn *ssa.Function, at ssa.Instruction, pos token.Pos, channel, v ssa.Value) {
	if !carries(v.Type()) || f.joined(at) {
		return
	}
	for _, object := range f.objects(channel) {
		if _, local := object.(*ssa.MakeChan); local && !f.sharedWithGoroutine(fn, object, v, at) {
			return
		}
	}
	f.note(fn, finding{kind: kindSent, at: at, pos: pos}, at, v)
}

// sharedWithGoroutine reports whether a local channel reaches a goroutine that outlives the
// function, or is itself from outside of the handler that sends.
func (f *flow) sharedWithGoroutine(fn *ssa.Function, channel, v ssa.Value, at ssa.Instruction) bool {
	for _, from := range f.roots(v, at) {
		if p, ok := from.value.(*ssa.Parameter); ok && isContext(p.Type()) && encloses(channel.Parent(), p.Parent()) {
			return true
		}
	}
	for _, call := range f.familyOf(fn).calls {
		spawn, ok := call.(*ssa.Go)
		if !ok || f.joined(spawn) {
			continue
		}
		used := values(spawn.Common())
		if closure, ok := spawn.Common().Value.(*ssa.MakeClosure); ok {
			used = append(used, closure.Bindings...)
		}
		for _, v := range used {
			if slices.Contains(f.objects(v), channel) {
				return true
			}
			if alloc, ok := v.(*ssa.Alloc); ok {
				for _, s := range f.storesTo(alloc) {
					if slices.Contains(f.objects(s.Val), channel) {
						return true
					}
				}
			}
		}
	}
	return false
}

// checkStore checks values stored at an address or in a map.
func (f *flow) checkStore(fn *ssa.Function, at ssa.Instruction, into ssa.Value, stored ...ssa.Value) {
	stored = slices.DeleteFunc(slices.Clone(stored), func(v ssa.Value) bool { return !carries(v.Type()) })
	if len(stored) == 0 {
		return
	}
	if _, local := into.(*ssa.Alloc); local {
		return
	}
	for _, object := range f.objects(into) {
		switch object := object.(type) {
		case *ssa.Global:
			f.note(fn, finding{kind: kindGlobal, at: at, name: object.Name()}, at, stored...)
		case *ssa.Parameter:
			if !isContext(object.Type()) {
				f.note(fn, finding{kind: kindStored, at: at, into: object, name: object.Name()}, at, stored...)
			}
		default:
			if object.Parent() != nil && encloses(object.Parent(), at.Parent()) {
				f.note(fn, finding{kind: kindStored, at: at, into: object, name: nameOf(into)}, at, stored...)
			}
		}
	}
}

// nameOf returns the name of the variable at an address, or "".
func nameOf(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.FreeVar:
		return v.Name()
	case *ssa.Alloc:
		return v.Comment
	case *ssa.UnOp:
		return nameOf(v.X)
	case *ssa.FieldAddr:
		return nameOf(v.X)
	case *ssa.IndexAddr:
		return nameOf(v.X)
	}
	return ""
}

// checkCall checks the arguments of functions that keep them.
func (f *flow) checkCall(fn *ssa.Function, call *ssa.Call) {
	common := call.Common()
	obj := callee(common)
	receiver, args := receiverAndArgs(common)
	name := fullName(obj)
	if back, ok := callbacks[name]; ok {
		if back.arg < len(args) && !(back.joinable && f.joined(call)) {
			f.note(fn, finding{kind: back.kind, at: call, name: obj.Name()}, call, args[back.arg])
		}
		return
	}
	if keepers[name] {
		f.checkStore(fn, call, receiver, args...)
		return
	}
	static := common.StaticCallee()
	if static == nil || isAPI(obj) {
		return
	}
	e, passed := f.effectsOf(static), values(common)
	for _, i := range e.Kept {
		if i < len(passed) && !f.joined(call) {
			f.note(fn, finding{kind: kindPassed, at: call, name: static.Name()}, call, passed[i])
		}
	}
	for _, pair := range e.Stored {
		if pair[0] < len(passed) && pair[1] < len(passed) {
			f.checkStore(fn, call, passed[pair[1]], passed[pair[0]])
		}
	}
}
