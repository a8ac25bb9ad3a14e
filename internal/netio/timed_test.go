package netio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// withTimed runs a test of a connection without deadlines and its peer, in a bubble.
func withTimed(t *testing.T, test func(t *testing.T, c, peer net.Conn)) {
	t.Helper()
	servertest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		test(t, WithDeadlines(servertest.TimelessConn{Conn: near}), far)
		_, _ = near.Close(), far.Close()
	})
}

// deadConn is a connection of the application whose methods for deadlines panic.
type deadConn struct{ net.Conn }

func (deadConn) SetReadDeadline(time.Time) error  { panic("a mistake") }
func (deadConn) SetWriteDeadline(time.Time) error { panic("a mistake") }

func TestConnectionsWithDeadlinesStayAsTheyAre(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if c := WithDeadlines(near); c != near {
		t.Errorf("got a %T", c)
	}
	if _, ok := WithDeadlines(deadConn{near}).(*TimedConn); !ok {
		t.Error("a connection whose deadlines panic has no others")
	}
}

func TestTimedReadGivesUpAndLosesNothing(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		start, p := time.Now(), make([]byte, 3)
		for range 2 {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if n, err := c.Read(p); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %d bytes, %v", n, err)
			}
		}
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("two reads took %v", took)
		}
		if n, err := c.Read(p); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline: got %d bytes, %v", n, err)
		}
		if n, err := peer.Write([]byte("abcdefgh")); n != 8 || err != nil {
			t.Errorf("the peer wrote %d bytes, %v", n, err)
		}
		_ = peer.Close()
		_ = c.SetReadDeadline(time.Time{})
		for _, want := range []string{"abc", "def", "gh"} {
			if n, err := c.Read(p); string(p[:n]) != want || err != nil {
				t.Errorf("got %q, %v, want %q", p[:n], err, want)
			}
		}
		for range 2 {
			if n, err := c.Read(p); n != 0 || err != io.EOF {
				t.Errorf("at the end: got %d bytes, %v", n, err)
			}
		}
	})
}

// timedCalls are the calls that a deadline ends.
var timedCalls = map[string]func(c net.Conn) error{
	"read":  func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
	"write": func(c net.Conn) error { _, err := c.Write([]byte("a")); return err },
}

func TestTimedCallsObeyADeadlineThatChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second time.Duration // since the start; zero means none
		want          time.Duration
	}{
		"set":       {0, time.Hour, time.Hour},
		"shortened": {time.Hour, time.Minute, time.Minute},
		"extended":  {time.Minute, time.Hour, time.Hour},
		"past":      {time.Hour, -time.Hour, time.Second},
	} {
		for part, call := range timedCalls {
			t.Run(part+"/"+name, func(t *testing.T) {
				withTimed(t, func(t *testing.T, c, _ net.Conn) {
					start := time.Now()
					if tt.first != 0 {
						_ = c.SetDeadline(start.Add(tt.first))
					}
					time.AfterFunc(time.Second, func() { _ = c.SetDeadline(start.Add(tt.second)) })
					if err := call(c); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != tt.want {
						t.Errorf("got %v after %v", err, time.Since(start))
					}
				})
			})
		}
	}
}

func TestTimedWriteEndsTheConnection(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write([]byte("a")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		// until the connection has ended, the byte may be sent yet
		if got, err := io.ReadAll(peer); len(got) > 1 || err != nil {
			t.Errorf("the peer got %d bytes, %v", len(got), err)
		}
		_ = c.SetDeadline(time.Time{})
		if _, err := c.Write([]byte("a")); err == nil {
			t.Error("it can be written to")
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading: %v", err)
		}
	})
}

// A deadline that passes while nothing is written harms nothing.
func TestTimedWriteAfterADeadline(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		_ = c.SetWriteDeadline(time.Now().Add(-time.Second))
		if n, err := c.Write([]byte("a")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %d bytes, %v", n, err)
		}
		_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
		go func() { _, _ = c.Write([]byte("abc")) }()
		p := make([]byte, 3)
		if n, err := io.ReadFull(peer, p); string(p) != "abc" {
			t.Errorf("the peer got %q, %v", p[:n], err)
		}
	})
}

// lateConn takes each piece at the deadline of its TimedConn.
type lateConn struct {
	servertest.TimelessConn
	timed *TimedConn
	pass  time.Duration // how long the deadline has passed when a piece was taken
	got   int
}

func (c *lateConn) Write(p []byte) (int, error) {
	c.got += len(p)
	c.timed.mu.Lock()
	// without the timer that would wake Write before the piece was taken
	c.timed.write.by = time.Now().Add(-c.pass)
	c.timed.mu.Unlock()
	return len(p), nil
}

