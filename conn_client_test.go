package fasthttp

import (
	"reflect"
	"testing"
)

// What a call needs of a connection that another processor has used is fetched a
// cache line at a time.
func TestWhatCallsNeedOfAConnectionStandsTogether(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the layout is meant for 64 bits")
	}
	const line = 64
	cc := reflect.TypeFor[clientConn]()
	if size := cc.Size(); size > 5*line {
		t.Errorf("a clientConn has %d bytes", size)
	}
	guard, _ := cc.FieldByName("guard")
	apart, _ := guard.Type.FieldByName("writeBy")
	if end := guard.Offset + apart.Offset; end > 3*line {
		t.Errorf("what every call needs has %d bytes", end)
	}
}
