// Package closedloop keeps connections to a server busy with one request each,
// and measures what every request took. The work is done by a process of its
// own, started by this program from its own file, so that it can have a core to
// itself. See Run for where to start.
//
// One thread waits for all connections with epoll: that takes less processor time from
// the server, which runs on the same machine, than a goroutine for each connection. The
// time of a request begins before it is written, and ends when epoll reports its
// response; so it does not contain the time in which earlier responses kept this thread
// busy. No latency is corrected for requests that were not sent.
package closedloop

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Load is what is done to a server.
type Load struct {
	Addr  string
	Conns int
	// Of Every requests one is for Path and all others are for "/". With 1 all
	// are for Path.
	Path  string
	Every int
	// Warm is how long requests are sent before those that count, and Time how
	// long those that count are sent.
	Warm, Time time.Duration
}

// Result is what a load came to.
type Result struct {
	// Sent is all requests, with those that do not count. All were answered.
	Sent int `json:"sent"`
	// Rate is how many were answered in a second while those that count were sent.
	Rate     float64       `json:"rate"`
	P50, P99 time.Duration // of those that count
}

// word as the first argument makes a program a closed loop.
const word = "closed-loop"

// spareTime is how much longer than asked for the process may take: what giveUp
// says, and something to start and to end.
const spareTime = giveUp + 10*time.Second

// Run puts the load on a server. The program must call Main before anything
// else.
func Run(ctx context.Context, place rig.Place, load Load) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, load.Warm+load.Time+spareTime)
	defer cancel()
	return rig.AskSelf[Result](ctx, place, "load", []string{"GOMAXPROCS=1", "GOGC=off"}, load.args()...)
}

// args are those that Main understands.
func (l Load) args() []string {
	return []string{
		word, "-addr", l.Addr, "-conns", fmt.Sprint(l.Conns), "-path", l.Path, "-every", fmt.Sprint(l.Every),
		"-warm", l.Warm.String(), "-time", l.Time.String(),
	}
}

// Main makes the process a closed loop if its arguments ask for one, and does
// not return then.
func Main() {
	rig.AnswerAs(word, "closed loop", func(ctx context.Context, args []string) (r Result, err error) {
		load, err := parse(args)
		if err != nil {
			return r, err
		}
		return load.run(ctx.Done())
	})
}

func parse(args []string) (Load, error) {
	var l Load
	flags := flag.NewFlagSet(word, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says enough
	flags.StringVar(&l.Addr, "addr", "", "address of the server")
	flags.IntVar(&l.Conns, "conns", 1, "number of connections")
	flags.StringVar(&l.Path, "path", "/", "what to ask for")
	flags.IntVar(&l.Every, "every", 1, "ask for it with one in so many requests")
	flags.DurationVar(&l.Warm, "warm", 0, "time to send requests that do not count")
	flags.DurationVar(&l.Time, "time", time.Second, "time to send requests that count")
	if err := flags.Parse(args); err != nil {
		return l, err
	}
	if l.Conns < 1 || l.Every < 1 || l.Warm < 0 || l.Time <= 0 {
		return l, fmt.Errorf("this is no load: %+v", l)
	}
	return l, nil
}
