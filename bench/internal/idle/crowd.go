package idle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// A crowd is a process that holds connections; this program starts it from its own file. It
// reports an outcome when it has opened them, and another one each time that it was asked to
// crowdGet, which sends one request over each. Its end drops them.
const (
	crowdWord = "crowd"
	crowdGet  = "get"
)

// outcome has the number of successful connections, and the error of the first that failed.
type outcome struct {
	Conns int
	Wrong string
}

func newOutcome(conns int, err error) outcome {
	o := outcome{Conns: conns}
	if err != nil {
		o.Wrong = strings.Join(strings.Fields(err.Error()), " ")
	}
	return o
}

// crowd is the job of such a process: the number of its connections, and the network of their
// addresses.
type crowd struct {
	Addr    string // of the server
	Network int    // 1 for 127.0.1.0 and so on
	Conns   int
	Speaks  Protocol
}

// Protocol is the protocol of connections.
type Protocol string

const (
	HTTP1 Protocol = "http1"
	TLS   Protocol = "tls"   // HTTP/1 over TLS
	HTTP2 Protocol = "http2" // by prior knowledge
)

// conn is a connection of a crowd.
type conn interface {
	Get() error
	Close() error
}

// sources is how many addresses of its network a crowd connects from. Each has about 28,000
// ports, but the kernel takes long to find a free one if many are in use.
const sources = 200

// source returns the local address of connection i.
func (c crowd) source(i int) string {
	return fmt.Sprintf("127.0.%d.%d", c.Network, 1+i%sources)
}

// crowdConns is the largest number of connections of a crowd.
const crowdConns = 50_000

// crowds divides connections among processes that may have limit files open.
func crowds(conns, limit int, speaks Protocol) []crowd {
	most := max(1, min(crowdConns, limit-spareFiles))
	n := (conns + most - 1) / most
	var all []crowd
	for i := range n {
		share := (conns + i) / n // differ by one at most, and add up
		all = append(all, crowd{Network: 1 + i, Conns: share, Speaks: speaks})
	}
	return all
}

const (
	// crowdOpeners is how many connections a crowd opens at the same time, and crowdAskers
	// over how many it sends requests at the same time. Each process that wakes up, at either
	// end, should find several connections to serve.
	crowdOpeners, crowdAskers = 16, 256
	// mostErrors limits the wait for a server that does not answer: without it there could be
	// a timeout for each connection.
	mostErrors = 10
	// crowdGC is the growth of the heap, in percent, at which a crowd collects garbage. A
	// crowd makes little garbage, and the servers need the memory.
	crowdGC = 25
)

// Crowd runs the process as a crowd if its arguments request that, and then does not return. A
// measuring command calls it first.
func Crowd() {
	rig.ConverseAs(crowdWord, func(ctx context.Context, c crowd) (any, func(string) (any, error), error) {
		debug.SetGCPercent(crowdGC)
		conns, err := c.open(ctx)
		debug.FreeOSMemory() // other processes need it
		return newOutcome(len(conns), err), func(said string) (any, error) {
			if said != crowdGet {
				return nil, fmt.Errorf("a crowd is asked for %q", said)
			}
			return getAll(ctx, conns), nil
		}, nil
	})
}

// open opens the connections and sends one request on each. It returns the open connections,
// and the first error. It gives up when ctx ends: the parent process may end before all are open.
func (c crowd) open(ctx context.Context) ([]conn, error) {
	conns := make([]conn, c.Conns)
	err := forEach(ctx, c.Conns, crowdOpeners, func(i int) (err error) {
		conns[i], err = open(c.source(i), c.Addr, c.Speaks)
		return err
	})
	return slices.DeleteFunc(conns, func(c conn) bool { return c == nil }), err
}

// getAll sends one request over each connection.
func getAll(ctx context.Context, conns []conn) outcome {
	var got atomic.Int64
	err := forEach(ctx, len(conns), crowdAskers, func(i int) error {
		err := conns[i].Get()
		if err == nil {
			got.Add(1)
		}
		return err
	})
	return newOutcome(int(got.Load()), err)
}

// forEach calls do for the numbers below n, on some goroutines, each of which stops after
// mostErrors. It returns one of the errors.
func forEach(ctx context.Context, n, goroutines int, do func(i int) error) error {
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for opener := range goroutines {
		group.Go(func() {
			failed := 0
			for i := opener; i < n && failed < mostErrors; i += goroutines {
				if ctx.Err() != nil {
					errs[opener] = errors.New("ended before all connections were served")
					return
				}
				if err := do(i); err != nil {
					failed++
					errs[opener] = cmp.Or(errs[opener], err)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

func open(source, addr string, speaks Protocol) (conn, error) {
	c, err := dial(source, addr, speaks)
	if err != nil {
		return nil, err
	}
	if err := c.Get(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func dial(source, addr string, speaks Protocol) (conn, error) {
	switch speaks {
	case TLS:
		return probe.DialTLS(source, addr, "/")
	case HTTP2:
		return probe.DialHTTP2(source, addr)
	}
	return probe.Dial(source, addr, "/")
}
