// Command proxy measures proxies with HTTP/1.1 on both sides: a handler that calls HostClient.Do, and a
// ReverseProxy, of this fasthttp and of the published one, which has a handler in place of the latter; nginx
// and haproxy. It is run in the bench folder, on linux:
//
//	go run ./cmd/proxy          # about four minutes; needs nginx and haproxy to compare with
//	go run ./cmd/proxy -short   # a quick look
//
// Each proxy has one processor; the load and the server that answers have another. The figure to look at is
// the processor time: the median over the rounds of its ratio to another proxy in the same round. The
// tables go to standard output, and with every sample to the files proxy.md and proxy.json in the results
// folder. The exit code is 1 if anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
)

func main() {
	closedloop.Main()
	command.Study(kind, command.StudyFlags{Rounds: 9, Seconds: 1, Rows: "'16 connections'"}, measure)
}

var kind = &study.Kind{
	Name: "proxy", Title: "Proxies", Client: "the load and the server that answers",
	Note: "CPU is the processor time of the proxy for a request.\n",
	Columns: []study.Column{
		{Figure: study.CPUs, Digits: 2, Spread: true},
		{Figure: study.CPUs, Title: "÷ " + rig.UpstreamProxy, Digits: 2, To: rig.UpstreamProxy},
		{Figure: study.CPUs, Title: "÷ " + rig.UpstreamHand, Digits: 2, To: rig.UpstreamHand},
		{Figure: study.CPUs, Title: "÷ " + rig.Nginx, Digits: 2, To: rig.Nginx},
		{Figure: study.CPUs, Title: "÷ " + rig.Haproxy, Digits: 2, To: rig.Haproxy},
		{Figure: study.Rate},
		{Figure: study.P99},
	},
}

// load is a number of connections of clients.
type load int

func (l load) Row() study.Row {
	return study.Row{Name: markdown.Plural(int(l), "connection"), Conns: int(l)}
}

// warmTime is how long a proxy is under load before anything counts.
const warmTime = 200 * time.Millisecond

func measure(ctx context.Context, s *study.Study) (r *study.Report, err error) {
	proxies, behind, err := rig.BuildProxies(ctx, s.Dir, s.Temp, s.Modules)
	if err != nil {
		return nil, err
	}
	s.Servers = proxies
	s.Add(rig.NewNginx(ctx, s.Temp, rig.NginxProxy))
	s.Add(rig.NewHaproxy(ctx, s.Temp))
	backend, err := behind.Start(ctx, rig.Settings{Mode: serving.Plain, Place: s.ClientPlace, Procs: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Stop()) }()
	return study.Measure(ctx, s, []load{16, 64, 256}, func(ctx context.Context, l load, proxy *rig.Server) (study.Figures, error) {
		settings := rig.Settings{Mode: serving.Forwards, Place: s.Place, Procs: 1, Backend: backend.Addr}
		return s.With(ctx, proxy, settings, func(p *rig.Process) (study.Figures, error) {
			var result closedloop.Result
			cpu, err := study.CPU(threads{p}, func() (n int, err error) {
				result, err = closedloop.Run(ctx, s.ClientPlace, closedloop.Load{
					Addr: p.Addr, Conns: int(l), Path: "/", Every: 1, Warm: warmTime, Time: time.Duration(s.Seconds) * time.Second,
				})
				return result.Sent, err
			})
			return study.Figures{study.CPUs: cpu, study.Rate: result.Rate, study.P99: study.Micros(result.P99)}, err
		})
	})
}

// threads is a process whose processor time is read in nanoseconds.
type threads struct{ *rig.Process }

// CPU implements study.CPU's process.
func (t threads) CPU() (time.Duration, error) { return t.ThreadTime() }
