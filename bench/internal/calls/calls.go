// Package calls measures clients over loopback sockets: this fasthttp with HTTP/2 and with
// HTTP/1.1, and net/http with HTTP/2. The callers run in a separate process, which this
// program starts from its own file. So does the server, which is this fasthttp with its event
// engine. Start with Measure.
package calls

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// load is one row.
type load struct {
	name    string
	callers int
}

func (l load) Row() study.Row { return study.Row{Name: l.name} }

var loads = []load{{"1 caller", 1}, {"100 callers", 100}, {"1000 callers", 1000}}

// streams is the server's limit of open streams for a client: the number of callers, so that
// they can share one connection.
const streams = 1000

// warm is how long calls are made before they count.
const warm = 500 * time.Millisecond

// The figures of a client.
const (
	CPUs      = "CPU µs/call"
	callRate  = "calls/s"
	callAlloc = "allocs/call"
	conns     = "connections"
)

// Kind is the kind of these measurements over TLS, in which clients take the place of servers.
var Kind = &study.Kind{
	Name: "calls", Title: "Clients over loopback sockets", Client: "callers", Measured: "client",
	Note: "CPU is the processor time for a call, user and system, of the process that calls, and the least of all rounds is that of\n" +
		"the one that other programs on the machine disturbed least. Connections are those that were dialed. Ready frames are no\n" +
		"client: they are requests that were encoded before, those of all callers in one write, and only the ends of the responses\n" +
		"are looked for, so that the row shows what TLS and the system take.\n",
	Columns: []study.Column{
		{Figure: callRate, Spread: true},
		{Figure: CPUs, Digits: 2, Spread: true},
		{Figure: CPUs, Title: "least", Digits: 2, Least: true},
		{Figure: callAlloc, Digits: 2},
		{Figure: conns},
		{Figure: CPUs, Title: "CPU: ours with HTTP/2 ÷ this", From: OursHTTP2},
	},
	Goals: Goals, TLS: true,
}

// most is the largest processor time of a call over TLS, as a share of net/http's.
const most = 1. / 3

// Goals judges our client with HTTP/2 over TLS. The report may be nil.
func Goals(r *study.Report) (all []study.Goal) {
	for _, l := range loads {
		g := study.Goal{
			ID:   "calls-" + l.name[:strings.IndexByte(l.name, ' ')],
			Text: fmt.Sprintf("HTTP/2 over TLS, %s: processor time for a call at most %.2f of net/http's client", l.name, most),
		}
		row := r.Named(l.name)
		ratio := row.Ratio(CPUs, OursHTTP2, NetHTTPHTTP2)
		g.Judge(ratio, ratio.Value <= most, "%s", ratio)
		if bare := row.Ratio(CPUs, Bare, NetHTTPHTTP2); bare.Value > 0 && g.Figure != "" {
			g.Figure += fmt.Sprintf(" (ready frames: %.2f)", bare.Value)
			g.Evidence = fmt.Sprintf("A loop that sends ready frames and parses nothing is at %.2f.", bare.Value)
		}
		all = append(all, g)
	}
	return all
}

// Measure builds the server, and measures the clients. The program must have called Main.
func Measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	s.Log.Note("building the server")
	server, err := rig.BuildEvent(ctx, s.Dir, s.Temp)
	if err != nil {
		return nil, err
	}
	for _, client := range clients {
		s.Servers = append(s.Servers, &rig.Server{Name: client})
	}
	r, err := study.Measure(ctx, s, loads, func(ctx context.Context, l load, client *rig.Server) (study.Figures, error) {
		settings := rig.Settings{
			Mode: serving.Plain, Identity: s.Identity, HTTP2: true, Args: []string{"-" + serving.StreamsFlag, strconv.Itoa(streams)},
		}
		return s.With(ctx, server, settings, func(process *rig.Process) (study.Figures, error) {
			r, err := job{
				Client: client.Name, Addr: process.Addr, Callers: l.callers,
				Warm: warm, Time: time.Duration(s.Seconds) * time.Second,
			}.run(ctx, s.ClientPlace)
			if err != nil {
				return nil, err
			}
			if r.Calls == 0 || r.CPU <= 0 {
				return nil, fmt.Errorf("%d calls took %v of processor time", r.Calls, r.CPU)
			}
			n := float64(r.Calls)
			return study.Figures{callRate: n / r.Took.Seconds(), CPUs: study.Micros(r.CPU) / n, callAlloc: float64(r.Allocs) / n, conns: float64(r.Conns)}, nil
		})
	})
	if err == nil {
		r.Versions = map[string]string{rig.Event: server.Version}
	}
	return r, err
}
