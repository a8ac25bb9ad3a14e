//go:build linux

package netloop

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fill makes n connections with a byte to serve each.
func (w *world) fill(n int, handle func(b byte)) []net.Conn {
	w.t.Helper()
	peers := make([]net.Conn, n)
	for i := range peers {
		peers[i] = w.call(handle)
		if _, err := peers[i].Write([]byte("x")); err != nil {
			w.t.Fatal(err)
		}
	}
	return peers
}

// empty waits until the loop has closed the connections.
func (w *world) empty(peers []net.Conn) {
	w.t.Helper()
	for _, nc := range peers {
		if err := nc.(*net.UnixConn).CloseWrite(); err != nil {
			w.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, nc)
		_ = nc.Close()
	}
}

// Whatever becomes ready beside a loop is looked at while the loop has events:
// neither those of handlers that wait nor those of handlers that return at once
// hold it up until they are all begun.
func TestOthersGetTheirTurnBesideALoop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const conns = 4 * batchSize
	for name, wait := range map[string]time.Duration{"handlers that wait": time.Millisecond, "handlers that return": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			defer w.g.Close()
			var begun, answered atomic.Int32
			var at atomic.Int32
			r, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				var b [1]byte
				_, _ = r.Read(b[:])
				at.Store(begun.Load())
			}()
			l := w.g.get(0)
			first := make(chan struct{})
			peers := w.fill(conns, func(byte) {
				if begun.Add(1) == 1 {
					<-first
					if wait == 0 {
						l.quicken()
					}
					_, _ = syscall.Write(int(out.Fd()), []byte("x"))
				}
				if wait > 0 {
					time.Sleep(wait)
				} else {
					for end := time.Now().Add(50 * time.Microsecond); time.Now().Before(end); {
					}
				}
				answered.Add(1)
			})
			close(first)
			eventually(t, "all are served", func() bool { return answered.Load() == conns })
			w.empty(peers)
			_ = out.Close()
			_ = r.Close()
			if n := at.Load(); n == 0 || n > conns*3/4 {
				t.Errorf("the other one got its turn when %d of %d handlers were begun", n, conns)
			}
		})
	}
}

// The line can be joined any number of times.
func TestLineMovesEachTime(t *testing.T) {
	q, err := newLine()
	if err != nil {
		t.Fatal(err)
	}
	defer q.file.Close()
	if err := q.file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	p := &Poller{l: &Loop{line: q}}
	for n := range 1000 {
		p.joined = false
		if err := q.raw.Read(p.inLine); err != nil {
			t.Fatalf("after %d times: %v", n, err)
		}
	}
}

func TestTickerTicksUntilHandlersHaveWaitedLong(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(set)
	tick, err := newTicker(set)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(tick.fd)
	last := ticks[len(ticks)-1]
	n := 0
	for begun := clock(); ; n++ {
		now := clock()
		tick.set(begun, now)
		if tick.next <= now {
			if now-begun < last {
				t.Errorf("no tick after %v", now-begun)
			}
			break
		}
		var events [2]syscall.EpollEvent
		got, err := syscall.EpollWait(set, events[:], 1000)
		if err == syscall.EINTR {
			continue
		}
		if got != 1 || int(events[0].Fd) != tick.fd {
			t.Fatalf("%d events, %v", got, err)
		}
	}
	if n == 0 || n > len(ticks) {
		t.Errorf("%d ticks", n)
	}
	// a tick that comes soon enough is left alone, one that comes late is not
	tick = ticker{fd: tick.fd}
	now := clock()
	tick.set(now, now)
	next := tick.next
	tick.set(now+50*time.Microsecond, now+60*time.Microsecond)
	if tick.next != next {
		t.Error("a tick was put off")
	}
	tick.next = now + time.Hour
	if tick.set(now, now); tick.next != next {
		t.Error("a tick that comes late was kept")
	}
}

func TestTicksAreNoEvents(t *testing.T) {
	tick := ticker{fd: 7}
	events := []syscall.EpollEvent{{Fd: 3}, {Fd: 7}, {Fd: 4}, {Fd: 5}}
	if n := tick.without(events); n != 3 || events[0].Fd != 3 || events[1].Fd != 4 || events[2].Fd != 5 {
		t.Errorf("%d of %v", n, events)
	}
	if n := tick.without(events[:2]); n != 2 {
		t.Errorf("%d events of 2 are left", n)
	}
}

// Handlers that sleep for less than a millisecond go on within less than one.
func TestShortSleepsAreShort(t *testing.T) {
	w := newWorld(t, 1)
	defer w.g.Close()
	const conns, rounds = 2 * tickFor, 60
	var longest atomic.Int64
	var left atomic.Int32
	handle := func(byte) {
		begin := clock()
		time.Sleep(100 * time.Microsecond)
		for took := int64(clock() - begin); ; {
			if old := longest.Load(); took <= old || longest.CompareAndSwap(old, took) {
				break
			}
		}
		left.Add(-1)
	}
	var peers [conns]net.Conn
	for i := range peers {
		peers[i] = w.call(handle)
	}
	best := time.Hour
	for range rounds {
		longest.Store(0)
		left.Store(conns)
		for _, nc := range peers {
			if _, err := nc.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		// the test sleeps in the system, so that the scheduler has nothing to do
		for left.Load() > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(2 * time.Millisecond)}, nil)
		}
		best = min(best, time.Duration(longest.Load()))
	}
	w.empty(peers[:])
	if best >= time.Millisecond {
		t.Errorf("the best of %d rounds of sleeping for 100 µs took %v", rounds, best)
	}
}
