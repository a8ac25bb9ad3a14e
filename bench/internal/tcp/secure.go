package tcp

import (
	"context"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
)

// secure is a load on servers with TLS, which a function measures.
type secure struct {
	name string
	tlsload.Load
}

func (l secure) Row() study.Row { return study.Row{Name: l.name} }

// measureSecure runs loads on servers with TLS. The program must call tlsload.Main before
// anything else.
func measureSecure(ctx context.Context, s *study.Study, loads []secure, measure func(secure, *rig.Process) (study.Figures, error)) (*study.Report, error) {
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	return study.Measure(ctx, s, loads, func(ctx context.Context, l secure, server *rig.Server) (study.Figures, error) {
		return s.With(ctx, server, rig.Settings{Mode: serving.Plain, Identity: s.Identity}, func(process *rig.Process) (study.Figures, error) {
			if err := warmUp(process.Addr, load{tls: true}); err != nil {
				return nil, fmt.Errorf("warming up: %w", err)
			}
			l.Addr = process.Addr
			return measure(l, process)
		})
	})
}

// shakes are the rows of handshakes: clients at the same time, and how long they do that before
// it counts.
var shakes = []secure{
	{string(tlsload.Full), tlsload.Load{Kind: tlsload.Full, Conns: 32, Warm: 300 * time.Millisecond}},
	{string(tlsload.Resumed), tlsload.Load{Kind: tlsload.Resumed, Conns: 32, Warm: 300 * time.Millisecond}},
}

// The figures of handshakes.
const (
	shakeRate = "handshakes/s"
	shakeCPU  = "CPU µs/handshake"
)

// Handshakes is the kind of new connections.
var Handshakes = &study.Kind{
	Name: "tcp-handshakes", Title: "New connections over TLS", Client: "clients", Goals: HandshakeGoals, TLS: true,
	Note: "A client connects, performs a handshake of TLS 1.3 (X25519, AES-128-GCM, a certificate of ECDSA on P-256), sends one\n" +
		"request, and waits until the server ends the connection. CPU is the server's processor time for all of that.\n",
	Columns: []study.Column{
		{Figure: shakeRate, Spread: true},
		{Figure: shakeCPU, Digits: 1, Spread: true},
		{Figure: study.P99, Spread: true},
		{Figure: shakeRate, Title: "handshakes/s ÷ net/http", To: rig.NetHTTP},
		{Figure: shakeCPU, Title: "CPU ÷ net/http", To: rig.NetHTTP},
		{Figure: shakeCPU, Title: "CPU ÷ upstream", To: rig.Upstream},
	},
}

// HandshakeGoals judges the event engine. The report may be nil.
func HandshakeGoals(r *study.Report) []study.Goal {
	all := []study.Goal{
		{ID: "tls-handshakes", Text: "TLS handshakes a second at least those of net/http: full ones"},
		{ID: "tls-resumed", Text: "TLS handshakes a second at least those of net/http: resumed ones"},
	}
	for i := range all {
		row := r.Named(shakes[i].name)
		ratio := row.Ratio(shakeRate, rig.Event, rig.NetHTTP)
		all[i].Judge(ratio, ratio.Value >= 1 || ratio.Overlaps, "%.2f (processor time for each: %.2f)",
			ratio.Value, row.Ratio(shakeCPU, rig.Event, rig.NetHTTP).Value)
	}
	return all
}

// MeasureHandshakes measures new connections over TLS.
func MeasureHandshakes(ctx context.Context, s *study.Study) (*study.Report, error) {
	s.Add(rig.NewNginx(ctx, s.Temp, rig.HelloSite()))
	return measureSecure(ctx, s, shakes, func(l secure, process *rig.Process) (study.Figures, error) {
		l.Time = time.Duration(s.Seconds) * time.Second
		var r tlsload.Result
		cpu, err := study.CPU(process, func() (n int, err error) {
			r, err = tlsload.Run(ctx, s.ClientPlace, l.Load)
			return r.Done, err
		})
		return study.Figures{shakeRate: r.Rate, shakeCPU: cpu, study.P99: study.Micros(r.P99)}, err
	})
}

// halfOpenConns is how many half-open handshakes there are.
const halfOpenConns = 5000

// floods are the rows of hostile clients beside established ones. The first has none; the others
// are compared with it.
var floods = []secure{
	{name: "none"},
	{fmt.Sprintf("%d half-open handshakes, 1000 new a second", halfOpenConns), tlsload.Load{Kind: tlsload.HalfOpen, Conns: halfOpenConns, Rate: 1000}},
	{fmt.Sprintf("%s from 256 clients", tlsload.Hellos), tlsload.Load{Kind: tlsload.Hellos, Conns: 256}},
}

