package fasthttpvet

import (
	"go/ast"
	"go/build"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// flows follows values through the functions of a package. The other analyzers ask it where a
// value is from.
var flows = &analysis.Analyzer{
	Name:       "fasthttpflow",
	Doc:        "follow the memory of requests through the functions of a package, for other analyzers",
	Requires:   buildssa.Analyzer.Requires,
	FactTypes:  []analysis.Fact{new(effects)},
	ResultType: reflect.TypeFor[*flow](),
	Run:        runFlow,
}

// effects is the fact about a function that callers need: it names parameters by their place,
// with the receiver as the first.
type effects struct {
	Results  [][]int  // for each result, the parameters to which it may refer
	Kept     []int    // parameters that a goroutine, channel or global variable may keep
	Stored   [][2]int // parameters stored in what another parameter points to
	Released []int    // parameters that the function returns to their pool
}

func (*effects) AFact() {}

func (e *effects) none() bool {
	return len(e.Kept) == 0 && len(e.Stored) == 0 && len(e.Released) == 0 && !slices.ContainsFunc(e.Results, func(r []int) bool { return len(r) > 0 })
}

// write is a value stored in an object.
type write struct {
	value ssa.Value
	at    ssa.Instruction
	field int // of the object, or -1 for any part of it
}

// wholeObject is the field of writes to all of an object.
const wholeObject = -1

// family is a declared function with the function literals in it.
type family struct {
	members []*ssa.Function
	writes  map[ssa.Value][]write
	calls   []ssa.CallInstruction // of all members
}

// flow has the functions of a package.
type flow struct {
	mu        sync.Mutex // drivers run the analyzers concurrently, and each adds to these maps
	pass      *analysis.Pass
	functions []*ssa.Function
	immutable bool // Fiber copies all strings and slices that it returns
	families  map[*ssa.Function]*family
	sites     map[*ssa.Function][]ssa.Instruction // where function literals are used
	known     map[*ssa.Function]*effects
	findings  map[*ssa.Function][]finding // by the outermost function
}

func runFlow(pass *analysis.Pass) (any, error) {
	f := &flow{
		pass:     pass,
		families: map[*ssa.Function]*family{}, sites: map[*ssa.Function][]ssa.Instruction{},
		known: map[*ssa.Function]*effects{}, findings: map[*ssa.Function][]finding{},
	}
	// The names of these packages tell their effects. To build the functions of the whole
	// standard library would take most of the time.
	if path := pass.Pkg.Path(); path == fasthttpPath || isStandard(path) && isFromRoot(pass) {
		return f, nil
	}
	built, err := buildssa.Analyzer.Run(pass)
	if err != nil {
		return nil, err
	}
	f.functions = built.(*buildssa.SSA).SrcFuncs
	f.immutable = setsImmutable(pass)
	for _, fn := range f.functions {
		f.addSites(fn)
	}
	if isFiber(pass.Pkg.Path()) {
		return f, nil
	}
	for _, fn := range f.functions {
		obj, ok := fn.Object().(*types.Func)
		if !ok || fn.Parent() != nil {
			continue
		}
		if e := f.effectsOf(fn); !e.none() {
			pass.ExportObjectFact(obj, e)
		}
	}
	return f, nil
}

// isFromRoot reports whether a package is part of the standard library by the place of its
// files: a package of a program may have a path without a dot as well.
func isFromRoot(pass *analysis.Pass) bool {
	root := build.Default.GOROOT
	return len(pass.Files) == 0 || root != "" && strings.HasPrefix(pass.Fset.Position(pass.Files[0].FileStart).Filename, filepath.Join(root, "src")+string(filepath.Separator))
}

// setsImmutable reports whether the package has a fiber.Config with Immutable: true.
func setsImmutable(pass *analysis.Pass) bool {
	found := false
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if path, name := namedType(pass.TypesInfo.TypeOf(lit)); !isFiber(path) || name != "Config" {
				return true
			}
			for _, element := range lit.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					key, _ := pair.Key.(*ast.Ident)
					value, _ := pair.Value.(*ast.Ident)
					found = found || key != nil && value != nil && key.Name == "Immutable" && value.Name == "true"
				}
			}
			return true
		})
	}
	return found
}

// addSites notes which function literals fn uses, and where.
func (f *flow) addSites(fn *ssa.Function) {
	for instr := range instructions(fn) {
		for _, operand := range instr.Operands(nil) {
			if operand == nil || *operand == nil {
				continue
			}
			if literal, ok := (*operand).(*ssa.Function); ok && literal.Parent() == fn {
				f.sites[literal] = append(f.sites[literal], instr)
			}
		}
	}
}

