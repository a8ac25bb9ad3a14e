// Package ws measures WebSocket servers over loopback sockets: the libraries of the program in
// servers/websocket, and a loop in C that checks nothing. Start with Measure.
package ws

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

// Options select the servers, and the size of the rows with many sockets.
type Options struct {
	Conns   int // sockets of the rows with many
	Servers *regexp.Regexp
}

// load is one row.
type load struct {
	name string
	wsload.Load
	times int // the length of a run, as a multiple of the usual one; 0 is 1
}

func (l load) Row() study.Row {
	row := study.Row{Name: l.name}
	if l.Kind == wsload.Idle {
		row.Kind = study.IdleRow
	}
	return row
}

// IsFor implements study.Picky. The loop in C does not speak TLS.
func (l load) IsFor(server *rig.Server) bool { return !l.TLS || server.Name != rig.WebSocketFloor }

const (
	smallSize = 125 // bytes; the largest message with the shortest header
	largeSize = 64 << 10

	tlsConns = 1000 // idle sockets over TLS, which take longer to open
)

// Of the broadcasts beside a socket that does not read: the buffers of the kernel for it are
// full within a second.
const (
	deafSize  = 16 << 10
	deafRate  = 10 // messages a second, so that slow servers keep up
	deafConns = 1000
	deafTimes = 3
)

// loads returns all rows. conns is the number of sockets of the rows with many.
func loads(conns int) []load {
	echo := func(name string, n int, change func(*wsload.Load)) load {
		l := load{name: fmt.Sprintf("echo of 125 B, %d sockets%s", n, name), Load: wsload.Load{Kind: wsload.Echo, Conns: n, Size: smallSize, Depth: 1}}
		if change != nil {
			change(&l.Load)
		}
		return l
	}
	large := echo("", 64, func(l *wsload.Load) { l.Size = largeSize })
	large.name = "echo of 64 KiB, 64 sockets"
	secure := min(conns, tlsConns)
	return []load{
		echo("", 64, nil),
		echo("", 1000, nil),
		echo(", 16 messages in flight on each", 64, func(l *wsload.Load) { l.Depth = 16 }),
		large,
		{name: fmt.Sprintf("broadcast of 125 B to %d sockets", conns), Load: wsload.Load{Kind: wsload.Broadcast, Conns: conns, Size: smallSize}},
		{name: fmt.Sprintf("%d idle sockets", conns), Load: wsload.Load{Kind: wsload.Idle, Conns: conns, Size: smallSize}},
		{name: fmt.Sprintf("%d idle sockets over TLS", secure), Load: wsload.Load{Kind: wsload.Idle, Conns: secure, Size: smallSize, TLS: true}},
		{
			name:  fmt.Sprintf("broadcast of 16 KiB to %d sockets, 1 of which does not read", deafConns),
			Load:  wsload.Load{Kind: wsload.Broadcast, Conns: min(conns, deafConns-1), Size: deafSize, Rate: deafRate, Deaf: true},
			times: deafTimes,
		},
	}
}

// The figures of messages, and of idle sockets.
const (
	rate       = "messages/s"
	CPUs       = "CPU µs/message"
	allocs     = "allocs/message"
	longest    = "longest µs"
	loadCPU    = "load's CPU µs"
	Resident   = "resident B/socket"
	goroutines = "goroutines/socket"
)

// Kind is the kind of these measurements.
var Kind = &study.Kind{
	Name: "ws", Title: "WebSocket servers over loopback sockets", Client: "load", Overview: []string{""}, TLS: true,
	Note: "CPU is the server's processor time for a message, user and system; a message that is broadcast counts once for each\n" +
		"socket. In the ratios less than 1 is better for the server of the line.\n",
	Columns: []study.Column{
		{Figure: rate, Spread: true},
		{Figure: CPUs, Digits: 2, Spread: true},
		{Figure: CPUs, Title: "least", Digits: 2, Least: true},
		{Figure: allocs, Digits: 2},
		{Figure: study.P50, Spread: true},
		{Figure: study.P99, Spread: true},
		{Figure: longest},
		{Figure: loadCPU, Digits: 2},
		{Figure: CPUs, Title: "CPU ÷ " + rig.FasthttpWebSocket, To: rig.FasthttpWebSocket},
		{Figure: CPUs, Title: "CPU ÷ C loop", To: rig.WebSocketFloor},
	},
	Idle: []study.Column{
		{Figure: Resident, Spread: true},
		{Figure: goroutines, Digits: 2},
		{Figure: Resident, Title: "÷ " + rig.FasthttpWebSocket, To: rig.FasthttpWebSocket},
		{Figure: Resident, Title: "÷ C loop", To: rig.WebSocketFloor},
	},
	More: func(r *study.Report) (lines []string) {
		for _, name := range r.Servers {
			lines = append(lines, name+": "+r.Versions[name])
		}
		return lines
	},
}

