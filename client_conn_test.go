package fasthttp

import (
	"reflect"
	"testing"

	"golang.org/x/sys/cpu"
)

// The fields that every call reads share cache lines, because another processor may
// have used the connection last.
func TestWhatCallsNeedOfAConnectionStandsTogether(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the layout is meant for 64 bits")
	}
	const line = 64
	cc := reflect.TypeFor[clientConn]()
	if size := cc.Size(); size > 8*line {
		t.Errorf("a clientConn has %d bytes", size)
	}
	link, _ := cc.FieldByName("line")
	guard, _ := link.Type.FieldByName("Guard")
	cold, _ := guard.Type.FieldByName("writeBy")
	if end := link.Offset + guard.Offset + cold.Offset; end > 3*line {
		t.Errorf("the fields that every call reads have %d bytes", end)
	}
}

// The counters that every call changes share no cache line with fields that calls
// only read.
func TestWhatCallsWriteStandsApart(t *testing.T) {
	line := reflect.TypeFor[cpu.CacheLinePad]().Size()
	hc := reflect.TypeFor[HostClient]()
	offset := func(name string) uintptr {
		f, _ := hc.FieldByName(name)
		return f.Offset
	}
	pool, _ := hc.FieldByName("pool")
	mu, _ := pool.Type.FieldByName("mu")
	idle, _ := pool.Type.FieldByName("MaxIdle")
	if first := pool.Offset + mu.Offset; first < pool.Offset+idle.Offset+idle.Type.Size()+line || first < offset("Jar")+line {
		t.Error("the lock of the pool shares a cache line with fields that do not change")
	}
	for _, name := range []string{"pending", "lastUse"} {
		if offset("setup") < offset(name)+line {
			t.Errorf("%s shares a cache line with fields that do not change", name)
		}
	}
}
