package fasthttp

import (
	"fmt"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
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
			t.Error("not what was set")
		}
		req.RemoveUserValue("a")
		req.ResetUserValues()
	})
}

// Those that are closers see the request and the response as they were, and what
// they ask for does not stay with the context.
func TestUserValuesAreClosedBeforeTheRequestIsReset(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan string, 1)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			ctx.SetUserValue("key", servertest.CloserFunc(func() { closed <- seenOf(ctx) }))
			if path := string(ctx.Path()); path != "/p" {
				ctx.SetBodyString(path)
				return
			}
			ctx.SetStatusCode(202)
			ctx.SetBodyString("taken")
		}})
		c := ts.Dial()
		c.Send(servertest.Head("POST /p?q=1 HTTP/1.1", "Host: a", "X: y", "Content-Length: 3") + "abc")
		c.Expect(202, "taken")
		if seen := servertest.Receive(t, "the end of user values", closed); seen != seenBefore {
			t.Errorf("a user value has %s", seen)
		}
		c.Get("/next")
		c.Expect(200, "/next")
		servertest.Receive(t, "the end of user values", closed)
	})
	var req Request
	req.SetRequestURI("http://a/p")
	path := ""
	req.SetUserValue("key", servertest.CloserFunc(func() { path = string(req.URI().Path()) }))
	req.Reset()
	if path != "/p" || string(req.URI().FullURI()) != "http:///" {
		t.Errorf("the path was %q, the URI is %s", path, req.URI())
	}
}

func TestUserValueThatPanicsIsClosedOnce(t *testing.T) {
	ts := startServer(t, servertest.MemoryEngine, &Server{Handler: func(ctx *RequestCtx) {
		ctx.SetUserValue("key", servertest.CloserFunc(func() { panic("closed") }))
	}})
	c := ts.Dial()
	c.Get("/")
	c.ExpectCut()
	if n := len(ts.Log.All()); n != 1 {
		t.Errorf("%d lines: %q", n, ts.Log.All())
	}
}
