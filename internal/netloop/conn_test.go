//go:build linux

package netloop

import (
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A call of Use that finds the connection closed is still counted. If Init reset
// the count meanwhile, the count would stay wrong.
func TestInitWaitsForThoseWhoUseTheConnection(t *testing.T) {
	c := &Conn{}
	_, fd := pair(t)
	c.Init(fd, nil)
	c.Close(false)
	c.flags.Add(flagUser)
	done := make(chan struct{})
	_, fd = pair(t)
	go func() {
		c.Init(fd, nil)
		close(done)
	}()
	for range 100 {
		runtime.Gosched()
	}
	select {
	case <-done:
		t.Error("Init has returned during a call of Use")
	default:
	}
	c.flags.Add(^(flagUser - 1))
	servertest.Receive(t, "the end of Init", done)
	if f := c.flags.Load(); f != 0 {
		t.Errorf("flags %#x of a new connection", f)
	}
	c.Close(false)
}

// A connection is reused at once while other goroutines call Use with an old pointer to it.
func TestConnectionsAreUsedAgainWhileOthersHoldThem(t *testing.T) {
	w := newWorld(t, 2)
	c := &echo{t: t, free: w.free, blocked: &w.blocked, served: &w.served, expired: make(chan struct{})}
	_, fd := pair(t)
	c.Init(fd, c)
	c.Close(false)
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !over.Load() {
				c.Use(func(fd int) {
					if fd <= 0 {
						t.Error("a descriptor that there cannot be")
					}
				})
				runtime.Gosched()
			}
		})
	}
	for range 500 {
		nc, fd := pair(t)
		c.Init(fd, c)
		if err := w.g.Add(&c.Conn, time.Hour); err != nil {
			t.Fatal(err)
		}
		w.ask(nc, "x")
		servertest.Eventually(t, "the connection is free", c.TryAcquire)
		c.Close(false)
		_ = nc.Close()
	}
	over.Store(true)
	wg.Wait()
	if c.wheelTick.Load() != 0 || c.prevNext != nil {
		t.Error("the wheel still has a connection that was closed")
	}
}

func TestEventsAreForOneUseOfADescriptor(t *testing.T) {
	w := newWorld(t, 1)
	_, c := w.connect()
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.FD()), Pad: int32(c.generation.Load())}
	if find(ev) != &c.Conn {
		t.Error("a connection is not found")
	}
	ev.Pad--
	if find(ev) != nil {
		t.Error("an event for an earlier connection finds the one that has its descriptor")
	}
}

// A program that clears O_NONBLOCK on a duplicate of the descriptor clears it for
// the connection, too.
func TestBlockingDescriptorsBlockNoPoller(t *testing.T) {
	w := newWorld(t, 1)
	nc, c := w.connect()
	if err := syscall.SetNonblock(c.FD(), false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.ask(nc, "hello")
		runtime.GC()
	}
	other, _ := w.connect()
	w.ask(other, "hello")
}

// reader stops reading when the connection must be empty.
type reader struct {
	Conn
	got chan byte
}

func (c *reader) Serve(*Poller) bool {
	var buf [64]byte
	for {
		n, err := c.Read(buf[:])
		for _, b := range buf[:max(n, 0)] {
			c.got <- b
		}
		if err == ErrAgain || err == nil && n < len(buf) && !c.has(flagUrgent) {
			return true
		}
		if err != nil {
			c.Close(false)
			return false
		}
	}
}

func (c *reader) PeerGone() {}

func (c *reader) PeerSent()    {}
func (c *reader) Expire() bool { return true }

// Bytes after urgent data are not read together with those before it, but are read.
func TestUrgentDataHidesNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	file, err := accepted.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	_ = accepted.Close()
	send := func(text string, flags int) {
		raw, err := client.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if outer := raw.Write(func(to uintptr) bool {
			err = syscall.Sendmsg(int(to), []byte(text), nil, nil, flags)
			return true
		}); outer != nil || err != nil {
			t.Fatal(outer, err)
		}
	}
	send("abc", 0)
	send("!", syscall.MSG_OOB)
	send("def", 0)
	w := newWorld(t, 1)
	c := &reader{got: make(chan byte, 64)}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range "abcdef" {
		if b := servertest.Receive(t, string(want), c.got); b != byte(want) {
			t.Fatalf("got %q, want %q", b, want)
		}
	}
}

// counter notes how many events were posted before the last call of Serve.
type counter struct {
	Conn
	posted, seen atomic.Int64
	inside       atomic.Int32
	t            *testing.T
}

func (c *counter) Serve(*Poller) bool {
	if c.inside.Add(1) != 1 {
		c.t.Error("two owners at a time")
	}
	n := c.posted.Load()
	runtime.Gosched()
	c.seen.Store(n)
	c.inside.Add(-1)
	return true
}

func (c *counter) PeerGone() {}

func (c *counter) PeerSent()    {}
func (c *counter) Expire() bool { return true }

// An event that arrives while a connection has an owner, is released, or is acquired by
// another goroutine, is served afterwards.
func TestNoEventIsLostBetweenOwners(t *testing.T) {
	for range 200 {
		c := &counter{t: t}
		c.Init(-1, c)
		c.state.Store(stateIdle)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 50 {
					c.posted.Add(1)
					c.ready(&Poller{}, syscall.EPOLLIN)
				}
			})
		}
		wg.Go(func() {
			for range 50 {
				if c.TryAcquire() {
					c.Release()
				}
			}
		})
		wg.Wait()
		servertest.Eventually(t, "the connection has no owner", func() bool { return c.state.Load() == stateIdle })
		if posted, seen := c.posted.Load(), c.seen.Load(); posted != seen {
			t.Fatalf("%d events, and the last time that the connection was served there were %d", posted, seen)
		}
	}
}

func TestPeekLeavesWhatItSees(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	var c Conn
	c.Init(pair[0], nil)
	buf := make([]byte, 10)
	if n, err := c.Peek(buf); n != 0 || err != ErrAgain {
		t.Errorf("nothing is there: %d, %v", n, err)
	}
	if _, err := syscall.Write(pair[1], []byte("hello")); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Close(pair[1])
	for range 2 {
		if n, err := c.Peek(buf); string(buf[:n]) != "hello" || err != nil {
			t.Errorf("Peek: %q, %v", buf[:n], err)
		}
	}
	if n, err := c.Read(buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("Read: %q, %v", buf[:n], err)
	}
	if n, err := c.Peek(buf); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// againServed calls ServeAgain when it is served first, and writes something then.
type againServed struct {
	Conn
	served chan struct{}
	first  bool
}

func (c *againServed) Serve(*Poller) bool {
	if !c.first {
		c.first = true
		c.ServeAgain()
		if _, err := c.Write([]byte("x"), nil); err != nil {
			return true
		}
	}
	var buf [1]byte
	_, _ = c.Read(buf[:])
	c.served <- struct{}{}
	return true
}

func (c *againServed) PeerGone()    {}
func (c *againServed) PeerSent()    {}
func (c *againServed) Expire() bool { return true }

// A write that succeeds after ServeAgain does not replace the call of Serve. Nothing else makes
// the loop call it: no more bytes arrive.
func TestServeAgainOutlivesWrites(t *testing.T) {
	client, fd := pair(t)
	w := newWorld(t, 1)
	c := &againServed{served: make(chan struct{}, 64)}
	c.Init(fd, c)
	if _, err := client.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if err := w.g.Add(&c.Conn, 0); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"the first call", "another call"} {
		servertest.Receive(t, call, c.served)
	}
}
