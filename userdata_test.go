package fasthttp

import (
	"fmt"
	"testing"
)

type valueKey struct{ n int }

func TestUserValues(t *testing.T) {
	var req Request
	if req.UserValue("none") != nil || req.UserValueBytes([]byte("none")) != nil || req.UserValue(valueKey{1}) != nil {
		t.Error("a request has values at first")
	}
	req.SetUserValue("a", 1)
	req.SetUserValueBytes([]byte("b"), "two")
	req.SetUserValue(valueKey{1}, 3)
	req.SetUserValue(valueKey{2}, 4)
	req.SetUserValue(5, 5)
	req.SetUserValue("a", 6)
	for key, want := range map[any]any{"a": 6, "b": "two", valueKey{1}: 3, valueKey{2}: 4, 5: 5, "c": nil, valueKey{3}: nil, int64(5): nil} {
		if got := req.UserValue(key); got != want {
			t.Errorf("%v is %v, want %v", key, got, want)
		}
	}
	if req.UserValueBytes([]byte("b")) != "two" || req.UserValueBytes([]byte("5")) != nil {
		t.Errorf("b is %v", req.UserValueBytes([]byte("b")))
	}
	named, all := "", ""
	req.VisitUserValues(func(key []byte, value any) { named += fmt.Sprintf("%s=%v ", key, value) })
	req.VisitUserValuesAll(func(key, value any) { all += fmt.Sprintf("%v=%v ", key, value) })
	if named != "a=6 b=two " || all != "a=6 b=two {1}=3 {2}=4 5=5 " {
		t.Errorf("%q, %q", named, all)
	}
	req.RemoveUserValue(valueKey{1})
	req.RemoveUserValueBytes([]byte("a"))
	req.RemoveUserValue("none")
	all = ""
	req.VisitUserValuesAll(func(key, value any) { all += fmt.Sprintf("%v=%v ", key, value) })
	if all != "b=two {2}=4 5=5 " {
		t.Errorf("after removing: %q", all)
	}
	req.ResetUserValues()
	req.VisitUserValuesAll(func(key, value any) { t.Errorf("%v is left", key) })
}

func TestUserValueKeyIsTakenAsItIsNow(t *testing.T) {
	var req Request
	key := []byte("key")
	req.SetUserValueBytes(key, 1)
	copy(key, "new")
	if req.UserValue("key") != 1 || req.UserValue("new") != nil {
		t.Error("the key has changed with its bytes")
	}
}

func TestUserValueOfNil(t *testing.T) {
	var req Request
	req.SetUserValue("a", nil)
	n := 0
	req.VisitUserValuesAll(func(_, _ any) { n++ })
	if n != 0 {
		t.Errorf("%d values", n)
	}
	req.SetUserValue("a", 1)
	req.SetUserValue("a", nil)
	if req.UserValue("a") != nil {
		t.Errorf("%v", req.UserValue("a"))
	}
}

func TestUserValuesThatCloseAreClosedOnce(t *testing.T) {
	var req Request
	first, second, removed, replaced := &closeCounter{}, &closeCounter{}, &closeCounter{}, &closeCounter{}
	req.SetUserValue("replaced", replaced)
	req.SetUserValue("replaced", 1)
	req.SetUserValue("first", first)
	req.SetUserValue("removed", removed)
	req.RemoveUserValue("removed")
	req.ResetUserValues()
	req.SetUserValue("second", second)
	req.Reset()
	req.Reset()
	if first.n != 1 || second.n != 1 || removed.n != 0 || replaced.n != 0 {
		t.Errorf("closed %d, %d, %d and %d times", first.n, second.n, removed.n, replaced.n)
	}
}

func TestUserValuesDoNotAllocate(t *testing.T) {
	var req Request
	value := any("value")
	key := []byte("key")
	checkAllocs(t, "user values", func() {
		req.SetUserValue("a", value)
		req.SetUserValue("b", value)
		if req.UserValue("a") != value || req.UserValueBytes(key) != nil {
			t.Error("not the value that was set")
		}
		req.RemoveUserValue("a")
		req.ResetUserValues()
	})
}
