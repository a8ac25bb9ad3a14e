package fasthttp

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
)

// lookUp does all of a dial that comes before the first attempt.
func lookUp(t *testing.T, d *TCPDialer, host string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := d.targets(ctx, "tcp4", host+":80")
	return err
}

func TestNamesAreLookedUpAgainWhenTheyAreOld(t *testing.T) {
	for _, c := range []struct {
		configured, keeps time.Duration
	}{{0, time.Minute}, {10 * time.Second, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			resolver := resolvesTo("127.0.0.1")
			d := &TCPDialer{Resolver: resolver, DNSCacheDuration: c.configured}
			expect := func(lookups int64) {
				t.Helper()
				if err := lookUp(t, d, "Name.test"); err != nil {
					t.Fatal(err)
				}
				if n := resolver.lookups.Load(); n != lookups {
					t.Errorf("%v: %d look-ups, want %d", c.keeps, n, lookups)
				}
			}
			expect(1)
			time.Sleep(c.keeps - 1)
			expect(1)
			if err := lookUp(t, d, "nAME.TEST"); err != nil || resolver.lookups.Load() != 1 {
				t.Errorf("a name was looked up again for its case, or not found: %v", err)
			}
			time.Sleep(time.Nanosecond)
			expect(2)
			d.FlushDNSCache()
			expect(3)
			expect(3)
		})
	}
}

func TestNamesAreNotKeptWhereThatIsOff(t *testing.T) {
	resolver := resolvesTo("127.0.0.1")
	d := &TCPDialer{Resolver: resolver, DNSCacheDuration: -1}
	for range 3 {
		if err := lookUp(t, d, "name.test"); err != nil {
			t.Fatal(err)
		}
	}
	if n := resolver.lookups.Load(); n != 3 {
		t.Errorf("%d look-ups", n)
	}
}

func TestFailedLookupsAreNotKept(t *testing.T) {
	fault := errors.New("fault")
	resolver := &resolverFunc{find: func(context.Context, string) ([]net.IPAddr, error) { return nil, fault }}
	d := &TCPDialer{Resolver: resolver}
	for range 3 {
		if err := lookUp(t, d, "name.test"); !errors.Is(err, fault) {
			t.Errorf("look-up ended with %v", err)
		}
	}
	if n := resolver.lookups.Load(); n != 3 {
		t.Errorf("%d look-ups", n)
	}
}

func TestAddressLiteralsAreNotLookedUp(t *testing.T) {
	resolver := resolvesTo("127.0.0.1")
	d := &TCPDialer{Resolver: resolver}
	for _, addr := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%lo]:80", "[::ffff:127.0.0.1]:80"} {
		if _, err := d.targets(t.Context(), "tcp", addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if n := resolver.lookups.Load(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

func TestANameIsLookedUpOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver := &resolverFunc{find: func(ctx context.Context, _ string) ([]net.IPAddr, error) {
			select {
			case <-time.After(time.Second):
				return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		d := &TCPDialer{Resolver: resolver}
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				// the first to ask, among others, does not wait for the answer
				wait := time.Minute
				if i%2 == 0 {
					wait = time.Second / 2
				}
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				time.Sleep(time.Duration(i) * time.Microsecond)
				_, err := d.targets(ctx, "tcp4", "name.test:80")
				if i%2 == 0 && !errors.Is(err, context.DeadlineExceeded) || i%2 == 1 && err != nil {
					t.Errorf("look-up %d ended with %v", i, err)
				}
			})
		}
		all.Wait()
		if n := resolver.lookups.Load(); n != 1 {
			t.Errorf("%d look-ups", n)
		}
	})
}

func TestALookupEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		resolver := &resolverFunc{find: func(ctx context.Context, _ string) ([]net.IPAddr, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}}
		d := &TCPDialer{Resolver: resolver}
		began := time.Now()
		_, err := d.DialTimeout("name.test:80", time.Second)
		if !errors.Is(err, ErrDialTimeout) || time.Since(began) != time.Second {
			t.Errorf("the dial ended after %v with %v", time.Since(began), err)
		}
		if err := <-ended; err != context.Canceled {
			t.Errorf("the look-up ended with %v", err)
		}
	})
}

func TestADialEndsInTimeWhereTheResolverDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resolver := &resolverFunc{find: func(context.Context, string) ([]net.IPAddr, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("too late")
		}}
		d := &TCPDialer{Resolver: resolver}
		began := time.Now()
		if _, err := d.Dial("name.test:80"); !errors.Is(err, ErrDialTimeout) || time.Since(began) != DefaultDialTimeout {
			t.Errorf("the dial ended after %v with %v", time.Since(began), err)
		}
		time.Sleep(time.Hour) // for the resolver to end
	})
}

func TestFlushIsNotUndoneByAnEarlierLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan string)
		resolver := &resolverFunc{find: func(context.Context, string) ([]net.IPAddr, error) {
			return []net.IPAddr{{IP: net.ParseIP(<-answer)}}, nil
		}}
		d := &TCPDialer{Resolver: resolver}
		found := make(chan []string)
		ask := func() {
			targets, _ := d.targets(t.Context(), "tcp4", "name.test:80")
			found <- targets
		}
		go ask()
		synctest.Wait()
		d.FlushDNSCache()
		go ask()
		synctest.Wait()
		answer <- "127.0.0.1"
		answer <- "127.0.0.2"
		<-found
		<-found
		go ask()
		synctest.Wait()
		if n := resolver.lookups.Load(); n != 2 {
			t.Errorf("%d look-ups, want one before and one after the flush", n)
		}
		<-found
	})
}

func TestTheNumberOfKeptNamesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &TCPDialer{Resolver: resolvesTo("127.0.0.1")}
		for i := range maxDNSEntries + 100 {
			if err := lookUp(t, d, fmt.Sprintf("n%d.test", i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(d.names.entries); n != maxDNSEntries {
			t.Errorf("%d names are kept, want %d", n, maxDNSEntries)
		}
		time.Sleep(DefaultDNSCacheDuration)
		if err := lookUp(t, d, "last.test"); err != nil {
			t.Fatal(err)
		}
		if n := len(d.names.entries); n != 1 {
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
	e := newDNSEntry(parse("::1", "::2", "127.0.0.1", "::3", "::ffff:127.0.0.2"))
	for _, want := range [][]netip.Addr{
		parse("::1", "127.0.0.1", "::2", "127.0.0.2", "::3"),
		parse("::2", "127.0.0.2", "::3", "127.0.0.1", "::1"),
		parse("::3", "127.0.0.1", "::1", "127.0.0.2", "::2"),
	} {
		if got := e.order(); !slices.Equal(got, want) {
			t.Errorf("the order is %v, want %v", got, want)
		}
	}
}

func TestDNSCacheUnderLoad(t *testing.T) {
	resolver := resolvesTo("127.0.0.1", "127.0.0.2", "::1")
	d := &TCPDialer{Resolver: resolver, DNSCacheDuration: time.Microsecond}
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				go cancel()
			}
			_, err := d.targets(ctx, "tcp", fmt.Sprintf("n%d.test:80", i%5))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if i%100 == 0 {
				d.FlushDNSCache()
			}
		})
	}
	all.Wait()
}
