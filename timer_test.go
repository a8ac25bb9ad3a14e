package fasthttp

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestAcquiredTimerFiresAfterItsTimeout(t *testing.T) {
	for range 3 {
		for _, timeout := range []time.Duration{time.Millisecond, 0, -time.Hour} {
			start := time.Now()
			tm := AcquireTimer(timeout)
			servertest.Receive(t, "the time", tm.C)
			if got := time.Since(start); got < timeout {
				t.Errorf("a timer of %v fired after %v", timeout, got)
			}
			ReleaseTimer(tm)
		}
	}
}

func TestReleasedTimerDoesNotFireForItsNextUser(t *testing.T) {
	for range 10 {
		fired := AcquireTimer(0)
		servertest.Receive(t, "the time", fired.C)
		ReleaseTimer(fired)
		unread := AcquireTimer(0)
		ReleaseTimer(unread)

		next := AcquireTimer(time.Hour)
		select {
		case <-next.C:
			t.Fatal("a timer of an hour has fired")
		default:
		}
		ReleaseTimer(next)
	}
}

func TestCoarseTimeNowIsAWholeSecond(t *testing.T) {
	before := time.Now()
	got := CoarseTimeNow()
	if got.Nanosecond() != 0 {
		t.Errorf("%v is not a whole second", got)
	}
	if got.Before(before.Truncate(time.Second)) || got.After(time.Now()) {
		t.Errorf("CoarseTimeNow() = %v at %v", got, before)
	}
}
