package fasthttptest_test

import (
	"fmt"
	"runtime"
	"testing"
)

// fakeT is a testing.TB that belongs to no test.
type fakeT struct {
	testing.TB // nil
	cleanups   []func()
	failures   []string
}

func (*fakeT) Helper() {}

func (f *fakeT) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *fakeT) Error(args ...any) { f.failures = append(f.failures, fmt.Sprint(args...)) }

func (f *fakeT) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }

// Fatalf ends the goroutine, as in a test.
func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// end calls the functions that were registered.
func (f *fakeT) end() {
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		last()
	}
}

// fails calls f, which must call Fatalf, and returns the failure.
func (f *fakeT) fails(call func()) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
		f.Error("it has returned")
	}()
	<-done
	return f.failures[len(f.failures)-1]
}
