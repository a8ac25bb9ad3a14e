package fasthttputil_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// bound is the number of unread bytes that a connection holds.
const bound = 1 << 20

type writeResult struct {
	n   int
	err error
}

// startWrite writes p in a goroutine and waits until the Write has returned or
// blocks.
func startWrite(c net.Conn, p []byte) <-chan writeResult {
	done := make(chan writeResult, 1)
	go func() {
		n, err := c.Write(p)
		done <- writeResult{n, err}
	}()
	synctest.Wait()
	return done
}

func checkBlocked(t *testing.T, done <-chan writeResult) {
	t.Helper()
	select {
	case r := <-done:
		t.Errorf("Write = %d, %v, want it to wait", r.n, r.err)
	default:
	}
}

func checkWritten(t *testing.T, done <-chan writeResult, n int, err error) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-done:
		if r.n != n || r.err != err {
			t.Errorf("Write = %d, %v, want %d, %v", r.n, r.err, n, err)
		}
	default:
		t.Errorf("Write still waits, want %d, %v", n, err)
	}
}

func TestConnTakesTheBoundWithoutAReader(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		checkWrite(t, c1, string(make([]byte, bound)))
		checkBlocked(t, startWrite(c1, []byte("x")))
		checkWrite(t, c2, "the other way is not full")
	})
}

func TestConnWriteWaitsForTheReader(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		want := bytes.Repeat([]byte("0123456789abcde\n"), 3*bound/16)
		done := startWrite(c1, want)
		checkBlocked(t, done)

		got := make([]byte, 2*bound-1)
		if _, err := io.ReadFull(c2, got); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		checkBlocked(t, done)

		last := make([]byte, 1)
		if _, err := io.ReadFull(c2, last); err != nil {
			t.Fatal(err)
		}
		checkWritten(t, done, len(want), nil)

		_ = c1.Close()
		rest, err := io.ReadAll(c2)
		if got = append(append(got, last...), rest...); !bytes.Equal(got, want) || err != nil {
			t.Errorf("read %d bytes that differ from the %d written, %v", len(got), len(want), err)
		}
	})
}

func TestConnWriteThatWaitsStaysWhole(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		first := startWrite(c1, bytes.Repeat([]byte("a"), bound+10))
		checkBlocked(t, first)
		// there is room for one byte of the second write, but the first write is served first
		second := startWrite(c1, []byte("b"))
		buf := make([]byte, 5)
		if _, err := io.ReadFull(c2, buf); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		checkBlocked(t, first)
		checkBlocked(t, second)

		rest := make([]byte, bound+6)
		if _, err := io.ReadFull(c2, rest); err != nil {
			t.Fatal(err)
		}
		checkWritten(t, first, bound+10, nil)
		checkWritten(t, second, 1, nil)
		if want := string(bytes.Repeat([]byte("a"), bound+5)) + "b"; string(rest) != want {
			t.Error("the second write is in the middle of the first")
		}
	})
}

func TestConnWriteDeadlineEndsTheWait(t *testing.T) {
	setters := map[string]func(net.Conn, time.Time) error{
		"SetDeadline":      net.Conn.SetDeadline,
		"SetWriteDeadline": net.Conn.SetWriteDeadline,
	}
	for name, set := range setters {
		t.Run(name, func(t *testing.T) {
			forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
				_ = set(c1, time.Now().Add(time.Minute))
				start := time.Now()
				n, err := c1.Write(make([]byte, bound+10))
				if got := time.Since(start); n != bound || err != error(fasthttputil.ErrTimeout) || got != time.Minute {
					t.Errorf("Write = %d, %v after %v, want %d and ErrTimeout after a minute", n, err, got, bound)
				}

				// the connection continues after the last byte that was written
				_ = set(c1, time.Time{})
				if _, err := io.ReadFull(c2, make([]byte, bound)); err != nil {
					t.Fatal(err)
				}
				checkWrite(t, c1, "again")
				checkRead(t, c2, "again")
			})
		})
	}
}

func TestConnWriteDeadlineIsSetDuringTheWait(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		first := startWrite(c1, make([]byte, bound+1))
		second := startWrite(c1, []byte("x"))
		_ = c1.SetWriteDeadline(time.Now().Add(time.Hour))
		_ = c1.SetWriteDeadline(time.Now().Add(time.Second))
		time.Sleep(time.Second - 1)
		synctest.Wait()
		checkBlocked(t, first)
		checkBlocked(t, second)
		time.Sleep(time.Nanosecond)
		checkWritten(t, first, bound, fasthttputil.ErrTimeout)
		checkWritten(t, second, 0, fasthttputil.ErrTimeout)
	})
}

func TestConnCloseEndsWaitingWrites(t *testing.T) {
	for _, closer := range []string{"writer", "reader"} {
		t.Run(closer, func(t *testing.T) {
			forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
				first := startWrite(c1, make([]byte, bound+1))
				second := startWrite(c1, []byte("x"))
				if closer == "writer" {
					_ = c1.Close()
				} else {
					_ = c2.Close()
				}
				checkWritten(t, first, bound, fasthttputil.ErrConnectionClosed)
				checkWritten(t, second, 0, fasthttputil.ErrConnectionClosed)
				if got, err := io.ReadAll(c2); len(got) != bound || err != nil {
					t.Errorf("read %d bytes, %v, want the %d that went out", len(got), err, bound)
				}
			})
		})
	}
}

func TestConnWriteOfAnyLengthGoesOnPiecewise(t *testing.T) {
	forEachPair(t, func(t *testing.T, c1, c2 net.Conn) {
		var got bytes.Buffer
		go func() {
			_, err := c1.Write(make([]byte, 10*bound))
			_ = c1.Close()
			if err != nil {
				t.Errorf("Write: %v", err)
			}
		}()
		if _, err := io.CopyBuffer(&got, struct{ io.Reader }{c2}, make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		if got.Len() != 10*bound {
			t.Errorf("read %d bytes, want %d", got.Len(), 10*bound)
		}
		if _, err := c2.Write(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after close: %v", err)
		}
	})
}
