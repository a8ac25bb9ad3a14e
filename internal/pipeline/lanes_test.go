package pipeline

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/servertest"
)

// response is the result of a call in the tests.
type response struct{ text string }

var errTest = errors.New("test")

// refusing returns lanes whose dials fail.
func refusing(n, maxPending int) *Pool[response] {
	p := &Pool[response]{}
	p.Start(n, Config[response]{
		Connect:    func(*ConnQueue[response]) (*clientconn.Conn, func() error, error) { return nil, nil, errTest },
		MaxPending: maxPending, WriteSize: 1, ErrOverflow: errors.New("overflow"), ErrTimeout: errors.New("timeout"),
	})
	return p
}

// A call that others have overtaken several times is the next: those that come later wait, even if
// there is room for the moment.
func TestOvertakenCallsAreNext(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := refusing(1, 1)
		p.queues[0].writer = writerWorks // no writer removes the calls
		first := p.NewCall()
		if err := p.Enqueue(first); err != nil {
			t.Fatal(err)
		}
		results, expired := make(chan string, 2), make(chan time.Time, 1)
		await := func(name string) {
			if err := p.AwaitRoom(p.NewCall(), expired, nil); err != nil {
				name += ": " + err.Error()
			}
			results <- name
		}
		go await("overtaken")
		for i := range mayBeOvertaken {
			synctest.Wait()
			if n := p.overtaken.Load(); n != 0 {
				t.Errorf("overtaken %d times, %d calls count", i, n)
			}
			p.room <- struct{}{} // another takes the room at once
		}
		synctest.Wait()
		if n := p.overtaken.Load(); n != 1 {
			t.Errorf("%d calls count as overtaken", n)
		}
		// the room that arises now was not announced so far
		p.queues[0].mu.Lock()
		p.queues[0].conf.MaxPending++
		p.queues[0].mu.Unlock()
		go await("late")
		synctest.Wait()
		if s := p.Status(); s.Queued != 1 || s.Waiting != 2 {
			t.Errorf("a call that came late has the room: %+v", s)
		}
		p.signalRoom()
		synctest.Wait()
		if s := p.Status(); len(results) != 1 || s.Queued != 2 || p.overtaken.Load() != 0 {
			t.Fatalf("%d calls have room, %+v", len(results), s)
		}
		if name := <-results; name != "overtaken" {
			t.Errorf("the room is of the call %q", name)
		}
		expired <- time.Now()
		if name := <-results; name != "late: timeout" {
			t.Errorf("the result of the other is %q", name)
		}
	})
}

// A connection that panics on a goroutine of its lane fails its calls.
func TestPanicsOfConnectionsFailCalls(t *testing.T) {
	for _, part := range []string{"reading", "writing", "closing"} {
		t.Run(part, func(t *testing.T) {
			p := &Pool[response]{}
			p.Start(1, Config[response]{
				Connect: func(*ConnQueue[response]) (*clientconn.Conn, func() error, error) {
					near, far := net.Pipe()
					go func() {
						_, _ = far.Read(make([]byte, 1))
						_ = far.Close()
					}()
					conn := new(clientconn.Conn)
					conn.Attach(&servertest.FaultyConn{Conn: near, Part: part}, 4096)
					return conn, conn.FillCaught, nil
				},
				MaxPending: 1, WriteSize: 1, MaxIdle: time.Hour, MaxFailures: 1, ErrClosed: errTest,
			})
			call := p.NewCall()
			call.Out = append(call.Out, 'x')
			if err := p.Enqueue(call); err != nil {
				t.Fatal(err)
			}
			servertest.Receive(t, "the result", call.Done())
			err := call.Result()
			if !errors.Is(err, errTest) || errors.Is(err, clientconn.ErrPanic) != (part == "reading") {
				t.Errorf("the result is %v", err)
			}
			servertest.Eventually(t, "lanes without work", func() bool { return p.Status().Writers == 0 })
		})
	}
}