const (
	// spareFiles is how many descriptors a process needs besides its sockets.
	spareFiles = 500
	// warmTime is how long messages are sent before they count.
	warmTime = 300 * time.Millisecond
)

// Measure builds the servers, and measures them. The program must have called wsload.Main.
func (opts Options) Measure(ctx context.Context, s *study.Study) (r *study.Report, err error) {
	if most := max(1, s.Limit-spareFiles); opts.Conns > most {
		s.Miss(fmt.Sprintf("%d sockets instead of %d, since a process may have only %d files open", most, opts.Conns, s.Limit))
		opts.Conns = most
	}
	s.Log.Note("building the servers")
	if s.Servers, err = rig.BuildWebSocket(ctx, s.Dir, s.Temp); err != nil {
		return nil, err
	}
	s.Add(rig.BuildWebSocketFloor(ctx, s.Dir, s.Temp))
	s.Servers = slices.DeleteFunc(s.Servers, func(server *rig.Server) bool { return !opts.Servers.MatchString(server.Name) })
	if len(s.Servers) == 0 {
		return nil, fmt.Errorf("no server matches %q", opts.Servers)
	}
	r, err = study.Measure(ctx, s, loads(opts.Conns), func(ctx context.Context, l load, server *rig.Server) (study.Figures, error) {
		settings := rig.Settings{Mode: serving.Plain}
		if l.TLS {
			settings.Identity = s.Identity
		}
		return s.With(ctx, server, settings, func(process *rig.Process) (study.Figures, error) {
			l.Addr, l.Warm, l.Time = process.Addr, warmTime, time.Duration(s.Seconds*max(1, l.times))*time.Second
			p := probe{Process: process, counts: server.Name != rig.WebSocketFloor}
			if l.Kind == wsload.Idle {
				return hold(ctx, s, l, p)
			}
			return exchange(ctx, s, l, p)
		})
	})
	if err == nil {
		r.TLS = false
	}
	return r, err
}

// exchange measures a load with messages.
func exchange(ctx context.Context, s *study.Study, l load, p probe) (got study.Figures, err error) {
	sockets, err := wsload.Start(ctx, s.ClientPlace, l.Load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sockets.Stop()) }()
	before, err := p.allocs(ctx)
	if err != nil {
		return nil, err
	}
	var r wsload.Result
	cpu, err := study.CPU(p, func() (n int, err error) {
		r, err = sockets.Run(ctx)
		return r.Messages, err
	})
	if err != nil {
		return nil, err
	}
	after, err := p.allocs(ctx)
	n := float64(r.Messages)
	return study.Figures{
		rate: n / r.Took.Seconds(), CPUs: cpu, loadCPU: study.Micros(r.CPU) / n, allocs: (after - before) / n,
		study.P50: study.Micros(r.P50), study.P99: study.Micros(r.P99), longest: study.Micros(r.Longest),
	}, err
}

// warmConns is how many sockets load the code of a server into memory, so that the measured
// sockets do not include it.
const warmConns = 8

// hold measures idle sockets.
func hold(ctx context.Context, s *study.Study, l load, p probe) (got study.Figures, err error) {
	few := l.Load
	few.Conns = warmConns
	first, err := wsload.Start(ctx, s.ClientPlace, few)
	if err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	defer func() { err = errors.Join(err, first.Stop()) }()
	before, goroutinesBefore, err := p.settled(ctx)
	if err != nil {
		return nil, err
	}
	all, err := wsload.Start(ctx, s.ClientPlace, l.Load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.Stop()) }()
	after, goroutinesAfter, err := p.settled(ctx)
	n := float64(l.Conns)
	return study.Figures{Resident: (after - before) / n, goroutines: (goroutinesAfter - goroutinesBefore) / n}, err
}

// probe asks a server for its figures.
type probe struct {
	*rig.Process
	counts bool // it answers such questions, since it is written in Go
}

// allocs returns how often the server has allocated memory, or NaN.
func (p probe) allocs(ctx context.Context) (float64, error) {
	if !p.counts {
		return math.NaN(), nil
	}
	counts, err := p.Counts(ctx)
	return float64(counts.Allocs), err
}

// settled returns the resident bytes and the goroutines of a server, after garbage collections.
// It asks a few times and takes the lowest figures: the server may have work left. Without
// goroutines the number is NaN.
func (p probe) settled(ctx context.Context) (resident, goroutines float64, err error) {
	const times, pause = 4, 250 * time.Millisecond
	resident, goroutines = math.Inf(1), math.NaN()
	for range times {
		var bytes int64
		if p.counts {
			u, err := p.Usage(ctx)
			if err != nil {
				return 0, 0, err
			}
			bytes = u.Resident
			if n := float64(u.Goroutines); math.IsNaN(goroutines) || n < goroutines {
				goroutines = n
			}
		} else if bytes, err = p.Resident(); err != nil {
			return 0, 0, err
		}
		resident = min(resident, float64(bytes))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	return resident, goroutines, nil
}
