package api

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Programs write to the slices that they get: some change names to lower case in
// place, or split a value. A write may change the object itself, but no other
// object, and must not fail because the memory is read-only. So these tests call
// every function that returns slices of bytes.

// handsOutBytes matches the lines of functions that return slices of bytes, or pass
// them to a function.
var handsOutBytes = regexp.MustCompile(`\) (\(.*)?(\[\])+byte|func\([^()]*\[\]byte|iter\.Seq2?\[\[\]byte`)

// notCalled are the lines that handsOutBytes matches, but these tests do not call.
var notCalled = map[string]string{
	"pkg fasthttp, type FormValueFunc func(*RequestCtx, string) []byte":                                                "a type",
	"pkg fasthttp, type PathRewriteFunc func(*RequestCtx) []byte":                                                      "a type: what such a function returns is its own",
	"pkg prefork, type Prefork struct, ServeTLSEmbedFunc func(ln net.Listener, certData []byte, keyData []byte) error": "what it is called with comes from the program",
	"pkg fasthttp, method (*Server) SetAcceptTrailer(func(name []byte) bool)":                                          "as Server.AcceptTrailer",
	"pkg fasthttp, type Server struct, AcceptTrailer func(name []byte) bool":                                           "called by TestWhatServersAndClientsHandOutIsTheExchangesOwn",
	"pkg fasthttp, method (*RequestCtx) ConnectProtocol() []byte":                                                      "calls RequestHeader.ConnectProtocol; there is a result only over HTTP/2",
}

// call is a call of a method that may return slices of bytes.
type call struct {
	name  string
	index int
	args  []reflect.Value
}

// calls returns the calls for the methods of a type. Their strings and slices are
// names, their functions collect arguments.
func calls(t reflect.Type) (list []call) {
	for i := range t.NumMethod() {
		method := t.Method(i)
		if !handsOut(method.Type) {
			continue
		}
		// the receiver is the first argument
		ins := method.Type.NumIn() - 1
		asked := false
		var args []reflect.Value
		for k := range ins {
			in := method.Type.In(k + 1)
			switch {
			case in.Kind() == reflect.Func:
				args = append(args, reflect.Zero(in))
			case in.Kind() == reflect.Int:
				args = append(args, reflect.ValueOf(1<<20))
			case in.Kind() == reflect.String || in == reflect.TypeFor[[]byte]():
				args = append(args, reflect.Zero(in))
				asked = asked || !strings.HasPrefix(method.Name, "Append") && method.Name != "SwapBody"
			default:
				panic(fmt.Sprintf("%s.%s takes a %s, which this test does not make", t, method.Name, in))
			}
		}
		if !asked {
			list = append(list, call{method.Name, i, args})
			continue
		}
		for _, name := range names {
			list = append(list, call{method.Name, i, []reflect.Value{reflect.ValueOf(name).Convert(method.Type.In(1))}})
		}
	}
	return list
}

func handsOut(function reflect.Type) bool {
	for i := range function.NumIn() {
		if in := function.In(i); in.Kind() == reflect.Func && slices.ContainsFunc(ins(in), isBytes) {
			return true
		}
	}
	for i := range function.NumOut() {
		out := function.Out(i)
		if isBytes(out) || out.Kind() == reflect.Slice && isBytes(out.Elem()) {
			return true
		}
		if out.Kind() == reflect.Func && out.NumIn() == 1 && out.In(0).Kind() == reflect.Func && slices.ContainsFunc(ins(out.In(0)), isBytes) {
			return true
		}
	}
	return false
}

func ins(function reflect.Type) []reflect.Type {
	return slices.Collect(function.Ins())
}

func isBytes(t reflect.Type) bool { return t == reflect.TypeFor[[]byte]() }

// on makes the call and returns all slices of bytes that the object hands out.
func (c call) on(object any) (all [][]byte) {
	args := slices.Clone(c.args)
	for i, arg := range args {
		if isBytes(arg.Type()) && !arg.IsNil() {
			args[i] = reflect.ValueOf(bytes.Clone(arg.Bytes()))
		}
	}
	return invoke(reflect.ValueOf(object).Method(c.index), args)
}

// invoke calls a function and returns all slices of bytes that it hands out. It
// passes functions that collect their arguments.
func invoke(f reflect.Value, args []reflect.Value) (all [][]byte) {
	for i, arg := range args {
		if arg.Kind() == reflect.Func {
			args[i] = collector(arg.Type(), &all)
		}
	}
	for _, result := range f.Call(args) {
		switch r := result.Interface().(type) {
		case []byte:
			all = append(all, r)
		case [][]byte:
			all = append(all, r...)
		case iter.Seq[[]byte]:
			all = slices.AppendSeq(all, r)
		case iter.Seq2[[]byte, []byte]:
			for k, v := range r {
				all = append(all, k, v)
			}
		}
	}
	return slices.DeleteFunc(all, func(b []byte) bool { return cap(b) == 0 })
}

// collector makes a function that keeps its slices of bytes.
func collector(function reflect.Type, all *[][]byte) reflect.Value {
	return reflect.MakeFunc(function, func(args []reflect.Value) (results []reflect.Value) {
		for _, arg := range args {
			if isBytes(arg.Type()) {
				*all = append(*all, arg.Bytes())
			}
		}
		for out := range function.Outs() {
			result := reflect.Zero(out)
			if out.Kind() == reflect.Bool {
				// true continues the iteration
				result = reflect.ValueOf(true)
			}
			results = append(results, result)
		}
		return results
	})
}

