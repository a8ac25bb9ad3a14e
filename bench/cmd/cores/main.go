// Command cores measures the ways to use several processors: one process, one process with
// GOMAXPROCS 1, a process for each processor on one port, and the same with each process pinned to
// its processor. It is run in the bench folder, on linux:
//
//	go run ./cmd/cores          # about two minutes; needs wrk
//	go run ./cmd/cores -short   # a quick look
//
// wrk sends the requests of cmd/tcp -varied from the same processors. The table goes to standard
// output and to the files cores.md and cores.json in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/traffic"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

func main() {
	command.Measure("cores", func(f *command.Flags) command.Run {
		var opts study.Options
		var l load
		f.Rounds(&opts.Rounds, 9, 1)
		f.Int(&opts.Seconds, "seconds", 2, 1, "how long a run takes")
		f.Int(&l.conns, "conns", 512, 512, "connections")
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			r, err := study.Run(ctx, dir, kind, opts, log, l.measure)
			return command.Of(kind, r, err, "")
		}
	})
}

// setup is a way to use the processors.
type setup struct {
	name             string
	processes, procs int // procs is GOMAXPROCS
	pinned           bool
}

const oneProcess = "one process"

func setups(cores int) []setup {
	all := []setup{{oneProcess, 1, cores, false}, {"one process, GOMAXPROCS 1", 1, 1, false}}
	if cores > 1 {
		all = append(all, setup{"a process for each processor", cores, 1, false}, setup{"a process for each processor, pinned to it", cores, 1, true})
	}
	return all
}

var kind = &study.Kind{
	Name: "cores", Title: "Ways to use several processors", Client: "wrk", Tables: writeTable,
	Note:    "wrk sends varied requests from the same processors. The ratio of processor times is the median of the rounds' ratios.\n",
	Columns: []study.Column{{Figure: study.CPUs, Digits: 2}, {Figure: study.Rate}, {Figure: study.P99}},
}

// load is the only load.
type load struct{ conns int }

func (l load) Row() study.Row {
	return study.Row{Name: markdown.Plural(l.conns, "connection"), Conns: l.conns}
}

// measure measures all setups, which take the place of servers.
func (l load) measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	server, err := rig.BuildEvent(ctx, s.Dir, s.Temp)
	if err != nil {
		return nil, err
	}
	ways := map[string]setup{}
	for _, way := range setups(runtime.NumCPU()) {
		ways[way.name] = way
		s.Servers = append(s.Servers, &rig.Server{Name: way.name, Version: server.Version})
	}
	script := wrk.SequenceScript(traffic.Visitors())
	return study.Measure(ctx, s, []load{l}, func(ctx context.Context, l load, way *rig.Server) (got study.Figures, err error) {
		all, err := ways[way.Name].start(ctx, server)
		defer func() {
			for _, p := range all {
				err = errors.Join(err, p.Stop())
			}
		}()
		if err != nil {
			return nil, err
		}
		conn, err := probe.Dial("", all[0].Addr, "/")
		if err != nil {
			return nil, err
		}
		if err := errors.Join(conn.Get(), conn.Close()); err != nil {
			return nil, err
		}
		var r wrk.Result
		cpu, err := study.CPU(all, func() (n int, err error) {
			r, err = wrk.Run(ctx, rig.Anywhere, s.Temp, wrk.Load{URL: "http://" + all[0].Addr + "/", Conns: l.conns, Seconds: s.Seconds, Script: script})
			return r.Requests, err
		})
		return study.Figures{study.CPUs: cpu, study.Rate: r.Rate, study.P99: study.Micros(r.P99)}, err
	})
}

// start starts the processes of a setup. It returns the started ones even if it fails.
func (way setup) start(ctx context.Context, server *rig.Server) (rig.Group, error) {
	place := rig.Everywhere
	if way.pinned {
		place = rig.Processor
	}
	return server.StartGroup(ctx, way.processes, rig.Settings{Mode: serving.Plain, Procs: way.procs}, place)
}

func writeTable(b *strings.Builder, r *study.Report, _ string) {
	table := markdown.Table{Header: []string{"setup", "CPU µs a request", "÷ one process", "requests/s", "p99 µs"}}
	for _, m := range r.Rows[0].Servers {
		cpu := m.Figures[study.CPUs]
		table.Rows = append(table.Rows, []string{
			m.Server, fmt.Sprintf("%.2f ±%.0f%%", cpu.Median, 100*cpu.Spread()),
			fmt.Sprintf("%.2f", stats.Median(r.Rows[0].Rounds(study.CPUs, m.Server, oneProcess))),
			fmt.Sprintf("%.0f", m.Figures[study.Rate].Median), fmt.Sprintf("%.0f", m.Figures[study.P99].Median),
		})
	}
	table.Write(b)
}
