package connpool

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// streams is a connection of a protocol that serves several users concurrently.
type streams struct {
	conn
	room atomic.Int32 // number of users that fit
}

func (s *streams) reserve() bool {
	for {
		n := s.room.Load()
		if n <= 0 {
			return false
		}
		if s.room.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// openShared takes a place and shares a connection in it that serves the given
// number of users.
func openShared(t *testing.T, p *Pool[*streams], users int32) *streams {
	t.Helper()
	if g := p.mustGet(t); g.Found {
		t.Fatalf("got %+v, want the leave to open a connection", g)
	}
	s := &streams{}
	s.room.Store(users - 1)
	p.Share(s)
	return s
}

func sharing(size int) *Pool[*streams] {
	return &Pool[*streams]{Max: size, Reserve: (*streams).reserve}
}

// put returns a reservation to the protocol and to the pool.
func (s *streams) put(p *Pool[*streams]) {
	s.room.Add(1)
	p.Put(s, clock.Elapsed())
}

func TestSharedConnectionHasAsManyUsersAsItTakes(t *testing.T) {
	for _, users := range []int32{1, 2, 100} {
		p := sharing(2)
		s := openShared(t, p, users)
		for range users - 1 {
			if g := p.mustGet(t); !g.Found || g.Conn != s || g.Since == 0 {
				t.Fatalf("got %+v, want the shared connection", g)
			}
		}
		if p.Open() != 1 || p.Idle() != 0 {
			t.Errorf("%d open, %d idle", p.Open(), p.Idle())
		}
		second := openShared(t, p, 1)
		if g, ok := p.TryGet(Any); ok {
			t.Errorf("got %+v without room and without a place", g)
		}
		for range users {
			s.put(p)
		}
		second.put(p)
		if p.Open() != 2 || p.Idle() != 2 {
			t.Errorf("at the end: %d open, %d idle", p.Open(), p.Idle())
		}
		p.CloseIdle()
		if p.Open() != 0 || !s.closed.Load() || !second.closed.Load() {
			t.Errorf("%d open after CloseIdle", p.Open())
		}
	}
}

func TestWaitersGetReservations(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := sharing(1)
		p.mustGet(t)
		got := make(chan *streams, 6)
		for range 6 {
			go func() {
				g, err := p.Get(Any, time.Time{}, nil)
				if err != nil || !g.Found {
					t.Errorf("got %+v, %v", g, err)
				}
				got <- g.Conn
			}()
		}
		synctest.Wait()
		s := &streams{}
		s.room.Store(3)
		p.Share(s)
		synctest.Wait()
		if n := len(got); n != 3 || p.Waiting() != 3 {
			t.Errorf("%d have a reservation, %d wait", n, p.Waiting())
		}
		s.put(p)
		synctest.Wait()
		if n := len(got); n != 4 {
			t.Errorf("%d have a reservation after one was given back", n)
		}
		s.room.Add(2)
		p.HasRoom(s)
		synctest.Wait()
		if n := len(got); n != 6 || p.Waiting() != 0 {
			t.Errorf("%d have a reservation, %d wait", n, p.Waiting())
		}
	})
}

func TestSharedConnectionIsClosedByItsLastUser(t *testing.T) {
	p := sharing(1)
	s := openShared(t, p, 3)
	p.mustGet(t)
	p.mustGet(t)
	s.room.Add(1)
	p.Discard(s)
	if g, ok := p.TryGet(Any); ok || s.closed.Load() {
		t.Errorf("got %+v, closed: %v, of a connection that is given up", g, s.closed.Load())
	}
	s.put(p)
	if p.Open() != 1 || s.closed.Load() {
		t.Error("the connection is closed before its last user has left it")
	}
	s.put(p)
	if p.Open() != 0 || !s.closed.Load() || p.Idle() != 0 {
		t.Errorf("%d open, %d idle, closed: %v", p.Open(), p.Idle(), s.closed.Load())
	}
	openShared(t, p, 1)
}

func TestSharedConnectionIsReplaced(t *testing.T) {
	p := sharing(1)
	s := openShared(t, p, 2)
	p.mustGet(t)
	if g, ok := p.Replace(s, Any); ok {
		t.Errorf("got %+v while the place is taken", g)
	}
	if g, ok := p.Replace(s, Any); !ok || g.Found || !s.closed.Load() || p.Open() != 1 {
		t.Errorf("got %+v, %v, %d open: want the leave to open one", g, ok, p.Open())
	}
	p.ReleasePlace(Any)
	p.SetMax(2)
	first, second := openShared(t, p, 1), openShared(t, p, 2)
	if g, ok := p.Replace(first, Any); !ok || g.Conn != second || !first.closed.Load() || p.Open() != 1 {
		t.Errorf("got %+v, %v, %d open: want the other one", g, ok, p.Open())
	}
}

