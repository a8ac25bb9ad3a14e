package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
)

// tlsResults has all measurements over TLS. A missing one is nil.
type tlsResults struct {
	Loads      *tcp.Report          `json:"loads"`
	Handshakes *tcp.HandshakeReport `json:"handshakes"`
	Flood      *tcp.FloodReport     `json:"flood"`
	Files      *files.Report        `json:"files"`
	Idle       *idle.Report         `json:"idle"`
}

// failures lists the failures.
func (r *tlsResults) failures() []string {
	var all []string
	if r.Loads != nil {
		all = append(all, r.Loads.Failures...)
	}
	if r.Handshakes != nil {
		all = append(all, r.Handshakes.Failures...)
	}
	if r.Flood != nil {
		all = append(all, r.Flood.Failures...)
	}
	if r.Files != nil {
		all = append(all, r.Files.Failures...)
	}
	if r.Idle != nil {
		all = append(all, r.Idle.Failures...)
	}
	return all
}

// missing lists the servers and tools that were not installed. The flood needs no others than
// the handshakes.
func (r *tlsResults) missing() []string {
	var all []string
	if r.Loads != nil {
		all = append(all, r.Loads.Missing...)
	}
	if r.Handshakes != nil {
		all = append(all, r.Handshakes.Missing...)
	}
	if r.Files != nil {
		all = append(all, r.Files.Missing...)
	}
	for i, what := range all {
		all[i] = "TLS: " + what
	}
	return all
}

// How many runs there are over TLS in a round.
const (
	tlsLoadRuns  = 15
	tlsShakeRuns = 10
	tlsFloodRuns = 12
	tlsFileRuns  = 8
	// tlsFloodSpare is how much longer than requested a flood takes: it must start, and the
	// server must report its memory.
	tlsFloodSpare = 2 * time.Second
)

func tlsEstimate(o options) time.Duration {
	run := loadSpare + time.Duration(o.seconds)*time.Second
	return 10*time.Second + time.Duration(o.rounds)*tlsLoadRuns*run +
		time.Duration(fewer(o))*((tlsShakeRuns+tlsFileRuns)*run+tlsFloodRuns*(run+tlsFloodSpare)+4*crowdTime)
}

// measureTLS makes all measurements over TLS. If one fails, it continues with the next.
func measureTLS(ctx context.Context, dir string, o options, all *results, log progress.Log) error {
	r := new(tlsResults)
	all.TLS = r
	var errs []error
	check := func(err error) {
		if err != nil && !errors.Is(err, tcp.ErrNoWrk) && !errors.Is(err, files.ErrNoWrk) {
			errs = append(errs, err)
		}
	}
	opts := tcpOptions(o)
	opts.TLS = true
	var err error
	r.Loads, _, err = tcp.Measure(ctx, dir, opts, log)
	check(err)
	opts.Rounds = fewer(o)
	r.Handshakes, _, err = tcp.MeasureHandshakes(ctx, dir, opts, log)
	check(err)
	r.Flood, _, err = tcp.MeasureFlood(ctx, dir, opts, log)
	check(err)
	r.Files, _, err = files.Measure(ctx, dir, files.Options{
		Rounds: fewer(o), Seconds: o.seconds, Pin: true, TLS: true, Rows: everything, Modules: o.modules,
	}, log)
	check(err)
	held := idle.Options{Procs: 1, Rounds: fewer(o), Speaks: idle.TLS, Modules: o.modules}
	if o.short {
		held.Conns = 2000
	}
	r.Idle, _, err = idle.Measure(ctx, dir, held, log)
	check(err)
	return errors.Join(errs...)
}

// The goals over TLS.
const (
	tlsCPUMost   = 0.85
	tlsFilesMost = 1.05
)

// tlsConns are the numbers of connections of the loads over TLS.
var tlsConns = []int{1, 64, 512}

// tlsGoals judges the goals for TLS.
func tlsGoals(r *tlsResults) []goal {
	if r == nil {
		r = new(tlsResults)
	}
	var all []goal
	for _, conns := range tlsConns {
		g := goal{
			id:   fmt.Sprintf("tls-cpu-%d", conns),
			text: fmt.Sprintf("TLS, %s: processor time for a request at most %.2f of upstream's", rig.Plural(conns, "connection"), tlsCPUMost),
		}
		if row := loadOf(r.Loads, tcp.Steady, conns); row != nil {
			if m := row.Of(rig.Event); m != nil && m.CPURatio.Value > 0 {
				g.met, g.figure = m.CPURatio.Value <= tlsCPUMost, fmt.Sprintf("%.2f", m.CPURatio.Value)
			}
			if m := row.Of(rig.Nginx); m != nil && m.CPURatio.Value > 0 && g.figure != "" {
				g.figure += fmt.Sprintf(" (nginx: %.2f)", m.CPURatio.Value)
			}
		}
		all = append(all, g)
	}
	for _, kind := range []struct {
		id, text string
		kind     tlsload.Kind
	}{{"tls-handshakes", "full ones", tlsload.Full}, {"tls-resumed", "resumed ones", tlsload.Resumed}} {
		g := goal{id: kind.id, text: fmt.Sprintf("TLS handshakes a second at least those of net/http: %s", kind.text)}
		if r.Handshakes != nil {
			if m := r.Handshakes.Of(kind.kind, rig.Event); m != nil && m.RateToNetHTTP.Value > 0 {
				g.met = m.Fast()
				g.figure = fmt.Sprintf("%.2f (processor time for each: %.2f)", m.RateToNetHTTP.Value, m.CPUToNetHTTP.Value)
			}
		}
		all = append(all, g)
	}
	return append(append(all, tlsFileGoal(r.Files)), append(tlsIdleGoals(r.Idle), tlsFloodGoals(r.Flood)...)...)
}

