package idle

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
)

// A crowd is a process that holds connections; this program starts it from its own file. It
// prints crowdOpen when it has opened them. For each line crowdGet it sends one request over
// each and prints crowdGot. It drops them when its standard input ends. Each printed word is
// followed by an outcome.
const (
	crowdWord = "crowd"
	crowdOpen = "open"
	crowdGet  = "get"
	crowdGot  = "got"
)

// outcome has the number of successful connections, and the error of the first that failed.
type outcome struct {
	conns int
	wrong string
}

func newOutcome(conns int, err error) outcome {
	o := outcome{conns: conns}
	if err != nil {
		o.wrong = strings.Join(strings.Fields(err.Error()), " ")
	}
	return o
}

// said returns the line in which a crowd reports an outcome.
func (o outcome) said(word string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", word, o.conns, o.wrong))
}

// parseOutcome parses such a line.
func parseOutcome(line, word string) (outcome, error) {
	said, rest, _ := strings.Cut(line, " ")
	number, wrong, _ := strings.Cut(rest, " ")
	conns, err := strconv.Atoi(number)
	if said != word || err != nil || conns < 0 {
		return outcome{}, fmt.Errorf("a crowd says %q", line)
	}
	return outcome{conns, wrong}, nil
}

// crowd is one such process: the number of its connections, and the network of its addresses.
type crowd struct {
	network int // 1 for 127.0.1.0 and so on
	conns   int
	speaks  Protocol
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
	return fmt.Sprintf("127.0.%d.%d", c.network, 1+i%sources)
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
		all = append(all, crowd{network: 1 + i, conns: share, speaks: speaks})
	}
	return all
}

// command returns the command line of the process.
func (c crowd) command(self, addr string) []string {
	return []string{self, crowdWord, "-addr", addr, "-network", strconv.Itoa(c.network), "-conns", strconv.Itoa(c.conns), "-speak", string(c.speaks)}
}

const (
	// crowdOpeners is how many connections a crowd opens at the same time, and crowdAskers
	// over how many it sends requests at the same time. Each process that wakes up, at either
	// end, should find several connections to serve.
	crowdOpeners, crowdAskers = 16, 256
	// mostErrors limits the wait for a server that does not answer: without it there could be
	// a timeout for each connection.
	mostErrors = 10
	// crowdLife is how long the process runs at most.
	crowdLife = 30 * time.Minute
	// crowdGC is the growth of the heap, in percent, at which a crowd collects garbage. A
	// crowd makes little garbage, and the servers need the memory.
	crowdGC = 25
)

// Crowd runs the process as a crowd if its arguments request that, and then does not return. A
// measuring command calls it first.
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

// crowdMain is the main function of the process.
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
	debug.SetGCPercent(crowdGC)
	// The parent process may end before all connections are open.
	asked, over := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			asked <- lines.Text()
		}
	}()
	conns, err := c.open(*addr, over)
	return answer(os.Stdout, conns, newOutcome(len(conns), err), asked, over)
}

// answer reports the outcome of opening and executes the requested commands, until over is
// closed.
func answer(out io.Writer, conns []conn, opened outcome, asked <-chan string, over <-chan struct{}) error {
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	debug.FreeOSMemory() // other processes need it
	if _, err := fmt.Fprintln(out, opened.said(crowdOpen)); err != nil {
		return err
	}
	for {
		select {
		case word := <-asked:
			if word != crowdGet {
				return fmt.Errorf("a crowd is asked for %q", word)
			}
			if _, err := fmt.Fprintln(out, getAll(conns, over).said(crowdGot)); err != nil {
				return err
			}
		case <-over:
			return nil
		}
	}
}

// open opens the connections and sends one request on each. It returns the open connections,
// and the first error. It gives up when over is closed.
func (c crowd) open(addr string, over <-chan struct{}) ([]conn, error) {
	conns := make([]conn, c.conns)
	err := forEach(c.conns, crowdOpeners, over, func(i int) (err error) {
		conns[i], err = open(c.source(i), addr, c.speaks)
		return err
	})
	return slices.DeleteFunc(conns, func(c conn) bool { return c == nil }), err
}

// getAll sends one request over each connection.
func getAll(conns []conn, over <-chan struct{}) outcome {
	var got atomic.Int64
	err := forEach(len(conns), crowdAskers, over, func(i int) error {
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
func forEach(n, goroutines int, over <-chan struct{}, do func(i int) error) error {
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for opener := range goroutines {
		group.Go(func() {
			failed := 0
			for i := opener; i < n && failed < mostErrors; i += goroutines {
				select {
				case <-over:
					errs[opener] = errors.New("ended before all connections were served")
					return
				default:
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
