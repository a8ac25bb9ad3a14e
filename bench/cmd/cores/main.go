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
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/traffic"
	"github.com/valyala/fasthttp/bench/internal/turns"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

type options struct {
	rounds, seconds, conns int
	out                    string
}

func main() { command.Main("cores", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("cores", help)
	flags.Rounds(&opts.rounds, 9, 1)
	flags.Int(&opts.seconds, "seconds", 2, 1, "how long a run takes")
	flags.Int(&opts.conns, "conns", 512, 512, "connections")
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.rounds < 1 || opts.seconds < 1 || opts.conns < 1 {
		return opts, errors.New("-rounds, -seconds and -conns must be at least 1")
	}
	return opts, nil
}

// setup is a way to use the processors.
type setup struct {
	name             string
	processes, procs int // procs is GOMAXPROCS
	pinned           bool
}

func setups(cores int) []setup {
	all := []setup{{"one process", 1, cores, false}, {"one process, GOMAXPROCS 1", 1, 1, false}}
	if cores > 1 {
		all = append(all, setup{"a process for each processor", cores, 1, false}, setup{"a process for each processor, pinned to it", cores, 1, true})
	}
	return all
}

// sample is one run.
type sample struct{ cpu, rate, p99 float64 }

func (s sample) String() string {
	return fmt.Sprintf("%.2f µs CPU, %.0f requests/s, p99 %.0f µs", s.cpu, s.rate, s.p99)
}

// Report has the figures of a session.
type Report struct {
	rig.Head
	Conns    int      `json:"connections"`
	Rows     []Row    `json:"rows"`
	Failures []string `json:"failures,omitempty"`
}

// Row has the figures of a setup. Ratio is the median of the ratios of processor times to the
// first row, round by round.
type Row struct {
	Setup string        `json:"setup"`
	CPU   stats.Summary `json:"cpu_us_per_request"`
	Rate  stats.Summary `json:"requests_per_second"`
	P99   stats.Summary `json:"p99_us"`
	Ratio float64       `json:"cpu_ratio"`
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if _, err := rig.RaiseFileLimit(); err != nil {
		return err
	}
	server, err := rig.BuildEvent(ctx, dir, temp)
	if err != nil {
		return err
	}
	script := filepath.Join(temp, "load.lua")
	if err := os.WriteFile(script, []byte(wrk.SequenceScript(traffic.Visitors())), 0o600); err != nil {
		return err
	}
	ways := setups(runtime.NumCPU())
	plan := turns.Plan{Rounds: opts.rounds, Loads: []string{rig.Plural(opts.conns, "connection")}, Log: progress.NewLines(log)}
	for _, way := range ways {
		plan.Servers = append(plan.Servers, way.name)
	}
	samples, failures, err := turns.Run(ctx, plan, func(_, i int) (sample, error) {
		return measure(ctx, server, ways[i], opts, script)
	})
	if err != nil {
		return err
	}
	r := summarize(ways, plan.Loads[0], samples)
	r.Head, r.Conns, r.Failures = rig.NewHead([]*rig.Server{server}, opts.rounds), opts.conns, failures
	if err := rig.WriteResults(out, dir, opts.out, "cores", r.markdown(opts), r); err != nil {
		return err
	}
	return command.Failed(len(failures), opts.rounds*len(ways))
}

// measure starts the processes of a setup, and puts a load on them.
func measure(ctx context.Context, server *rig.Server, way setup, opts options, script string) (got sample, err error) {
	var processes []*rig.Process
	defer func() {
		for _, p := range processes {
			err = errors.Join(err, p.Stop())
		}
	}()
	addr := ""
	for i := range way.processes {
		place := rig.Anywhere
		if way.pinned {
			if place, err = rig.Processor(i); err != nil {
				return got, err
			}
		}
		p, err := server.Start(ctx, rig.Settings{Addr: addr, Mode: serving.Plain, ReusePort: way.processes > 1, Place: place, Procs: way.procs})
		if err != nil {
			return got, err
		}
		processes, addr = append(processes, p), p.Addr
	}
	if err := check(addr); err != nil {
		return got, err
	}
	before, err := used(processes)
	if err != nil {
		return got, err
	}
	result, err := load(ctx, opts, script, addr)
	if err != nil {
		return got, err
	}
	after, err := used(processes)
	return sample{
		cpu:  micros(after-before) / float64(result.Requests),
		rate: result.Rate,
		p99:  micros(result.P99),
	}, err
}

// check compares the answer of the server with the expected one.
func check(addr string) error {
	conn, err := probe.Dial("", addr, "/")
	if err != nil {
		return err
	}
	return errors.Join(conn.Get(), conn.Close())
}

// used returns the processor time of all processes.
func used(processes []*rig.Process) (sum time.Duration, err error) {
	for _, p := range processes {
		cpu, err := p.CPU()
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// load runs wrk with a thread for every second processor.
func load(ctx context.Context, opts options, script, addr string) (wrk.Result, error) {
	threads := min(max(1, runtime.NumCPU()/2), opts.conns)
	text, err := exec.CommandContext(ctx, "wrk", "-t", strconv.Itoa(threads), "-c", strconv.Itoa(opts.conns),
		"-d", fmt.Sprintf("%ds", opts.seconds), "--latency", "-s", script, "http://"+addr+"/").CombinedOutput()
	if err != nil {
		return wrk.Result{}, fmt.Errorf("wrk: %w: %s", err, text)
	}
	result, err := wrk.Parse(string(text))
	if err == nil && (result.Requests == 0 || result.Refused > 0 || result.Errors > 0) {
		err = fmt.Errorf("wrk: %+v", result)
	}
	return result, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// summarize returns a report with its rows.
func summarize(ways []setup, load string, samples map[turns.Key][]sample) *Report {
	r := new(Report)
	first := samples[turns.Key{Load: load, Server: ways[0].name}]
	for _, way := range ways {
		var cpu, rate, p99, ratios []float64
		own := samples[turns.Key{Load: load, Server: way.name}]
		if len(own) == 0 {
			continue
		}
		for i, s := range own {
			cpu, rate, p99 = append(cpu, s.cpu), append(rate, s.rate), append(p99, s.p99)
			if len(own) == len(first) {
				ratios = append(ratios, stats.Ratio(s.cpu, first[i].cpu))
			}
		}
		row := Row{Setup: way.name, CPU: stats.Summarize(cpu), Rate: stats.Summarize(rate), P99: stats.Summarize(p99)}
		if len(ratios) > 0 {
			row.Ratio = stats.Median(ratios)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func (r *Report) markdown(opts options) string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Ways to use several processors",
		fmt.Sprintf("wrk with %s and varied requests, %s each, on the same processors", rig.Plural(opts.conns, "connection"), rig.Plural(opts.seconds, "second")),
		"medians; the ratio of processor times is the median of the rounds' ratios")
	table := rig.Table{Header: []string{"setup", "CPU µs a request", "÷ one process", "requests/s", "p99 µs"}}
	for _, row := range r.Rows {
		table.Rows = append(table.Rows, []string{
			row.Setup, fmt.Sprintf("%.2f ±%.0f%%", row.CPU.Median, 100*row.CPU.Spread()), fmt.Sprintf("%.2f", row.Ratio),
			fmt.Sprintf("%.0f", row.Rate.Median), fmt.Sprintf("%.0f", row.P99.Median),
		})
	}
	b.WriteString("\n")
	table.Write(&b)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}
