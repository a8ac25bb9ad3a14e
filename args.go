package fasthttp

import (
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// ErrNoArgValue is returned by [Args.GetUint] and [Args.GetUfloat] if the
// argument is missing or has an empty value.
var ErrNoArgValue = errors.New("fasthttp: no args value for the given key")

// Args is an ordered list of key/value pairs: the arguments of a query string,
// or of a form in a body. A key may occur any number of times, and a pair may
// have been written without '=' (a flag: its value is empty).
//
// Keys and values are plain text everywhere in this API; percent-encoding is
// taken off by Parse and put on by AppendBytes and its like.
//
// The zero value is empty and ready for use. An Args must not be copied; use
// CopyTo. It must not be used by two goroutines at a time.
type Args struct {
	_ noCopy

	// a URI writes its query as it came as long as list is not Changed
	list field.List
	// what QueryString returned last
	query []byte
}

// Memory over these sizes is not kept for another use.
const (
	maxKeptArgsBytes   = 64 << 10
	maxKeptArgsEntries = 4 << 10
)

var argsPool = sync.Pool{New: func() any { return new(Args) }}

// AcquireArgs returns an empty Args from a pool. Hand it back with ReleaseArgs
// when it is no longer needed; one that is never handed back is only lost to
// the pool.
func AcquireArgs() *Args { return argsPool.Get().(*Args) }

// ReleaseArgs hands an Args from AcquireArgs back. Neither it nor a slice that
// it returned may be used after that.
func ReleaseArgs(a *Args) {
	poisonArgs(a)
	a.Reset()
	if cap(a.list.Block) > maxKeptArgsBytes || cap(a.query) > maxKeptArgsBytes || cap(a.list.Entries) > maxKeptArgsEntries {
		return
	}
	argsPool.Put(a)
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

// Parse replaces all arguments by those of the query string s. See ParseBytes.
func (a *Args) Parse(s string) { a.ParseBytes(bytesconv.Bytes(s)) }

// ParseBytes replaces all arguments by those of the query string b, which it
// copies. Arguments are separated by '&'; plus signs stand for spaces. There are
// no errors: a percent sign that begins no escape is text, and an argument with
// neither key nor value is left out.
func (a *Args) ParseBytes(b []byte) {
	a.Reset()
	urlencoded.Parse(&a.list, b)
}

// QueryString returns the arguments in encoded form, as AppendBytes would
// append them. The result is valid until the next call of QueryString, String
// or WriteTo, or until a is released.
func (a *Args) QueryString() []byte {
	a.query = a.AppendBytes(a.query[:0])
	return a.query
}

// String returns the arguments in encoded form.
func (a *Args) String() string { return string(a.QueryString()) }

// AppendBytes appends the arguments in encoded form to dst and returns the
// extended slice: in their order, separated by '&', a space as '+', and all
// other bytes but letters, digits and "-._~" as escapes.
func (a *Args) AppendBytes(dst []byte) []byte {
	return urlencoded.Append(dst, &a.list)
}

// WriteTo writes the arguments in encoded form to w, with one call of Write, whose
// error it returns. It implements io.WriterTo.
func (a *Args) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.QueryString())
	return int64(n), err
}

// Add appends the argument key=value. Those that are there stay.
func (a *Args) Add(key, value string) {
	a.list.Add(bytesconv.Bytes(key), bytesconv.Bytes(value), field.Unknown, 0)
}

// AddBytesK is Add for a key in bytes.
func (a *Args) AddBytesK(key []byte, value string) { a.AddBytesKV(key, bytesconv.Bytes(value)) }

// AddBytesV is Add for a value in bytes.
func (a *Args) AddBytesV(key string, value []byte) { a.AddBytesKV(bytesconv.Bytes(key), value) }

// AddBytesKV is Add for a key and a value in bytes, which are copied.
func (a *Args) AddBytesKV(key, value []byte) { a.list.Add(key, value, field.Unknown, 0) }

// AddNoValue appends an argument that is written as its key alone, without '='.
func (a *Args) AddNoValue(key string) { a.AddBytesKNoValue(bytesconv.Bytes(key)) }

// AddBytesKNoValue is AddNoValue for a key in bytes.
func (a *Args) AddBytesKNoValue(key []byte) { a.list.Add(key, nil, field.Unknown, field.NoValue) }

// Set gives the first argument with that key the value, or appends one if
// there is none. Further arguments with the key stay as they are.
func (a *Args) Set(key, value string) {
	a.set(bytesconv.Bytes(key), bytesconv.Bytes(value), 0)
}

// SetBytesK is Set for a key in bytes.
func (a *Args) SetBytesK(key []byte, value string) { a.SetBytesKV(key, bytesconv.Bytes(value)) }

// SetBytesV is Set for a value in bytes.
func (a *Args) SetBytesV(key string, value []byte) { a.SetBytesKV(bytesconv.Bytes(key), value) }

