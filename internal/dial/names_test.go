package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestFailedLookupsAreNotKept(t *testing.T) {
	fault := errors.New("fault")
	resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) { return nil, fault }}
	var names Names
	for range 3 {
		if _, err := names.Lookup(t.Context(), "name.test", resolver, time.Hour); !errors.Is(err, fault) {
			t.Errorf("look-up ended with %v", err)
		}
	}
	if n := resolver.Lookups.Load(); n != 3 {
		t.Errorf("%d look-ups", n)
	}
}

// A name without addresses is like a failed look-up: it may have some a moment later.
func TestNamesWithoutAddressesAreNotKept(t *testing.T) {
	var found []net.IPAddr
	resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) { return found, nil }}
	var names Names
	for _, none := range [][]net.IPAddr{nil, {{}}} {
		found = none
		if _, err := names.Lookup(t.Context(), "name.test", resolver, time.Hour); err != ErrNoAddress {
			t.Errorf("%v: look-up ended with %v", none, err)
		}
	}
	found = []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}
	if e, err := names.Lookup(t.Context(), "name.test", resolver, time.Hour); err != nil || len(e.InTurn()) != 1 {
		t.Errorf("look-up ended with %v, %v", e, err)
	}
}

func TestANameIsLookedUpOnceForAll(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		resolver := &servertest.Resolver{Find: func(ctx context.Context, _ string) ([]net.IPAddr, error) {
			select {
			case <-time.After(time.Second):
				return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		var names Names
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				// some callers, among them the first, do not wait for the result
				wait := time.Minute
				if i%2 == 0 {
					wait = time.Second / 2
				}
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				time.Sleep(time.Duration(i) * time.Microsecond)
				_, err := names.Lookup(ctx, "name.test", resolver, time.Hour)
				if i%2 == 0 && !errors.Is(err, context.DeadlineExceeded) || i%2 == 1 && err != nil {
					t.Errorf("look-up %d ended with %v", i, err)
				}
			})
		}
		all.Wait()
		if n := resolver.Lookups.Load(); n != 1 {
			t.Errorf("%d look-ups", n)
		}
	})
}

func TestFlushIsNotUndoneByAnEarlierLookup(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		answer := make(chan string)
		resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) {
			return []net.IPAddr{{IP: net.ParseIP(<-answer)}}, nil
		}}
		var names Names
		found := make(chan *Addresses)
		ask := func() {
			addresses, _ := names.Lookup(t.Context(), "name.test", resolver, time.Hour)
			found <- addresses
		}
		go ask()
		synctest.Wait()
		names.Flush()
		go ask()
		synctest.Wait()
		answer <- "127.0.0.1"
		answer <- "127.0.0.2"
		<-found
		<-found
		go ask()
		synctest.Wait()
		if n := resolver.Lookups.Load(); n != 2 {
			t.Errorf("%d look-ups, want one before and one after the flush", n)
		}
		<-found
	})
}

func TestTheNumberOfKeptNamesIsBounded(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var names Names
		resolver := servertest.ResolvesTo("127.0.0.1")
		lookUp := func(name string) {
			t.Helper()
			if _, err := names.Lookup(t.Context(), name, resolver, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		for i := range MaxNames + 100 {
			lookUp(fmt.Sprintf("n%d.test", i))
		}
		if n := len(names.entries); n != MaxNames {
			t.Errorf("%d names are kept, want %d", n, MaxNames)
		}
		time.Sleep(time.Minute)
		lookUp("last.test")
		if n := len(names.entries); n != 1 {
			t.Errorf("%d names are kept, want the last one", n)
		}
	})
}

func TestAddressesTakeTurns(t *testing.T) {
	parse := func(texts ...string) (addresses []netip.Addr) {
		for _, s := range texts {
			addresses = append(addresses, netip.MustParseAddr(s))
		}
		return addresses
	}
	e := NewAddresses(parse("::1", "::2", "127.0.0.1", "::3", "::ffff:127.0.0.2"))
	for _, want := range [][]netip.Addr{
		parse("::1", "127.0.0.1", "::2", "127.0.0.2", "::3"),
		parse("::2", "127.0.0.2", "::3", "127.0.0.1", "::1"),
		parse("::3", "127.0.0.1", "::1", "127.0.0.2", "::2"),
	} {
		if got := e.InTurn(); !slices.Equal(got, want) {
			t.Errorf("the order is %v, want %v", got, want)
		}
	}
	e.uses.Store(1 << 31)
	if got := e.InTurn(); len(got) != 5 {
		t.Errorf("after many dials the order is %v", got)
	}
}

func TestNamesUnderLoad(t *testing.T) {
	resolver := servertest.ResolvesTo("127.0.0.1", "127.0.0.2", "::1")
	var names Names
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				go cancel()
			}
			found, err := names.Lookup(ctx, fmt.Sprintf("n%d.test", i%5), resolver, time.Microsecond)
			if err == nil && len(found.InTurn()) != 3 || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v", found, err)
			}
			if i%100 == 0 {
				names.Flush()
			}
		})
	}
	all.Wait()
}

// Dials that fail together ask the resolver once, and not again for a second.
func TestDoubtedNamesAreLookedUpOncePerSecond(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		fails := false
		resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) {
			time.Sleep(time.Millisecond)
			if fails {
				return nil, errors.New("fault")
			}
			return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}, nil
		}}
		var names Names
		look := func() *Addresses {
			e, err := names.Lookup(t.Context(), "Name.test", resolver, time.Minute)
			if err != nil && !fails {
				t.Error(err)
			}
			return e
		}
		expect := func(when string, n int64) {
			t.Helper()
			if got := resolver.Lookups.Load(); got != n {
				t.Errorf("%s: %d look-ups, want %d", when, got, n)
			}
		}
		look()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if e := look(); names.Doubt("nAME.test", e) {
					look()
				}
			})
		}
		all.Wait()
		expect("after a crowd", 2)
		if e := look(); names.Doubt("name.test", e) {
			t.Error("what was just looked up is doubted")
		}
		time.Sleep(doubtDelay)
		fails = true
		stale := look()
		if !names.Doubt("name.test", stale) || look() != nil {
			t.Error("the addresses were not looked up")
		}
		expect("after a failure", 3)
		if look() != stale || names.Doubt("name.test", stale) {
			t.Error("the addresses were not kept, though the resolver has failed")
		}
		expect("in the end", 3)
	})
}
