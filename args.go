package fasthttp

import (
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// ErrNoArgValue is returned by [Args.GetUint] and [Args.GetUfloat] if the
// argument is missing or has an empty value.
var ErrNoArgValue = errors.New("fasthttp: no args value for the given key")

// ErrTooManyFormArgs is the error of a form that has too many arguments; see
// [Request.PostArgs].
var ErrTooManyFormArgs = errors.New("fasthttp: the form has more than 10000 arguments")

// Args is an ordered list of key/value pairs: the arguments of a query string,
// or of a form in a body. A key may occur any number of times, and a pair may
// have been written without '=' (a flag: its value is empty).
//
// Keys and values are plain text everywhere in this API: Parse decodes them, and
// AppendBytes and the methods that use it encode them.
//
// The zero value is empty and ready for use. An Args must not be copied; use CopyTo. It
// must not be used by two goroutines at once.
type Args struct {
	_ noCopy

	// a URI writes its query as it was received as long as list is not Changed
	list field.List
	// the last result of QueryString
	query []byte
}

// An Args with more memory than this is not reused.
const (
	maxKeptArgsBytes   = 64 << 10
	maxKeptArgsEntries = 4 << 10
)

var argsPool = sync.Pool{New: func() any { return new(Args) }}

// AcquireArgs returns an empty Args from a pool. Return it with ReleaseArgs when
// it is no longer needed. If it is never returned, the garbage collector frees it.
func AcquireArgs() *Args { return argsPool.Get().(*Args) }

// ReleaseArgs returns an Args from AcquireArgs to the pool. Neither it nor a slice
// that its methods returned may be used after that.
func ReleaseArgs(a *Args) {
	a.poison()
	a.Reset()
	if !a.isLarge() {
		argsPool.Put(a)
	}
}

// isLarge reports whether a has more memory than is kept for other arguments.
func (a *Args) isLarge() bool {
	return cap(a.list.Block)+cap(a.query) > maxKeptArgsBytes || cap(a.list.Entries) > maxKeptArgsEntries
}

// clear removes all arguments, and frees the memory of a if it has much.
func (a *Args) clear() {
	a.Reset()
	if a.isLarge() {
		a.list, a.query = field.List{}, nil
	}
}

// Reset removes all arguments.
func (a *Args) Reset() {
	a.list.Reset()
}

// CopyTo makes dst a copy of a.
func (a *Args) CopyTo(dst *Args) {
	dst.list.CopyFrom(&a.list)
}

// Len returns the number of arguments; a key that occurs twice counts twice.
func (a *Args) Len() int { return a.list.Len() }

// Parse is like [Args.ParseBytes], but takes a string.
func (a *Args) Parse(s string) { a.ParseBytes(bytesconv.Bytes(s)) }

// ParseBytes replaces all arguments with the arguments of the query string b, which it
// copies. Arguments are separated by '&', and a plus sign means a space. There are no
// errors: a percent sign that begins no escape is text, and an argument with neither
// key nor value is omitted.
func (a *Args) ParseBytes(b []byte) {
	a.Reset()
	urlencoded.Parse(&a.list, b)
}

// QueryString returns the arguments in encoded form, as AppendBytes appends them.
// The result is valid until the next call of QueryString, String or WriteTo, or
// until a is released.
func (a *Args) QueryString() []byte {
	a.query = a.AppendBytes(a.query[:0])
	return a.query
}

// String returns the arguments in encoded form.
func (a *Args) String() string { return string(a.QueryString()) }

// AppendBytes appends the arguments in encoded form to dst and returns the
// extended slice. The arguments keep their order and are separated by '&'. A space
// becomes '+', and all other bytes except letters, digits and "-._~" become escapes.
func (a *Args) AppendBytes(dst []byte) []byte {
	return urlencoded.Append(dst, &a.list)
}

// WriteTo writes the arguments in encoded form to w, with one call of Write, whose
// error it returns. It implements io.WriterTo.
func (a *Args) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.QueryString())
	return int64(n), err
}

// Add appends the argument key=value. It keeps existing arguments with that key.
func (a *Args) Add(key, value string) {
	a.list.Add(key, value)
}

// AddBytesK is Add for a key in bytes.
func (a *Args) AddBytesK(key []byte, value string) { a.Add(bytesconv.String(key), value) }

// AddBytesV is Add for a value in bytes.
func (a *Args) AddBytesV(key string, value []byte) { a.Add(key, bytesconv.String(value)) }

// AddBytesKV is Add for a key and a value in bytes, which are copied.
func (a *Args) AddBytesKV(key, value []byte) { a.Add(bytesconv.String(key), bytesconv.String(value)) }

// AddNoValue appends an argument encoded as its key alone, without '='.
func (a *Args) AddNoValue(key string) { a.list.Add(key, "").Flags = field.NoValue }

// AddBytesKNoValue is AddNoValue for a key in bytes.
func (a *Args) AddBytesKNoValue(key []byte) { a.AddNoValue(bytesconv.String(key)) }

// Set sets the value of the first argument with that key, or appends an argument
// if there is none. It does not change further arguments with that key.
func (a *Args) Set(key, value string) { a.set(key, value, 0) }

// SetBytesK is Set for a key in bytes.
func (a *Args) SetBytesK(key []byte, value string) { a.set(bytesconv.String(key), value, 0) }

// SetBytesV is Set for a value in bytes.
func (a *Args) SetBytesV(key string, value []byte) { a.set(key, bytesconv.String(value), 0) }

// SetBytesKV is Set for a key and a value in bytes, which are copied.
func (a *Args) SetBytesKV(key, value []byte) {
	a.set(bytesconv.String(key), bytesconv.String(value), 0)
}

