package http2client

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// lateConn is a connection on a machine too busy to read in time: while late is set, some
// Reads exceed their deadline before a Read returns the bytes that have arrived.
type lateConn struct {
	*net.TCPConn
	late    atomic.Bool
	misses  int           // how many Reads are too late
	kept    []byte        // what they have missed
	limited chan struct{} // gets a value when there is a deadline
	once    sync.Once     // waits for that
	silent  net.Conn      // on which nothing arrives
}

func (c *lateConn) SetReadDeadline(t time.Time) error {
	_ = c.silent.SetReadDeadline(t)
	if c.late.Load() && !t.IsZero() {
		select {
		case c.limited <- struct{}{}:
		default:
		}
	}
	return c.TCPConn.SetReadDeadline(t)
}

func (c *lateConn) Read(p []byte) (int, error) {
	if len(c.kept) == 0 {
		n, err := c.TCPConn.Read(p)
		if n == 0 || !c.late.Load() {
			return n, err
		}
		c.kept = slices.Clone(p[:n])
		c.once.Do(func() { <-c.limited })
	}
	if c.misses > 0 {
		c.misses--
		return c.silent.Read(p)
	}
	n := copy(p, c.kept)
	c.kept = c.kept[n:]
	return n, nil
}

// A response has arrived before writing became impossible, but a busy machine has missed the
// time for reading it.
func TestResponsesBeforeAFailedWriteAreRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		misses int
		lost   bool
	}{
		{name: "in time", misses: 0},
		{name: "late", misses: 1},
		{name: "late again", misses: 3},
		{name: "always late", misses: 1000, lost: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, server := servertest.TCPPair(t)
			p := newPeer(server)
			go p.run()
			silent, other := net.Pipe()
			t.Cleanup(func() { _ = other.Close() })
			busy := &lateConn{TCPConn: client.(*net.TCPConn), misses: tt.misses, limited: make(chan struct{}, 1), silent: silent}
			c, _ := begin(t, busy, nil)
			p.hold()
			ended := make(chan error, 1)
			go func() {
				x, err := ask(c, nil)
				if err == nil {
					err = x.await(time.Time{})
				}
				ended <- err
			}()
			servertest.Eventually(t, "the request", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return len(p.held) == 1
			})
			busy.late.Store(true)
			p.release()
			// the peer closes the connection, which accepts nothing more
			servertest.Must(t, busy.CloseWrite())
			servertest.Receive(t, "the end of the peer", p.over)
			servertest.Eventually(t, "the failure of a write", func() bool {
				_, err := ask(c, nil)
				return err != nil
			})
			if err := servertest.Receive(t, "the end of the call", ended); (err != nil) != tt.lost {
				t.Errorf("the call ends with %v", err)
			}
		})
	}
}
