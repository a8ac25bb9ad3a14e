package tcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
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
	// cpuGoal is the most that the event engine's processor time for a request
	// may be, as a share of upstream's.
	cpuGoal float64
	tls     bool
	wait    time.Duration // of the handler
}

// isFor reports whether a server has this load.
func (l load) isFor(server *rig.Server) bool {
	return (!l.tls || server.Can(rig.TLS)) && (l.wait == 0 || server.Can(rig.Waiting))
}

var loads = []load{
	{name: "1 connection", kind: Steady, conns: 1, cpuGoal: 1},
	{name: "64 connections", kind: Steady, conns: 64, cpuGoal: 0.65},
	{name: "512 connections", kind: Steady, conns: 512, cpuGoal: 0.6},
	{name: "4096 connections", kind: Steady, conns: 4096, cpuGoal: 0.75},
	{name: "64 connections, 16 requests pipelined", kind: Pipelined, conns: pipelinedConns, script: wrk.PipelineScript(pipelinedSize, pipelinedConns), cpuGoal: 0.4},
	{name: "64 connections, churn: closed after 10 requests", kind: Churn, conns: 64, script: wrk.ChurnScript(churnRequests), cpuGoal: 0.7},
}

// The numbers for the scripts of loads.
const (
	pipelinedSize  = 16
	pipelinedConns = 64
	churnRequests  = 10
)

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
	return []load{
		{name: "1 connection" + tlsSuffix, kind: Steady, conns: 1, cpuGoal: tlsMost, tls: true},
		{name: "64 connections" + tlsSuffix, kind: Steady, conns: 64, cpuGoal: tlsMost, tls: true},
		{name: "512 connections" + tlsSuffix, kind: Steady, conns: 512, cpuGoal: tlsMost, tls: true},
	}
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

const (
	// tlsSuffix ends the names of loads over TLS.
	tlsSuffix = ", TLS"
	// tlsMost is the most that the event engine's processor time for a request over TLS
	// may be, as a share of upstream's.
	tlsMost = 0.85
)

// variedSuffix ends the names of varied loads.
const variedSuffix = ", varied requests"

// generator runs wrk.
type generator struct {
	program string
	place   rig.Place
	seconds int
	temp    string // folder for scripts
}

// spareTime is how much longer than requested wrk may take before it is killed: it waits for
// connections that a server does not answer.
const spareTime = time.Minute

// run puts a load on the server at addr.
func (g *generator) run(ctx context.Context, l load, addr string) (wrk.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(g.seconds)*time.Second+spareTime)
	defer cancel()
	line, err := g.command(l, addr)
	if err != nil {
		return wrk.Result{}, err
	}
	text, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return wrk.Result{}, fmt.Errorf("wrk: %w", ctxErr)
	}
	if err != nil {
		return wrk.Result{}, fmt.Errorf("wrk: %w: %s", err, strings.TrimSpace(string(text)))
	}
	result, err := wrk.Parse(string(text))
	if err != nil {
		return result, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	return result, accept(result)
}

// accept returns an error for a result that does not measure the server's speed.
func accept(r wrk.Result) error {
	switch {
	case r.Requests == 0:
		return errors.New("no request was answered")
	case r.Refused > 0:
		return fmt.Errorf("%d of %d requests were refused", r.Refused, r.Requests)
	case r.Errors > r.Requests/100:
		return fmt.Errorf("%d socket errors at %d requests", r.Errors, r.Requests)
	}
	return nil
}

// path is the path of requests that do not vary.
func (l load) path() string {
	if l.wait > 0 {
		return serving.WaitPath
	}
	return "/"
}

// command returns the command line of wrk.
func (g *generator) command(l load, addr string) ([]string, error) {
	threads := 1
	if g.place.CPU < 0 {
		// The server needs the other half of the processors.
		threads = min(max(1, runtime.NumCPU()/2), l.conns)
	}
	args := []string{
		fmt.Sprintf("-t%d", threads),
		fmt.Sprintf("-c%d", l.conns),
		fmt.Sprintf("-d%ds", g.seconds),
		"--latency",
		"--timeout", "10s",
	}
	if l.script != "" {
		file := filepath.Join(g.temp, "load.lua")
		if err := os.WriteFile(file, []byte(l.script), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-s", file)
	}
	scheme := "http://"
	if l.tls {
		scheme = "https://"
	}
	return g.place.Command(g.program, append(args, scheme+addr+l.path())...), nil
}
