//go:build linux

package netloop

import (
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A descriptor that does not belong to the loop gets its turn while the loop has events: it
// does not wait until all of them are served, whether handlers wait or return at once.
func TestOthersGetTheirTurnBesideALoop(t *testing.T) {
	for name, waits := range map[string]bool{"handlers that wait": true, "handlers that return": false} {
		t.Run(name, func(t *testing.T) { othersGetTheirTurn(t, waits) })
	}
}

func othersGetTheirTurn(t *testing.T, waits bool) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const conns = 8 * batchSize
	clock := newHandClock()
	w := newWorldAt(t, 1, clock.now)
	l := w.g.get(0)
	r, out, err := os.Pipe()
	servertest.Must(t, err)
	defer r.Close()
	defer out.Close()
	var begun atomic.Int32
	reads, turn := make(chan struct{}), make(chan int32, 1)
	raw, err := r.SyscallConn()
	servertest.Must(t, err)
	go func() {
		waited := false
		_ = raw.Read(func(uintptr) bool {
			if !waited {
				waited = true
				close(reads)
				return false
			}
			// after a system call the thread could have to wait until all handlers are begun
			turn <- begun.Load()
			return true
		})
		w.release()
	}()
	peers := make([]net.Conn, conns)
	handle := func(byte) {
		if begun.Add(1) == 1 {
			// everything becomes ready at once, before any other handler begins
			if !waits {
				l.quicken()
			}
			_, _ = syscall.Write(int(out.Fd()), []byte("x"))
			for _, nc := range peers[1:] {
				_, _ = nc.Write([]byte("x"))
			}
		}
		if waits {
			<-w.free
		} else {
			clock.pass(shortHandler)
		}
	}
	for i := range peers {
		peers[i] = w.call(handle)
	}
	// its read would forget what has arrived before
	servertest.Receive(t, "the read of another descriptor", reads)
	w.send(peers[0], "x")
	at := servertest.Receive(t, "the turn of another descriptor", turn)
	for _, nc := range peers {
		w.expect(nc, "x")
	}
	if at > conns*3/4 {
		t.Errorf("the other one got its turn when %d of %d handlers were begun", at, conns)
	}
}

// A poller can yield any number of times.
func TestYielderCanBeUsedAgain(t *testing.T) {
	y, err := newYielder()
	if err != nil {
		t.Fatal(err)
	}
	defer y.file.Close()
	p := &Poller{l: &Loop{yielder: y}}
	for n := range 1000 {
		servertest.Must(t, y.file.SetReadDeadline(time.Now().Add(servertest.Patience)))
		p.hasPoked = false
		if err := y.raw.Read(p.poked); err != nil {
			t.Fatalf("after %d times: %v", n, err)
		}
	}
}
