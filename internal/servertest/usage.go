package servertest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Usage is what a process has in use.
type Usage struct {
	Goroutines int   // all of them
	Others     int   // goroutines that do not belong to an event loop
	Files      int   // descriptors
	Heap       int64 // bytes
}

// String names all but Others.
func (u Usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d KiB of memory", u.Goroutines, u.Files, u.Heap>>10)
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

// OpenFiles counts the descriptors of the process.
func OpenFiles(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}
