// Package ops makes calls that tables of compat's programs name.
package ops

import (
	"fmt"
	"os"
	"reflect"
	"strconv"

	"github.com/valyala/fasthttp/compat/internal/report"
)

// An Op is one call: its name in a Set, and its arguments.
type Op []string

// A Sequence is a row of a table: calls on one value. It is an alias, so that rows need no names of
// fields.
type Sequence = struct {
	ID  string
	Ops []Op
}

// A Set has calls by their names. Each is a function, such as a method expression, whose first
// parameter is its receiver. The others are strings, byte slices, numbers or booleans.
type Set map[string]any

// Apply makes a call on a value, which is a pointer. It returns the result as text, which is
// empty if there is none. A call that is not in the set ends the program.
func (s Set) Apply(on any, o Op) string {
	f, found := s[o[0]]
	if !found {
		// a panic would be a result that two modules agree on
		report.Flush()
		fmt.Fprintf(os.Stderr, "unknown operation %q\n", o[0])
		os.Exit(2)
	}
	call := reflect.ValueOf(f)
	in := []reflect.Value{reflect.ValueOf(on)}
	for i, arg := range o[1:] {
		if call.Type().IsVariadic() {
			in = append(in, reflect.ValueOf(arg))
		} else if i+1 < call.Type().NumIn() {
			in = append(in, argument(call.Type().In(i+1), arg))
		}
	}
	out := call.Call(in)
	if len(out) == 0 {
		return ""
	}
	return result(call.Type().Out(0), out[0].Interface())
}

// Play makes the calls on a value and prints their results. It calls then, unless that is nil,
// after each of them.
func (s Set) Play(c *report.Case, on any, calls []Op, then func(i int)) {
	for i, o := range calls {
		if r := s.Apply(on, o); r != "" {
			c.Str(fmt.Sprintf("%d.%s", i, o[0]), r)
		}
		if then != nil {
			then(i)
		}
	}
}

func argument(typ reflect.Type, text string) reflect.Value {
	var v any = text
	var err error
	switch typ.Kind() {
	case reflect.Slice:
		v = []byte(text)
	case reflect.Int:
		v, err = strconv.Atoi(text)
	case reflect.Bool:
		v, err = strconv.ParseBool(text)
	}
	if err != nil {
		panic(err)
	}
	return reflect.ValueOf(v).Convert(typ)
}

var errorType = reflect.TypeFor[error]()

func result(typ reflect.Type, v any) string {
	if typ == errorType {
		err, _ := v.(error)
		return report.ErrClass(err)
	}
	switch v := v.(type) {
	case []byte:
		return string(v)
	case [][]byte:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
