package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// newcomer is a handshake that enters a queue, and sends its number when it has a place.
func newcomer(h *handshakeLimiter, i int, entered chan<- int) {
	go func() {
		h.acquire()
		entered <- i
	}()
	synctest.Wait()
}

func TestHandshakesHaveLimitedPlaces(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		h := &handshakeLimiter{limit: 2}
		if first, second := h.tryAcquire(), h.tryAcquire(); !first || !second || h.tryAcquire() {
			t.Fatal("there are not two places")
		}
		entered := make(chan int, 3)
		for i := range 3 {
			newcomer(h, i, entered)
		}
		for i := range 3 {
			if n := h.begun.len(); n != 3-i || len(entered) > 0 {
				t.Fatalf("%d wait, want %d", n, 3-i)
			}
			h.release()
			if got := <-entered; got != i {
				t.Errorf("%d was the next, want %d", got, i)
			}
		}
		h.release()
		h.release()
		if h.inUse != 0 || h.extra != 0 {
			t.Errorf("%d places are taken, and there are %d more", h.inUse, h.extra)
		}
	})
}

// The handshakes in the places may wait for long: the queue gets another place each time
// that it stands still.
func TestALineThatStandsStillGetsAnotherPlace(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		h := &handshakeLimiter{limit: 1}
		h.tryAcquire()
		entered := make(chan int, 4)
		in := 0
		at := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			for len(entered) > 0 {
				if got := <-entered; got != in {
					t.Errorf("%d was the next, want %d", got, in)
				}
				in++
			}
			if in != want {
				t.Fatalf("%d have a place, want %d", in, want)
			}
		}
		for i := range 4 {
			newcomer(h, i, entered)
		}
		at(stallTimeout-1, 0)
		at(1, 1)
		// it moves in this time
		at(stallTimeout/2, 1)
		h.release()
		at(stallTimeout/2, 2)
		at(stallTimeout-1, 2)
		at(1, 3)
		at(stallTimeout, 4)
		for range 4 {
			h.release()
		}
		if h.inUse != 0 || h.extra != 0 {
			t.Errorf("%d places are taken, and there are %d more", h.inUse, h.extra)
		}
		// an empty queue has no timer
		at(time.Hour, 4)
		if h.stall.Runs() {
			t.Error("the timer goes on")
		}
	})
}

func TestQueueKeepsItsOrder(t *testing.T) {
	var q queue[int]
	next, last := 0, 0
	for _, step := range []int{3, -2, 10, -5, -6, 1, -1, 100, -50, 60, -110} {
		for ; step > 0; step-- {
			q.push(last)
			last++
		}
		for ; step < 0; step++ {
			if v, ok := q.pop(); !ok || v != next {
				t.Fatalf("got %d, %v, want %d", v, ok, next)
			}
			next++
		}
		if q.len() != last-next {
			t.Fatalf("the length is %d, want %d", q.len(), last-next)
		}
	}
	if _, ok := q.pop(); ok || q.all != nil {
		t.Error("the empty queue has something")
	}
}
