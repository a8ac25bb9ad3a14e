package servertest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"testing"
)

// Usage is the resource usage of a process.
type Usage struct {
	Goroutines int   // all of them
	Others     int   // goroutines that do not belong to an event loop
	Files      int   // descriptors
	Heap       int64 // bytes
}

// String lists all fields.
func (u Usage) String() string {
	return fmt.Sprintf("%d goroutines (%d of no event loop), %d descriptors, %d KiB of memory", u.Goroutines, u.Others, u.Files, u.Heap>>10)
}

// Pollers is the number of goroutines that belong to an event loop.
func (u Usage) Pollers() int { return u.Goroutines - u.Others }

// Measure measures the usage. It empties pools first, which takes two rounds of the
// collector.
func Measure(t testing.TB) Usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := Count(t)
	u.Heap = int64(m.HeapAlloc)
	return u
}

// Count is Measure without Heap, and costs little.
func Count(t testing.TB) Usage {
	goroutines := runtime.NumGoroutine()
	pollers := bytes.Count(Stacks(), []byte("netloop.(*Poller).run("))
	return Usage{Goroutines: goroutines, Others: goroutines - pollers, Files: OpenFiles(t)}
}

// ExpectBack waits until there are no more goroutines than before, and expects no more
// descriptors, and at most growth more bytes of memory.
func (u Usage) ExpectBack(t testing.TB, growth int64) {
	t.Helper()
	Eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= u.Goroutines })
	after := Measure(t)
	t.Logf("before: %v, after: %v", u, after)
	if after.Files > u.Files {
		t.Errorf("%d descriptors are left", after.Files-u.Files)
	}
	if after.Heap > u.Heap+growth {
		t.Errorf("%d bytes are left", after.Heap-u.Heap)
	}
}

// CountGoroutines returns a function that counts the goroutines of a test: the
// calling one, and all that it and its descendants start from then on. Goroutines of
// concurrent tests do not count.
func CountGoroutines(t testing.TB) func() int {
	label := strconv.FormatUint(counting.Add(1), 10)
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("servertest", label)))
	mark := []byte(fmt.Sprintf("%q:%q", "servertest", label))
	return func() (n int) {
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
		// a paragraph for all with the same stack and labels begins with their number
		for same := range bytes.SplitSeq(profile.Bytes(), []byte("\n\n")) {
			if number, _, ok := bytes.Cut(same, []byte(" @ ")); ok && bytes.Contains(same, mark) {
				of, err := strconv.Atoi(string(number[bytes.LastIndexByte(number, '\n')+1:]))
				if err != nil {
					t.Fatalf("a goroutine profile with %q", same)
				}
				n += of
			}
		}
		return n
	}
}

// counting is the number of tests that have called CountGoroutines.
var counting atomic.Uint64

// OpenFiles counts the descriptors of the process.
func OpenFiles(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}