// The established clients, whose requests are measured.
const (
	establishedConns = 64
	establishedRate  = 1000
)

// The figures of floods.
const (
	floodRate   = "flood/s"
	heldOpen    = "held open"
	bytesOfEach = "bytes for each"
	residents   = "resident"
)

// Flood is the kind of established connections beside floods.
var Flood = &study.Kind{
	Name: "tcp-flood", Title: "Established connections over TLS beside floods", Client: "clients and flood", One: new("flood"), Goals: FloodGoals, TLS: true,
	Note: fmt.Sprintf("Latencies are those of %d requests/s over %d established connections. The flood is a process of its own with a low\n"+
		"priority. A half-open handshake is a connection on which half of a ClientHello has come, and nothing more; the oldest is\n"+
		"dropped for a new one. Memory is heap and stacks, after garbage collection.\n", establishedRate, establishedConns),
	Columns: []study.Column{
		{Figure: floodRate},
		{Figure: study.P50, Spread: true},
		{Figure: study.P99, Spread: true},
		{Figure: study.P99, Title: "p99 ÷ without", ToRow: true},
		{Figure: heldOpen},
		{Figure: bytesOfEach},
		{Figure: residents, Digits: 1, Share: 1. / (1 << 20)},
	},
}

// The goals for the event engine beside half-open handshakes: the factor by which the p99 of
// established connections may grow, how many bytes of heap and stacks it may hold for each, and
// which share of them the server must hold.
const (
	floodMost    = 2
	halfOpenMost = 2 << 10
	heldLeast    = 0.9
)

// FloodGoals judges the event engine. The report may be nil.
func FloodGoals(r *study.Report) []study.Goal {
	late := study.Goal{ID: "tls-flood", Text: fmt.Sprintf("p99 of established connections over TLS at most %d× beside half-open handshakes", floodMost)}
	memory := study.Goal{ID: "tls-flood-memory", Text: fmt.Sprintf("Half-open handshake: at most %d bytes of heap and stacks", halfOpenMost)}
	row := r.Named(floods[1].name)
	ratio := rig.NewRatio(row.Get(rig.Event, study.P99), r.Named(floods[0].name).Get(rig.Event, study.P99))
	late.Judge(ratio, ratio.Value <= floodMost, "%.2f×", ratio.Value)
	if row.Of(rig.Event) != nil {
		each, held := row.Get(rig.Event, bytesOfEach).Median, row.Get(rig.Event, heldOpen).Median
		memory.Figure = fmt.Sprintf("%.0f bytes, %.0f connections", each, held)
		memory.Met = each <= halfOpenMost && held >= heldLeast*halfOpenConns
	}
	return []study.Goal{late, memory}
}

// MeasureFlood measures established connections over TLS beside floods.
func MeasureFlood(ctx context.Context, s *study.Study) (*study.Report, error) {
	return measureSecure(ctx, s, floods, func(l secure, process *rig.Process) (study.Figures, error) {
		before, err := process.Usage(ctx)
		if err != nil {
			return nil, err
		}
		got := study.Figures{}
		stop := func() error { return nil }
		if l.Kind != "" {
			running, err := tlsload.Start(ctx, s.ClientPlace, l.Load)
			if err != nil {
				return nil, err
			}
			stop = func() error {
				r, err := running.Stop(ctx)
				got[floodRate] = r.Rate
				return err
			}
		}
		err = established(ctx, s, process, l, before, got)
		if stopped := stop(); err == nil {
			err = stopped
		}
		return got, err
	})
}

// established measures established clients. before is the server's usage before there were any
// connections.
func established(ctx context.Context, s *study.Study, process *rig.Process, l secure, before rig.Usage, got study.Figures) error {
	r, err := tlsload.Run(ctx, s.ClientPlace, tlsload.Load{
		Kind: tlsload.Steady, Addr: process.Addr, Conns: establishedConns, Rate: establishedRate, Time: time.Duration(s.Seconds) * time.Second,
	})
	if err != nil {
		return err
	}
	after, err := process.Usage(ctx)
	got[study.P50], got[study.P99], got[residents] = study.Micros(r.P50), study.Micros(r.P99), float64(after.Resident)
	if held := after.Descriptors - before.Descriptors; l.Kind == tlsload.HalfOpen && held > 0 {
		got[heldOpen] = float64(held)
		got[bytesOfEach] = (float64(after.HeapInUse+after.StackInUse) - float64(before.HeapInUse+before.StackInUse)) / float64(held)
	}
	return err
}
