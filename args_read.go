package fasthttp

import (
	"iter"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Has reports whether there is an argument with that key.
func (a *Args) Has(key string) bool { return a.list.Get(key) != nil }

// HasBytes is Has for a key in bytes.
func (a *Args) HasBytes(key []byte) bool { return a.list.Find(key, 0) >= 0 }

// Peek returns the value of the first argument with that key. It is nil only
// where there is none; an empty value is an empty slice. The result is a piece
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
// ErrNoArgValue where there is no value.
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
// ErrNoArgValue where there is no value.
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
