package connpool

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// conn is a connection that records whether it was closed.
type conn struct {
	id     int
	closed atomic.Bool
}

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		// the pool would recover from a panic on this goroutine
		go panic("closed twice")
	}
	return nil
}

// inBubble is synctest.Test for tests of which one may start the clock.
func inBubble(t *testing.T, test func(t *testing.T)) {
	servertest.Bubble(t, func(t *testing.T) {
		// the clock ends when it is unused
		t.Cleanup(func() { time.Sleep(time.Hour) }) // bubble: within synctest.Test
		test(t)
	})
}

func newPool(size int) *Pool[*conn] { return &Pool[*conn]{Max: size} }

func (p *Pool[C]) mustGet(t *testing.T) Grant[C] {
	t.Helper()
	g, ok := p.TryGet(Any)
	if !ok {
		t.Fatal("there is no place")
	}
	return g
}

func TestIdleConnectionsAreTakenByStrategy(t *testing.T) {
	for _, oldestFirst := range []bool{true, false} {
		p := newPool(20)
		p.OldestFirst = oldestFirst
		for range 20 {
			p.mustGet(t)
		}
		for i := range 20 {
			p.Put(&conn{id: i}, clock.Elapsed())
		}
		for i := range 20 {
			want := i
			if !oldestFirst {
				want = 19 - i
			}
			if g := p.mustGet(t); !g.Found || g.Conn.id != want {
				t.Fatalf("got %+v, want connection %d", g, want)
			}
		}
		if p.Open() != 20 || p.Idle() != 0 {
			t.Errorf("%d open, %d idle", p.Open(), p.Idle())
		}
	}
}

func TestQueueIsARing(t *testing.T) {
	var q queue[int]
	next, first := 0, 0
	for round := range 200 {
		for range round%7 + 3 {
			q.push(idleConn[int]{conn: next})
			next++
		}
		for range round%5 + 2 {
			if got := q.popFirst().conn; got != first {
				t.Fatalf("got %d, want %d", got, first)
			}
			first++
		}
		if got := q.popLast().conn; got != next-1 {
			t.Fatalf("got %d, want %d", got, next-1)
		}
		next--
	}
	if q.n != next-first {
		t.Errorf("%d are left, want %d", q.n, next-first)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPool(1)
		p.mustGet(t)
		order := make(chan int, 10)
		for i := range 10 {
			go func() {
				if _, err := p.Get(Any, time.Time{}, nil); err != nil {
					t.Error(err)
				}
				order <- i
			}()
			synctest.Wait()
		}
		for i := range 10 {
			if i%2 == 0 {
				p.Put(&conn{id: i}, clock.Elapsed())
			} else {
				p.ReleasePlace(Any)
			}
			if got := <-order; got != i {
				t.Errorf("%d was served, want %d", got, i)
			}
		}
	})
}

func TestWaitersGiveUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPool(1)
		p.mustGet(t)
		start := time.Now()
		if _, err := p.Get(Any, start.Add(time.Second), nil); err != ErrTimeout || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		if _, err := p.Get(Any, time.Time{}, done); err != ErrCanceled {
			t.Errorf("got %v", err)
		}
		if p.Waiting() != 0 || p.Open() != 1 {
			t.Errorf("%d wait, %d are open", p.Waiting(), p.Open())
		}
		p.ReleasePlace(Any)
		if g := p.mustGet(t); g.Found {
			t.Error("a connection came from nowhere")
		}
	})
}

func TestSetMaxAdmitsAndCloses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPool(1)
		p.mustGet(t)
		var got atomic.Int32
		for range 5 {
			go func() {
				if _, err := p.Get(Any, time.Time{}, nil); err == nil {
					got.Add(1)
				}
			}()
		}
		synctest.Wait()
		p.SetMax(4)
		synctest.Wait()
		if got.Load() != 3 || p.Open() != 4 {
			t.Errorf("%d were admitted, %d are open", got.Load(), p.Open())
		}
		p.SetMax(2)
		c := &conn{}
		p.Put(c, clock.Elapsed())
		if !c.closed.Load() || p.Open() != 3 {
			t.Errorf("a connection too many: closed %v, %d open", c.closed.Load(), p.Open())
		}
		p.SetMax(6)
		synctest.Wait()
		if got.Load() != 5 || p.Open() != 5 {
			t.Errorf("%d were admitted, %d are open", got.Load(), p.Open())
		}
		idle := &conn{}
		p.Put(idle, clock.Elapsed())
		p.SetMax(1)
		if !idle.closed.Load() {
			t.Error("an idle connection was not closed")
		}
	})
}

