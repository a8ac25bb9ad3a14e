package hostmap

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestKnownHostsAreNotMixedUp(t *testing.T) {
	var k Cache[string]
	var users Users
	for i := range 4 * Size {
		for _, isTLS := range []bool{false, true} {
			host := fmt.Appendf(nil, "host%d.example", i)
			value := fmt.Sprint(string(host), isTLS)
			k.Keep(host, isTLS, value, &users)
			if got, ok := k.Find(host, isTLS); ok {
				users.Release()
				if got != value {
					t.Errorf("%s is taken for %s", value, got)
				}
			}
		}
	}
	if n := k.Len(); n < Size/2 {
		t.Errorf("%d of %d places are taken", n, Size)
	}
	if n := users.Count(); n != 0 {
		t.Errorf("%d users at the end", n)
	}
	users.RemoveIf(func() bool { return true })
	if _, ok := k.Find([]byte("host0.example"), false); ok {
		t.Error("a host is found that was dropped")
	}
	if k.Forget(); k.Len() != 0 {
		t.Errorf("%d places are taken by dropped hosts", k.Len())
	}
}

// A host that is used while it is about to be dropped is kept.
func TestWhatWasUsedMeanwhileStays(t *testing.T) {
	var u Users
	looks := 0
	u.RemoveIf(func() bool { looks++; return looks == 1 })
	if u.Removed() || u.Count() != 0 || looks != 2 {
		t.Errorf("dropped: %v, after %d looks", u.Removed(), looks)
	}
	u.RemoveIf(func() bool { return true })
	if !u.Removed() || u.TryAdd() {
		t.Error("a host without users is kept")
	}
	if u.Add(); u.Count() != 1 || !u.Removed() {
		t.Errorf("%d users of a dropped host", u.Count())
	}
	u.Release()
}

func TestNobodyEntersWhatWasDropped(t *testing.T) {
	for range 200 {
		var u Users
		var inside atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if u.TryAdd() {
					inside.Add(1)
					if u.Removed() {
						t.Error("dropped during a use")
					}
					inside.Add(-1)
					u.Release()
				}
			})
		}
		u.RemoveIf(func() bool { return inside.Load() == 0 })
		wg.Wait()
		if n := u.Count(); n != 0 {
			t.Errorf("%d users at the end", n)
		}
	}
}

// opener opens hosts, and counts them.
type opener struct {
	hosts  Hosts[string]
	users  Users // users of all hosts
	busy   atomic.Bool
	opened int
}

func (o *opener) add(host, fullName string, isTLS bool) string {
	value, _ := o.hosts.Add(host, fullName, isTLS, func() (Host[string], error) {
		o.opened++
		o.users = Users{}
		return Host[string]{Value: fmt.Sprint(fullName, isTLS), Users: &o.users, Unused: func() bool { return !o.busy.Load() }}, nil
	})
	return value
}

func TestHostsAreOpenedOnce(t *testing.T) {
	var o opener
	h := &o.hosts
	if _, ok := h.Find([]byte("a"), false); ok {
		t.Error("a host is found that was not added")
	}
	plain, secure := o.add("a", "a:80", false), o.add("a", "a:443", true)
	if again := o.add("a:80", "a:80", false); again != plain || secure == plain || o.opened != 2 {
		t.Errorf("%q, %q and %q, of %d hosts", plain, secure, again, o.opened)
	}
	for _, name := range []string{"a", "a:80"} {
		if value, ok := h.Find([]byte(name), false); !ok || value != plain {
			t.Errorf("%s: %q, %v", name, value, ok)
		}
	}
	failure := errors.New("no")
	if _, err := h.Add("b", "b:80", false, func() (Host[string], error) { return Host[string]{}, failure }); err != failure {
		t.Errorf("the error is %v", err)
	}
	if _, ok := h.Find([]byte("b"), false); ok {
		t.Error("a host is found that could not be opened")
	}
}

// The function that opens a host may use the others. Only calls for the same host wait for it.
func TestHostsAreOpenedWithoutTheLock(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var h Hosts[string]
		opens := func(name string) func() (Host[string], error) {
			return func() (Host[string], error) {
				return Host[string]{Value: name, Users: new(Users), Unused: func() bool { return true }}, nil
			}
		}
		gate, done := make(chan struct{}), make(chan string, 3)
		failure := errors.New("no")
		add := func(host string, open func() (Host[string], error)) {
			value, err := h.Add(host, "a:80", false, open)
			if err != nil {
				value = err.Error()
			}
			done <- value
		}
		go add("a", func() (Host[string], error) {
			<-gate
			return Host[string]{}, failure
		})
		synctest.Wait()
		go add("a:80", opens("second"))
		synctest.Wait()
		go add("a", opens("third"))
		synctest.Wait()
		if value, err := h.Add("b", "b:80", false, opens("b")); value != "b" || err != nil {
			t.Errorf("another host: %q, %v", value, err)
		}
		if _, ok := h.Find([]byte("c"), false); ok || len(h.All()) != 1 || len(done) > 0 {
			t.Errorf("%d hosts, and %d calls have ended", len(h.All()), len(done))
		}
		close(gate)
		got := map[string]int{}
		for range 3 {
			got[<-done]++
		}
		// a caller that has waited for the failure opens the host, and the other one finds it
		if got["no"] != 1 || got["second"] != 2 && got["third"] != 2 {
			t.Errorf("the results are %v", got)
		}
		h.Sweep()
	})
}

// The timer runs as long as the map has hosts.
func TestHostsWithoutUsersAreDropped(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var o opener
		o.busy.Store(true)
		o.add("a", "a:80", false)
		o.users.Release()
		time.Sleep(2*SweepInterval + 1)
		synctest.Wait()
		if all := o.hosts.All(); len(all) != 1 || o.users.Removed() {
			t.Errorf("of a host that is not unused there is left %v", all)
		}
		o.busy.Store(false)
		o.users.Add()
		time.Sleep(SweepInterval)
		synctest.Wait()
		if o.users.Removed() {
			t.Error("a host was dropped that has a user")
		}
		o.users.Release()
		time.Sleep(SweepInterval)
		synctest.Wait()
		if n := len(o.hosts.All()); n != 0 || o.hosts.Cached() != 0 || o.hosts.sweep != nil {
			t.Errorf("%d hosts are left", n)
		}
		if o.add("a", "a:80", false); o.opened != 2 {
			t.Errorf("%d hosts were opened", o.opened)
		}
		o.hosts.sweep.Stop()
	})
}

// The lookup of a known host reads no cache line that other lookups write.
func TestTheLockStandsApart(t *testing.T) {
	line := reflect.TypeFor[cpu.CacheLinePad]().Size()
	hosts := reflect.TypeFor[Hosts[*int]]()
	known, _ := hosts.FieldByName("known")
	lock, _ := hosts.FieldByName("mu")
	if lock.Offset < known.Offset+known.Type.Size()+line {
		t.Error("the lock stands beside the hosts that are known")
	}
}
