package engine

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A deadline that the application sets while a connection begins to wait, or stops waiting,
// holds: either the loop sees it, or it ends the wait itself.
func TestDeadlineSetAroundAWait(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{})
	for range 200 {
		client := s.dialTLS()
		ask(t, client, "first")
		var c *eventConn
		s.set.All(func(found *Conn) { c = transportOf(found.NC).(*eventConn) })
		go func() {
			_, _ = io.WriteString(client, "second\n")
		}()
		for range rand.IntN(100) {
			runtime.Gosched()
		}
		_ = c.SetReadDeadline(time.Unix(1, 0))
		// a reset is an end as well
		if _, err := io.Copy(io.Discard, client); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection has not ended")
		}
		_ = client.Close()
		servertest.Eventually(t, "the connection is closed", func() bool { return s.set.Open() == 0 })
	}
}

// If a wait begins while a deadline is being set, one of the two sees the other.
func TestWaitOrDeadlineSeesTheOther(t *testing.T) {
	var round, done atomic.Int32
	rounds := int32(50_000)
	extras := make([]eventExtra, rounds+1)
	ruled := make([]bool, rounds+1)
	go func() {
		for i := int32(1); i <= rounds; i++ {
			for round.Load() < i {
				runtime.Gosched()
			}
			ruled[i] = extras[i].beginWait(waitRead)
			done.Store(i)
		}
	}()
	for i := int32(1); i <= rounds; i++ {
		e := &extras[i]
		round.Store(i)
		for range i % 16 {
			_ = done.Load()
		}
		e.storeAppDeadline(waitRead, time.Unix(1, 0))
		waits := e.waitingFor.Load() == uint32(waitRead)
		for done.Load() < i {
			runtime.Gosched()
		}
		if !waits && !ruled[i] {
			t.Fatalf("round %d: neither sees the other", i)
		}
	}
}

// Each deadline that the server sets replaces the one of the application.
func TestLimitsReplaceDeadlines(t *testing.T) {
	c := new(eventConn)
	set := func() {
		for _, kind := range []waitKind{waitRead, waitWrite} {
			if err := c.setAppDeadline(kind, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const far = time.Hour
	expect := func(what string, read, write bool) {
		t.Helper()
		if got := c.waitFor(waitRead, far) != far; got != read {
			t.Errorf("%s: reads have a deadline of the application: %v", what, got)
		}
		if got := c.waitFor(waitWrite, far) != far; got != write {
			t.Errorf("%s: writes have a deadline of the application: %v", what, got)
		}
		c.markOwned()
	}
	c.LimitReads(time.Time{})
	expect("at first", false, false)
	c.extras()
	c.LimitWrites(time.Time{})
	expect("with no deadline", false, false)
	set()
	expect("with both", true, true)
	c.LimitReads(time.Time{})
	expect("after LimitReads", false, true)
	c.LimitWrites(time.Time{})
	expect("after both", false, false)
	set()
	c.LimitWrites(time.Time{})
	expect("after LimitWrites", true, false)
	c.ForgetDeadlines(time.Time{})
	expect("after ForgetDeadlines", false, false)
}
