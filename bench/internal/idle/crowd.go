package idle

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
)

// A crowd is a process, started by this program from its own file, that holds
// connections. It has them all open when it says crowdReady, and drops them
// when its standard input ends.
const (
	crowdWord  = "crowd"
	crowdReady = "open"
)

// crowd is one such process: how many connections it holds, and the network it
// has its addresses from.
type crowd struct {
	network int // 1 for 127.0.1.0 and so on
	conns   int
	speaks  Protocol
}

// Protocol is what connections speak.
type Protocol string

const (
	HTTP1 Protocol = "http1"
	TLS   Protocol = "tls"   // HTTP/1 over it
	HTTP2 Protocol = "http2" // by prior knowledge
)

// conn is a connection of a crowd.
type conn interface {
	Get() error
	Close() error
}

// sources is how many addresses of its network a crowd connects from. There are
// about 28,000 ports for each, but to find a free one takes the kernel long
// where many are in use.
const sources = 200

// source returns the address that connection i comes from.
func (c crowd) source(i int) string {
	return fmt.Sprintf("127.0.%d.%d", c.network, 1+i%sources)
}

// crowdConns is how many connections a crowd has at most.
const crowdConns = 50_000

// crowds divides connections among processes that may have limit files open.
func crowds(conns, limit int, speaks Protocol) []crowd {
	most := max(1, min(crowdConns, limit-spareFiles))
	n := (conns + most - 1) / most
	var all []crowd
	for i := range n {
		share := (conns + i) / n // differ by one at most, and add up
		all = append(all, crowd{network: 1 + i, conns: share, speaks: speaks})
	}
	return all
}

// command returns the command line of the process.
func (c crowd) command(self, addr string) []string {
	return []string{self, crowdWord, "-addr", addr, "-network", strconv.Itoa(c.network), "-conns", strconv.Itoa(c.conns), "-speak", string(c.speaks)}
}

// How many connections a crowd opens at the same time, and how long the process
// runs at most if it is not ended before.
const (
	crowdOpeners = 16
	crowdLife    = 15 * time.Minute
)

// Crowd makes the process a crowd if its arguments ask for one, and does not
// return then. A command that measures calls it before anything else.
func Crowd() {
	if len(os.Args) < 2 || os.Args[1] != crowdWord {
		return
	}
	if err := crowdMain(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// crowdMain is what the process does.
func crowdMain(args []string) error {
	flags := flag.NewFlagSet(crowdWord, flag.ContinueOnError)
	addr := flags.String("addr", "", "address of the server")
	var c crowd
	flags.IntVar(&c.network, "network", 1, "network to connect from")
	flags.IntVar(&c.conns, "conns", 0, "number of connections")
	flags.StringVar((*string)(&c.speaks), "speak", string(HTTP1), "what the server speaks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	time.AfterFunc(crowdLife, func() {
		fmt.Fprintln(os.Stderr, "idle: nobody ended this crowd in time")
		os.Exit(1)
	})
	// The process that started this one may end before all connections are open.
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	open, err := c.open(*addr, over)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(crowdReady); err != nil {
		return err
	}
	<-over
	for _, conn := range open {
		_ = conn.Close()
	}
	return nil
}

// open opens the connections and sends one request on each. It gives up when
// over is closed.
func (c crowd) open(addr string, over <-chan struct{}) ([]conn, error) {
	conns := make([]conn, c.conns)
	errs := make([]error, crowdOpeners)
	var group sync.WaitGroup
	for opener := range crowdOpeners {
		group.Go(func() {
			for i := opener; i < c.conns && errs[opener] == nil; i += crowdOpeners {
				select {
				case <-over:
					errs[opener] = errors.New("ended while opening connections")
				default:
					conns[i], errs[opener] = open(c.source(i), addr, c.speaks)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return conns, nil
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
