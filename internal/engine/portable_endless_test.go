package engine

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// endlessConn is a connection that has no deadlines, as a channel of SSH.
type endlessConn struct{ halfConn }

var errNoDeadline = errors.New("deadline not supported")

func (*endlessConn) SetDeadline(time.Time) error      { return errNoDeadline }
func (*endlessConn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (*endlessConn) SetWriteDeadline(time.Time) error { return errNoDeadline }

func newEndless(t *testing.T) *endlessConn {
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return &endlessConn{halfConn{Conn: near}}
}

// A peer may be silent until it gets its response, and must get it: nothing reads ahead on a
// connection whose Read cannot be ended.
func TestNothingIsReadAheadWithoutDeadlines(t *testing.T) {
	e := &portable{nc: newEndless(t)}
	e.Set, e.NC = newLines(), e.nc
	w := make(goneWatcher, 1)
	e.Watch(w, true)
	servertest.Soon(t, "Unwatch", func() { e.Unwatch() })
	if len(w) > 0 {
		t.Error("the end of the peer is reported")
	}
}

// A peer that neither sends nor ends its side must not hold a connection for longer than any other.
func TestConnectionsWithoutDeadlinesDoNotLinger(t *testing.T) {
	c := newEndless(t)
	servertest.Soon(t, "LingerOn", func() { LingerOn(c, LingerSize) })
	if !c.ended {
		t.Error("the sending side is not ended")
	}
}
