package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/valyala/fasthttp/bench/internal/binsize"
	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/compare"
	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/ws"
)

// results has all measurements. A part that was not measured is nil.
type results struct {
	Machine report.Machine    `json:"machine"`
	Date    string            `json:"date"`
	Short   map[string]bool   `json:"short"`  // parts measured in a short run
	Failed  map[string]string `json:"failed"` // parts that could not be measured, and why
	Missing []string          `json:"missing"`

	Rows     *report.Report   `json:"rows"`
	Varied   *tcp.Report      `json:"varied"` // over sockets
	TCP      *tcp.Report      `json:"tcp"`
	Slow     *tcp.SlowReport  `json:"slow"`
	Wait     *tcp.WaitReport  `json:"wait"`
	Files    *files.Report    `json:"files"`
	Idle     *idle.Report     `json:"idle"`
	IdleMany *idle.Report     `json:"idle_many"`
	Fill     *idle.FillReport `json:"fill"`
	Calls    *calls.Report    `json:"calls"`
	Size     *binsize.Report  `json:"size"`
	TLS      *tlsResults      `json:"tls"`
	HTTP2    *http2Results    `json:"http2"`
	WS       *ws.Report       `json:"ws"`
}

// empty reports whether nothing was measured.
func (r *results) empty() bool {
	return r.Rows == nil && r.Varied == nil && r.TCP == nil && r.Slow == nil && r.Wait == nil && r.Files == nil && r.Idle == nil &&
		r.IdleMany == nil && r.Fill == nil && r.Calls == nil && r.Size == nil && r.TLS == nil && r.HTTP2 == nil && r.WS == nil
}

// failures lists the failures of all parts.
func (r *results) failures() []string {
	var all []string
	for _, p := range parts {
		if why := r.Failed[p.name]; why != "" {
			all = append(all, p.name+": "+why)
		}
	}
	if r.Rows != nil {
		all = append(all, r.Rows.Failures...)
	}
	for _, loads := range []*tcp.Report{r.Varied, r.TCP} {
		if loads != nil {
			all = append(all, loads.Failures...)
		}
	}
	if r.Slow != nil {
		all = append(all, r.Slow.Failures...)
	}
	if r.Wait != nil {
		all = append(all, r.Wait.Failures...)
	}
	if r.Files != nil {
		all = append(all, r.Files.Failures...)
	}
	for _, m := range []*idle.Report{r.Idle, r.IdleMany} {
		if m != nil {
			all = append(all, m.Failures...)
		}
	}
	if r.Fill != nil {
		all = append(all, r.Fill.Failures...)
	}
	if r.Calls != nil {
		all = append(all, r.Calls.Failures...)
	}
	if r.TLS != nil {
		all = append(all, r.TLS.failures()...)
	}
	if r.HTTP2 != nil {
		all = append(all, r.HTTP2.failures()...)
	}
	if r.WS != nil {
		all = append(all, r.WS.Failures...)
	}
	return all
}

// part is a separate measurement.
type part struct {
	name     string
	estimate func(options) time.Duration
	measure  func(ctx context.Context, dir string, opts options, all *results, log progress.Log) error
}

// crowdProcs is how many processes hold the second crowd of idle connections. The first crowd
// has one process.
const crowdProcs = 8

// The duration of parts on an idle machine with two cores, besides the requested times: the
// number of runs in a round, and the extra time of each run.
const (
	benchRuns  = 372 // of a binary, one or two benchmarks in each
	benchSpare = 120 * time.Millisecond
	loadRuns   = 30
	loadSpare  = 500 * time.Millisecond
	slowRuns   = 12
	fileRuns   = 28
	waitSpare  = 300 * time.Millisecond
	crowdTime  = 12 * time.Second
	callRuns   = 12
	// fillTime is the time to fill a machine, without the time to open the connections. That
	// is estimated from a guessed number of connections and a rate.
	fillTime  = 2 * time.Minute
	fillConns = 2_000_000
	fillRate  = 3000
)

func loadEstimate(o options) time.Duration {
	return 5*time.Second + time.Duration(o.rounds)*loadRuns*(loadSpare+time.Duration(o.seconds)*time.Second)
}

// everything matches all rows.
var everything = regexp.MustCompile("")

