package fasthttp

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/patience"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lookUp does all the steps of a dial before its first attempt.
func lookUp(t *testing.T, d *TCPDialer, host string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := d.dialer.Targets(ctx, d.config(), "tcp4", host+":80")
	return err
}

func TestNamesAreLookedUpAgainWhenTheyAreOld(t *testing.T) {
	for _, c := range []struct {
		configured, keeps time.Duration
	}{{0, time.Minute}, {10 * time.Second, 10 * time.Second}} {
		servertest.Bubble(t, func(t *testing.T) {
			resolver := servertest.ResolvesTo("127.0.0.1")
			d := &TCPDialer{Resolver: resolver, DNSCacheDuration: c.configured}
			expect := func(lookups int64) {
				t.Helper()
				if err := lookUp(t, d, "Name.test"); err != nil {
					t.Fatal(err)
				}
				if n := resolver.Lookups.Load(); n != lookups {
					t.Errorf("%v: %d look-ups, want %d", c.keeps, n, lookups)
				}
			}
			expect(1)
			time.Sleep(c.keeps - 1)
			expect(1)
			if err := lookUp(t, d, "nAME.TEST"); err != nil || resolver.Lookups.Load() != 1 {
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
	resolver := servertest.ResolvesTo("127.0.0.1")
	d := &TCPDialer{Resolver: resolver, DNSCacheDuration: -1}
	for range 3 {
		if err := lookUp(t, d, "name.test"); err != nil {
			t.Fatal(err)
		}
	}
	if n := resolver.Lookups.Load(); n != 3 {
		t.Errorf("%d look-ups", n)
	}
}

func TestAddressLiteralsAreNotLookedUp(t *testing.T) {
	resolver := servertest.ResolvesTo("127.0.0.1")
	d := &TCPDialer{Resolver: resolver}
	for _, addr := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%lo]:80", "[::ffff:127.0.0.1]:80"} {
		if _, err := d.dialer.Targets(t.Context(), d.config(), "tcp", addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if n := resolver.Lookups.Load(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

func TestALookupEndsWhenNobodyWaits(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ended := make(chan error, 1)
		resolver := &servertest.Resolver{Find: func(ctx context.Context, _ string) ([]net.IPAddr, error) {
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
	if patience.DefaultDial != DefaultDialTimeout {
		t.Errorf("a dial takes %v by default, want %v", patience.DefaultDial, DefaultDialTimeout)
	}
	servertest.Bubble(t, func(t *testing.T) {
		resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("too late")
		}}
		d := &TCPDialer{Resolver: resolver}
		began := time.Now()
		if _, err := d.Dial("name.test:80"); !errors.Is(err, ErrDialTimeout) || time.Since(began) != patience.Dial {
			t.Errorf("the dial ended after %v with %v", time.Since(began), err)
		}
		time.Sleep(time.Hour) // longer than the test takes
	})
}

// Known failure 62: addresses that refuse are forgotten at the first failed dial.
func TestADialAsksAgainWhenRememberedAddressesRefuse(t *testing.T) {
	now, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Skip("there is no other address: ", err)
	}
	defer now.Close()
	_, port, _ := net.SplitHostPort(now.Addr().String())
	for _, network := range []string{"tcp", "tcp4"} {
		t.Run(network, func(t *testing.T) {
			var moved atomic.Bool
			resolver := &servertest.Resolver{Find: func(context.Context, string) ([]net.IPAddr, error) {
				if moved.Load() {
					return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 2)}}, nil
				}
				return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 3)}}, nil
			}}
			d := &TCPDialer{Resolver: resolver}
			dial := func() (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
				defer cancel()
				c, err := d.DialContext(ctx, network, "name.test:"+port)
				if err != nil {
					return "", err
				}
				defer c.Close()
				return c.RemoteAddr().String(), nil
			}
			// the first dial has asked, so it does not ask again
			if _, err := dial(); !errors.Is(err, syscall.ECONNREFUSED) || resolver.Lookups.Load() != 1 {
				t.Fatalf("%v after %d look-ups", err, resolver.Lookups.Load())
			}
			moved.Store(true)
			if got, err := dial(); err != nil || got != now.Addr().String() || resolver.Lookups.Load() != 2 {
				t.Errorf("%q, %v after %d look-ups, want %q after 2", got, err, resolver.Lookups.Load(), now.Addr())
			}
			if _, err := dial(); err != nil || resolver.Lookups.Load() != 2 {
				t.Errorf("%v after %d look-ups", err, resolver.Lookups.Load())
			}
		})
	}
}