// shared returns the bytes that both lists share.
func shared(a, b [][]byte) (text []byte, found bool) {
	for _, x := range a {
		for _, y := range b {
			from, other := reflect.ValueOf(x).Pointer(), reflect.ValueOf(y).Pointer()
			if from < other+uintptr(cap(y)) && other < from+uintptr(cap(x)) {
				return x, true
			}
		}
	}
	return nil, false
}

// overwrite writes to all bytes, and reports whether they are writable.
func overwrite(all [][]byte) (done bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { done = recover() == nil }()
	for _, b := range all {
		for i := range b {
			b[i] ^= 0x20
		}
	}
	return true
}

// A lender is a call that hands out slices of bytes, each time from another object.
type lender struct {
	name string
	// line is the line of the function or method in the list of the API, up to its
	// parameters.
	line string
	call func() (all, given [][]byte)
	// owns is set if the object hands out its arguments
	owns bool
}

// lenders returns all calls that hand out slices.
func lenders(t *testing.T) (list []lender) {
	t.Helper()
	byType := map[reflect.Type][]call{}
	for _, s := range sources() {
		object, _ := s.make()
		typ := reflect.TypeOf(object)
		if byType[typ] == nil {
			byType[typ] = calls(typ)
		}
		for _, c := range byType[typ] {
			object, _ := s.make()
			if len(c.on(object)) == 0 {
				continue
			}
			list = append(list, lender{
				name: fmt.Sprintf("%s: %s(%s)", s.name, c.name, text(c.args)),
				line: fmt.Sprintf("method (*%s) %s", typ.Elem().Name(), c.name),
				call: func() (all, given [][]byte) {
					object, given := s.make()
					return c.on(object), given
				},
				owns: s.owns,
			})
		}
	}
	return append(list, functions(t)...)
}

// dates match the text that depends on the time
var dates = regexp.MustCompile(`(Date: |")\w{3}, [^\\"]* GMT`)

func texts(all [][]byte) string {
	all = slices.DeleteFunc(slices.Clone(all), func(b []byte) bool { return len(b) == 0 })
	return dates.ReplaceAllString(fmt.Sprintf("%q", all), "${1}now")
}

func TestWhatIsHandedOutIsTheCallersOwn(t *testing.T) {
	all := lenders(t)
	said := make([]string, len(all))
	for i, l := range all {
		lent, _ := l.call()
		said[i] = texts(lent)
	}
	handed := set{}
	for i, l := range all {
		handed[l.line] = true
		mine, given := l.call()
		others, _ := l.call()
		if text, found := shared(mine, others); found && !l.owns {
			t.Errorf("%s: two of them share the memory of %q", l.name, text)
		}
		if text, found := shared(mine, given); found && !l.owns {
			t.Errorf("%s: it hands out its arguments: %q", l.name, text)
		}
		if !overwrite(mine) {
			t.Errorf("%s: %s is read-only", l.name, said[i])
		}
		if now := texts(others); now != said[i] {
			t.Errorf("%s: another one says %s, the first said %s", l.name, now, said[i])
		}
	}
	for i, l := range all {
		lent, _ := l.call()
		if now := texts(lent); now != said[i] {
			t.Errorf("%s: afterwards, another one says %s, the first said %s", l.name, now, said[i])
		}
	}
	t.Logf("%d calls of %d methods and functions", len(all), len(handed))
	for _, line := range slices.Sorted(maps.Keys(exported(t, packageNames(readLines(t, promised))))) {
		if handsOutBytes.MatchString(line) && notCalled[line] == "" && !handed[called(line)] {
			t.Errorf("nothing was handed out by %s", line)
		}
	}
}

func TestCopiesHandOutNothingOfTheOriginals(t *testing.T) {
	copies := 0
	for _, s := range sources() {
		original, _ := s.make()
		if !reflect.ValueOf(original).MethodByName("CopyTo").IsValid() || s.owns {
			continue
		}
		duplicate := reflect.New(reflect.TypeOf(original).Elem())
		reflect.ValueOf(original).MethodByName("CopyTo").Call([]reflect.Value{duplicate})
		if text, found := shared(everything(original), everything(duplicate.Interface())); found {
			t.Errorf("%s: a copy shares the memory of %q", s.name, text)
		}
		copies++
	}
	t.Logf("%d copies", copies)
}

// everything returns all slices that an object hands out.
func everything(object any) (all [][]byte) {
	for _, c := range calls(reflect.TypeOf(object)) {
		all = append(all, c.on(object)...)
	}
	return all
}

// called returns the start of a line up to the parameters.
func called(line string) string {
	_, feature, _ := strings.Cut(line, ", ")
	if receiver, rest, isMethod := strings.Cut(feature, ") "); strings.HasPrefix(feature, "method (") && isMethod {
		name, _, _ := strings.Cut(rest, "(")
		return receiver + ") " + name
	}
	feature, _, _ = strings.Cut(feature, "(")
	return feature
}

// No goroutine reads or writes the slices of another one. The race detector reports
// a violation.
func TestWhatIsHandedOutIsTheGoroutinesOwn(t *testing.T) {
	all := lenders(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for _, l := range all {
				lent, _ := l.call()
				if !l.owns && !overwrite(lent) {
					t.Errorf("%s cannot be written to", l.name)
				}
			}
		})
	}
	wg.Wait()
}