var parts = []part{
	{"rows", func(o options) time.Duration {
		return 20*time.Second + time.Duration(o.rounds)*benchRuns*(benchSpare+3*benchtime(o.benchtime))
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Rows, _, err = compare.Measure(ctx, dir, compare.Options{Rounds: o.rounds, Benchtime: o.benchtime, Rows: o.rows, Modules: o.modules}, log)
		return err
	}},
	{"varied", loadEstimate, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		opts := tcpOptions(o)
		opts.Varied = true
		all.Varied, _, err = tcp.Measure(ctx, dir, opts, log)
		return err
	}},
	{"tcp", loadEstimate, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.TCP, _, err = tcp.Measure(ctx, dir, tcpOptions(o), log)
		return err
	}},
	{"slow", func(o options) time.Duration {
		return time.Duration(fewer(o)) * slowRuns * (loadSpare + time.Duration(o.seconds)*time.Second)
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		o.rounds = fewer(o)
		all.Slow, _, err = tcp.MeasureSlow(ctx, dir, tcpOptions(o), log)
		return err
	}},
	{"wait", func(o options) time.Duration {
		w := waitOptions(o)
		return 5*time.Second + time.Duration(w.Rounds*w.Runs())*(waitSpare+w.Time)
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Wait, _, err = tcp.MeasureWait(ctx, dir, waitOptions(o), log)
		return err
	}},
	{"files", func(o options) time.Duration {
		return 5*time.Second + time.Duration(fewer(o))*fileRuns*(loadSpare+time.Duration(o.seconds)*time.Second)
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Files, _, err = files.Measure(ctx, dir, files.Options{Rounds: fewer(o), Seconds: o.seconds, Pin: true, Rows: everything, Modules: o.modules}, log)
		return err
	}},
	{"idle", func(o options) time.Duration {
		return time.Duration(fewer(o)) * 4 * crowdTime
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Idle, _, err = idle.Measure(ctx, dir, idle.Options{Procs: 1, Rounds: fewer(o), Modules: o.modules}, log)
		return err
	}},
	{"crowd", func(o options) time.Duration {
		return time.Duration(fewer(o)) * 2 * crowdTime
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		many := idle.Options{Procs: crowdProcs, Rounds: fewer(o), Servers: []string{rig.Event}, Modules: o.modules}
		if o.short {
			many.Conns = 2000
		}
		all.IdleMany, _, err = idle.Measure(ctx, dir, many, log)
		return err
	}},
	{"fill", func(o options) time.Duration {
		return fillTime + time.Duration(cmp.Or(o.conns, fillConns))*time.Second/fillRate
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Fill, err = idle.Fill(ctx, dir, idle.FillOptions{Conns: o.conns, Modules: o.modules}, log)
		return err
	}},
	{"calls", func(o options) time.Duration {
		return 5*time.Second + time.Duration(o.rounds)*callRuns*(loadSpare+time.Duration(o.seconds)*time.Second)
	}, func(ctx context.Context, dir string, o options, all *results, log progress.Log) (err error) {
		all.Calls, _, err = calls.Measure(ctx, dir, calls.Options{Rounds: o.rounds, Seconds: o.seconds, Pin: true, Rows: everything}, log)
		return err
	}},
	{"tls", tlsEstimate, measureTLS},
	{"http2", http2Estimate, measureHTTP2},
	{"ws", wsEstimate, measureWS},
	{"size", func(options) time.Duration {
		return 8 * time.Second
	}, func(ctx context.Context, dir string, o options, all *results, _ progress.Log) (err error) {
		all.Size, err = binsize.Measure(ctx, dir, o.modules)
		return err
	}},
}

func tcpOptions(o options) tcp.Options {
	return tcp.Options{Rounds: o.rounds, Seconds: o.seconds, Pin: true, Rows: everything, Rate: 2000, Modules: o.modules}
}

// waitOptions select all loads. There are many runs, so each is short.
func waitOptions(o options) tcp.WaitOptions {
	w := tcp.WaitOptions{
		Rounds: fewer(o), Time: time.Second, Pin: true, Only: everything,
		Conns: tcp.WaitConns(), Procs: tcp.WaitProcs(), Servers: tcp.WaitServers, Modules: o.modules,
	}
	if o.short {
		w.Time = 200 * time.Millisecond
	}
	return w
}

// fewer is the number of rounds for measurements that hardly vary between rounds.
func fewer(o options) int { return min(o.rounds, 3) }

// benchtime is how long a benchmark runs; a number of operations is taken for
// half a second.
func benchtime(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return time.Second / 2
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// tools are the programs used for measurements, and the measurements that are missing without
// them.
var tools = []struct{ program, without string }{
	{"wrk", "The load generator wrk is not installed: there are no figures for servers over sockets. On Debian and Ubuntu: `sudo apt-get install wrk`."},
	{"h2load", "The load generator h2load is not installed: there are no figures for servers of HTTP/2 over sockets. On Debian and Ubuntu: `sudo apt-get install nghttp2-client`."},
	{"cc", "There is no C compiler (cc): the loop in C, which shows what the system calls alone cost, is missing. On Debian and Ubuntu: `sudo apt-get install gcc`."},
	{"nginx", "nginx is not installed: files are not compared with it. On Debian and Ubuntu: `sudo apt-get install nginx-light`."},
	{"taskset", "taskset is not installed: servers and load share their processors. On Debian and Ubuntu: `sudo apt-get install util-linux`."},
}

// missing lists the tools that are not installed.
func missing(look func(string) (string, error)) []string {
	var list []string
	for _, tool := range tools {
		_, err := look(tool.program)
		if err != nil {
			// not every user has the folder of daemons in PATH
			_, err = look("/usr/sbin/" + tool.program)
		}
		if err != nil {
			list = append(list, tool.without)
		}
	}
	if runtime.GOOS != "linux" {
		list = append(list, "This is not Linux: there are no figures for sockets and for idle connections.")
	}
	return list
}

// measure measures the requested parts. It records the failure of a part and continues
// with the others. It returns an error only if the session was interrupted.
func measure(ctx context.Context, dir string, opts options, all *results, bar *progress.Bar) error {
	all.Missing = missing(exec.LookPath)
	for _, what := range all.Missing {
		bar.Note(what)
	}
	if len(opts.parts) == 0 {
		return nil
	}
	all.Machine = rig.Host()
	all.Date = time.Now().UTC().Format("2006-01-02 15:04 MST")
	if all.Short == nil {
		all.Short, all.Failed = map[string]bool{}, map[string]string{}
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(opts.parts, p.name) {
			chosen = append(chosen, p)
			bar.Expect(p.name, p.estimate(opts))
		}
	}
	for _, p := range chosen {
		bar.Next()
		err := p.measure(ctx, dir, opts, all, bar)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		delete(all.Failed, p.name)
		if err != nil && !errors.Is(err, tcp.ErrNoWrk) && !errors.Is(err, files.ErrNoWrk) {
			all.Failed[p.name] = err.Error()
			bar.Note(fmt.Sprintf("%s: FAILED: %v", p.name, err))
		}
		all.Short[p.name] = opts.short
	}
	bar.Next()
	return nil
}
