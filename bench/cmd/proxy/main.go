// Command proxy measures proxies with HTTP/1.1 on both sides: a handler that calls HostClient.Do, and a
// ReverseProxy, of this fasthttp and of the published one, which has a handler in place of the latter; nginx
// and haproxy. It is run in the bench folder, on linux:
//
//	go run ./cmd/proxy          # about four minutes; needs nginx and haproxy to compare with
//	go run ./cmd/proxy -short   # a quick look
//
// Each proxy has one processor; the load and the server that answers have another. The figure to look at is
// the processor time: the median over the rounds of its ratio to another proxy in the same round. The
// table goes to standard output and to the files proxy.md and proxy.json in the results folder. The exit
// code is 1 if anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

type options struct {
	rounds int
	time   time.Duration
	conns  []int
	out    string
	rig.Modules
}

func main() {
	closedloop.Main()
	command.Main("proxy", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("proxy", help)
	flags.Rounds(&opts.rounds, 9, 1)
	flags.Duration(&opts.time, "time", time.Second, 300*time.Millisecond, "how long a run takes")
	conns := flags.String("conns", "16,64,256", "numbers of connections")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	for text := range strings.SplitSeq(*conns, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return opts, fmt.Errorf("-conns: %q is no positive number", text)
		}
		opts.conns = append(opts.conns, n)
	}
	if opts.rounds < 1 || opts.time <= 0 {
		return opts, errors.New("-rounds must be at least 1, and -time more than 0")
	}
	return opts, nil
}

// sample is one run.
type sample struct{ cpu, rate, p99 float64 }

func (s sample) String() string {
	return fmt.Sprintf("%.2f µs CPU, %.0f requests/s, p99 %.0f µs", s.cpu, s.rate, s.p99)
}

// Report has the figures of a session.
type Report struct {
	rig.Head
	Rows     []Row    `json:"rows"`
	Missing  []string `json:"missing,omitempty"`
	Failures []string `json:"failures,omitempty"`
}

// Row has the figures of a proxy. Ratios are medians of the ratios of processor times to other proxies,
// round by round.
type Row struct {
	Load   string             `json:"load"`
	Proxy  string             `json:"proxy"`
	CPU    stats.Summary      `json:"cpu_us_per_request"`
	Rate   stats.Summary      `json:"requests_per_second"`
	P99    stats.Summary      `json:"p99_us"`
	Ratios map[string]float64 `json:"cpu_ratios"`
}

// others are the proxies that each one is compared with.
var others = []string{rig.UpstreamProxy, rig.UpstreamHand, rig.Nginx, rig.Haproxy}

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
	proxies, behind, missing, err := rig.BuildProxies(ctx, dir, temp, opts.Modules)
	if err != nil {
		return err
	}
	place, asking, err := rig.Separate()
	if err != nil {
		missing = append(missing, "nothing is pinned: "+err.Error())
	}
	backend, err := behind.Start(ctx, rig.Settings{Mode: serving.Plain, Place: asking, Procs: 1})
	if err != nil {
		return err
	}
	plan := turns.Plan{Rounds: opts.rounds, Log: progress.NewLines(log)}
	for _, n := range opts.conns {
		plan.Loads = append(plan.Loads, rig.Plural(n, "connection"))
	}
	for _, p := range proxies {
		plan.Servers = append(plan.Servers, p.Name)
	}
	samples, failures, err := turns.Run(ctx, plan, func(load, i int) (sample, error) {
		return measure(ctx, opts, proxies[i], backend.Addr, opts.conns[load], place, asking)
	})
	if err = errors.Join(err, backend.Stop()); err != nil {
		return err
	}
	r := summarize(plan, samples)
	r.Head, r.Failures, r.Missing = rig.NewHead(proxies, opts.rounds), failures, missing
	if err := rig.WriteResults(out, dir, opts.out, "proxy", r.markdown(opts), r); err != nil {
		return err
	}
	return command.Failed(len(failures), opts.rounds*plan.Runs())
}

// warmTime is how long a proxy is under load before anything counts.
const warmTime = 200 * time.Millisecond

// measure starts a proxy, and puts a load on it.
func measure(ctx context.Context, opts options, proxy *rig.Server, backend string, conns int, place, asking rig.Place) (got sample, err error) {
	p, err := proxy.StartProxy(ctx, place, backend)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	begin, err := p.ThreadTime()
	if err != nil {
		return got, err
	}
	result, err := closedloop.Run(ctx, asking, closedloop.Load{Addr: p.Addr, Conns: conns, Path: "/", Every: 1, Warm: warmTime, Time: opts.time})
	if err != nil {
		return got, err
	}
	end, err := p.ThreadTime()
	return sample{cpu: micros(end-begin) / float64(result.Sent), rate: result.Rate, p99: micros(result.P99)}, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// summarize returns a report with its rows.
func summarize(plan turns.Plan, samples map[turns.Key][]sample) *Report {
	r := new(Report)
	for _, load := range plan.Loads {
		for _, proxy := range plan.Servers {
			own := samples[turns.Key{Load: load, Server: proxy}]
			var cpu, rate, p99 []float64
			for _, s := range own {
				cpu, rate, p99 = append(cpu, s.cpu), append(rate, s.rate), append(p99, s.p99)
			}
			row := Row{
				Load: load, Proxy: proxy, CPU: stats.Summarize(cpu), Rate: stats.Summarize(rate), P99: stats.Summarize(p99),
				Ratios: map[string]float64{},
			}
			for _, other := range others {
				if theirs := samples[turns.Key{Load: load, Server: other}]; len(own) > 0 && len(theirs) == len(own) {
					row.Ratios[other] = medianRatio(own, theirs)
				}
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

// medianRatio returns the median of the ratios of processor times.
func medianRatio(of, by []sample) float64 {
	var ratios []float64
	for i := range of {
		ratios = append(ratios, stats.Ratio(of[i].cpu, by[i].cpu))
	}
	return stats.Median(ratios)
}

func (r *Report) markdown(opts options) string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Proxies", "each has one processor; the load, "+opts.time.String()+" each, and the server that answers have another",
		"medians; ratios of processor times are medians of the rounds' ratios")
	table := rig.Table{Header: []string{"connections", "proxy", "CPU µs a request"}}
	for _, other := range others {
		table.Header = append(table.Header, "÷ "+other)
	}
	table.Header = append(table.Header, "requests/s", "p99 µs")
	for _, row := range r.Rows {
		cells := []string{row.Load, row.Proxy, fmt.Sprintf("%.2f ±%.0f%%", row.CPU.Median, 100*row.CPU.Spread())}
		for _, other := range others {
			cells = append(cells, rig.Ratio{Value: row.Ratios[other]}.String())
		}
		table.Rows = append(table.Rows, append(cells, fmt.Sprintf("%.0f", row.Rate.Median), fmt.Sprintf("%.0f", row.P99.Median)))
	}
	b.WriteString("\n")
	table.Write(&b)
	for _, text := range r.Missing {
		fmt.Fprintf(&b, "\nNot measured: %s.\n", text)
	}
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}
