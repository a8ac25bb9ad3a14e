// Package idle measures the resources that a server holds for a connection that waits for its
// next request: this fasthttp with its event engine and with its portable one, the published
// fasthttp, and net/http. Start with Measure.
package idle

import (
	"context"
	"fmt"
	"slices"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// Options select the connections and the servers.
type Options struct {
	Conns   int // of each server process; 0 for as many as its descriptors allow
	Procs   int // server processes, which share a port
	Speaks  Protocol
	Servers []string // by their names; none for all
}

// The bounds of Procs and Conns: the most that a machine should be expected to handle.
const (
	MostProcs = 64
	MostConns = 150_000
)

// The figures of a connection, and the bytes of all.
const (
	Resident   = "resident bytes/connection"
	heap       = "heap bytes/connection"
	stack      = "stack bytes/connection"
	Goroutines = "goroutines/connection"
	total      = "resident in total"
)

// Kind returns the kind of measurements of a protocol.
func Kind(speaks Protocol) *study.Kind {
	k := &study.Kind{
		Name: "idle", Title: "Idle connections", Client: "clients", One: new(""), Goals: Goals, Unpinned: true,
		Note: "Each connection had one request and waits for the next. Figures are what came with the connections, after garbage\n" +
			"collection, divided by their number. Resident is VmRSS; it holds heap and stacks. The kernel's own memory for sockets is\n" +
			"not in it, and is the same for all.\n",
		Columns: []study.Column{
			{Figure: Resident, Spread: true}, {Figure: heap}, {Figure: stack}, {Figure: Goroutines, Digits: 2},
			{Figure: total, Digits: 1, Share: 1. / (1 << 20)},
			{Figure: Resident, Title: "resident ÷ " + rig.Upstream, To: rig.Upstream},
		},
		More: func(r *study.Report) []string {
			processes := "1 server process"
			if n := r.Rows[0].Procs; n > 1 {
				processes = fmt.Sprintf("%d server processes that share a port", n)
			}
			return []string{fmt.Sprintf("%s, %s", markdown.Plural(r.Rows[0].Conns, "connection"), processes)}
		},
	}
	switch speaks {
	case TLS:
		k.Name, k.Goals, k.TLS = "idle-tls", TLSGoals, true
	case HTTP2: // which upstream lacks
		k.Name, k.Title, k.Goals = "idle-http2", "Idle connections of HTTP/2", HTTP2Goals
		k.Columns[5] = study.Column{Figure: Resident, Title: "resident ÷ " + rig.NetHTTP, To: rig.NetHTTP}
	}
	return k
}

// Of returns the only row of a report, which may be nil.
func Of(r *study.Report) *study.Row { return r.Find(func(*study.Row) bool { return true }) }

// ManyProcs is how many processes share a port in the measurement of a crowd.
const ManyProcs = 8

// The goals for the event engine, in bytes of an idle connection: resident ones, with one process
// and with several, and with HTTP/2; and of heap and stacks over TLS, most of which belongs to
// crypto/tls.
const (
	residentMost = 300
	manyMost     = 400
	http2Most    = 1600
	tlsMost      = 8 << 10
	// spareGoroutines is how many goroutines a connection may have on average, since the
	// server's own goroutines are divided by all connections.
	spareGoroutines = 0.01
)

// judge judges bytes of a connection.
func judge(g study.Goal, r *study.Report, most float64, figures ...string) study.Goal {
	if m := Of(r).Of(rig.Event); m != nil {
		bytes := 0.0
		for _, name := range figures {
			bytes += m.Figures[name].Median
		}
		g.Figure, g.Met = fmt.Sprintf("%.0f bytes, %d connections", bytes, Of(r).Conns), bytes <= most
	}
	return g
}

func noGoroutine(g study.Goal, r *study.Report) study.Goal {
	if m := Of(r).Of(rig.Event); m != nil {
		n := m.Figures[Goroutines].Median
		g.Figure, g.Met = fmt.Sprintf("%.2f", n), n <= spareGoroutines
	}
	return g
}

// Goals judges the event engine. The report may be nil.
func Goals(r *study.Report) []study.Goal {
	if row := Of(r); row != nil && row.Procs > 1 {
		return ManyGoals(r)
	}
	return []study.Goal{
		judge(study.Goal{ID: "idle", Text: fmt.Sprintf("Idle connection: at most %d bytes with as many as a process may have, or 19,000", residentMost)}, r, residentMost, Resident),
		noGoroutine(study.Goal{ID: "idle-goroutines", Text: "Idle connection: no goroutine"}, r),
	}
}

// ManyGoals is Goals for ManyProcs processes.
func ManyGoals(r *study.Report) []study.Goal {
	g := study.Goal{ID: "idle-crowd", Text: fmt.Sprintf("Idle connection: at most %d bytes in each of %d processes", manyMost, ManyProcs)}
	return []study.Goal{judge(g, r, manyMost, Resident)}
}

// TLSGoals is Goals for connections over TLS.
func TLSGoals(r *study.Report) []study.Goal {
	return []study.Goal{
		judge(study.Goal{ID: "tls-idle", Text: fmt.Sprintf("Idle connection over TLS: at most %d bytes of heap and stacks", tlsMost)}, r, tlsMost, heap, stack),
		noGoroutine(study.Goal{ID: "tls-idle-goroutines", Text: "Idle connection over TLS: no goroutine"}, r),
	}
}

// HTTP2Goals is Goals for connections of HTTP/2.
func HTTP2Goals(r *study.Report) []study.Goal {
	g := study.Goal{ID: "http2-idle", Text: fmt.Sprintf("Idle connection of HTTP/2: at most %d bytes", http2Most)}
	return []study.Goal{judge(g, r, http2Most, Resident)}
}

// held is the only load: connections of some processes.
type held struct{ conns, procs int }

func (h held) Row() study.Row {
	return study.Row{Name: markdown.Plural(h.conns, "connection"), Conns: h.conns, Procs: h.procs}
}

// Measure builds the servers, and measures them. The program must have called Crowd.
func (opts Options) Measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	if s.TLS && opts.Conns == 0 {
		opts.Conns = min(TLSConns, max(1, s.Limit-spareFiles))
	}
	conns, err := connsFor(opts.Conns, opts.Procs, s.Limit)
	if err != nil {
		return nil, err
	}
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	s.Servers = slices.DeleteFunc(s.Servers, func(server *rig.Server) bool {
		return len(opts.Servers) > 0 && !slices.Contains(opts.Servers, server.Name) || opts.Speaks == HTTP2 && server.Name == rig.Upstream
	})
	all := &session{
		identity: s.Identity, speaks: opts.Speaks, procs: opts.Procs, cores: rig.Anywhere.Procs(),
		crowds: crowds(conns*opts.Procs, s.Limit, opts.Speaks),
	}
	return study.Measure(ctx, s, []held{{conns * opts.Procs, opts.Procs}}, func(ctx context.Context, _ held, server *rig.Server) (study.Figures, error) {
		got, err := all.measure(ctx, server)
		return study.Figures{Resident: got.resident, heap: got.heap, stack: got.stack, Goroutines: got.goroutines, total: got.total}, err
	})
}

// TLSConns is the default number of connections over TLS, which take longer to open.
const TLSConns = 10_000

const (
	// usualConns is enough for figures that do not depend on the number.
	usualConns = 50_000
	// spareFiles is how many descriptors a server needs besides its connections.
	spareFiles = 1000
)

// connsFor returns the number of connections of each server process. asked is the requested
// number, or 0; a process may have limit files open.
func connsFor(asked, procs, limit int) (int, error) {
	most := limit - spareFiles
	if procs > 1 {
		// The kernel distributes connections randomly: some processes get more than others.
		most = min(most, limit/10*9)
	}
	if most < 1 {
		return 0, fmt.Errorf("a process may have only %d files open", limit)
	}
	if asked > most {
		return 0, fmt.Errorf("a process may have only %d files open: at most -conns %d", limit, most)
	}
	if asked > 0 {
		return asked, nil
	}
	return min(most, usualConns), nil
}