// A piece that was sent just when the deadline passed counts, and the connection stays open.
func TestTimedWriteCountsAPieceSentAtItsDeadline(t *testing.T) {
	for _, size := range []int{1, timedSpace, timedSpace + 1} {
		conn := &lateConn{pass: time.Hour}
		c := WithDeadlines(conn).(*TimedConn)
		conn.timed = c
		n, err := c.Write(make([]byte, size))
		if n != conn.got || n != min(size, timedSpace) || (err == nil) != (n == size) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write of %d bytes returned %d, %v; %d were sent", size, n, err, conn.got)
		}
		conn.pass = -time.Hour
		_ = c.SetWriteDeadline(time.Time{})
		if n, err := c.Write([]byte("a")); n != 1 || err != nil {
			t.Errorf("the next Write returned %d, %v", n, err)
		}
	}
}

// A connection whose Write does not end with it, as a channel of SSH over a network that is gone.
type stuckConn struct {
	servertest.TimelessConn
	free chan struct{}
}

func (c stuckConn) Write(p []byte) (int, error) {
	<-c.free
	return len(p), nil
}

func (c stuckConn) Close() error { <-c.free; return nil }

func TestTimedWriteEndsThoughTheConnectionDoesNot(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		stuck := stuckConn{free: make(chan struct{})}
		c, start := WithDeadlines(stuck), time.Now()
		_ = c.SetWriteDeadline(start.Add(time.Minute))
		if n, err := c.Write([]byte("abc")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %d bytes, %v after %v", n, err, time.Since(start))
		}
		_ = c.SetWriteDeadline(time.Time{})
		if n, err := c.Write([]byte("abc")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("afterwards: got %d bytes, %v", n, err)
		}
		close(stuck.free)
	})
}

func TestTimedWriteEndsWithTheConnection(t *testing.T) {
	withTimed(t, func(t *testing.T, c, _ net.Conn) {
		time.AfterFunc(time.Second, func() { _ = c.Close() })
		if n, err := c.Write([]byte("abc")); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %d bytes, %v", n, err)
		}
	})
}

// Two goroutines may write: one waits for the other, and both have the deadline.
func TestTimedWritesTakeTurns(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		const length = 2*timedSpace + 1
		var writes sync.WaitGroup
		for _, letter := range []string{"a", "b"} {
			writes.Go(func() {
				if n, err := c.Write(bytes.Repeat([]byte(letter), length)); n != length || err != nil {
					t.Errorf("got %d bytes, %v", n, err)
				}
			})
		}
		p := make([]byte, 2*length)
		if n, err := io.ReadFull(peer, p); err != nil {
			t.Errorf("the peer got %d bytes, %v", n, err)
		}
		if first := len(p) - len(bytes.TrimLeft(p, string(p[:1]))); first != length || bytes.Count(p, p[length:length+1]) != length {
			t.Errorf("after %d bytes of a write the peer got others", first)
		}
		writes.Wait()
		_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
		for range 2 {
			writes.Go(func() {
				if n, err := c.Write([]byte("c")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("late: got %d bytes, %v", n, err)
				}
			})
		}
		writes.Wait()
	})
}

// A Write that waits for another does not change the result of that one.
func TestTimedWritesHaveTheirOwnResults(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		c := WithDeadlines(servertest.TimelessConn{Conn: oddConn{near}})
		var writes sync.WaitGroup
		for length := range 100 {
			writes.Go(func() {
				want := error(nil)
				if length%2 == 1 {
					want = errOdd
				}
				if n, err := c.Write(make([]byte, length)); n != length || err != want {
					t.Errorf("of %d bytes: got %d bytes, %v", length, n, err)
				}
			})
		}
		writes.Wait()
	})
}

// oddConn is a connection whose writes of an odd number of bytes have an error.
type oddConn struct{ net.Conn }

var errOdd = errors.New("an odd number of bytes")

func (oddConn) Write(p []byte) (int, error) {
	if len(p)%2 == 1 {
		return len(p), errOdd
	}
	return len(p), nil
}

// A Write that ends after a part returns how much of it was written.
func TestTimedWriteOfMuch(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		sent := bytes.Repeat([]byte("0123456789"), 10_000)
		go func() {
			_, _ = c.Write(sent)
			_ = c.Close()
		}()
		if got, err := io.ReadAll(peer); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("the peer got %d bytes, %v", len(got), err)
		}
	})
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		go func() { _, _ = io.ReadFull(peer, make([]byte, timedSpace+1)) }()
		_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := c.Write(make([]byte, 10*timedSpace)); n != timedSpace || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %d bytes, %v", n, err)
		}
	})
	withTimed(t, func(t *testing.T, c, _ net.Conn) {
		short := WithDeadlines(servertest.TimelessConn{Conn: shortConn{c}})
		if n, err := short.Write([]byte("abc")); n != 1 || err != io.ErrShortWrite {
			t.Errorf("short: got %d bytes, %v", n, err)
		}
	})
}