// SetNoValue is Set for an argument encoded as its key alone, without '='.
func (a *Args) SetNoValue(key string) { a.set(key, "", field.NoValue) }

// SetBytesKNoValue is SetNoValue for a key in bytes.
func (a *Args) SetBytesKNoValue(key []byte) { a.SetNoValue(bytesconv.String(key)) }

// SetUint is Set for a number in decimal. It panics if value is negative.
func (a *Args) SetUint(key string, value int) {
	var text [20]byte
	a.set(key, bytesconv.String(ascii.AppendUint(text[:0], value)), 0)
}

// SetUintBytes is SetUint for a key in bytes.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(bytesconv.String(key), value) }

func (a *Args) set(key, value string, flags field.Flag) {
	if i := a.list.Find(key, 0); i >= 0 {
		a.list.SetValue(i, value, flags)
		return
	}
	a.list.Add(key, value).Flags = flags
}

// Del removes all arguments with that key.
func (a *Args) Del(key string) { a.list.RemoveAll(key) }

// DelBytes is Del for a key in bytes.
func (a *Args) DelBytes(key []byte) { a.Del(bytesconv.String(key)) }

// Sort sorts the arguments by key, and arguments with the same key by value. f compares
// two of them: it returns a negative number if x is less than y, 0 if they are equal,
// and a positive number if x is greater. bytes.Compare is such a function. The sort is
// stable.
func (a *Args) Sort(f func(x, y []byte) int) {
	a.list.Changed = true
	slices.SortStableFunc(a.list.Entries, func(x, y field.Entry) int {
		if n := f(a.list.Bytes(x.Name), a.list.Bytes(y.Name)); n != 0 {
			return n
		}
		return f(a.list.Bytes(x.Value), a.list.Bytes(y.Value))
	})
}

// SortKeys is Sort by key alone: arguments with equal keys keep their order.
func (a *Args) SortKeys(f func(x, y []byte) int) {
	a.list.Changed = true
	slices.SortStableFunc(a.list.Entries, func(x, y field.Entry) int {
		return f(a.list.Bytes(x.Name), a.list.Bytes(y.Name))
	})
}

// Has reports whether there is an argument with that key.
func (a *Args) Has(key string) bool { return a.list.Get(key) != nil }

// HasBytes is Has for a key in bytes.
func (a *Args) HasBytes(key []byte) bool { return a.Has(bytesconv.String(key)) }

// Peek returns the value of the first argument with that key, or nil if there is no
// such argument. An empty value is an empty, non-nil slice. The result points into a:
// it is valid until that argument is changed or a is reset or released, and must not be
// modified.
func (a *Args) Peek(key string) []byte { return a.list.Get(key) }

// PeekBytes is Peek for a key in bytes.
func (a *Args) PeekBytes(key []byte) []byte { return a.list.Get(bytesconv.String(key)) }

// PeekMulti returns the values of all arguments with that key, in their order, or
// nil if there are none. Each value points into a, as the result of Peek does. The
// outer slice belongs to the caller.
func (a *Args) PeekMulti(key string) [][]byte {
	var values [][]byte
	for i := a.list.Find(key, 0); i >= 0; i = a.list.Find(key, i+1) {
		values = append(values, a.list.Value(i))
	}
	return values
}

// PeekMultiBytes is PeekMulti for a key in bytes.
func (a *Args) PeekMultiBytes(key []byte) [][]byte { return a.PeekMulti(bytesconv.String(key)) }

// GetUint returns the value of the first argument with that key as a number, as
// ParseUint parses it. The error is ErrNoArgValue if there is no value. With any
// error the number is -1.
func (a *Args) GetUint(key string) (int, error) {
	value := a.Peek(key)
	if n, ok := ascii.ParseUint(value); ok {
		return n, nil
	}
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUint(value)
}

// GetUintOrZero is GetUint with 0 in place of an error.
func (a *Args) GetUintOrZero(key string) int {
	n, err := a.GetUint(key)
	if err != nil {
		return 0
	}
	return n
}

// GetUfloat returns the value of the first argument with that key as a number, as
// ParseUfloat parses it. The error is ErrNoArgValue if there is no value. With any
// error the number is -1.
func (a *Args) GetUfloat(key string) (float64, error) {
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUfloat(value)
}

// GetUfloatOrZero is GetUfloat with 0 in place of an error.
func (a *Args) GetUfloatOrZero(key string) float64 {
	f, err := a.GetUfloat(key)
	if err != nil {
		return 0
	}
	return f
}

// GetBool reports whether the value of the first argument with that key is 1, t,
// T, true, TRUE, True, y, Y, yes, YES or Yes.
func (a *Args) GetBool(key string) bool {
	switch string(a.Peek(key)) {
	case "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "Yes":
		return true
	}
	return false
}

// All returns an iterator over the keys and values of all arguments, in their
// order. Both point into a, as the result of Peek does. The arguments must not be
// changed during the iteration.
func (a *Args) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		entries := a.list.Entries
		for i := range entries {
			if e := &entries[i]; !yield(a.list.Bytes(e.Name), a.list.Bytes(e.Value)) {
				return
			}
		}
	}
}

// VisitAll calls f for every argument, in their order. f must follow the rules for
// the loop body of All.
//
// Deprecated: use All, which can be stopped early.
func (a *Args) VisitAll(f func(key, value []byte)) {
	for key, value := range a.All() {
		f(key, value)
	}
}

// poison is Request.poison for arguments.
func (a *Args) poison() {
	bufpool.Poison(a.list.Block)
	bufpool.Poison(a.query)
}
