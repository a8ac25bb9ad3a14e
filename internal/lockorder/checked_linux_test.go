package lockorder

import (
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
)

// failures makes fail record its texts.
func failures(t *testing.T) *[]string {
	before, texts := fail, &[]string{}
	fail = func(text string) { *texts = append(*texts, text) }
	t.Cleanup(func() { fail = before })
	return texts
}

// await waits until c is closed. servertest, which could do that, imports this package.
func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("a goroutine hangs")
	}
}

// use takes a lock, and releases it.
func use(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}

func TestLocksInOrderAreTaken(t *testing.T) {
	texts := failures(t)
	var outer, inner checkedMutex[RequestCtx]
	var conn checkedMutex[H2Conn]
	var watch checkedMutex[Watch]
	for range 2 {
		outer.Lock()
		inner.Lock()
		conn.Lock()
		watch.Lock()
		// in another order than they were taken
		conn.Unlock()
		outer.Unlock()
		watch.Unlock()
		inner.Unlock()
	}
	var hosts checkedRWMutex[Hosts]
	var pool checkedMutex[ConnPool]
	hosts.RLock()
	use(&pool)
	hosts.RUnlock()
	use(&hosts)
	use(&watch)
	if len(*texts) > 0 {
		t.Errorf("failures: %q", *texts)
	}
}

func TestLocksAgainstTheOrderFail(t *testing.T) {
	var ctx, otherCtx checkedMutex[RequestCtx]
	var conn, otherConn checkedMutex[H2Conn]
	var watch checkedMutex[Watch]
	var pool checkedMutex[Workers]
	var wheel checkedMutex[Wheel]
	var hosts checkedRWMutex[Hosts]
	for _, test := range []struct {
		held, taken sync.Locker
		want        string
	}{
		{&ctx, &conn, ""},
		{&ctx, &otherCtx, ""},
		{&conn, &ctx, "lockorder: fasthttp.RequestCtx.timeoutMu is taken while fasthttp.h2Conn.mu is held"},
		{&conn, &otherConn, "lockorder: fasthttp.h2Conn.mu is taken while fasthttp.h2Conn.mu is held"},
		{&pool, &wheel, "lockorder: netloop.wheel.mu is taken while workers.Pool.mu is held, a leaf"},
		{&watch, &conn, "lockorder: fasthttp.h2Conn.mu is taken while watch.Watch.mu is held"},
		{&hosts, &conn, "lockorder: fasthttp.h2Conn.mu is taken while hostmap.Hosts.mu is held"},
	} {
		texts := failures(t)
		test.held.Lock()
		use(test.taken)
		test.held.Unlock()
		got := ""
		if len(*texts) > 0 {
			got = (*texts)[0]
		}
		if got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// A lock taken twice would wait forever.
func TestLocksTakenTwiceFail(t *testing.T) {
	var ctx checkedMutex[RequestCtx]
	text := ""
	before := fail
	defer func() { fail = before }()
	fail = func(s string) {
		text = s
		runtime.Goexit()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx.Lock()
		defer ctx.Unlock()
		ctx.Lock()
	}()
	await(t, done)
	if want := "lockorder: fasthttp.RequestCtx.timeoutMu is taken twice"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TryLock never waits, so it is right in any order, but Lock is not while it is held.
func TestTryLockCountsAsHeld(t *testing.T) {
	texts := failures(t)
	var conn checkedMutex[H2Conn]
	var ctx checkedMutex[RequestCtx]
	conn.Lock()
	if !ctx.TryLock() {
		t.Fatal("a free lock was not taken")
	}
	if ctx.TryLock() {
		t.Fatal("a lock was taken twice")
	}
	if len(*texts) > 0 {
		t.Errorf("failures: %q", *texts)
	}
	conn.Unlock()
	var search checkedMutex[ResponseWriter]
	use(&search)
	ctx.Unlock()
	if len(*texts) != 1 {
		t.Errorf("failures: %q, want one", *texts)
	}
}

// The locks of one goroutine do not count for others, whichever threads they run on.
func TestGoroutinesAreToldApart(t *testing.T) {
	texts := failures(t)
	var conn checkedMutex[H2Conn]
	var held, done sync.WaitGroup
	leave := make(chan struct{})
	for range 10 {
		held.Add(1)
		done.Go(func() {
			var watch checkedMutex[Watch]
			watch.Lock()
			defer watch.Unlock()
			held.Done()
			<-leave
		})
	}
	held.Wait()
	var changes sync.WaitGroup
	for range 10 {
		changes.Go(func() {
			for range 1000 {
				conn.Lock()
				runtime.Gosched()
				conn.Unlock()
			}
		})
	}
	changes.Wait()
	close(leave)
	done.Wait()
	if len(*texts) > 0 {
		t.Errorf("failures: %q", *texts)
	}
}

// A condition releases its lock while it waits.
func TestConditionsReleaseTheirLock(t *testing.T) {
	texts := failures(t)
	var watch, conn checkedMutex[H2Conn]
	cond := sync.NewCond(&conn)
	ready, begun := false, make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		conn.Lock()
		defer conn.Unlock()
		close(begun)
		for !ready {
			cond.Wait()
		}
	})
	await(t, begun)
	conn.Lock()
	ready = true
	conn.Unlock()
	cond.Broadcast()
	waiter.Wait()
	use(&watch)
	if len(*texts) > 0 {
		t.Errorf("failures: %q", *texts)
	}
}

func TestCheckingAllocatesNothing(t *testing.T) {
	var ctx checkedMutex[RequestCtx]
	var conn checkedMutex[H2Conn]
	var hosts checkedRWMutex[Hosts]
	var pool checkedMutex[ConnPool]
	if n := testing.AllocsPerRun(100, func() {
		ctx.Lock()
		conn.Lock()
		hosts.RLock()
		pool.Lock()
		hosts.RUnlock()
		pool.Unlock()
		conn.Unlock()
		ctx.Unlock()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCheckedLocksAreNotLarger(t *testing.T) {
	for _, sizes := range [][2]reflect.Type{
		{reflect.TypeFor[checkedMutex[H2Conn]](), reflect.TypeFor[sync.Mutex]()},
		{reflect.TypeFor[checkedRWMutex[Hosts]](), reflect.TypeFor[sync.RWMutex]()},
	} {
		if got, want := sizes[0].Size(), sizes[1].Size(); got != want {
			t.Errorf("%v has %d bytes, want %d", sizes[0], got, want)
		}
	}
}