// shortConn writes one byte, and does not say why.
type shortConn struct{ net.Conn }

func (shortConn) Write([]byte) (int, error) { return 1, nil }

func TestTimedReadOfMuch(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		sent := bytes.Repeat([]byte("0123456789"), 10_000)
		go func() {
			_, _ = peer.Write(sent)
			_ = peer.Close()
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

func TestTimedReadEndsWithTheConnection(t *testing.T) {
	withTimed(t, func(t *testing.T, c, _ net.Conn) {
		time.AfterFunc(time.Second, func() { _ = c.Close() })
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// readConn is a connection whose Read is a function.
type readConn struct {
	net.Conn
	read func(p []byte) (int, error)
}

func (c readConn) Read(p []byte) (int, error) { return c.read(p) }

// withTimedRead runs a test of a connection without deadlines whose Read is a function.
func withTimedRead(t *testing.T, read func(p []byte) (int, error), test func(t *testing.T, c net.Conn)) {
	t.Helper()
	servertest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		test(t, WithDeadlines(servertest.TimelessConn{Conn: readConn{near, read}}))
		_, _ = near.Close(), far.Close()
	})
}

// A Read of the application runs on a goroutine of the client, where a panic would end the program.
func TestTimedReadThatPanics(t *testing.T) {
	for name, read := range map[string]func(p []byte) (int, error){
		"itself":         func([]byte) (int, error) { panic("a mistake") },
		"by its result":  func(p []byte) (int, error) { return len(p) + 1, nil },
		"by one below 0": func([]byte) (int, error) { return -1, io.EOF },
		"by its end":     func([]byte) (int, error) { runtime.Goexit(); return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			withTimedRead(t, read, func(t *testing.T, c net.Conn) {
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrPanic) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// A connection of the application may have a time limit of its own, after which it can be read again.
func TestTimedReadAfterATimeoutOfTheConnection(t *testing.T) {
	reads := 0
	withTimedRead(t, func(p []byte) (int, error) {
		if reads++; reads == 1 {
			return copy(p, "a"), os.ErrDeadlineExceeded
		}
		return copy(p, "b"), io.EOF
	}, func(t *testing.T, c net.Conn) {
		p := make([]byte, 1)
		for _, want := range []struct {
			text string
			err  error
		}{{"a", nil}, {"", os.ErrDeadlineExceeded}, {"b", nil}, {"", io.EOF}, {"", io.EOF}} {
			if n, err := c.Read(p); string(p[:n]) != want.text || err != want.err {
				t.Errorf("got %q, %v, want %q, %v", p[:n], err, want.text, want.err)
			}
		}
	})
}

// A Read that returns nothing is not repeated without end.
func TestTimedReadOfNothing(t *testing.T) {
	reads := 0
	withTimedRead(t, func([]byte) (int, error) {
		if reads++; reads < 1000 {
			return 0, nil
		}
		return 0, io.EOF
	}, func(t *testing.T, c net.Conn) {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.ErrNoProgress {
			t.Errorf("got %d bytes, %v after %d reads", n, err, reads)
		}
	})
}

func TestTimedReadIntoNothing(t *testing.T) {
	withTimed(t, func(t *testing.T, c, _ net.Conn) {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := c.Read(nil); n != 0 || err != nil {
			t.Errorf("got %d bytes, %v", n, err)
		}
	})
}

// If the clock is set back, the timer fires before a deadline that has no reading of the monotonic clock.
func TestTimedCallsEndAfterATimerThatFiresEarly(t *testing.T) {
	for name, call := range timedCalls {
		t.Run(name, func(t *testing.T) {
			withTimed(t, func(t *testing.T, conn, _ net.Conn) {
				c, start := conn.(*TimedConn), time.Now()
				_ = c.SetDeadline(start.Add(time.Minute))
				time.AfterFunc(time.Second, func() {
					side := &c.read
					if name == "write" {
						side = &c.write
					}
					c.mu.Lock()
					side.timer.Stop()
					c.mu.Unlock()
					c.wake()
				})
				if err := call(c); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
					t.Errorf("got %v after %v", err, time.Since(start))
				}
			})
		})
	}
}

// halfConn is a connection whose sending side can be ended.
type halfConn struct {
	servertest.TimelessConn
	ended bool
}

func (c *halfConn) CloseWrite() error { c.ended = true; return nil }

func TestTimedCloseWrite(t *testing.T) {
	withTimed(t, func(t *testing.T, c, peer net.Conn) {
		if err := c.(*TimedConn).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
		half := &halfConn{TimelessConn: servertest.TimelessConn{Conn: peer}}
		if err := WithDeadlines(half).(*TimedConn).CloseWrite(); err != nil || !half.ended {
			t.Errorf("got %v, ended %v", err, half.ended)
		}
	})
}
