package engine

import (
	"reflect"
	"testing"

	"github.com/valyala/fasthttp/internal/netloop"
)

// An idle connection is an eventConn and nothing else.
func TestEventConnectionsAreSmall(t *testing.T) {
	const limit = 144
	if size := reflect.TypeFor[eventConn]().Size() - reflect.TypeFor[netloop.Conn]().Size(); size > limit {
		t.Errorf("an eventConn has %d bytes besides its netloop.Conn, want %d at most", size, limit)
	} else {
		t.Logf("%d bytes", size)
	}
}
