//go:build linux

package netloop

import (
	"bytes"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/servertest"
)

// echo is a connection that sends back what it receives. A message that begins with 'b'
// blocks the handler until free is closed.
type echo struct {
	Conn
	t       *testing.T
	free    chan struct{}
	blocked *atomic.Int32
	served  *atomic.Int64
	out     []byte
	expired chan struct{}
}

func (c *echo) Serve(p *Poller) bool {
	for {
		for len(c.out) > 0 {
			n, err := c.Write(c.out, nil)
			c.out = c.out[n:]
			if err == ErrAgain {
				return true
			}
			if err != nil {
				c.Close(false)
				return false
			}
		}
		var buf [4096]byte
		n, err := c.Read(buf[:])
		if err == ErrAgain {
			return true
		}
		if err != nil {
			c.Close(false)
			return false
		}
		if buf[0] == 'b' {
			c.blocked.Add(1)
			<-c.free
		}
		c.served.Add(1)
		c.out = append(c.out, buf[:n]...)
	}
}

func (c *echo) PeerGone() {}

func (c *echo) PeerSent() {}

func (c *echo) Expire() bool {
	close(c.expired)
	c.Close(false)
	return false
}

// pair returns the two ends of a stream: a file for the test, and a nonblocking descriptor
// for a loop.
func pair(t *testing.T) (net.Conn, int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "peer")
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	return nc, fds[1]
}

type world struct {
	t       *testing.T
	g       *Group
	free    chan struct{}
	release func() // closes free
	close   func() // ends the loops
	blocked atomic.Int32
	served  atomic.Int64
}

// newWorld returns loops that end with the test, and the handlers that block with them.
func newWorld(t *testing.T, loops int) *world {
	t.Helper()
	return newWorldAt(t, loops, clock.Monotonic)
}

// newWorldAt is newWorld for loops with another clock.
func newWorldAt(t *testing.T, loops int, now func() time.Duration) *world {
	t.Helper()
	return newWorldOf(t, Options{Loops: loops, Now: now})
}

func newWorldOf(t *testing.T, o Options) *world {
	t.Helper()
	g, err := NewGroup(o)
	servertest.Must(t, err)
	w := &world{t: t, g: g, free: make(chan struct{})}
	w.release = sync.OnceFunc(func() { close(w.free) })
	w.close = sync.OnceFunc(func() { servertest.Soon(t, "the end of the loops", g.Close) })
	t.Cleanup(func() {
		w.release()
		w.close()
	})
	return w
}

// get returns one of the loops.
func (g *Group) get(i int) *Loop { return (*g.loops.Load())[i] }

func (w *world) connect() (net.Conn, *echo) {
	w.t.Helper()
	nc, fd := pair(w.t)
	c := &echo{t: w.t, free: w.free, blocked: &w.blocked, served: &w.served, expired: make(chan struct{})}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 0); err != nil {
		w.t.Fatal(err)
	}
	return nc, c
}

func (w *world) ask(nc net.Conn, text string) {
	w.t.Helper()
	w.send(nc, text)
	w.expect(nc, text)
}

