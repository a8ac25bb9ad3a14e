package fasthttp

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestContextTravelsWithTheRequest sets a context in a handler around others, on each engine.
func TestContextTravelsWithTheRequest(t *testing.T) {
	inner := func(ctx *RequestCtx) {
		deeper := context.WithValue(ctx.Context(), spanKey{}, fmt.Sprint("child of ", ctx.Value(spanKey{})))
		ctx.SetContext(deeper)
		var all sync.WaitGroup
		for range 4 {
			// values may be read by several goroutines, as before
			all.Go(func() {
				_ = ctx.Value(spanKey{})
				_ = ctx.Context().Value("user")
			})
		}
		all.Wait()
	}
	handlers := map[string]RequestHandler{
		"plain":   inner,
		"timeout": TimeoutHandler(inner, servertest.Never, "late"),
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if ctx.Value(spanKey{}) != nil {
				t.Error("a request has the context of another one")
			}
			ctx.SetUserValue("user", "value")
			ctx.SetContext(context.WithValue(ctx.Context(), spanKey{}, "span"))
			handlers[string(ctx.Path()[1:])](ctx)
			fmt.Fprint(ctx, ctx.Value(spanKey{}), ",", ctx.Value("user"), ",", ctx.Context().Value("user"), ",", ctx.Value("none"))
		}})
		c := ts.Dial()
		for name := range handlers {
			for range 2 {
				c.Get("/" + name)
				c.Expect(200, "child of span,value,value,<nil>")
			}
		}
	})
}

type moreKey struct{}

func TestContextIsReplacedAndRemoved(t *testing.T) {
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, nil)
	ctx.SetContext(context.WithValue(context.Background(), spanKey{}, 1))
	ctx.SetContext(context.WithValue(ctx.Context(), moreKey{}, 2))
	if ctx.Value(spanKey{}) != 1 || ctx.Value(moreKey{}) != 2 || ctx.Context().Value(spanKey{}) != 1 {
		t.Error("the values of the contexts are not found")
	}
	ctx.SetUserValue(spanKey{}, 3)
	if ctx.Value(spanKey{}) != 3 {
		t.Error("a user value does not take precedence")
	}
	var none context.Context
	ctx.SetContext(none)
	if ctx.Value(moreKey{}) != nil || ctx.Value(spanKey{}) != 3 {
		t.Error("the context was not removed")
	}
	for _, derived := range []context.Context{&ctx, context.WithValue(&ctx, spanKey{}, 1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a context derived from the RequestCtx itself is accepted")
				}
			}()
			ctx.SetContext(derived)
		}()
	}
}

// TestContextFuncTravelsWithTheRequest sets a function in a handler around others, on each engine.
func TestContextFuncTravelsWithTheRequest(t *testing.T) {
	inner := func(ctx *RequestCtx) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := ctx.Value(spanKey{}); got != "span of value" {
					t.Errorf("another goroutine finds %v", got)
				}
			})
		}
		all.Wait()
		ctx.SetContext(context.WithValue(ctx.Context(), moreKey{}, "child"))
	}
	handlers := map[string]RequestHandler{
		"plain":   inner,
		"timeout": TimeoutHandler(inner, servertest.Never, "late"),
	}
	makeContext := func(ctx *RequestCtx) context.Context {
		return context.WithValue(ctx.UserValue("base").(context.Context), spanKey{}, "span of "+ctx.UserValue("user").(string))
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if ctx.Value(spanKey{}) != nil {
				t.Error("a request has the context of another one")
			}
			ctx.SetUserValue("base", ctx.Context())
			ctx.SetUserValue("user", "value")
			ctx.SetContextFunc(makeContext)
			handlers[string(ctx.Path()[1:])](ctx)
			fmt.Fprint(ctx, ctx.Value(spanKey{}), ",", ctx.Value(moreKey{}), ",", ctx.Context().Value("user"), ",", ctx.Value("none"))
		}})
		c := ts.Dial()
		for name := range handlers {
			for range 2 {
				c.Get("/" + name)
				c.Expect(200, "span of value,child,value,<nil>")
			}
		}
	})
}

func TestContextFuncIsCalledIfItIsNeeded(t *testing.T) {
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, nil)
	calls := 0
	made := context.WithValue(context.Background(), spanKey{}, "span")
	f := func(*RequestCtx) context.Context {
		calls++
		return made
	}
	if n := testing.AllocsPerRun(100, func() {
		ctx.SetContextFunc(f)
		ctx.SetUserValue("user", made)
		if ctx.Value("user") != any(made) || ctx.Done() == nil {
			t.Error("the context is in the way of other values")
		}
		ctx.ResetUserValues()
	}); n != 0 || calls != 0 {
		t.Errorf("%v allocations, %d calls", n, calls)
	}
	ctx.SetContextFunc(f)
	if ctx.Context() != made || ctx.Value(spanKey{}) != "span" || calls != 2 {
		t.Errorf("the context is %v", ctx.Context())
	}
	ctx.SetContextFunc(func(*RequestCtx) context.Context { return nil })
	if ctx.Context() != (requestContext{&ctx}) || ctx.Value(spanKey{}) != nil {
		t.Errorf("the context is %v", ctx.Context())
	}
	ctx.SetContextFunc(f)
	ctx.SetContextFunc(nil)
	if ctx.Value(spanKey{}) != nil {
		t.Error("the function was not removed")
	}
}

// The contexts derived from Context end with the request, by AfterFunc, without a goroutine.
func TestContextEndsWithTheServer(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		begun, ended := make(chan struct{}), make(chan error, 2)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			derived, cancel := context.WithCancel(ctx.Context())
			defer cancel()
			if _, limited := derived.Deadline(); limited || derived.Err() != nil {
				t.Errorf("the context has a deadline, or the error %v", derived.Err())
			}
			close(begun)
			select {
			case <-derived.Done():
				ended <- derived.Err()
			case <-time.After(servertest.Patience):
				ended <- nil
			}
		}})
		c := ts.Dial()
		c.Get("/")
		servertest.Receive(t, "the request", begun)
		go func() { ended <- ts.S.Shutdown() }()
		if err := servertest.Receive(t, "the end", ended); err != context.Canceled {
			t.Errorf("the context ends with %v", err)
		}
		c.Expect(200, "")
		servertest.Must(t, servertest.Receive(t, "Shutdown", ended))
	})
}

func TestValueAndContextDoNotAllocate(t *testing.T) {
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, nil)
	ctx.SetUserValue("user", "value")
	ctx.SetContext(context.WithValue(context.Background(), spanKey{}, "span"))
	var got any
	if n := testing.AllocsPerRun(100, func() { got = ctx.Value(spanKey{}); _ = ctx.Context() }); n != 0 || got != "span" {
		t.Errorf("%v allocations, got %v", n, got)
	}
}
