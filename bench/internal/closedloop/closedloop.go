// Package closedloop keeps connections to a server busy with one request each, and measures
// the time of each request. A separate process, which this program starts from its own file,
// does the work, so that it can have a core to itself. Start with Run.
//
// One thread waits for all connections with epoll: on the shared machine that leaves the
// server more processor time than a goroutine for each connection. The time of a request
// begins before it is written, and ends when epoll reports its response; so it excludes the
// time that this thread spends on earlier responses. Latencies are not corrected for requests
// that were not sent.
package closedloop

import (
	"context"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Load describes the load on a server.
type Load struct {
	Addr  string
	Conns int
	// One of Every requests is for Path, all others are for "/". With 1 all are for Path.
	Path  string
	Every int
	// Warm is how long requests are sent before they count, and Time how long they count.
	Warm, Time time.Duration
}

// Result is the result of a load.
type Result struct {
	// Sent is the number of all requests, including the warm-up. All were answered.
	Sent int `json:"sent"`
	// Rate is how many requests were answered in a second of Time.
	Rate     float64       `json:"rate"`
	P50, P99 time.Duration // of requests sent during Time
}

// word is the first argument of a closed-loop process.
const word = "closed-loop"

// spareTime is how much longer than requested the process may take: giveUp, and some time to
// start and to end.
const spareTime = giveUp + 10*time.Second

// Run puts the load on a server. The program must call Main before anything
// else.
func Run(ctx context.Context, place rig.Place, load Load) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, load.Warm+load.Time+spareTime)
	defer cancel()
	return rig.AskSelf[Result](ctx, place, word, []string{"GOMAXPROCS=1", "GOGC=off"}, load)
}

// Main runs the process as a closed loop if its arguments request that, and then does not
// return.
func Main() {
	rig.AnswerAs(word, func(ctx context.Context, load Load) (r Result, err error) {
		if load.Conns < 1 || load.Every < 1 || load.Warm < 0 || load.Time <= 0 {
			return r, fmt.Errorf("this is no load: %+v", load)
		}
		return load.run(ctx.Done())
	})
}