// instructions are all instructions of a function.
func instructions(fn *ssa.Function) func(yield func(ssa.Instruction) bool) {
	return func(yield func(ssa.Instruction) bool) {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				if !yield(instr) {
					return
				}
			}
		}
	}
}

func outermost(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// encloses reports whether inner is a function literal within outer.
func encloses(outer, inner *ssa.Function) bool {
	for inner = inner.Parent(); inner != nil; inner = inner.Parent() {
		if inner == outer {
			return true
		}
	}
	return false
}

// effectsOf returns the effects of a function of this package or, by its fact, of another.
func (f *flow) effectsOf(fn *ssa.Function) *effects {
	if fn.Origin() != nil {
		fn = fn.Origin()
	}
	if e := f.known[fn]; e != nil {
		return e
	}
	e := new(effects)
	f.known[fn] = e // for recursion
	if len(fn.Blocks) == 0 {
		if obj, ok := fn.Object().(*types.Func); ok {
			f.pass.ImportObjectFact(obj, e)
		}
		return e
	}
	f.addResults(fn, e)
	for _, found := range f.findingsOf(outermost(fn)) {
		for _, from := range found.roots {
			i := parameterIndex(fn, from.value)
			if i < 0 || from.deep {
				continue
			}
			if found.into == nil && !isContext(from.value.Type()) && found.kind != kindStored {
				e.Kept = insert(e.Kept, i)
			} else if j := parameterIndex(fn, found.into); j >= 0 && j != i {
				if pair := [2]int{i, j}; !slices.Contains(e.Stored, pair) {
					e.Stored = append(e.Stored, pair)
				}
			}
		}
	}
	f.addReleased(fn, e)
	return e
}

func insert(list []int, i int) []int {
	if slices.Contains(list, i) {
		return list
	}
	return append(list, i)
}

func parameterIndex(fn *ssa.Function, v ssa.Value) int {
	p, ok := v.(*ssa.Parameter)
	if !ok {
		return -1
	}
	return slices.Index(fn.Params, p)
}

// addResults finds the parameters to which the results of fn may refer.
func (f *flow) addResults(fn *ssa.Function, e *effects) {
	e.Results = make([][]int, fn.Signature.Results().Len())
	for instr := range instructions(fn) {
		ret, ok := instr.(*ssa.Return)
		if !ok {
			continue
		}
		for result, v := range ret.Results {
			for _, from := range f.roots(v, ret) {
				if i := parameterIndex(fn, from.value); i >= 0 {
					e.Results[result] = insert(e.Results[result], i)
				}
			}
		}
	}
}

// addReleased finds the parameters that fn, or a function that it calls, releases.
func (f *flow) addReleased(fn *ssa.Function, e *effects) {
	for instr := range instructions(fn) {
		call, ok := instr.(ssa.CallInstruction)
		if !ok {
			continue
		}
		for _, v := range f.released(call) {
			if i := parameterIndex(fn, same(v)); i >= 0 {
				e.Released = insert(e.Released, i)
			}
		}
	}
}

// familyOf returns the family of fn.
func (f *flow) familyOf(fn *ssa.Function) *family {
	fn = outermost(fn)
	if fam := f.families[fn]; fam != nil {
		return fam
	}
	fam := &family{writes: map[ssa.Value][]write{}}
	f.families[fn] = fam
	var add func(*ssa.Function)
	add = func(fn *ssa.Function) {
		fam.members = append(fam.members, fn)
		for _, literal := range fn.AnonFuncs {
			add(literal)
		}
	}
	add(fn)
	for _, member := range fam.members {
		for instr := range instructions(member) {
			if call, ok := instr.(ssa.CallInstruction); ok {
				fam.calls = append(fam.calls, call)
			}
			f.addWrites(fam, instr)
		}
	}
	for _, call := range fam.calls {
		f.addWritesOfCall(fam, call)
	}
	return fam
}

func (f *flow) addWrites(fam *family, instr ssa.Instruction) {
	switch instr := instr.(type) {
	case *ssa.Store:
		if !carries(instr.Val.Type()) {
			return
		}
		field, base := wholeObject, instr.Addr
		if address, ok := base.(*ssa.FieldAddr); ok {
			field, base = address.Field, address.X
		}
		for _, object := range f.objects(base) {
			fam.writes[object] = append(fam.writes[object], write{instr.Val, instr, field})
		}
	case *ssa.MapUpdate:
		for _, object := range f.objects(instr.Map) {
			fam.writes[object] = append(fam.writes[object], write{instr.Value, instr, wholeObject}, write{instr.Key, instr, wholeObject})
		}
	case *ssa.Send:
		for _, object := range f.objects(instr.Chan) {
			fam.writes[object] = append(fam.writes[object], write{instr.X, instr, wholeObject})
		}
	}
}

// addWritesOfCall adds what a call stores in its arguments.
func (f *flow) addWritesOfCall(fam *family, call ssa.CallInstruction) {
	common := call.Common()
	add := func(into, value ssa.Value) {
		for _, object := range f.objects(into) {
			fam.writes[object] = append(fam.writes[object], write{value, call, wholeObject})
		}
	}
	if b, ok := common.Value.(*ssa.Builtin); ok {
		if b.Name() == "copy" && !isBytes(common.Args[0].Type()) {
			add(common.Args[0], common.Args[1])
		}
		return
	}
	obj := callee(common)
	if isAPI(obj) {
		if receiver, args := receiverAndArgs(common); receiver != nil && fills[obj.Name()] && len(args) == 1 && isContext(receiver.Type()) && !f.immutable {
			add(args[0], call.Value())
		}
		return
	}
	if fn := common.StaticCallee(); fn != nil && fn.Parent() == nil && !keepers[fullName(obj)] {
		args := values(common)
		for _, pair := range f.effectsOf(fn).Stored {
			if pair[0] < len(args) && pair[1] < len(args) {
				add(args[pair[1]], args[pair[0]])
			}
		}
	}
}

// objects returns what a pointer, map, slice or channel refers to: the instructions that
// allocated it, and the parameters, global variables and calls that it is from.
func (f *flow) objects(v ssa.Value) []ssa.Value {
	seen := map[ssa.Value]bool{}
	var found []ssa.Value
	var visit func(v ssa.Value)
	contents := func(cell ssa.Value) {
		// the variable itself belongs to the object that it holds, except for pointers to others
		alloc, ok := cell.(*ssa.Alloc)
		if !ok {
			visit(cell)
			return
		}
		stored := false
		for _, s := range f.storesTo(alloc) {
			stored = true
			visit(s.Val)
		}
		if !stored {
			visit(cell)
		}
	}
	visit = func(v ssa.Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.UnOp:
			if free, ok := v.X.(*ssa.FreeVar); ok {
				for _, binding := range f.bindings(free) {
					contents(binding)
				}
				return
			}
			contents(v.X)
		case *ssa.FreeVar:
			for _, binding := range f.bindings(v) {
				visit(binding)
			}
		case *ssa.FieldAddr:
			visit(v.X)
		case *ssa.Field:
			visit(v.X)
		case *ssa.IndexAddr:
			visit(v.X)
		case *ssa.Index:
			visit(v.X)
		case *ssa.Lookup:
			visit(v.X)
		case *ssa.Slice:
			visit(v.X)
		case *ssa.Convert:
			visit(v.X)
		case *ssa.ChangeType:
			visit(v.X)
		case *ssa.ChangeInterface:
			visit(v.X)
		case *ssa.MakeInterface:
			visit(v.X)
		case *ssa.TypeAssert:
			visit(v.X)
		case *ssa.Extract:
			visit(v.Tuple)
		case *ssa.Phi:
			for _, edge := range v.Edges {
				visit(edge)
			}
		case *ssa.Const:
		default:
			found = append(found, v)
		}
	}
	visit(v)
	return found
}

// storesTo returns the stores to a variable, in its function and in the literals that capture
// it.
func (f *flow) storesTo(alloc *ssa.Alloc) []*ssa.Store {
	var stores []*ssa.Store
	var visit func(v ssa.Value)
	visit = func(v ssa.Value) {
		for _, user := range *v.Referrers() {
			switch user := user.(type) {
			case *ssa.Store:
				if user.Addr == v {
					stores = append(stores, user)
				}
			case *ssa.MakeClosure:
				literal := user.Fn.(*ssa.Function)
				for i, binding := range user.Bindings {
					if binding == v && i < len(literal.FreeVars) && literal.FreeVars[i].Referrers() != nil {
						visit(literal.FreeVars[i])
					}
				}
			}
		}
	}
	visit(alloc)
	return stores
}

// bindings returns the values that a captured variable has where its literal is made.
func (f *flow) bindings(v *ssa.FreeVar) []ssa.Value {
	var found []ssa.Value
	i := slices.Index(v.Parent().FreeVars, v)
	for _, site := range f.sites[v.Parent()] {
		if closure, ok := site.(*ssa.MakeClosure); ok && closure.Fn == v.Parent() {
			found = append(found, closure.Bindings[i])
		}
	}
	return found
}
