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

// A crowd is a process, started by this program from its own file, that holds
// connections. It says crowdOpen when it has opened them. For each line crowdGet it
// sends one request over each and says crowdGot. It drops them when its standard
// input ends. What it says has an outcome behind the word.
const (
	crowdWord = "crowd"
	crowdOpen = "open"
	crowdGet  = "get"
	crowdGot  = "got"
)

// outcome is how many connections something went well for, and what went wrong with
// the first for which it did not.
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

// said returns the line in which a crowd says an outcome.
func (o outcome) said(word string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", word, o.conns, o.wrong))
}

// parseOutcome understands such a line.
func parseOutcome(line, word string) (outcome, error) {
	said, rest, _ := strings.Cut(line, " ")
	number, wrong, _ := strings.Cut(rest, " ")
	conns, err := strconv.Atoi(number)
	if said != word || err != nil || conns < 0 {
		return outcome{}, fmt.Errorf("a crowd says %q", line)
	}
	return outcome{conns, wrong}, nil
}

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

const (
	// crowdOpeners is how many connections a crowd opens at the same time, and crowdAskers
	// over how many it sends requests: a process that is woken, at either end, is to find
	// more than one to serve.
	crowdOpeners, crowdAskers = 16, 256
	// mostErrors keeps a server that does not answer from holding all up for as many
	// timeouts as there are connections.
	mostErrors = 10
	// crowdLife is how long the process runs at most if it is not ended before.
	crowdLife = 30 * time.Minute
	// crowdGC is the growth of the heap, in percent, at which a crowd collects garbage. It
	// makes little of it, and its memory is lacking to the servers.
	crowdGC = 25
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
	debug.SetGCPercent(crowdGC)
	// The process that started this one may end before all connections are open.
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

// answer says how opening went and does what is asked for, until over is closed.
func answer(out io.Writer, conns []conn, opened outcome, asked <-chan string, over <-chan struct{}) error {
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	debug.FreeOSMemory() // others need it
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

// open opens the connections and sends one request on each. It returns those that it
// has, and what was wrong with the first that it has not. It gives up when over is closed.
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
