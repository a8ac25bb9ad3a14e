//go:build linux

package netloop

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/rawsys"
	"golang.org/x/sys/unix"
)

// Detached is a connection whose Read and Write block, for an owner that reads and writes
// it as a stream. While a connection is detached, its events only wake the goroutines that
// wait in Read and Write.
//
// One goroutine may read while another writes. Any goroutine may set the deadlines
// and call Shutdown.
type Detached struct {
	// Waiting, unless it is nil, is called with true before Read or Write waits, and
	// with false afterwards. It must be set before they are called.
	Waiting func(waits bool)

	c       *Conn
	signals signals

	mu        lockorder.Mutex[lockorder.Detached]
	closed    bool
	users     int  // how many calls of Read, Write and SendFile are running
	abandoned bool // the last of these calls closes the descriptor
	timers    [2]*time.Timer
	due       [2]bool // the deadline has passed
}

const (
	reading = iota
	writing
)

// signals wakes the goroutines that wait for a connection. The index is reading or writing.
type signals struct {
	wake [2]chan struct{}
}

func (s *signals) notify(events uint32) {
	gone := events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0
	if gone || events&syscall.EPOLLIN != 0 {
		s.signal(reading)
	}
	if gone || events&syscall.EPOLLOUT != 0 {
		s.signal(writing)
	}
}

func (s *signals) signal(way int) {
	select {
	case s.wake[way] <- struct{}{}:
	default:
	}
}

// Detach returns the connection, which the caller owns, as a blocking one. If the
// connection is closed already, all calls of Read and Write fail.
func (c *Conn) Detach() *Detached {
	d := &Detached{c: c, closed: c.has(flagClosed)}
	for way := range d.signals.wake {
		d.signals.wake[way] = make(chan struct{}, 1)
	}
	c.detached.Store(&d.signals)
	return d
}

// Attach ends the detached mode, and all calls of Read and Write: it waits until they have
// returned, since the caller may close the descriptor. The loop calls Serve again for bytes that
// have arrived meanwhile.
func (d *Detached) Attach() {
	d.mu.Lock()
	d.closed = true
	for _, t := range d.timers {
		if t != nil {
			t.Stop()
		}
	}
	d.mu.Unlock()
	d.c.detached.Store(nil)
	// goroutines that still wait would get no further signal
	d.signals.signal(reading)
	d.signals.signal(writing)
	for d.inUse() {
		runtime.Gosched()
	}
	d.c.state.CompareAndSwap(stateBusy, statePending)
}

// inUse reports whether a call of Read, Write or the like is running.
func (d *Detached) inUse() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.users > 0
}

// Read implements io.Reader.
func (d *Detached) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.exit()
	for {
		if err := d.check(reading); err != nil {
			return 0, err
		}
		n, err := d.c.Read(p)
		if err != ErrAgain {
			return n, err
		}
		d.wait(reading)
	}
}

// Await waits until Read would not block. There may be nothing to read then, since another
// goroutine has read it.
func (d *Detached) Await() error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.exit()
	for {
		if err := d.check(reading); err != nil {
			return err
		}
		// Read finds any failure
		if ready, errno := rawsys.Ready(int(d.c.fd), unix.POLLIN); ready || errno != 0 && errno != syscall.EINTR {
			return nil
		}
		d.wait(reading)
	}
}

// Write implements io.Writer: it returns when all of p is written.
func (d *Detached) Write(p []byte) (n int, err error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.exit()
	for n < len(p) {
		if err := d.check(writing); err != nil {
			return n, err
		}
		k, errno := rawsys.Send(int(d.c.fd), clip(p[n:]))
		switch {
		case k > 0:
			n += k
		case errno == syscall.EAGAIN:
			d.wait(writing)
		case errno != 0 && errno != syscall.EINTR:
			return n, os.NewSyscallError("write", errno)
		}
	}
	return n, nil
}

// SendFile sends all of f. It returns io.ErrUnexpectedEOF if the file ends before
// the part does.
func (d *Detached) SendFile(f *FilePart) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.exit()
	for !f.Done() {
		if err := d.check(writing); err != nil {
			return err
		}
		err := f.Send(int(d.c.fd))
		switch {
		case err == ErrAgain:
			d.wait(writing)
		case err != nil:
			return err
		}
	}
	return nil
}

// wait waits for an event. If the caller is a poller itself, the loop may have no other
// poller to fetch it.
func (d *Detached) wait(way int) {
	select {
	case <-d.signals.wake[way]:
		return
	default:
	}
	if way == writing {
		d.c.registerOutput()
	}
	d.c.loop.ensurePoller()
	if d.Waiting == nil {
		<-d.signals.wake[way]
		return
	}
	d.Waiting(true)
	<-d.signals.wake[way]
	d.Waiting(false)
}

func (d *Detached) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.c.has(flagClosed) {
		return ErrClosed
	}
	d.users++
	return nil
}

func (d *Detached) exit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users > 0 {
		// a signal wakes only one goroutine, and others may wait for the same event
		d.signals.signal(reading)
		d.signals.signal(writing)
	} else if d.abandoned {
		_ = syscall.Close(int(d.c.fd))
	}
}

// Abandon closes the connection, which the caller owns, while other goroutines may still
// read from it or write to it. The descriptor is closed after their calls have returned. If
// reset is set, the peer gets a TCP reset.
func (d *Detached) Abandon(reset bool) {
	fd := d.c.Remove()
	if reset {
		resetOnClose(fd)
	}
	d.Shutdown()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.abandoned = true; d.users == 0 {
		_ = syscall.Close(fd)
	}
}

// check returns the error with which reading or writing must end, or nil.
func (d *Detached) check(way int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return ErrClosed
	case d.due[way]:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Shutdown makes pending and later calls of Read and Write fail, and ends the connection
// for the peer. The owner must still close the descriptor.
func (d *Detached) Shutdown() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		_ = syscall.Shutdown(int(d.c.fd), syscall.SHUT_RDWR)
	}
	d.mu.Unlock()
	d.signals.signal(reading)
	d.signals.signal(writing)
}

// SetReadDeadline makes Read fail from t on; the zero time means no deadline.
func (d *Detached) SetReadDeadline(t time.Time) error { return d.setDeadline(reading, t) }

// SetWriteDeadline makes Write fail from t on; the zero time means no deadline.
func (d *Detached) SetWriteDeadline(t time.Time) error { return d.setDeadline(writing, t) }

func (d *Detached) setDeadline(way int, t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if old := d.timers[way]; old != nil {
		old.Stop()
		d.timers[way] = nil
	}
	d.due[way] = false
	if t.IsZero() {
		return nil
	}
	left := time.Until(t)
	if left <= 0 {
		d.due[way] = true
		d.signals.signal(way)
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		d.mu.Lock()
		if d.timers[way] == timer {
			d.due[way] = true
			d.signals.signal(way)
		}
		d.mu.Unlock()
	})
	d.timers[way] = timer
	return nil
}
