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

// Usage is what a process has in use.
type Usage struct {
	Goroutines int   // all of them
	Others     int   // goroutines that do not belong to an event loop
	Files      int   // descriptors
	Heap       int64 // bytes
}

// String names all of it.
func (u Usage) String() string {
	return fmt.Sprintf("%d goroutines (%d of no event loop), %d descriptors, %d KiB of memory", u.Goroutines, u.Others, u.Files, u.Heap>>10)
}

// Measure counts what is in use. Pools are emptied before, which takes two
// rounds of the collector.
func Measure(t testing.TB) Usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	goroutines := runtime.NumGoroutine()
	pollers := bytes.Count(Stacks(), []byte("netloop.(*Poller).run("))
	return Usage{goroutines, goroutines - pollers, OpenFiles(t), int64(m.HeapAlloc)}
}

// CountGoroutines returns what counts the goroutines of a test: the one that calls,
// and all that it and those start from then on. Tests that run at the same time do
// not count.
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

// counting is how many tests have called CountGoroutines.
var counting atomic.Uint64

// OpenFiles counts the descriptors of the process.
func OpenFiles(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}
