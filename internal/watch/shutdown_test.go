package watch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A shutdown calls the functions of all requests but those that ended or were removed, and waits
// for them.
func TestShutdownCallsTheFunctionsOfRequests(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var funcs Funcs
		var mu sync.Mutex
		calls := make(map[string]bool)
		stopped := make(chan struct{})
		release := make(chan struct{})
		add := func(name string, id uint64, before *Func) *Func {
			return funcs.Add(func(ctx context.Context) {
				<-release
				mu.Lock()
				defer mu.Unlock()
				calls[name] = ctx.Err() == nil
			}, id, before, stopped)
		}
		one := add("one", 1, nil)
		add("of the same shard", 1+numShards, nil)
		ended := add("ended, second", 2, add("ended", 2, nil))
		removed := add("removed", 3, nil)
		if n := funcs.Len(); n != 5 {
			t.Errorf("there are %d functions", n)
		}
		ended.End()
		if !removed.Remove() || removed.Remove() {
			t.Error("a function is not removed exactly once")
		}
		if got := one.After(ended); got != one || one.next != ended || (*Func)(nil).After(one) != one {
			t.Error("the lists of two requests are not joined")
		}
		ctx, cancel := context.WithCancel(t.Context())
		number := funcs.Announce(oddContext{ctx, nil})
		close(stopped)
		funcs.Begin()
		add("late", 1, nil)
		synctest.Wait()
		if one.Remove() {
			t.Error("a function that runs was removed")
		}
		short, end := context.WithCancel(t.Context())
		end()
		if err := funcs.Wait(short); err != context.Canceled {
			t.Errorf("waiting for functions that run: %v", err)
		}
		cancel()
		synctest.Wait()
		close(release)
		if err := funcs.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if len(calls) != 3 || calls["one"] || calls["of the same shard"] || calls["late"] {
			t.Errorf("%v were called, with true if the shutdown was still going on", calls)
		}
		next := funcs.Announce(t.Context())
		if funcs.End(number); funcs.ctx == nil {
			t.Error("the end of a shutdown has removed the context of the next one")
		}
		if funcs.End(next); funcs.ctx != nil {
			t.Error("the context of a shutdown that has ended is kept")
		}
	})
}

// oddContext is a context whose values cannot be compared.
type oddContext struct {
	context.Context
	_ []int
}