func TestFewerSharedConnections(t *testing.T) {
	p := sharing(3)
	idle, used, last := openShared(t, p, 1), openShared(t, p, 1), openShared(t, p, 1)
	idle.put(p)
	p.SetMax(2)
	if !idle.closed.Load() || p.Open() != 2 {
		t.Errorf("%d open", p.Open())
	}
	p.SetMax(1)
	used.put(p)
	if !used.closed.Load() || last.closed.Load() || p.Open() != 1 {
		t.Errorf("%d open", p.Open())
	}
	last.put(p)
	if last.closed.Load() || p.Open() != 1 || p.Idle() != 1 {
		t.Errorf("%d open, %d idle", p.Open(), p.Idle())
	}
}

func TestIdleSharedConnectionsAreClosedInTime(t *testing.T) {
	p := sharing(2)
	p.MaxIdle = 20 * time.Millisecond
	s, used := openShared(t, p, 1), openShared(t, p, 1)
	closed := func(s *streams) {
		t.Helper()
		servertest.Eventually(t, "the end of an idle connection", s.closed.Load)
	}
	s.put(p)
	closed(s)
	if used.closed.Load() {
		t.Error("a connection in use was closed")
	}
	used.put(p)
	closed(used)
	servertest.Eventually(t, "its place is free", func() bool { return p.Open() == 0 })
}

// Many goroutines take and return reservations of connections that fail now and
// then. In the end no place is missing, and no connection had more users than it
// serves.
func TestNoReservationGetsLost(t *testing.T) {
	p := sharing(3)
	const each = 5
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			for j := range 50 {
				g, err := p.Get(Any, time.Time{}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				s := g.Conn
				if !g.Found {
					s = &streams{}
					s.room.Store(each - 1)
					p.Share(s)
				}
				if s.closed.Load() {
					t.Error("a connection that is closed was given away")
				}
				if s.room.Add(1); (i+j)%17 == 0 {
					p.Discard(s)
				} else {
					p.Put(s, clock.Elapsed())
				}
			}
		})
	}
	wg.Wait()
	if p.Waiting() != 0 || p.Open() != p.Idle() || p.Open() > 3 {
		t.Errorf("%d open, %d idle, %d wait", p.Open(), p.Idle(), p.Waiting())
	}
	p.CloseIdle()
	if p.Open() != 0 {
		t.Errorf("%d open at the end", p.Open())
	}
}

// wait begins a call that waits for a connection, which got then receives.
func wait[C Conn](t *testing.T, p *Pool[C], need Need, got chan<- Grant[C]) {
	go func() {
		g, err := p.Get(need, time.Time{}, nil)
		if err != nil {
			t.Error(err)
		}
		got <- g
	}()
	synctest.Wait()
}

// While a connection is being opened that many callers can share, they wait for it.
func TestConnectionsAreOpenedInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := sharing(10)
		p.OpenSerially(true)
		p.mustGet(t)
		got := make(chan Grant[*streams], 10)
		for range 5 {
			wait(t, p, Any, got)
		}
		if len(got) != 0 || p.Open() != 1 {
			t.Fatalf("%d callers go on, %d places are taken", len(got), p.Open())
		}
		first := &streams{}
		first.room.Store(2)
		p.Share(first)
		synctest.Wait()
		if len(got) != 2 || p.Open() != 1 {
			t.Fatalf("%d callers share the connection, %d places are taken", len(got), p.Open())
		}
		first.room.Store(1)
		p.HasRoom(first)
		synctest.Wait()
		// one more shares it, and another one opens a connection
		if len(got) != 4 || p.Open() != 2 || p.Waiting() != 1 {
			t.Fatalf("%d callers go on, %d places are taken, %d wait", len(got), p.Open(), p.Waiting())
		}
		// opening it failed: the others need not try in turn
		p.ReleasePlace(Any)
		synctest.Wait()
		if len(got) != 5 || p.Open() != 2 {
			t.Fatalf("%d callers go on, %d places are taken", len(got), p.Open())
		}
		if g, ok := p.TryGet(Any); !ok || g.Found {
			t.Errorf("a caller has to wait for one that may not come: %+v", g)
		}
		p.ReleasePlace(Any)
		p.ReleasePlace(Any)
		p.OpenSerially(false)
		for range 9 {
			if g, ok := p.TryGet(Any); !ok || g.Found {
				t.Errorf("a caller may not open a connection: %+v", g)
			}
		}
	})
}