// tlsFileGoal combines the goals for all sizes.
func tlsFileGoal(r *files.Report) goal {
	g := goal{id: "tls-files", text: fmt.Sprintf("Files over TLS: processor time of server and client at most %.2f of that with upstream", tlsFilesMost)}
	if r == nil || len(r.Goals) == 0 {
		return g
	}
	g.met = true
	var figures []string
	for _, of := range r.Goals {
		g.met = g.met && of.Met
		figures = append(figures, fmt.Sprintf("%s %.2f", of.Row, of.Both.Value))
	}
	g.figure = strings.Join(figures, ", ")
	return g
}

func tlsIdleGoals(r *idle.Report) []goal {
	memory := goal{id: "tls-idle", text: fmt.Sprintf("Idle connection over TLS: at most %d bytes of heap and stacks", idle.TLSGoal)}
	goroutines := goal{id: "tls-idle-goroutines", text: "Idle connection over TLS: no goroutine"}
	if m := idleOf(r, rig.Event); m != nil {
		memory.figure, memory.met = fmt.Sprintf("%.0f bytes, %d connections", m.InUse(), r.Conns), m.InUse() <= idle.TLSGoal
		goroutines.figure, goroutines.met = fmt.Sprintf("%.2f", m.Goroutines.Median), m.Goroutines.Median <= spareGoroutines
	}
	return []goal{memory, goroutines}
}

func tlsFloodGoals(r *tcp.FloodReport) []goal {
	late := goal{id: "tls-flood", text: fmt.Sprintf("p99 of established connections over TLS at most %d× beside half-open handshakes", tcp.FloodMost)}
	memory := goal{id: "tls-flood-memory", text: fmt.Sprintf("Half-open handshake: at most %d bytes of heap and stacks", tcp.HalfOpenMost)}
	if r == nil {
		return []goal{late, memory}
	}
	if m := r.Of(rig.Event, tlsload.HalfOpen); m != nil {
		if m.P99Ratio.Value > 0 {
			late.figure, late.met = fmt.Sprintf("%.2f×", m.P99Ratio.Value), m.P99Ratio.Value <= tcp.FloodMost
		}
		memory.figure, memory.met = fmt.Sprintf("%.0f bytes, %.0f connections", m.Memory.Median, m.Held.Median), m.Bounded()
	}
	return []goal{late, memory}
}

// writeTLS writes the measurements over TLS.
func (p *page) writeTLS(b *strings.Builder) {
	hasRows := p.Rows != nil && slices.ContainsFunc(p.Rows.Rows, func(row *report.Row) bool { return report.Group(row.Name) == report.TLSServers })
	r := p.TLS
	if r == nil {
		r = new(tlsResults)
	}
	if !hasRows && r.Loads == nil && r.Handshakes == nil && r.Flood == nil && r.Files == nil && r.Idle == nil {
		return
	}
	b.WriteString("\n## TLS\n\n" +
		"All servers have the same certificate of ECDSA on P-256, and speak TLS 1.3 with X25519 and AES-128-GCM.\n")
	if r.Loads != nil {
		b.WriteString("\nwrk over connections that it keeps. The handshakes of a run are a part of the processor time.\n")
		r.Loads.WriteTables(b, "###")
	}
	if hasRows {
		b.WriteString("\n### Server and client in one process\n\n" +
			"A client of crypto/tls sends a request on each of eight connections, and then reads the responses. It takes about as much\n" +
			"as the server, in all columns.\n")
		p.Rows.WriteTables(b, "####", report.TLSServers)
	}
	if r.Handshakes != nil {
		b.WriteString("\n### New connections\n\n" +
			"A client connects, performs a handshake, sends one request, and waits for the end of the connection.\n")
		r.Handshakes.WriteTables(b, "####")
	}
	if r.Flood != nil {
		b.WriteString("\n### Beside floods\n\n" +
			"The requests of established connections beside clients that send half of a ClientHello and nothing more, or whole ones\n" +
			"as fast as they go.\n")
		r.Flood.WriteTable(b)
	}
	if r.Files != nil {
		b.WriteString("\n### Files\n\nCPU is the server's processor time for a request; \"with wrk\" that of the client is added.\n")
		r.Files.WriteTables(b, "####")
	}
	if r.Idle != nil {
		fmt.Fprintf(b, "\n### Idle connections\n\n%s connections after one request each.\n", thousands(r.Idle.Conns))
		r.Idle.WriteTable(b)
	}
}
