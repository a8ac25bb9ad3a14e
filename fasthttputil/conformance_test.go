package fasthttputil_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The tests in this file check that the connections follow the contract of net.Conn, each with
// both ways to make a pair. Tests of time run in a synctest bubble: its clock moves only while
// all goroutines wait, so the times are exact.

var pairMakers = []struct {
	name string
	make func(t *testing.T) (c1, c2 net.Conn)
}{
	{"PipeConns", func(t *testing.T) (c1, c2 net.Conn) {
		pc := fasthttputil.NewPipeConns()
		t.Cleanup(func() { _ = pc.Close() })
		return pc.Conn1(), pc.Conn2()
	}},
	{"InmemoryListener", func(t *testing.T) (c1, c2 net.Conn) {
		ln := fasthttputil.NewInmemoryListener()
		accepted := make(chan net.Conn)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				t.Errorf("Accept: %v", err)
			}
			accepted <- c
		}()
		c1, err := ln.Dial()
		if err != nil {
			t.Fatalf("Dial: %v", err)
		}
		c2 = servertest.Receive(t, "the connection", accepted)
		t.Cleanup(func() {
			_ = ln.Close()
			_ = c1.Close()
			_ = c2.Close()
		})
		return c1, c2
	}},
}

func forEachPair(t *testing.T, test func(t *testing.T, c1, c2 net.Conn)) {
	for _, m := range pairMakers {
		t.Run(m.name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				c1, c2 := m.make(t)
				test(t, c1, c2)
			})
		})
	}
}

func checkTimeout(t *testing.T, what string, n int, err error) {
	t.Helper()
	ne, ok := errors.AsType[net.Error](err)
	if n != 0 || err != error(fasthttputil.ErrTimeout) || !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s = %d, %v, want 0 and ErrTimeout", what, n, err)
	}
}

func checkRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	buf := make([]byte, len(want)+1)
	n, err := c.Read(buf)
	if string(buf[:n]) != want || err != nil {
		t.Errorf("Read = %q, %v, want %q", buf[:n], err, want)
	}
}

func checkWrite(t *testing.T, c net.Conn, p string) {
	t.Helper()
	if n, err := c.Write([]byte(p)); n != len(p) || err != nil {
		t.Errorf("Write(%d bytes) = %d, %v", len(p), n, err)
	}
}

// checkReadEnds reads from c, which must block, and checks when and how it fails.
func checkReadEnds(t *testing.T, c net.Conn, after time.Duration, want error) {
	t.Helper()
	start := time.Now()
	n, err := c.Read(make([]byte, 16))
	if got := time.Since(start); n != 0 || err != want || got != after {
		t.Errorf("Read = %d, %v after %v, want 0, %v after %v", n, err, got, want, after)
	}
}

func TestConnCarriesLargeDataBothWays(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		want := make([]byte, 4<<20)
		rng := rand.NewChaCha8([32]byte{1})
		_, _ = rng.Read(want)
		go func() {
			for p := range slices.Chunk(want, 1789) {
				if _, err := c1.Write(p); err != nil {
					t.Errorf("Write: %v", err)
					return
				}
			}
		}()
		go func() {
			if _, err := io.Copy(c2, io.LimitReader(c2, int64(len(want)))); err != nil {
				t.Errorf("echo: %v", err)
			}
			_ = c2.Close()
		}()
		got, err := io.ReadAll(c1)
		if err != nil {
			t.Errorf("ReadAll: %v", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back that differ from the %d sent", len(got), len(want))
		}
	})
}

func TestConnPingPong(t *testing.T) {
	const rounds = 2000
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		buf1, buf2 := make([]byte, 8), make([]byte, 8)
		go func() {
			for range rounds {
				if _, err := io.ReadFull(c2, buf2); err != nil {
					t.Errorf("Read: %v", err)
					return
				}
				binary.LittleEndian.PutUint64(buf2, binary.LittleEndian.Uint64(buf2)+1)
				checkWrite(t, c2, string(buf2))
			}
			_ = c2.Close()
		}()
		for i := range uint64(rounds) {
			binary.LittleEndian.PutUint64(buf1, 3*i)
			checkWrite(t, c1, string(buf1))
			if _, err := io.ReadFull(c1, buf1); err != nil {
				t.Fatalf("Read: %v", err)
			}
			if got := binary.LittleEndian.Uint64(buf1); got != 3*i+1 {
				t.Fatalf("round %d: got %d, want %d", i, got, 3*i+1)
			}
		}
		checkReadEnds(t, c1, 0, io.EOF)
	})
}

