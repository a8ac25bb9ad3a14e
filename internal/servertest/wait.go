package servertest

import (
	"runtime"
	"testing"
	"time"
)

const (
	// Patience is how long a test waits for an expected event. Only a failing test waits that
	// long.
	Patience = time.Minute
	// Short is a timeout that a test expects to expire.
	Short = 30 * time.Millisecond
	// Never is a timeout that no test reaches.
	Never = time.Hour
)

// Stacks returns the stacks of all goroutines.
func Stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// fatalf is t.Fatalf for any goroutine of a test. One that still waits for something when its test
// has failed and ended says nothing: the panic of t.Fatalf would end all other tests.
func fatalf(t testing.TB, format string, args ...any) {
	t.Helper()
	defer func() {
		switch p := recover(); {
		case p == nil:
		case t.Failed():
			runtime.Goexit()
		default:
			panic(p)
		}
	}()
	t.Fatalf(format, args...)
}

// Eventually waits until a condition holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !holdsInTime(holds) {
		fatalf(t, "never seen: %s\n%s", what, Stacks())
	}
}

// patienceStep is the most of Patience used up between two checks. A machine may
// freeze for minutes, as a virtual one does while it is moved, and the awaited event with it.
const patienceStep = time.Second

// holdsInTime waits until a condition holds, and reports whether it does within Patience. It
// checks again at once in the beginning, and less often the longer it has waited, or the longer a
// check takes: some collect garbage, or read the stacks of all goroutines.
func holdsInTime(holds func() bool) bool {
	waited := time.Duration(0)
	for looked := time.Now(); ; {
		begun := time.Now()
		if holds() {
			return true
		}
		now := time.Now()
		waited += min(now.Sub(looked), patienceStep)
		looked = now
		if waited > Patience {
			return false
		}
		pause := max(waited/8, 3*now.Sub(begun), time.Millisecond/4)
		time.Sleep(min(pause, 50*time.Millisecond)) // real time: nothing tells when to look again
	}
}

// patiently calls try until it returns true, and reports whether it does within Patience. try
// waits for an event, or for late.
func patiently(try func(late <-chan time.Time) bool) bool {
	for range Patience / patienceStep {
		if try(time.After(patienceStep)) {
			return true
		}
	}
	return false
}

// Receive returns the next value of c.
func Receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	if !received(c, &v) {
		fatalf(t, "never came: %s\n%s", what, Stacks())
	}
	return v
}

// received waits for a value of c, and reports whether it arrives within Patience.
func received[T any](c <-chan T, v *T) bool {
	return patiently(func(late <-chan time.Time) bool {
		select {
		case *v = <-c:
			return true
		case <-late:
			return false
		}
	})
}

// Send sends a value to c, which must be received.
func Send[T any](t testing.TB, what string, c chan<- T, v T) {
	t.Helper()
	taken := patiently(func(late <-chan time.Time) bool {
		select {
		case c <- v:
			return true
		case <-late:
			return false
		}
	})
	if !taken {
		fatalf(t, "never taken: %s\n%s", what, Stacks())
	}
}

// Soon fails a test whose call takes much longer than allowed.
func Soon(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	if !received(done, new(struct{})) {
		fatalf(t, "%s hangs:\n%s", what, Stacks())
	}
}

// Doubling runs a test in real time whose limit expires, but not before other things have happened.
// It begins with Short. Since a machine may be slow, or stand still, a failed attempt is repeated
// with a limit of twice the length, up to Patience.
func Doubling(t testing.TB, attempt func(limit time.Duration) error) {
	t.Helper()
	for limit := Short; ; limit *= 2 {
		err := attempt(limit)
		if err == nil {
			return
		}
		if limit > Patience {
			fatalf(t, "with a limit of %v: %v", limit, err)
		}
	}
}

// Must fails a test if a call failed.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		fatalf(t, "the call failed: %v", err)
	}
}

// CloserFunc is a function that implements io.Closer.
type CloserFunc func()

// Close calls f.
func (f CloserFunc) Close() error {
	f()
	return nil
}

// ReadFunc is a function that implements io.Reader.
type ReadFunc func(p []byte) (int, error)

// Read calls f.
func (f ReadFunc) Read(p []byte) (int, error) { return f(p) }

// Gate blocks its callers until it opens.
type Gate struct {
	Entered chan string   // names of the callers
	Open    chan struct{} // closed to open the gate
}

// NewGate returns a gate for at most 100 callers before Entered is read.
func NewGate() *Gate {
	return &Gate{Entered: make(chan string, 100), Open: make(chan struct{})}
}

// Pass sends name to Entered, and waits until the gate is open.
func (g *Gate) Pass(name string) {
	g.Entered <- name
	<-g.Open
}

// IsClosed reports whether a channel is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
