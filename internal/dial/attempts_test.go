package dial

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// fakeAddress describes how an address behaves.
type fakeAddress struct {
	after time.Duration
	err   error // nil if it accepts
	deaf  bool  // connects even after it was canceled
}

// fakeNetwork is a network with such addresses. It records the times of the dials,
// and the open connections.
type fakeNetwork struct {
	addresses map[string]fakeAddress
	began     time.Time
	open      atomic.Int64

	mu    sync.Mutex
	dials []string
}

func (n *fakeNetwork) attempt(ctx context.Context, network, target string) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, time.Since(n.began).String()+" "+target)
	n.mu.Unlock()
	a := n.addresses[target]
	done := ctx.Done()
	if a.deaf {
		done = nil
	}
	select {
	case <-time.After(a.after):
	case <-done:
		if ctx.Err() == context.DeadlineExceeded {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	n.open.Add(1)
	return &fakeDialed{network: n, target: target}, nil
}

type fakeDialed struct {
	net.Conn
	network *fakeNetwork
	target  string
}

func (c *fakeDialed) Close() error {
	c.network.open.Add(-1)
	return nil
}

var errRefused = errors.New("refused")

// attemptError is the error that the dials of these tests report.
type attemptError struct {
	target string
	cause  error
}

func (e *attemptError) Error() string { return e.target + ": " + e.cause.Error() }
func (e *attemptError) Unwrap() error { return e.cause }

// report reports a timeout only if the deadline of the whole dial has passed.
func report(ctx context.Context, target string, err error) (timedOut bool, reported error) {
	deadline, ok := ctx.Deadline()
	if timedOut = ok && !time.Now().Before(deadline); timedOut {
		err = context.DeadlineExceeded
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return timedOut, &attemptError{target, err}
}

// attempts returns Attempts at the addresses of the network.
func (n *fakeNetwork) attempts() Attempts { return Attempts{Connect: n.attempt, Report: report} }

func TestAddressesRace(t *testing.T) {
	const ms = time.Millisecond
	never := fakeAddress{after: time.Hour}
	for _, c := range []struct {
		name      string
		addresses map[string]fakeAddress
		winner    string
		after     time.Duration
		cause     error
		dials     []string
	}{
		{name: "the first answers", addresses: map[string]fakeAddress{"a": {after: 249 * ms}},
			winner: "a", after: 249 * ms, dials: []string{"0s a"}},
		{name: "the first is slow", addresses: map[string]fakeAddress{"a": {after: 300 * ms}, "b": {after: 100 * ms}},
			winner: "a", after: 300 * ms, dials: []string{"0s a", "250ms b"}},
		{name: "the first is deaf", addresses: map[string]fakeAddress{"a": never, "b": {after: 10 * ms}},
			winner: "b", after: 260 * ms, dials: []string{"0s a", "250ms b"}},
		{name: "the first refuses", addresses: map[string]fakeAddress{"a": {after: 20 * ms, err: errRefused}, "b": {after: 10 * ms}},
			winner: "b", after: 30 * ms, dials: []string{"0s a", "20ms b"}},
		{name: "a failure counts the delay again", addresses: map[string]fakeAddress{"a": {after: 20 * ms, err: errRefused}, "b": never, "c": {after: ms}},
			winner: "c", after: 271 * ms, dials: []string{"0s a", "20ms b", "270ms c"}},
		{name: "the last answers", addresses: map[string]fakeAddress{"a": never, "b": never, "c": {after: 600 * ms}},
			winner: "c", after: 1100 * ms, dials: []string{"0s a", "250ms b", "500ms c"}},
		{name: "a late connection is closed", addresses: map[string]fakeAddress{"a": {after: 400 * ms, deaf: true}, "b": {after: 10 * ms}},
			winner: "b", after: 400 * ms, dials: []string{"0s a", "250ms b"}},
		{name: "all refuse", addresses: map[string]fakeAddress{"a": {err: errRefused}, "b": {err: errRefused}, "c": {after: 10 * ms, err: errRefused}},
			after: 10 * ms, cause: errRefused, dials: []string{"0s a", "0s b", "0s c"}},
		{name: "none answers", addresses: map[string]fakeAddress{"a": never, "b": {err: errRefused}, "c": never},
			after: 3 * time.Second, cause: context.DeadlineExceeded, dials: []string{"0s a", "250ms b", "250ms c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				network := &fakeNetwork{addresses: c.addresses, began: time.Now()}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				conn, err := network.attempts().Race(ctx, []string{"a", "b", "c"}[:max(2, len(c.addresses))])
				if after := time.Since(network.began); after != c.after {
					t.Errorf("the race took %v, want %v", after, c.after)
				}
				if !slices.Equal(network.dials, c.dials) {
					t.Errorf("dials %q, want %q", network.dials, c.dials)
				}
				if c.winner == "" {
					if _, ok := errors.AsType[*attemptError](err); !ok || !errors.Is(err, c.cause) {
						t.Errorf("the race ended with %v, want %v", err, c.cause)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := conn.(*fakeDialed).target; got != c.winner {
					t.Errorf("%s has won, want %s", got, c.winner)
				}
				if n := network.open.Load(); n != 1 {
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

func TestARaceEndsWithItsContext(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		network := &fakeNetwork{began: time.Now(), addresses: map[string]fakeAddress{"a": {after: time.Hour}, "b": {after: time.Hour}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		wentAway := errors.New("went away")
		time.AfterFunc(100*time.Millisecond, func() { cancel(wentAway) })
		_, err := network.attempts().Race(ctx, []string{"a", "b"})
		if !errors.Is(err, wentAway) || len(network.dials) != 1 {
			t.Errorf("the race ended with %v after the dials %q", err, network.dials)
		}
	})
}

func TestAddressesInTurnShareTheTime(t *testing.T) {
	const ms = time.Millisecond
	never := fakeAddress{after: time.Hour}
	for _, c := range []struct {
		name      string
		timeout   time.Duration
		addresses map[string]fakeAddress
		winner    string
		cause     error
		dials     []string
	}{
		{name: "deaf ones", timeout: 3000 * ms, addresses: map[string]fakeAddress{"a": never, "b": never, "c": {after: 10 * ms}},
			winner: "c", dials: []string{"0s a", "1s b", "2s c"}},
		{name: "what one leaves is for the others", timeout: 3000 * ms, addresses: map[string]fakeAddress{"a": {err: errRefused}, "b": never, "c": {}},
			winner: "c", dials: []string{"0s a", "0s b", "1.5s c"}},
		{name: "no share is too small", timeout: 900 * ms, addresses: map[string]fakeAddress{"a": never, "b": {after: 10 * ms}, "c": {}},
			winner: "b", dials: []string{"0s a", "500ms b"}},
		{name: "time is up", timeout: 900 * ms, addresses: map[string]fakeAddress{"a": never, "b": never, "c": {}},
			cause: context.DeadlineExceeded, dials: []string{"0s a", "500ms b"}},
		{name: "all refuse", timeout: 900 * ms, addresses: map[string]fakeAddress{"a": {err: errRefused}, "b": {err: errRefused}, "c": {err: errRefused}},
			cause: errRefused, dials: []string{"0s a", "0s b", "0s c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				network := &fakeNetwork{addresses: c.addresses, began: time.Now()}
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				conn, err := network.attempts().Serially(ctx, "tcp4", []string{"a", "b", "c"})
				if !slices.Equal(network.dials, c.dials) {
					t.Errorf("dials %q, want %q", network.dials, c.dials)
				}
				if c.winner == "" {
					if _, ok := errors.AsType[*attemptError](err); !ok || !errors.Is(err, c.cause) {
						t.Errorf("it ended with %v, want %v", err, c.cause)
					}
				} else if err != nil {
					t.Error(err)
				} else if got := conn.(*fakeDialed).target; got != c.winner {
					t.Errorf("connected to %s, want %s", got, c.winner)
				}
			})
		})
	}
}
