package main

import (
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
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/wrk"
	"github.com/valyala/fasthttp/bench/internal/ws"
)

// results has all measurements. A part that was not measured is nil.
type results struct {
	Machine report.Machine    `json:"machine"`
	Date    string            `json:"date"`
	Short   map[string]bool   `json:"short"`  // parts measured in a short run
	Failed  map[string]string `json:"failed"` // parts that could not be measured, and why
	Missing []string          `json:"missing"`

	Rows *report.Report   `json:"rows"`
	Fill *idle.FillReport `json:"fill"`
	Size *binsize.Report  `json:"size"`
	// Sockets has the measurements over sockets by their names in studies.
	Sockets map[string]*study.Report `json:"sockets"`
}

// empty reports whether nothing was measured.
func (r *results) empty() bool {
	return r.Rows == nil && r.Fill == nil && r.Size == nil && len(r.Sockets) == 0
}

// failures lists the failures of all parts.
func (r *results) failures() (all []string) {
	for _, p := range parts {
		if why := r.Failed[p.name]; why != "" {
			all = append(all, p.name+": "+why)
		}
	}
	if r.Rows != nil {
		all = append(all, r.Rows.Failures...)
	}
	for _, s := range studies {
		if got := r.Sockets[s.name]; got != nil {
			all = append(all, got.Failures...)
		}
	}
	if r.Fill != nil {
		all = append(all, r.Fill.Failures...)
	}
	return all
}

// lacking lists the servers and tools that were not installed.
func (r *results) lacking() []string {
	all := slices.Clone(r.Missing)
	for _, s := range studies {
		if got := r.Sockets[s.name]; got != nil {
			for _, what := range got.Missing {
				if what = s.label + what; !slices.Contains(all, what) {
					all = append(all, what)
				}
			}
		}
	}
	return all
}

// The names of the measurements over sockets.
const (
	varied     = "varied"
	repeated   = "tcp"
	slow       = "slow"
	wait       = "wait"
	file       = "files"
	idleOne    = "idle"
	idleMany   = "crowd"
	call       = "calls"
	tlsLoads   = "tls"
	handshakes = "tls-handshakes"
	flood      = "tls-flood"
	tlsFiles   = "tls-files"
	tlsIdle    = "tls-idle"
	http2      = "http2"
	http2TLS   = "http2-tls"
	http2Idle  = "http2-idle"
	webSocket  = "ws"
)

// measuring is a measurement over sockets.
type measuring struct {
	part, name string
	label      string // of missing tools
	few        bool   // its figures hardly vary between rounds
	tls        bool
	kind       *study.Kind
	measure    func(short bool) study.Measurer
}

// always is for measurements that are the same in short runs.
func always(measure study.Measurer) func(bool) study.Measurer {
	return func(bool) study.Measurer { return measure }
}

// holding measures idle connections.
func holding(opts idle.Options, shortConns int) func(bool) study.Measurer {
	return func(short bool) study.Measurer {
		opts := opts
		if short {
			opts.Conns = shortConns
		}
		return opts.Measure
	}
}

// waiting measures handlers that wait.
func waiting(short bool) study.Measurer {
	lasts := time.Second
	if short {
		lasts = 200 * time.Millisecond
	}
	return func(ctx context.Context, s *study.Study) (*study.Report, error) {
		return tcp.MeasureWait(ctx, s, lasts)
	}
}

// sockets measures WebSocket servers.
func sockets(short bool) study.Measurer {
	opts := ws.Options{Conns: 10_000, Servers: regexp.MustCompile("")}
	if short {
		opts.Conns = 2000
	}
	return opts.Measure
}