func TestConnRacyReadsShareTheData(t *testing.T) {
	const total, readers = 1 << 20, 8
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		var wg sync.WaitGroup
		counts := make([][256]int, readers)
		for i := range readers {
			wg.Go(func() {
				buf := make([]byte, 1024)
				for {
					_ = c1.SetReadDeadline(time.Now().Add(time.Duration(i) * time.Microsecond))
					n, err := c1.Read(buf)
					for _, v := range buf[:n] {
						counts[i][v]++
					}
					if err == io.EOF {
						return
					}
					if err != nil {
						checkTimeout(t, "Read", n, err)
						// Without this a bubble's clock would stand still while
						// one of the readers spins on its passed deadline.
						time.Sleep(time.Microsecond)
					}
				}
			})
		}
		p := make([]byte, 256)
		for i := range p {
			p[i] = byte(i)
		}
		for i := range total / len(p) {
			checkWrite(t, c2, string(p))
			if i%64 == 0 {
				time.Sleep(3 * time.Microsecond)
			}
		}
		_ = c2.Close()
		wg.Wait()
		for v := range 256 {
			sum := 0
			for i := range counts {
				sum += counts[i][v]
			}
			if sum != total/len(p) {
				t.Fatalf("byte %d was read %d times, want %d", v, sum, total/len(p))
			}
		}
	})
}

func TestConnRacyWritesStayWhole(t *testing.T) {
	// Larger than one chunk of the buffer, so that a write has several steps.
	const size, writers, rounds = 70_001, 8, 10
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				p := bytes.Repeat([]byte{byte('a' + i)}, size)
				for range rounds {
					_ = c1.SetWriteDeadline(time.Now().Add(time.Second))
					checkWrite(t, c1, string(p))
				}
			})
		}
		buf := make([]byte, size)
		for i := range writers * rounds {
			if _, err := io.ReadFull(c2, buf); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(buf, bytes.Repeat(buf[:1], size)) {
				t.Fatalf("message %d is mixed of several writes", i)
			}
		}
		wg.Wait()
	})
}

func TestConnReadTimesOutAtItsDeadline(t *testing.T) {
	setters := map[string]func(net.Conn, time.Time) error{
		"SetDeadline":     net.Conn.SetDeadline,
		"SetReadDeadline": net.Conn.SetReadDeadline,
	}
	for name, set := range setters {
		t.Run(name, func(t *testing.T) {
			forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
				for range 3 {
					if err := set(c1, time.Now().Add(time.Hour)); err != nil {
						t.Fatal(err)
					}
					checkReadEnds(t, c1, time.Hour, fasthttputil.ErrTimeout)
					// It stays passed until it is moved.
					checkReadEnds(t, c1, 0, fasthttputil.ErrTimeout)
				}
				if err := set(c1, time.Time{}); err != nil {
					t.Fatal(err)
				}
				checkWrite(t, c2, "still usable")
				checkRead(t, c1, "still usable")
			})
		})
	}
}

func TestConnWriteTimesOutAfterItsDeadline(t *testing.T) {
	setters := map[string]func(net.Conn, time.Time) error{
		"SetDeadline":      net.Conn.SetDeadline,
		"SetWriteDeadline": net.Conn.SetWriteDeadline,
	}
	for name, set := range setters {
		t.Run(name, func(t *testing.T) {
			forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
				if err := set(c1, time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute - 1)
				checkWrite(t, c1, "in time")
				time.Sleep(time.Nanosecond)
				for _, p := range []string{"late", ""} {
					n, err := c1.Write([]byte(p))
					checkTimeout(t, "Write", n, err)
				}
				if err := set(c1, time.Time{}); err != nil {
					t.Fatal(err)
				}
				checkWrite(t, c1, ", again")
				checkRead(t, c2, "in time, again")
			})
		})
	}
}

func TestConnDeadlinesOfTheDirectionsAreApart(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		past := time.Now().Add(-time.Second)
		_ = c1.SetReadDeadline(past)
		checkWrite(t, c1, "a")
		checkRead(t, c2, "a")
		checkWrite(t, c2, "b")
		_ = c1.SetReadDeadline(time.Time{})
		_ = c1.SetWriteDeadline(past)
		checkRead(t, c1, "b")
	})
}

func TestConnPastDeadlineFailsAtOnce(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		checkWrite(t, c2, "waits")
		// The Unix epoch is a wall clock time, the others have a monotonic part.
		for _, past := range []time.Time{time.Unix(0, 0), time.Now(), time.Now().Add(-time.Hour)} {
			_ = c1.SetDeadline(past)
			n, err := c1.Write([]byte("x"))
			checkTimeout(t, "Write", n, err)
			n, err = c1.Read(make([]byte, 10))
			checkTimeout(t, "Read, with data there,", n, err)
		}
		_ = c1.SetDeadline(time.Now().Add(time.Hour))
		checkRead(t, c1, "waits")
		checkWrite(t, c1, "y")
		checkRead(t, c2, "y")
	})
}

