//go:build linux

package netloop

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// expiresAfter checks that a connection expires d after the time given, when its deadline
// was set, and not more than two ticks later. The times are a bubble's.
func (c *mortal) expiresAfter(t *testing.T, given time.Time, d time.Duration) {
	t.Helper()
	select {
	case at := <-c.expired:
		if took := at.Sub(given); took < d || took > d+2*tick {
			t.Errorf("a deadline of %v has passed after %v", d, took)
		}
	case <-time.After(d + time.Hour):
		t.Fatalf("a deadline of %v has not passed", d)
	}
}

// This test uses the clock of the system.
func TestDeadlinesPassOnARealLoop(t *testing.T) {
	w := newWorld(t, 1)
	nc, fd := pair(t)
	c := &mortal{expired: make(chan time.Time, 1)}
	c.Init(fd, c)
	const patience = 20 * time.Millisecond
	begun := time.Now()
	servertest.Must(t, w.g.Add(&c.Conn, patience))
	if took := servertest.Receive(t, "the deadline", c.expired).Sub(begun); took < patience {
		t.Errorf("expired after %v", took)
	}
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection lives on: %v", err)
	}
}

func TestDeadlinesPassAtTheirTick(t *testing.T) {
	const day = 24 * time.Hour
	for _, d := range []time.Duration{1, time.Millisecond, tick, tick + 1, 64 * tick, time.Minute, time.Hour, 1000 * day} {
		servertest.Bubble(t, func(t *testing.T) {
			l := newRestingLoop(t)
			time.Sleep(12_345 * time.Microsecond)
			given := time.Now()
			newMortal(t, l, d).expiresAfter(t, given, d)
		})
	}
}

func TestDeadlinesMove(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		l := newRestingLoop(t)
		given := time.Now()
		sooner, never, later := newMortal(t, l, time.Hour), newMortal(t, l, time.Second), newMortal(t, l, time.Second)
		sooner.own(t, func() { sooner.SetDeadline(time.Minute) })
		never.own(t, func() { never.SetDeadline(0) })
		later.own(t, func() { later.SetDeadline(2 * time.Hour) })
		sooner.expiresAfter(t, given, time.Minute)
		later.expiresAfter(t, given, 2*time.Hour)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if len(never.expired) > 0 {
			t.Error("a deadline that was taken away has passed")
		}
		never.own(t, func() { never.SetDeadline(time.Second) })
		never.expiresAfter(t, time.Now(), time.Second)
	})
}

// A connection does not expire while it has an owner, but soon afterwards.
func TestDeadlinesWaitForTheOwner(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		l := newRestingLoop(t)
		c := newMortal(t, l, time.Second)
		var released time.Time
		c.own(t, func() {
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(c.expired) > 0 {
				t.Fatal("expired while it had an owner")
			}
			released = time.Now()
		})
		if late := servertest.Receive(t, "the deadline", c.expired).Sub(released); late > (busyTicks+1)*tick {
			t.Errorf("expired %v after its owner had left", late)
		}
	})
}

// A connection is reused for another descriptor on another loop. A deadline planned by the
// old loop no longer applies.
func TestDeadlineHoldsForAConnectionThatIsUsedAgain(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		first, second := newRestingLoop(t), newRestingLoop(t)
		c := newMortal(t, first, time.Minute)
		if !c.TryAcquire() {
			t.Fatal("the connection is not idle")
		}
		c.Close(false)
		c.Init(descriptor(t), c)
		given := time.Now()
		servertest.Must(t, second.add(&c.Conn, time.Hour))
		c.expiresAfter(t, given, time.Hour)
	})
}

// An owner called again and again sets a deadline that has passed each time. The
// connection must still expire.
func TestDeadlinesThatHavePassedAreNotPutOff(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		l := newRestingLoop(t)
		passed := time.Now()
		c := newMortal(t, l, time.Hour)
		for len(c.expired) == 0 {
			if time.Since(passed) > 3*tick {
				t.Fatal("put off")
			}
			if c.TryAcquire() {
				c.SetDeadline(-time.Since(passed) - 1)
				c.Release()
			}
			time.Sleep(tick / 10)
			synctest.Wait()
		}
	})
}

func TestDetachedConnectionsHaveDeadlines(t *testing.T) {
	_, done := detached(t, func(d *Detached) {
		buf := make([]byte, 16)
		_, _ = d.Read(buf)
		begun := time.Now()
		_ = d.SetReadDeadline(begun.Add(servertest.Short))
		for range 2 {
			if _, err := d.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) < servertest.Short {
				t.Errorf("read: %v after %v", err, time.Since(begun))
			}
		}
		_ = d.SetWriteDeadline(time.Now().Add(servertest.Short))
		if _, err := d.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		_ = d.SetReadDeadline(time.Now().Add(-time.Second))
		if _, err := d.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read after a past deadline: %v", err)
		}
		_ = d.SetReadDeadline(time.Time{})
	})
	servertest.Receive(t, "the end of the connection", done)
}

// inBubble calls f with a detached connection on a loop that has no pollers.
func inBubble(t *testing.T, f func(t *testing.T, d *Detached)) {
	t.Helper()
	servertest.Bubble(t, func(t *testing.T) {
		c := newMortal(t, newRestingLoop(t), 0)
		if !c.TryAcquire() {
			t.Fatal("the connection is not idle")
		}
		d := c.Detach()
		f(t, d)
		d.Abandon(false)
	})
}

func TestDetachedConnectionsEndAtTheirDeadlines(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Detached) {
		for name, use := range map[string]struct {
			set func(time.Time) error
			do  func() error
		}{
			"Read":  {d.SetReadDeadline, func() error { _, err := d.Read(make([]byte, 16)); return err }},
			"Await": {d.SetReadDeadline, d.Await},
			"Write": {d.SetWriteDeadline, func() error { _, err := d.Write(make([]byte, 8<<20)); return err }},
		} {
			ends := func(want time.Duration) {
				t.Helper()
				begun := time.Now()
				if err := use.do(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != want {
					t.Errorf("%s: %v after %v, want the end after %v", name, err, time.Since(begun), want)
				}
			}
			_ = use.set(time.Now().Add(time.Minute))
			ends(time.Minute)
			ends(0)
			// the deadline moves while the call waits: earlier, later, and away for a while
			begun := time.Now()
			at := func(after, left time.Duration) {
				time.AfterFunc(after, func() { _ = use.set(begun.Add(left)) })
			}
			_ = use.set(begun.Add(time.Minute))
			at(time.Second, time.Hour)
			at(2*time.Minute, 30*time.Minute)
			time.AfterFunc(3*time.Minute, func() { _ = use.set(time.Time{}) })
			at(5*time.Hour, 6*time.Hour)
			ends(6 * time.Hour)
			_ = use.set(time.Time{})
		}
	})
}

func TestShutdownEndsADetachedConnectionThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Detached) {
		begun := time.Now()
		_ = d.SetReadDeadline(begun.Add(time.Hour))
		time.AfterFunc(time.Minute, d.Shutdown)
		if _, err := d.Read(make([]byte, 16)); !errors.Is(err, net.ErrClosed) && err != io.EOF || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