// A connection that ends is no longer lent, and its end lets callers open another one.
func TestRetiredConnectionsGiveWay(t *testing.T) {
	p := sharing(2)
	p.OpenSerially(true)
	s := openShared(t, p, 2)
	p.Retire(s)
	if s.closed.Load() {
		t.Error("a connection was closed under its user")
	}
	if g, ok := p.TryGet(Any); !ok || g.Found {
		t.Errorf("%+v, %v: want the leave to open a connection", g, ok)
	}
	p.ReleasePlace(Any)
	s.put(p)
	if !s.closed.Load() || p.Open() != 0 {
		t.Errorf("closed: %v, %d places are taken", s.closed.Load(), p.Open())
	}
	idle := openShared(t, p, 2)
	p.HasRoom(idle)
	idle.put(p)
	p.Retire(idle)
	p.Retire(idle)
	if !idle.closed.Load() || p.Open() != 0 || p.Idle() != 0 {
		t.Errorf("closed: %v, %d places are taken", idle.closed.Load(), p.Open())
	}
}

// openOwn opens a connection with one user in a place.
func openOwn(t *testing.T, p *Pool[*streams]) *streams {
	t.Helper()
	if g, ok := p.TryGet(Own); !ok || g.Found {
		t.Fatalf("got %+v, %v, want the leave to open a connection", g, ok)
	}
	return &streams{}
}

// A caller that needs a connection of its own does not get a reservation, and callers that can share
// one leave it alone.
func TestConnectionsOfBothKindsAreCounted(t *testing.T) {
	p := sharing(3)
	p.OpenSerially(true)
	s := openShared(t, p, 3)
	own := openOwn(t, p)
	p.HasRoom(s)
	p.Put(own, clock.Elapsed())
	if p.Open() != 2 || p.Idle() != 1 {
		t.Errorf("%d open, %d idle", p.Open(), p.Idle())
	}
	for range 2 {
		if g, ok := p.TryGet(Any); !ok || g.Conn != s {
			t.Errorf("got %+v, want a reservation", g)
		}
	}
	if g, ok := p.TryGet(Any); !ok || g.Found {
		t.Errorf("got %+v, want the leave to open a connection", g)
	}
	if g, ok := p.TryGet(Own); !ok || g.Conn != own {
		t.Errorf("got %+v, want the connection with one user", g)
	}
	p.ReleasePlace(Any)
	p.Put(own, clock.Elapsed())
	for range 3 {
		s.put(p)
	}
	if p.Open() != 2 || p.Idle() != 2 {
		t.Errorf("at the end: %d open, %d idle", p.Open(), p.Idle())
	}
	p.CloseIdle()
	if p.Open() != 0 || !s.closed.Load() || !own.closed.Load() {
		t.Errorf("%d open after CloseIdle", p.Open())
	}
}

// Opening a connection of one's own does not count as opening a shared one.
func TestOwnConnectionsAreOpenedBesideOthers(t *testing.T) {
	for name, end := range map[string]func(p *Pool[*streams], own *streams){
		"put":    func(p *Pool[*streams], own *streams) { p.Put(own, clock.Elapsed()) },
		"failed": func(p *Pool[*streams], _ *streams) { p.ReleasePlace(Own) },
		"late":   func(p *Pool[*streams], _ *streams) { p.MarkLate(Own) },
	} {
		t.Run(name, func(t *testing.T) {
			p := sharing(3)
			p.OpenSerially(true)
			p.mustGet(t)
			own := openOwn(t, p)
			end(p, own)
			if g, ok := p.TryGet(Any); ok {
				t.Errorf("got %+v while a shared connection is being opened", g)
			}
		})
	}
}

// If all places are taken by connections that a caller cannot use, an idle one is closed for it.
func TestIdleConnectionsGiveWay(t *testing.T) {
	p := sharing(1)
	p.OpenSerially(true)
	s := openShared(t, p, 1)
	p.HasRoom(s)
	s.put(p)
	get := func(need Need) (g Grant[*streams]) {
		t.Helper()
		g, err := p.Get(need, time.Now().Add(servertest.Patience), nil)
		servertest.Must(t, err)
		return g
	}
	if g := get(Own); g.Found || !s.closed.Load() || p.Open() != 1 {
		t.Fatalf("got %+v, closed: %v, %d open", g, s.closed.Load(), p.Open())
	}
	own := &streams{}
	p.Put(own, clock.Elapsed())
	if g := get(Own); g.Conn != own {
		t.Fatalf("got %+v, want the idle connection", g)
	}
	p.Put(own, clock.Elapsed())
	if g := get(Any); g.Found || !own.closed.Load() || p.Open() != 1 {
		t.Fatalf("got %+v, closed: %v, %d open", g, own.closed.Load(), p.Open())
	}
}

