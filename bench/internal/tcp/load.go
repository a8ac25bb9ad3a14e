package tcp

import (
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/traffic"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

// The kinds of loads.
const (
	Steady    = "steady" // a request after each answer
	Pipelined = "pipelined"
	Churn     = "churn"   // connections are closed after a few requests
	Waiting   = "waiting" // a request after each answer, which the handler waits for
)

// load is one row: a load of wrk.
type load struct {
	name   string
	kind   string
	conns  int
	script string
	tls    bool
	wait   time.Duration // of the handler
}

func (l load) Row() study.Row { return study.Row{Name: l.name, Kind: l.kind, Conns: l.conns} }

func (l load) IsFor(server *rig.Server) bool {
	return (!l.tls || server.Can(rig.TLS)) && (l.wait == 0 || server.Can(rig.Waiting))
}

// path is the path of requests that do not vary.
func (l load) path() string {
	if l.wait > 0 {
		return serving.WaitPath
	}
	return "/"
}

func (l load) url(addr string) string {
	if l.tls {
		return "https://" + addr + l.path()
	}
	return "http://" + addr + l.path()
}

var loads = []load{
	{name: "1 connection", kind: Steady, conns: 1},
	{name: "64 connections", kind: Steady, conns: 64},
	{name: "512 connections", kind: Steady, conns: 512},
	{name: "4096 connections", kind: Steady, conns: 4096},
	{name: "64 connections, 16 requests pipelined", kind: Pipelined, conns: pipelinedConns, script: wrk.PipelineScript(pipelinedSize, pipelinedConns)},
	{name: "64 connections, churn: closed after 10 requests", kind: Churn, conns: 64, script: wrk.ChurnScript(churnRequests)},
}

// The numbers for the scripts of loads.
const (
	pipelinedSize  = 16
	pipelinedConns = 64
	churnRequests  = 10
)

const (
	tlsSuffix    = ", TLS"
	variedSuffix = ", varied requests"
)

// Varies reports whether the requests of a row vary.
func Varies(row *study.Row) bool { return strings.HasSuffix(row.Name, variedSuffix) }

// Short returns the name of a row without the suffix of varied rows.
func Short(row *study.Row) string { return strings.TrimSuffix(row.Name, variedSuffix) }

// variedLoads returns the same loads, with varying requests: each differs from the one
// before.
func variedLoads() []load {
	visitors := traffic.Visitors()
	all := slices.Clone(loads)
	for i := range all {
		l := &all[i]
		l.name += variedSuffix
		switch l.kind {
		case Steady:
			l.script = wrk.SequenceScript(visitors)
		case Pipelined:
			l.script = wrk.PipelineSequenceScript(visitors, pipelinedSize, pipelinedConns)
		case Churn:
			texts := slices.Clone(visitors[:len(visitors)/churnRequests*churnRequests])
			for j := churnRequests - 1; j < len(texts); j += churnRequests {
				texts[j] = traffic.Closing(texts[j])
			}
			l.script = wrk.SequenceScript(texts)
		}
	}
	return all
}

// tlsLoads returns the loads over TLS. Connections are kept, so that handshakes do not count.
func tlsLoads() []load {
	all := slices.Clone(loads[:3])
	for i := range all {
		all[i].name, all[i].tls = all[i].name+tlsSuffix, true
	}
	return all
}

// peerLoads returns the loads beside servers of other libraries.
func peerLoads() []load {
	var all []load
	for _, l := range variedLoads() {
		if l.kind != Churn && l.conns <= 512 {
			all = append(all, l)
		}
	}
	// with more connections over TLS, their handshakes would count
	return append(append(all, tlsLoads()[1]),
		load{name: "64 connections, handlers wait 1 ms", kind: Waiting, conns: 64, wait: time.Millisecond},
		load{name: "512 connections, handlers wait 10 ms", kind: Waiting, conns: 512, wait: 10 * time.Millisecond},
	)
}