func TestConnDeadlineChangedDuringRead(t *testing.T) {
	const never = -1
	tests := []struct {
		name  string
		first time.Duration // deadline when the Read begins; never: none
		then  time.Duration // deadline set a minute later
		want  time.Duration // when the Read ends; never: only by the data sent after two hours
	}{
		{"set to now", never, 0, time.Minute},
		{"set to the past", time.Hour, -time.Hour, time.Minute},
		{"set", never, time.Minute, 2 * time.Minute},
		{"shortened", time.Hour, 2 * time.Minute, 3 * time.Minute},
		{"extended", 2 * time.Minute, time.Hour, time.Hour + time.Minute},
		{"cleared", 2 * time.Minute, never, never},
	}
	deadline := func(d time.Duration) time.Time {
		if d == never {
			return time.Time{}
		}
		return time.Now().Add(d)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
				_ = c1.SetReadDeadline(deadline(test.first))
				time.AfterFunc(time.Minute, func() { _ = c1.SetReadDeadline(deadline(test.then)) })
				if test.want != never {
					checkReadEnds(t, c1, test.want, fasthttputil.ErrTimeout)
					return
				}
				time.AfterFunc(2*time.Hour, func() { checkWrite(t, c2, "late") })
				checkRead(t, c1, "late")
			})
		})
	}
}

func TestConnDeadlineMovedForwardWithEachMessage(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		// The timer of the first wait goes off in the middle of a later one.
		for range 10 {
			time.AfterFunc(7*time.Second, func() { checkWrite(t, c2, "tick") })
			_ = c1.SetReadDeadline(time.Now().Add(10 * time.Second))
			checkRead(t, c1, "tick")
		}
		_ = c1.SetReadDeadline(time.Now().Add(10 * time.Second))
		checkReadEnds(t, c1, 10*time.Second, fasthttputil.ErrTimeout)
		_ = c1.SetReadDeadline(time.Now().Add(time.Second))
		checkReadEnds(t, c1, time.Second, fasthttputil.ErrTimeout)
	})
}

func TestConnDeadlineWakesEveryBlockedRead(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		_ = c1.SetReadDeadline(time.Now().Add(time.Minute))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { checkReadEnds(t, c1, time.Minute, fasthttputil.ErrTimeout) })
		}
		wg.Wait()
	})
}

func TestConnCloseWakesBlockedReads(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		_ = c1.SetReadDeadline(time.Now().Add(time.Hour))
		var wg sync.WaitGroup
		for _, c := range []net.Conn{c1, c1, c2, c2} {
			wg.Go(func() { checkReadEnds(t, c, time.Minute, io.EOF) })
		}
		time.Sleep(time.Minute)
		_ = c1.Close()
		wg.Wait()
	})
}

// A goroutine that has read the end of a connection cannot write to it, whichever side was closed,
// and also while Close has not returned yet.
func TestConnsEndInBothDirectionsAtOnce(t *testing.T) {
	for i := range servertest.Times(6000) {
		pc := fasthttputil.NewPipeConns()
		c := []net.Conn{pc.Conn1(), pc.Conn2()}[i%2]
		reads, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.SetReadDeadline(time.Now())
			_, err := c.Read(make([]byte, 1))
			close(reads)
			for err != io.EOF {
				_, err = c.Read(make([]byte, 1))
			}
			if n, err := c.Write([]byte("x")); n != 0 || err != fasthttputil.ErrConnectionClosed {
				t.Errorf("Write = %d, %v, want ErrConnectionClosed", n, err)
			}
		}()
		servertest.Receive(t, "a call of Read", reads)
		_ = []func() error{pc.Close, pc.Conn1().Close, pc.Conn2().Close}[i/2%3]()
		servertest.Receive(t, "the end of the reader", ended)
	}
}

func TestConnConcurrentMethods(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		go func() { _, _ = io.Copy(c2, c2) }()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { _, _ = c1.Read(make([]byte, 1024)) })
			wg.Go(func() { _, _ = c1.Write(make([]byte, 1024)) })
			wg.Go(func() { _ = c1.SetDeadline(time.Now().Add(10 * time.Millisecond)) })
			wg.Go(func() { _ = c1.SetReadDeadline(time.Time{}) })
			wg.Go(func() { _ = c1.SetWriteDeadline(time.Now().Add(-1)) })
			wg.Go(func() { _, _ = c1.LocalAddr(), c2.RemoteAddr() })
			if i == 90 {
				wg.Go(func() { _ = c1.Close() })
				wg.Go(func() { _ = c2.Close() })
			}
		}
		wg.Wait()
	})
}