var studies = []measuring{
	{part: "varied", name: varied, kind: tcp.Varied, measure: always(tcp.MeasureVaried)},
	{part: "tcp", name: repeated, kind: tcp.Repeated, measure: always(tcp.Measure)},
	{part: "slow", name: slow, few: true, kind: tcp.Slow, measure: always(tcp.MeasureSlow)},
	{part: "wait", name: wait, few: true, kind: tcp.Wait, measure: waiting},
	{part: "files", name: file, few: true, kind: files.Kind, measure: always(files.Measure)},
	{part: "idle", name: idleOne, few: true, kind: idle.Kind(idle.HTTP1), measure: holding(idle.Options{Procs: 1, Speaks: idle.HTTP1}, 0)},
	{
		part: "crowd", name: idleMany, few: true, kind: idle.Kind(idle.HTTP1),
		measure: holding(idle.Options{Procs: idle.ManyProcs, Speaks: idle.HTTP1, Servers: []string{rig.Event}}, 2000),
	},
	{part: "calls", name: call, label: "Clients of HTTP/2: ", kind: calls.Kind, measure: always(calls.Measure)},
	{part: "tls", name: tlsLoads, label: "TLS: ", tls: true, kind: tcp.OverTLS, measure: always(tcp.Measure)},
	{part: "tls", name: handshakes, label: "TLS: ", few: true, kind: tcp.Handshakes, measure: always(tcp.MeasureHandshakes)},
	{part: "tls", name: flood, label: "TLS: ", few: true, kind: tcp.Flood, measure: always(tcp.MeasureFlood)},
	{part: "tls", name: tlsFiles, label: "TLS: ", few: true, tls: true, kind: files.Kind, measure: always(files.Measure)},
	{part: "tls", name: tlsIdle, label: "TLS: ", few: true, kind: idle.Kind(idle.TLS), measure: holding(idle.Options{Procs: 1, Speaks: idle.TLS}, 2000)},
	{part: "http2", name: http2, label: "HTTP/2: ", kind: h2load.Kind, measure: always(h2load.Measure)},
	{part: "http2", name: http2TLS, label: "HTTP/2: ", few: true, tls: true, kind: h2load.Kind, measure: always(h2load.Measure)},
	{part: "http2", name: http2Idle, label: "HTTP/2: ", few: true, kind: idle.Kind(idle.HTTP2), measure: holding(idle.Options{Procs: 1, Speaks: idle.HTTP2}, 2000)},
	{part: "ws", name: webSocket, label: "WebSocket: ", few: true, kind: ws.Kind, measure: sockets},
}

// fewRounds is the most rounds of measurements that hardly vary between rounds.
const fewRounds = 3

// part is a separate measurement. A part without functions is a study.
type part struct {
	name    string
	measure func(ctx context.Context, dir string, opts options, all *results, log *progress.Log) error
}

var parts = []part{
	{"rows", func(ctx context.Context, dir string, o options, all *results, log *progress.Log) (err error) {
		all.Rows, err = compare.Measure(ctx, dir, compare.Options{Rounds: o.rounds, Benchtime: o.benchtime, Rows: o.rows, Modules: o.modules}, log)
		return err
	}},
	{name: "varied"}, {name: "tcp"}, {name: "slow"}, {name: "wait"}, {name: "files"}, {name: "idle"}, {name: "crowd"},
	{"fill", func(ctx context.Context, dir string, o options, all *results, log *progress.Log) (err error) {
		all.Fill, err = idle.Fill(ctx, dir, idle.FillOptions{Conns: o.conns, Modules: o.modules}, log)
		return err
	}},
	{name: "calls"}, {name: "tls"}, {name: "http2"}, {name: "ws"},
	{"size", func(ctx context.Context, dir string, o options, all *results, _ *progress.Log) (err error) {
		all.Size, err = binsize.Measure(ctx, dir, o.modules)
		return err
	}},
}

// run measures the part. If one of its measurements fails, it continues with the next.
func (p part) run(ctx context.Context, dir string, o options, all *results, log *progress.Log) error {
	if p.measure != nil {
		return p.measure(ctx, dir, o, all, log)
	}
	var errs []error
	for _, s := range studies {
		if s.part != p.name {
			continue
		}
		opts := study.Options{Rounds: o.rounds, Seconds: o.seconds, Pin: true, TLS: s.tls, Modules: o.modules}
		if s.few {
			opts.Rounds = min(o.rounds, fewRounds)
		}
		r, err := study.Run(ctx, dir, s.kind, opts, log, s.measure(o.short))
		if err == nil {
			all.Sockets[s.name] = r
		} else if !errors.Is(err, wrk.ErrMissing) && !errors.Is(err, h2load.ErrMissing) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
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
func measure(ctx context.Context, dir string, opts options, all *results, log *progress.Log) error {
	all.Missing = missing(exec.LookPath)
	for _, what := range all.Missing {
		log.Note(what)
	}
	if len(opts.parts) == 0 {
		return nil
	}
	all.Machine = rig.Host()
	all.Date = time.Now().UTC().Format("2006-01-02 15:04 MST")
	if all.Short == nil {
		all.Short, all.Failed = map[string]bool{}, map[string]string{}
	}
	if all.Sockets == nil {
		all.Sockets = map[string]*study.Report{}
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(opts.parts, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, p := range chosen {
		log.Note("part " + p.name)
		err := p.run(ctx, dir, opts, all, log)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		delete(all.Failed, p.name)
		if err != nil {
			all.Failed[p.name] = err.Error()
			log.Note(fmt.Sprintf("%s: FAILED: %v", p.name, err))
		}
		all.Short[p.name] = opts.short
	}
	return nil
}