func (w *world) send(nc net.Conn, text string) {
	w.t.Helper()
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	if _, err := nc.Write([]byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) expect(nc net.Conn, text string) {
	w.t.Helper()
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	got := make([]byte, len(text))
	if _, err := io.ReadFull(nc, got); err != nil || string(got) != text {
		w.t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func TestConnectionsAreServed(t *testing.T) {
	before := runtime.NumGoroutine()
	w := newWorld(t, 2)
	var all []net.Conn
	for range 50 {
		nc, _ := w.connect()
		all = append(all, nc)
	}
	for range 5 {
		for _, nc := range all {
			w.ask(nc, "hello")
		}
	}
	if n := w.served.Load(); n != 250 {
		t.Errorf("served %d messages, want 250", n)
	}
	var wg sync.WaitGroup
	for _, nc := range all {
		wg.Go(func() {
			for range 50 {
				w.ask(nc, "in parallel")
			}
		})
	}
	wg.Wait()
	for _, nc := range all {
		_ = nc.Close()
	}
	w.close()
	servertest.Eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestHandlersThatBlockHoldUpNoConnection(t *testing.T) {
	w := newWorld(t, 1)
	var blocking []net.Conn
	other, _ := w.connect()
	for n := int32(1); n <= 20; n++ {
		nc, _ := w.connect()
		blocking = append(blocking, nc)
		w.send(nc, "block")
		servertest.Eventually(t, "the handler blocks", func() bool { return w.blocked.Load() == n })
		w.ask(other, "still here")
	}
	w.release()
	for _, nc := range blocking {
		w.expect(nc, "block")
		_ = nc.Close()
	}
	_ = other.Close()
}

// If a handler blocks, another poller must serve the events that were fetched in the same
// batch.
func TestEventsBehindOneThatBlocksAreTakenOver(t *testing.T) {
	w := newWorld(t, 1)
	var all []net.Conn
	for range 40 {
		nc, _ := w.connect()
		all = append(all, nc)
	}
	// hold the loop, so that the next events are one batch
	w.send(all[0], "b")
	servertest.Eventually(t, "the first handler blocks", func() bool { return w.blocked.Load() == 1 })
	for i, nc := range all[1:] {
		text := "x"
		if i%2 == 0 {
			text = "b"
		}
		w.send(nc, text)
	}
	servertest.Eventually(t, "all others were begun", func() bool { return w.blocked.Load() == 21 && w.served.Load() >= 19 })
	w.release()
	for i, nc := range all {
		text := "x"
		if i%2 == 1 || i == 0 {
			text = "b"
		}
		w.expect(nc, text)
	}
}

func TestOutputThatDoesNotFitIsWrittenLater(t *testing.T) {
	w := newWorld(t, 1)
	nc, _ := w.connect()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() { _, _ = nc.Write(big) }()
	got := make([]byte, len(big))
	if _, err := io.ReadFull(nc, got); err != nil || !bytes.Equal(got, big) {
		t.Fatalf("the echo differs: %v", err)
	}
}

// waiter is a connection whose handler detaches it and calls work.
type waiter struct {
	Conn
	work func(d *Detached)
	done chan struct{}
}

func (c *waiter) Serve(*Poller) bool {
	d := c.Detach()
	c.work(d)
	d.Attach()
	c.Close(false)
	close(c.done)
	return false
}

func (c *waiter) Expire() bool { return true }

func (c *waiter) PeerGone() {}

func (c *waiter) PeerSent() {}

func detached(t *testing.T, work func(d *Detached)) (net.Conn, chan struct{}) {
	t.Helper()
	w := newWorld(t, 1)
	nc, fd := pair(t)
	c := &waiter{work: work, done: make(chan struct{})}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	return nc, c.done
}

// After Attach the descriptor may be closed, and another connection may get it: no Read of the
// application may be about to use it.
func TestAttachEndsReads(t *testing.T) {
	begun, over := make(chan *Detached, 1), make(chan struct{})
	_, done := detached(t, func(d *Detached) {
		_, _ = d.Read(make([]byte, 1))
		begun <- d
		<-over
	})
	d := servertest.Receive(t, "the connection", begun)
	const readers = 3
	ended := make(chan error, readers)
	for range readers {
		go func() {
			_, err := d.Read(make([]byte, 1))
			ended <- err
		}()
	}
	users := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.users
	}
	servertest.Eventually(t, "all read", func() bool { return users() == readers })
	d.Attach()
	if n := users(); n > 0 {
		t.Errorf("%d goroutines still read", n)
	}
	for range readers {
		if err := servertest.Receive(t, "the end of a Read", ended); err != ErrClosed {
			t.Errorf("a Read ended with %v", err)
		}
	}
	close(over)
	servertest.Receive(t, "the end", done)
}

func TestDetachedConnectionsWait(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 4<<20)
	nc, done := detached(t, func(d *Detached) {
		got := make([]byte, 1+len("question"))
		if _, err := io.ReadFull(d, got); err != nil || string(got) != "!question" {
			t.Errorf("read %q, %v", got, err)
		}
		if n, err := d.Write(big); n != len(big) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	})
	for _, c := range "question" {
		if _, err := nc.Write([]byte{byte(c)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(nc)
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	servertest.Receive(t, "the end of the connection", done)
}

func TestDetachedConnectionsAreShutDownFromAnywhere(t *testing.T) {
	reads := make(chan *Detached, 1)
	nc, done := detached(t, func(d *Detached) {
		buf := make([]byte, 16)
		_, _ = d.Read(buf)
		reads <- d
		if _, err := d.Read(buf); err == nil {
			t.Error("the read has come back without an error")
		}
	})
	servertest.Receive(t, "the connection", reads).Shutdown()
	servertest.Receive(t, "the end of the connection", done)
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer sees %v", err)
	}
}

func TestGoneIsKnown(t *testing.T) {
	w := newWorld(t, 1)
	nc, c := w.connect()
	w.send(nc, "b")
	servertest.Eventually(t, "the handler blocks", func() bool { return w.blocked.Load() == 1 })
	if c.Gone() {
		t.Error("gone too early")
	}
	_ = nc.Close()
	servertest.Eventually(t, "the connection is known to be gone", c.Gone)
	w.release()
}

// quitter ends the goroutine that serves it.
type quitter struct{ Conn }

func (c *quitter) Serve(*Poller) bool {
	var buf [16]byte
	if _, err := c.Read(buf[:]); err == ErrAgain {
		return true
	}
	c.Close(false)
	runtime.Goexit()
	return false
}

func (c *quitter) Expire() bool { return true }

func (c *quitter) PeerGone() {}

func (c *quitter) PeerSent() {}

func TestLoopSurvivesTheEndOfItsGoroutines(t *testing.T) {
	w := newWorld(t, 1)
	other, _ := w.connect()
	for range 20 {
		nc, fd := pair(t)
		c := &quitter{}
		c.Init(fd, c)
		if err := w.g.Add(&c.Conn, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("the connection lives on: %v", err)
		}
		w.ask(other, "still here")
	}
	_ = other.Close()
}
