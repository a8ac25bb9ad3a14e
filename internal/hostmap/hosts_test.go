package hostmap

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func TestKnownHostsAreNotMixedUp(t *testing.T) {
	var k Known[string]
	var users Users
	for i := range 4 * Size {
		for _, isTLS := range []bool{false, true} {
			host := fmt.Appendf(nil, "host%d.example", i)
			value := fmt.Sprint(string(host), isTLS)
			k.Keep(host, isTLS, value, &users)
			if got, ok := k.Find(host, isTLS); ok {
				users.Leave()
				if got != value {
					t.Errorf("%s is taken for %s", value, got)
				}
			}
		}
	}
	if n := k.Taken(); n < Size/2 {
		t.Errorf("%d of %d places are taken", n, Size)
	}
	if n := users.Count(); n != 0 {
		t.Errorf("%d users at the end", n)
	}
	users.DropIf(func() bool { return true })
	if _, ok := k.Find([]byte("host0.example"), false); ok {
		t.Error("a host is found that was dropped")
	}
	if k.Forget(); k.Taken() != 0 {
		t.Errorf("%d places are taken by what was dropped", k.Taken())
	}
}

// What was used while it was about to be dropped stays.
func TestWhatWasUsedMeanwhileStays(t *testing.T) {
	var u Users
	looks := 0
	u.DropIf(func() bool { looks++; return looks == 1 })
	if u.Dropped() || u.Count() != 0 || looks != 2 {
		t.Errorf("dropped: %v, after %d looks", u.Dropped(), looks)
	}
	u.DropIf(func() bool { return true })
	if !u.Dropped() || u.Enter() {
		t.Error("what has no user is kept")
	}
	if u.Add(); u.Count() != 1 || !u.Dropped() {
		t.Errorf("%d users of what was dropped", u.Count())
	}
	u.Leave()
}

func TestNobodyEntersWhatWasDropped(t *testing.T) {
	for range 200 {
		var u Users
		var inside atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if u.Enter() {
					inside.Add(1)
					if u.Dropped() {
						t.Error("dropped during a use")
					}
					inside.Add(-1)
					u.Leave()
				}
			})
		}
		u.DropIf(func() bool { return inside.Load() == 0 })
		wg.Wait()
		if n := u.Count(); n != 0 {
			t.Errorf("%d users at the end", n)
		}
	}
}
