package websocket

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

func TestLockGoesToThoseWhoWaitInOrder(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var l lock
		var order []int
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the cause")
		_ = l.lock(t.Context(), time.Time{})
		if l.tryLock() {
			t.Fatal("a lock is held twice")
		}
		results := make([]error, 6)
		for i := range results {
			go func() {
				deadline, of := time.Time{}, t.Context()
				switch i {
				case 1:
					deadline = time.Now().Add(time.Second)
				case 3:
					of = ctx
				}
				if results[i] = l.lock(of, deadline); results[i] == nil {
					order = append(order, i)
					l.unlock()
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second) // bubble: the deadline
		cancel(cause)
		synctest.Wait()
		l.unlock()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 2, 4, 5}) || results[1] != os.ErrDeadlineExceeded || results[3] != cause {
			t.Errorf("the lock went to %v, the errors are %v", order, results)
		}
		if !l.tryLock() {
			t.Error("the lock is not free at the end")
		}
	})
}

// The only goroutine that waits may give up just when it gets the lock.
func TestLockIsNotLostIfAWaiterGivesUp(t *testing.T) {
	var l lock
	_ = l.lock(t.Context(), time.Time{})
	l.turn, l.waiters = make(chan struct{}, 1), 1
	l.unlock()
	l.giveUp()
	if l.held || l.waiters != 0 || len(l.turn) != 0 {
		t.Errorf("held %v, %d wait, %d turns", l.held, l.waiters, len(l.turn))
	}
	// while others wait, one of them gets it
	_ = l.lock(t.Context(), time.Time{})
	l.waiters = 2
	l.unlock()
	l.giveUp()
	servertest.Receive(t, "the turn", l.turn)
	l.unlock()
	if l.held || l.waiters != 0 {
		t.Errorf("held %v, %d wait", l.held, l.waiters)
	}
}

// A goroutine that begins to wait just when the only other one gives up must not take the lock
// from it: giving up would then last as long as the other one holds the lock.
func TestGivingUpDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	for range 20 {
		var l lock
		_ = l.lock(t.Context(), time.Time{})
		l.turn, l.waiters = make(chan struct{}, 1), 1
		l.unlock()
		// both goroutines wait for mu, which goes from one to the other directly once the first
		// one has waited in vain for a millisecond
		gaveUp, got := make(chan struct{}), make(chan error, 1)
		l.mu.Lock()
		go func() {
			l.giveUp()
			close(gaveUp)
		}()
		spin()
		go func() { got <- l.lock(t.Context(), time.Time{}) }()
		spin()
		l.mu.Unlock()
		l.mu.Lock()
		spin()
		l.mu.Unlock()
		servertest.Must(t, servertest.Receive(t, "the lock", got))
		servertest.Receive(t, "the end of a wait while another goroutine has the lock", gaveUp)
		l.unlock()
	}
}

// spin lets other goroutines run for 2 ms.
func spin() {
	for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
		runtime.Gosched()
	}
}

func TestLockExcludes(t *testing.T) {
	var l lock
	var wg sync.WaitGroup
	count, want := 0, make([]int, 8)
	for g := range want {
		wg.Go(func() {
			for i := range 2000 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					cancel() // it may get the lock nevertheless
				}
				if l.lock(ctx, time.Time{}) == nil {
					count++
					want[g]++
					l.unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	all := 0
	for _, n := range want {
		all += n
	}
	if count != all || !l.tryLock() {
		t.Errorf("%d times, want %d", count, all)
	}
}

// A Ping frame that arrives while others write is answered by the last of them, also if that one
// gives up.
func TestPingIsAnsweredIfAWriterGivesUp(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		nc, peer := bubblePair()
		c := newConn(nc, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		// another writer has sent its frame, and not found the Ping frame yet
		servertest.Must(t, c.write.lock(t.Context(), time.Time{}))
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- c.WriteContext(ctx, TextMessage, []byte("text")) }()
		synctest.Wait()
		servertest.Must(t, c.answerPing([]byte("ping")))
		// it passes the lock to a writer whose time is just over
		cancel()
		c.write.unlock()
		if err := <-result; err != context.Canceled {
			t.Errorf("the writer: %v", err)
		}
		_ = peer.SetReadDeadline(time.Now().Add(time.Second))
		got := make([]byte, 6)
		if n, err := io.ReadFull(peer, got); err != nil || string(got) != "\x8a\x04ping" {
			t.Errorf("got %x, %v", got[:n], err)
		}
		_ = c.CloseNow()
		_ = peer.Close()
	})
}

// Methods that write return although the peer does not take the answer to its Ping frame.
func TestWritesDoNotWaitForAnswersToPings(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		peer, nc := net.Pipe()
		c := newConn(nc, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		go func() { _, _, _ = c.ReadMessage() }()
		prepared, err := NewPreparedMessage(TextMessage, []byte("text"))
		servertest.Must(t, err)
		for name, write := range map[string]func() error{
			"WriteMessage":         func() error { return c.WriteMessage(TextMessage, []byte("text")) },
			"WriteControl":         func() error { return c.WriteControl(PongMessage, []byte("text"), time.Time{}) },
			"WritePreparedMessage": func() error { return c.WritePreparedMessage(prepared) },
		} {
			result := make(chan error, 1)
			go func() { result <- write() }()
			synctest.Wait()
			_, err := peer.Write(ws.AppendFrame(nil, ws.Head{Opcode: ws.Ping, Fin: true, Masked: true}, []byte("ping")))
			servertest.Must(t, err)
			synctest.Wait()
			began := time.Now()
			got := make([]byte, 6)
			_, err = io.ReadFull(peer, got)
			servertest.Must(t, err)
			servertest.Must(t, <-result)
			if d := time.Since(began); d != 0 {
				t.Errorf("%s: it has returned %v after its frame was sent", name, d)
			}
			if _, err := io.ReadFull(peer, got); err != nil || string(got) != "\x8a\x04ping" {
				t.Errorf("%s: the answer is %x, %v", name, got, err)
			}
		}
		_ = c.CloseNow()
		_ = peer.Close()
	})
}