// A caller that needs a connection of its own gets the place of a shared connection when the users of
// that have returned it, although others wait.
func TestSharedConnectionsGiveWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := sharing(2)
		p.OpenSerially(true)
		busy, less := openShared(t, p, 2), (*streams)(nil)
		p.HasRoom(busy)
		p.mustGet(t)
		less = openShared(t, p, 1)
		p.HasRoom(less)
		got := make(chan Grant[*streams], 2)
		wait(t, p, Own, got)
		wait(t, p, Any, got)
		if p.Waiting() != 2 || less.closed.Load() {
			t.Fatalf("%d wait, closed: %v", p.Waiting(), less.closed.Load())
		}
		less.put(p)
		if g := <-got; g.Found || !less.closed.Load() || busy.closed.Load() || p.Open() != 2 || p.Waiting() != 1 {
			t.Fatalf("got %+v, %d open, %d wait", g, p.Open(), p.Waiting())
		}
		// the other one stays
		busy.put(p)
		if g := <-got; g.Conn != busy {
			t.Fatalf("got %+v, want a reservation", g)
		}
		// the connection of one user gives way as soon as a caller waits that cannot use it
		wait(t, p, Any, got)
		wait(t, p, Any, got)
		busy.put(p)
		<-got
		own := &streams{}
		p.Put(own, clock.Elapsed())
		if g := <-got; g.Found || !own.closed.Load() || p.Open() != 2 {
			t.Fatalf("got %+v, %d open", g, p.Open())
		}
	})
}

// If the host turns out to have no shared connections, idle ones serve the callers that waited.
func TestIdleConnectionsServeAllOnceNoneAreShared(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := sharing(3)
		p.OpenSerially(true)
		own := openOwn(t, p)
		p.mustGet(t)
		got := make(chan Grant[*streams], 1)
		wait(t, p, Any, got)
		p.Put(own, clock.Elapsed())
		p.OpenSerially(false)
		if g := <-got; g.Conn != own || p.Open() != 2 {
			t.Errorf("got %+v, %d open", g, p.Open())
		}
	})
}

// slowStreams is a connection whose Close waits.
type slowStreams struct {
	streams
	may chan struct{} // closed when Close may continue
}

func (s *slowStreams) Close() error {
	<-s.may
	return s.streams.Close()
}

// While a connection is being closed for a waiting caller, no other one gives way to the same caller.
func TestOneConnectionGivesWayToOneCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := &Pool[*slowStreams]{Max: 3, Reserve: func(s *slowStreams) bool { return s.reserve() }}
		p.OpenSerially(true)
		may := make(chan struct{})
		var conns [3]*slowStreams
		for i := range conns {
			p.mustGet(t)
			conns[i] = &slowStreams{may: may}
			p.Share(conns[i])
			p.HasRoom(conns[i])
		}
		p.Put(conns[0], clock.Elapsed())
		got := make(chan Grant[*slowStreams], 1)
		wait(t, p, Own, got)
		for _, used := range conns[1:] {
			p.HasRoom(used)
		}
		close(may)
		if g := <-got; g.Found || p.Open() != 3 {
			t.Errorf("got %+v, %d open", g, p.Open())
		}
		for _, used := range conns[1:] {
			used.room.Store(1)
			if g, ok := p.TryGet(Any); !ok || g.Conn != used {
				t.Errorf("got %+v, want the connection in use", g)
			}
		}
	})
}

// A caller that waits for the opening of a shared connection needs no place of another one.
func TestIdleConnectionStaysDuringAnOpening(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := sharing(2)
		p.OpenSerially(true)
		own := openOwn(t, p)
		p.mustGet(t)
		got := make(chan Grant[*streams], 1)
		wait(t, p, Any, got)
		p.Put(own, clock.Elapsed())
		if own.closed.Load() {
			t.Error("the connection was closed")
		}
		s := &streams{}
		s.room.Store(1)
		p.Share(s)
		if g := <-got; g.Conn != s || p.Open() != 2 {
			t.Errorf("got %+v, %d open", g, p.Open())
		}
	})
}
