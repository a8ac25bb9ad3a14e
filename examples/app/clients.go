package main

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// burst is how many seconds' worth of requests a client may save up.
const burst = 5

// maxClients is how many clients are counted one by one. All others share one count.
const maxClients = 100_000

// limiter limits the rate of requests of each client. A client has tokens. Each request takes
// one, and new ones are added at a fixed rate.
type limiter struct {
	rate float64 // tokens in a second
	mu   sync.Mutex
	all  map[netip.Prefix]*tokens
}

type tokens struct {
	n    float64
	then time.Time // when the client had n tokens
}

func newLimiter(rate float64) *limiter {
	return &limiter{rate: rate, all: make(map[netip.Prefix]*tokens)}
}

// limitClients refuses requests of a client that sends too many of them.
func (a *app) limitClients(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if wait := a.clients.take(ctx.ClientIP()); wait > 0 {
			seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
			a.fail(ctx, errTooMany.with(fasthttp.HeaderRetryAfter, seconds))
			return
		}
		next(ctx)
	}
}

// take takes a token of the client. If there is none, it returns the time until there is one.
func (l *limiter) take(client netip.Addr) time.Duration {
	key := network(client)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.all[key]
	if t == nil && len(l.all) >= maxClients {
		key = netip.Prefix{}
		t = l.all[key]
	}
	if t == nil {
		t = &tokens{n: l.most(), then: now}
		l.all[key] = t
	}
	t.n, t.then = l.at(t, now), now
	if t.n < 1 {
		return time.Duration((1 - t.n) / l.rate * float64(time.Second))
	}
	t.n--
	return 0
}

// at returns the number of tokens at the time now.
func (l *limiter) at(t *tokens, now time.Time) float64 {
	return min(l.most(), t.n+now.Sub(t.then).Seconds()*l.rate)
}

func (l *limiter) most() float64 { return max(1, burst*l.rate) }

// sweep forgets clients that have all their tokens.
func (l *limiter) sweep() {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, t := range l.all {
		if l.at(t, now) >= l.most() {
			delete(l.all, key)
		}
	}
}

// network returns the network that counts as one client: an IPv4 address, or an IPv6 network
// with a prefix of 64 bits, since providers assign at least that to one customer.
func network(client netip.Addr) netip.Prefix {
	bits := 32
	if client.Is6() {
		bits = 64
	}
	// the zero Prefix for the zero Addr: in-memory connections have no IP address
	p, _ := client.Prefix(bits)
	return p
}