func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	p := newPool(3)
	p.MaxIdle = 50 * time.Millisecond
	conns := []*conn{{}, {}, {}}
	for range conns {
		p.mustGet(t)
	}
	for _, c := range conns {
		p.Put(c, clock.Elapsed())
	}
	servertest.Eventually(t, "the end of idle connections", func() bool { return p.Open() == 0 })
	for _, c := range conns {
		if !c.closed.Load() {
			t.Error("a connection was dropped, but not closed")
		}
	}
	p.mu.Lock()
	if p.armed {
		t.Error("the timer runs for nothing")
	}
	p.mu.Unlock()
}

// A Close that panics costs neither the place of its connection nor the process, even on the
// goroutine of the timer.
func TestPanicsOfCloseKeepThePlaces(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := &Pool[*faultyConn]{Max: 2, MaxIdle: time.Minute}
		for part, closes := range map[string]func(c *faultyConn){
			"discarding": p.Discard,
			"closing":    func(c *faultyConn) { p.Put(c, clock.Monotonic()); p.CloseIdle() },
			"idling": func(c *faultyConn) {
				p.Put(c, clock.Monotonic())
				time.Sleep(2 * time.Minute) // bubble: within synctest.Test
				synctest.Wait()
			},
			"replacing": func(c *faultyConn) {
				if _, ok := p.Replace(c, Any); ok {
					p.ReleasePlace(Any)
				}
			},
		} {
			c := new(faultyConn)
			if _, ok := p.TryGet(Any); !ok {
				t.Fatalf("%s: there is no place", part)
			}
			closes(c)
			if n := p.Open(); n != 0 || c.closed != 1 {
				t.Errorf("%s: %d places are taken, %d calls of Close", part, n, c.closed)
			}
		}
	})
}

// faultyConn is a connection of the application.
type faultyConn struct{ closed int }

func (c *faultyConn) Close() error {
	c.closed++
	panic("a mistake")
}

func TestCloseIdle(t *testing.T) {
	p := newPool(3)
	p.MaxIdle = time.Hour
	c := &conn{}
	p.mustGet(t)
	p.mustGet(t)
	p.Put(c, clock.Elapsed())
	p.CloseIdle()
	if !c.closed.Load() || p.Open() != 1 || p.armed {
		t.Errorf("closed %v, %d open, timer %v", c.closed.Load(), p.Open(), p.armed)
	}
}

func TestReplaceGivesThePlaceBack(t *testing.T) {
	p := newPool(2)
	p.mustGet(t)
	p.mustGet(t)
	bad := &conn{id: 1}
	if g, ok := p.Replace(bad, Any); !ok || g.Found || p.Open() != 2 || !bad.closed.Load() {
		t.Errorf("got %+v, %v, %d open: want the leave to open one", g, ok, p.Open())
	}
	p.Put(&conn{id: 7}, clock.Elapsed())
	if g, ok := p.Replace(&conn{id: 2}, Any); !ok || g.Conn.id != 7 || p.Open() != 1 {
		t.Errorf("got %+v, %v, %d open", g, ok, p.Open())
	}
}

// Thousands of goroutines take, keep, lose and wait for places. In the end all
// places are free, and no goroutine waits.
func TestNoPlaceGetsLost(t *testing.T) {
	const size = 7
	p := newPool(size)
	p.MaxIdle = time.Millisecond
	var inUse, opened atomic.Int32
	var wg sync.WaitGroup
	for range 3000 {
		wg.Go(func() {
			var until time.Time
			if rand.N(3) == 0 {
				until = time.Now().Add(rand.N(2 * time.Millisecond))
			}
			var done chan struct{}
			if rand.N(4) == 0 {
				done = make(chan struct{})
				time.AfterFunc(rand.N(2*time.Millisecond), func() { close(done) })
			}
			g, err := p.Get(Any, until, done)
			if err != nil {
				return
			}
			if n := inUse.Add(1); n > size {
				t.Errorf("%d places are in use", n)
			}
			runtime.Gosched()
			if !g.Found {
				g.Conn = &conn{id: int(opened.Add(1))}
			} else if g.Conn.closed.Load() {
				t.Error("a closed connection was handed out")
			}
			inUse.Add(-1)
			if rand.N(5) == 0 {
				_ = g.Conn.Close()
				p.ReleasePlace(Any)
				return
			}
			p.Put(g.Conn, clock.Elapsed())
		})
	}
	wg.Wait()
	if p.Waiting() != 0 {
		t.Errorf("%d wait", p.Waiting())
	}
	p.CloseIdle()
	// the timer may still be closing others
	servertest.Eventually(t, "all places are free", func() bool { return p.Open() == 0 })
	if p.Idle() != 0 {
		t.Errorf("%d are idle", p.Idle())
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	p := newPool(2)
	p.MaxIdle = time.Hour
	p.mustGet(t)
	p.Put(&conn{}, clock.Elapsed())
	n := testing.AllocsPerRun(1000, func() {
		g, _ := p.TryGet(Any)
		p.Put(g.Conn, clock.Elapsed())
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	p.CloseIdle()
}
