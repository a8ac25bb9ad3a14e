package servertest

import (
	"net"
	"runtime"
	"syscall"
	"testing"
)

// Bare closes the client's end of a connection, and returns a descriptor that keeps it open: it
// needs no memory of the program.
func Bare(t testing.TB, nc net.Conn) (fd int) {
	t.Helper()
	raw, err := nc.(syscall.Conn).SyscallConn()
	Must(t, err)
	var failed error
	Must(t, raw.Control(func(own uintptr) { fd, failed = syscall.Dup(int(own)) }))
	Must(t, failed)
	_ = nc.Close()
	return fd
}

// LeastHeap opens count more idle connections again and again until they need at most that number of
// bytes of heap each, or it has tried that five times: the server may still work for earlier ones.
// It returns the smallest number of bytes measured.
func LeastHeap(t testing.TB, count int, most int64, open func(count int)) (least int64) {
	t.Helper()
	used := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	least = 1 << 40
	for tries := 0; tries < 5 && least > most; tries++ {
		before := used()
		open(count)
		least = min(least, (used()-before)/int64(count))
	}
	return least
}