// SetBytesKV is Set for a key and a value in bytes, which are copied.
func (a *Args) SetBytesKV(key, value []byte) { a.set(key, value, 0) }

// SetNoValue is Set for an argument that is written as its key alone, without
// '='.
func (a *Args) SetNoValue(key string) { a.SetBytesKNoValue(bytesconv.Bytes(key)) }

// SetBytesKNoValue is SetNoValue for a key in bytes.
func (a *Args) SetBytesKNoValue(key []byte) { a.set(key, nil, field.NoValue) }

// SetUint is Set for a number in decimal. It panics if value is negative.
func (a *Args) SetUint(key string, value int) { a.SetUintBytes(bytesconv.Bytes(key), value) }

// SetUintBytes is SetUint for a key in bytes.
func (a *Args) SetUintBytes(key []byte, value int) {
	var text [20]byte
	a.set(key, ascii.AppendUint(text[:0], value), 0)
}

func (a *Args) set(key, value []byte, flags field.Flag) {
	if i := a.list.Find(key, 0); i >= 0 {
		a.list.SetValue(i, value, flags)
		return
	}
	a.list.Add(key, value, field.Unknown, flags)
}

// Del removes all arguments with that key.
func (a *Args) Del(key string) { a.DelBytes(bytesconv.Bytes(key)) }

// DelBytes is Del for a key in bytes.
func (a *Args) DelBytes(key []byte) { a.list.RemoveAll(key) }

// Sort orders the arguments by key, and those with the same key by value, as f
// compares them: it returns a number under, equal to or over zero if x comes
// before, with or after y. bytes.Compare will do. What is equal keeps its
// order.
func (a *Args) Sort(f func(x, y []byte) int) {
	a.list.Changed = true
	slices.SortStableFunc(a.list.Entries, func(x, y field.Entry) int {
		if n := f(a.list.Bytes(x.Name), a.list.Bytes(y.Name)); n != 0 {
			return n
		}
		return f(a.list.Bytes(x.Value), a.list.Bytes(y.Value))
	})
}

// SortKeys is Sort by key alone: arguments with the same key keep their order.
func (a *Args) SortKeys(f func(x, y []byte) int) {
	a.list.Changed = true
	slices.SortStableFunc(a.list.Entries, func(x, y field.Entry) int {
		return f(a.list.Bytes(x.Name), a.list.Bytes(y.Name))
	})
}

// Has reports whether there is an argument with that key.
func (a *Args) Has(key string) bool { return a.list.Get(key) != nil }

// HasBytes is Has for a key in bytes.
func (a *Args) HasBytes(key []byte) bool { return a.list.Find(key, 0) >= 0 }

// Peek returns the value of the first argument with that key. It is nil only
// if there is none; an empty value is an empty slice. The result is a piece
// of a: valid until that argument is changed, or a is reset or released, and
// not to be written to.
func (a *Args) Peek(key string) []byte { return a.list.Get(key) }

// PeekBytes is Peek for a key in bytes.
func (a *Args) PeekBytes(key []byte) []byte { return a.list.Get(bytesconv.String(key)) }

// PeekMulti returns the values of all arguments with that key, in their order,
// or nil. What Peek says of its result holds for each of them; the slice that
// holds them is the caller's.
func (a *Args) PeekMulti(key string) [][]byte { return a.PeekMultiBytes(bytesconv.Bytes(key)) }

// PeekMultiBytes is PeekMulti for a key in bytes.
func (a *Args) PeekMultiBytes(key []byte) [][]byte {
	var values [][]byte
	for i := a.list.Find(key, 0); i >= 0; i = a.list.Find(key, i+1) {
		values = append(values, a.list.Value(i))
	}
	return values
}

// GetUint returns the value of the first argument with that key as a number,
// as ParseUint reads it. Where that fails the number is -1. The error is
// ErrNoArgValue if there is no value.
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

// GetUfloat returns the value of the first argument with that key as a number,
// as ParseUfloat reads it. Where that fails the number is -1. The error is
// ErrNoArgValue if there is no value.
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

// GetBool reports whether the first argument with that key says yes: whether it
// is 1, t, T, true, TRUE, True, y, Y, yes, YES or Yes.
func (a *Args) GetBool(key string) bool {
	switch string(a.Peek(key)) {
	case "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "Yes":
		return true
	}
	return false
}

// All iterates over the keys and values of all arguments, in their order. What
// Peek says of its result holds for both. The arguments must not be changed
// meanwhile.
func (a *Args) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, e := range a.list.Entries {
			if !yield(a.list.Bytes(e.Name), a.list.Bytes(e.Value)) {
				return
			}
		}
	}
}

// VisitAll calls f for every argument, in order. What All says holds here too.
//
// Deprecated: All does the same and can be left early.
func (a *Args) VisitAll(f func(key, value []byte)) {
	for key, value := range a.All() {
		f(key, value)
	}
}
