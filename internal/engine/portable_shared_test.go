package engine

import (
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// shouts is a protocol to whose output any goroutine adds.
type shouts struct {
	lines
	mu     sync.Mutex
	failed error
}

func (p *shouts) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, text...)
}

func (p *shouts) Output() (head, tail []byte, file *FilePart) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// bytes being written must stay where they are
	return p.out[:len(p.out):len(p.out)], nil, nil
}

func (p *shouts) Written(n int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out = append([]byte(nil), p.out[n:]...); err != nil {
		p.failed = err
	}
}

// shared returns a connection of the engine without its goroutine, and its peer.
func shared(p *shouts) (e *portable, peer net.Conn) {
	near, far := net.Pipe()
	e = &portable{nc: near, p: p}
	e.NC, e.Concurrent, e.NoWriteTimeout = near, true, true
	return e, far
}

// While one goroutine waits for the peer, others continue, and their output is written in
// their order. The connection's goroutine continues as well, but not at once.
func TestNobodyWaitsForAWriterThatWaits(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := &shouts{}
		e, peer := shared(p)
		begun := time.Now()
		p.say("a")
		go e.Wake()
		synctest.Wait()
		for _, text := range []string{"b", "c", "d"} {
			p.say(text)
			e.Wake()
		}
		if d := time.Since(begun); d > 0 {
			t.Errorf("others have waited for %v", d)
		}
		if again, err := e.writeShared(); !again || err != nil || time.Since(begun) != sharedWaitMax {
			t.Errorf("the connection goes on after %v: %v, %v", time.Since(begun), again, err)
		}
		free := make(chan struct{})
		go func() {
			_, _ = e.writeShared()
			close(free)
		}()
		synctest.Wait()
		got := make([]byte, 4)
		if _, err := io.ReadFull(peer, got); string(got) != "abcd" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		<-free
		if d := time.Since(begun); d != sharedWaitMax {
			t.Errorf("the connection goes on %v after the end of the writes", d-sharedWaitMax)
		}
		_ = peer.Close()
	})
}

// A goroutine that has only its own output to write does not write the output of others
// forever.
func TestWriterIsRelieved(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := &shouts{}
		e, peer := shared(p)
		p.say("x")
		returned := false
		go func() {
			e.Wake()
			returned = true
		}()
		synctest.Wait()
		const n = 10 * maxWritesForOthers
		text, b := "", make([]byte, 1)
		for i := range n {
			// whenever a piece is written there is more
			if i < n-1 {
				p.say("x")
				e.Wake()
			}
			if _, err := peer.Read(b); err != nil {
				t.Fatal(err)
			}
			text += string(b)
			synctest.Wait()
			if i == 2*maxWritesForOthers && !returned {
				t.Error("the goroutine writes for others all the time")
			}
		}
		if text != strings.Repeat("x", n) {
			t.Errorf("got %q", text)
		}
		_ = peer.Close()
	})
}

// The connection's goroutine returns an error of another goroutine's write.
func TestErrorOfAnotherWriterEndsTheRead(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := &shouts{}
		e, peer := shared(p)
		read := make(chan error)
		go func() {
			_, err := e.nc.Read(make([]byte, 1))
			read <- err
		}()
		_ = e.nc.SetWriteDeadline(time.Now().Add(time.Minute))
		p.say("x")
		begun := time.Now()
		go e.Wake()
		if err := <-read; err == nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		synctest.Wait()
		if p.failed == nil {
			t.Error("the protocol was not told")
		}
		if !e.shared.begin() {
			t.Error("a writer that has failed is still at it")
		}
		_ = peer.Close()
	})
}

// Writes of several goroutines need no memory of their own.
func TestSharedWritesAllocateNothing(t *testing.T) {
	var s sharedWrites
	s.begin()
	s.ended, s.timer = make(chan struct{}, 1), time.NewTimer(time.Hour)
	s.quit()
	if n := testing.AllocsPerRun(100, func() {
		s.begin()
		s.begin()
		done := s.end()
		s.quit()
		s.wait()
		if done {
			t.Error("nobody has seen what the other has made")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// badWrites is a connection whose writes after the first do not return.
type badWrites struct {
	net.Conn
	first func()
	end   func()
}

func (c *badWrites) Write(p []byte) (int, error) {
	if c.first == nil {
		c.end()
	}
	c.first()
	c.first = nil
	return len(p), nil
}

// loggingHost counts log lines.
type loggingHost struct {
	linesHost
	logged atomic.Int32
}

func (h *loggingHost) Logf(string, ...any) { h.logged.Add(1) }

// A Write that panics, or ends its goroutine, ends the connection and nothing else,
// whichever goroutine calls it. The connection's goroutine sees that.
func TestWriteThatDoesNotReturnEndsTheConnection(t *testing.T) {
	for name, test := range map[string]struct {
		end    func()
		logged int32
	}{
		"panic": {func() { panic("a write") }, 1},
		"exit":  {runtime.Goexit, 0},
	} {
		for _, wake := range []func(e *portable){(*portable).Wake, func(e *portable) {
			if !e.shared.begin() {
				t.Error("somebody writes")
			}
			e.continueWriting()
		}} {
			servertest.Bubble(t, func(t *testing.T) {
				p, h := &shouts{}, &loggingHost{}
				e, peer := shared(p)
				e.Set = &Set{Host: h}
				e.nc = &badWrites{Conn: e.nc, end: test.end, first: func() {
					p.say("more")
					e.Wake()
				}}
				read := make(chan error, 1)
				go func() {
					_, err := e.nc.Read(make([]byte, 1))
					read <- err
				}()
				p.say("x")
				go wake(e)
				synctest.Wait()
				select {
				case <-read:
				default:
					t.Errorf("%s: the connection goes on", name)
				}
				if n := h.logged.Load(); n != test.logged {
					t.Errorf("%s: %d lines were logged", name, n)
				}
				if !e.shared.begin() {
					t.Errorf("%s: the writer is still at it", name)
				}
				_ = peer.Close()
				_ = e.nc.Close()
			})
		}
	}
}