// Calls that arrive while the locks of connections are taken are spread, too.
func TestLanesSpreadCallsThatWaitForTheLock(t *testing.T) {
	p := refusing(3, 2)
	for i := range p.queues {
		// only TryLock may take a second lock of a kind
		if !p.queues[i].mu.TryLock() {
			t.Fatalf("the lock of lane %d is taken", i)
		}
	}
	var calls sync.WaitGroup
	for i := range 6 {
		calls.Go(func() {
			call := p.NewCall()
			defer call.Release(1)
			if err := p.Enqueue(call); err != nil {
				t.Error(err)
				return
			}
			if <-call.Done(); call.Result() != errTest {
				t.Errorf("the call ended with %v", call.Result())
			}
		})
		servertest.Eventually(t, "the call", func() bool {
			sum := 0
			for i := range p.queues {
				sum += int(p.queues[i].load.Load())
			}
			return sum == i+1
		})
	}
	for i := range p.queues {
		if n := p.queues[i].load.Load(); n != 2 {
			t.Errorf("lane %d has %d of 6 calls", i, n)
		}
		p.queues[i].mu.Unlock()
	}
	calls.Wait()
	servertest.Eventually(t, "lanes without work", func() bool {
		s := p.Status()
		if s.Queued != 0 {
			t.Errorf("calls are left: %+v", s)
		}
		return s == Status{Failures: s.Failures}
	})
}

func TestLanesHaveRoomForSoManyCalls(t *testing.T) {
	p := refusing(2, 3)
	for i := range p.queues {
		// no writer removes the calls meanwhile
		p.queues[i].writer = writerWorks
	}
	var calls []*Call[response]
	for range 6 {
		call := p.NewCall()
		if err := p.Enqueue(call); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	late := p.NewCall()
	if err := p.Enqueue(late); err != p.conf.ErrOverflow {
		t.Errorf("the seventh call got %v", err)
	}
	expired := make(chan time.Time, 1)
	expired <- time.Now()
	if err := p.AwaitRoom(late, expired, nil); err != p.conf.ErrTimeout {
		t.Errorf("without time the seventh call got %v", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- p.AwaitRoom(late, nil, nil) }()
	servertest.Eventually(t, "a call that waits", func() bool { return p.Status().Waiting > 0 })
	if err := calls[2].Abandon(errTest); err != errTest {
		t.Errorf("a call that is given up got %v", err)
	}
	if err := servertest.Receive(t, "room", waits); err != nil {
		t.Errorf("with room the seventh call got %v", err)
	}
	if s := p.Status(); s.Queued != 6 || s.Waited != 6 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func TestLaneBacksOff(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var l ConnQueue[response]
		for i, most := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000, 1000, 1000, 1000} {
			l.backOff()
			wait := time.Until(l.notBefore)
			if most *= time.Millisecond; wait > most*5/4 || wait < most/2 {
				t.Errorf("after %d failures the next attempt waits for %v, want about %v", i+1, wait, most)
			}
		}
	})
}

// A canceled call is removed from its list, whatever its position.
func TestListKeepsItsOrder(t *testing.T) {
	var l list[response]
	text := func() string {
		var names []string
		n := 0
		for call := l.first; call != nil; call = call.links.next {
			names = append(names, call.Response.text)
			n++
		}
		if n != l.n {
			t.Errorf("%d calls, counted as %d", n, l.n)
		}
		return strings.Join(names, " ")
	}
	calls := map[string]*Call[response]{}
	for _, name := range strings.Fields("a b c d e") {
		calls[name] = &Call[response]{Response: &response{name}}
		l.push(calls[name])
	}
	l.remove(calls["c"])
	l.insert(calls["c"], nil)
	l.remove(calls["e"])
	if got := l.shift(); got != calls["c"] || text() != "a b d" {
		t.Errorf("shift takes %q and leaves %q", got.Response.text, text())
	}
	l.insert(calls["e"], calls["a"])
	if got := text(); got != "a e b d" {
		t.Errorf("got %q", got)
	}
}
