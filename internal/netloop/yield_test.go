//go:build linux

package netloop

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// empty closes the peers and waits until the loop has closed the connections.
func (w *world) empty(peers []net.Conn) {
	w.t.Helper()
	for _, nc := range peers {
		if err := nc.(*net.UnixConn).CloseWrite(); err != nil {
			w.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, nc)
		_ = nc.Close()
	}
}

// A descriptor that does not belong to the loop gets its turn while the loop has
// events: it does not wait until all of them are served, neither if handlers wait
// nor if they return at once.
func TestOthersGetTheirTurnBesideALoop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const conns = 4 * batchSize
	for name, wait := range map[string]time.Duration{"handlers that wait": time.Millisecond, "handlers that return": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			defer w.g.Close()
			var begun, answered atomic.Int32
			var at atomic.Int32
			r, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				var b [1]byte
				_, _ = r.Read(b[:])
				at.Store(begun.Load())
			}()
			l := w.g.get(0)
			peers := make([]net.Conn, conns)
			handle := func(byte) {
				if begun.Add(1) == 1 {
					// everything becomes ready at once, before any other handler begins
					if wait == 0 {
						l.quicken()
					}
					_, _ = syscall.Write(int(out.Fd()), []byte("x"))
					for _, nc := range peers[1:] {
						_, _ = nc.Write([]byte("x"))
					}
				}
				if wait > 0 {
					time.Sleep(wait)
				} else {
					for end := time.Now().Add(50 * time.Microsecond); time.Now().Before(end); {
					}
				}
				answered.Add(1)
			}
			for i := range peers {
				peers[i] = w.call(handle)
			}
			if _, err := peers[0].Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			servertest.Eventually(t, "all are served", func() bool { return answered.Load() == conns })
			w.empty(peers)
			_ = out.Close()
			_ = r.Close()
			if n := at.Load(); n == 0 || n > conns*3/4 {
				t.Errorf("the other one got its turn when %d of %d handlers were begun", n, conns)
			}
		})
	}
}

// A poller can yield any number of times.
func TestYielderCanBeUsedAgain(t *testing.T) {
	y, err := newYielder()
	if err != nil {
		t.Fatal(err)
	}
	defer y.file.Close()
	if err := y.file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	p := &Poller{l: &Loop{yielder: y}}
	for n := range 1000 {
		p.hasPoked = false
		if err := y.raw.Read(p.poked); err != nil {
			t.Fatalf("after %d times: %v", n, err)
		}
	}
}
