package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/ws"
)

const (
	// wsRuns is the number of runs in a round; a run of three times the usual length counts as
	// three.
	wsRuns = 130
	// wsConns is the number of sockets of the rows with many.
	wsConns = 10_000
	// wsSpare is the extra time of a run, in which sockets are opened and closed.
	wsSpare = 1200 * time.Millisecond
)

func wsEstimate(o options) time.Duration {
	return 10*time.Second + time.Duration(fewer(o)*wsRuns)*(wsSpare+time.Duration(o.seconds)*time.Second)
}

func measureWS(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
	opts := ws.Options{Rounds: fewer(o), Seconds: o.seconds, Conns: wsConns, Pin: true, Rows: everything, Servers: everything}
	if o.short {
		opts.Conns = 2000
	}
	all.WS, _, err = ws.Measure(ctx, dir, opts, log)
	return err
}

func (p *page) writeWS(b *strings.Builder) {
	if p.WS == nil {
		return
	}
	fmt.Fprintf(b, "\n## WebSocket\n\n"+
		"%s of %s each, in turn; servers %s, GOMAXPROCS %d; load %s. CPU is the server's processor time for a message; one\n"+
		"that is broadcast counts once for each socket. The ratios are less than 1 where the server of the line takes less. The\n"+
		"C loop checks nothing.\n",
		rig.Plural(p.WS.Rounds, "round"), rig.Plural(p.WS.Seconds, "second"), p.WS.ServerPlace, p.WS.Procs, p.WS.ClientPlace)
	p.WS.WriteTables(b, "###")
}
