package servertest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Steady runs a test in real time in which something must happen before a limit expires: time
// itself is its subject, and sockets have no fake clock. If it fails, and the machine has stood
// still meanwhile for a tenth of the limit at once, or for a quarter of it in all, that is no
// failure, and the test runs again.
func Steady(t *testing.T, limit time.Duration, test func(t testing.TB)) {
	t.Helper()
	const tries = 5
	for try := 1; ; try++ {
		still := watchStandstills()
		a := attempted(t, test)
		if s := still(); a.Failed() && s.excuse(limit) && try < tries {
			t.Logf("the machine stood still for %v at once, and for %v in all; attempt %d:\n%s", s.longest, s.all, try, strings.Join(a.log, "\n"))
			continue
		}
		a.report(t)
		return
	}
}

// watchStep is how often the machine is watched.
const watchStep = 10 * time.Millisecond

// standstills is for how long the machine stood still: at once, and in all.
type standstills struct{ longest, all time.Duration }

// add adds the time between two looks at the machine.
func (s *standstills) add(gap time.Duration) {
	s.longest = max(s.longest, gap)
	if gap > 2*watchStep {
		s.all += gap - watchStep
	}
}

// excuse reports whether something may have exceeded the limit for that.
func (s *standstills) excuse(limit time.Duration) bool {
	return s.longest > limit/10 || s.all > limit/4
}

// watchStandstills begins to watch the machine. end ends that, and returns the result.
func watchStandstills() (end func() standstills) {
	ended, result := make(chan struct{}), make(chan standstills)
	go func() {
		ticker := time.NewTicker(watchStep)
		defer ticker.Stop()
		var s standstills
		for last := time.Now(); ; {
			over := false
			select {
			case <-ended:
				over = true
			case <-ticker.C:
			}
			now := time.Now()
			s.add(now.Sub(last))
			if last = now; over {
				result <- s
				return
			}
		}
	}()
	return func() standstills {
		close(ended)
		return <-result
	}
}

// attempt is the testing.TB of one attempt of Steady.
type attempt struct {
	testing.TB // of the test
	ctx        context.Context

	mu       sync.Mutex
	failed   bool
	skipped  bool
	log      []string
	cleanups []func()
}

// attempted runs a test to its end, with its cleanups.
func attempted(t *testing.T, test func(t testing.TB)) *attempt {
	ctx, cancel := context.WithCancel(t.Context())
	a := &attempt{TB: t, ctx: ctx}
	var all sync.WaitGroup
	// FailNow ends the goroutine
	all.Go(func() { test(a) })
	all.Wait()
	cancel()
	for {
		a.mu.Lock()
		last := len(a.cleanups) - 1
		if last < 0 {
			a.mu.Unlock()
			return a
		}
		f := a.cleanups[last]
		a.cleanups = slices.Delete(a.cleanups, last, last+1)
		a.mu.Unlock()
		all.Go(f)
		all.Wait()
	}
}

// report hands the result to the test.
func (a *attempt) report(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Join(a.log, "\n")
	switch {
	case a.failed:
		t.Fatal(text)
	case a.skipped:
		t.Skip(text)
	case text != "":
		t.Log(text)
	}
}

func (a *attempt) note(text string, failed, skipped bool) {
	if _, file, line, ok := runtime.Caller(2); ok && text != "" {
		text = fmt.Sprintf("%s:%d: %s", file[strings.LastIndexByte(file, '/')+1:], line, text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed, a.skipped = a.failed || failed, a.skipped || skipped
	if text != "" {
		a.log = append(a.log, text)
	}
}

// Cleanup implements testing.TB.
func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

// Context implements testing.TB.
func (a *attempt) Context() context.Context { return a.ctx }

// Failed implements testing.TB.
func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Skipped implements testing.TB.
func (a *attempt) Skipped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skipped
}

// Log implements testing.TB.
func (a *attempt) Log(args ...any) { a.note(fmt.Sprint(args...), false, false) }

// Logf implements testing.TB.
func (a *attempt) Logf(format string, args ...any) {
	a.note(fmt.Sprintf(format, args...), false, false)
}

// Fail implements testing.TB.
func (a *attempt) Fail() { a.note("", true, false) }

// Error implements testing.TB.
func (a *attempt) Error(args ...any) { a.note(fmt.Sprint(args...), true, false) }

// Errorf implements testing.TB.
func (a *attempt) Errorf(format string, args ...any) {
	a.note(fmt.Sprintf(format, args...), true, false)
}

// FailNow implements testing.TB.
func (a *attempt) FailNow() {
	a.note("", true, false)
	runtime.Goexit()
}

// Fatal implements testing.TB.
func (a *attempt) Fatal(args ...any) {
	a.note(fmt.Sprint(args...), true, false)
	runtime.Goexit()
}

// Fatalf implements testing.TB.
func (a *attempt) Fatalf(format string, args ...any) {
	a.note(fmt.Sprintf(format, args...), true, false)
	runtime.Goexit()
}

// SkipNow implements testing.TB.
func (a *attempt) SkipNow() {
	a.note("", false, true)
	runtime.Goexit()
}

// Skip implements testing.TB.
func (a *attempt) Skip(args ...any) {
	a.note(fmt.Sprint(args...), false, true)
	runtime.Goexit()
}

// Skipf implements testing.TB.
func (a *attempt) Skipf(format string, args ...any) {
	a.note(fmt.Sprintf(format, args...), false, true)
	runtime.Goexit()
}
