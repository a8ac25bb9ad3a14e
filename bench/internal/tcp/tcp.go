// Package tcp measures servers over loopback sockets: this fasthttp with its event engine and
// with its portable one, the published fasthttp, net/http, and a loop in C that shows the cost
// of the system calls alone. Start with Measure, and for other questions with MeasureSlow,
// MeasureWait, MeasureHandshakes and MeasureFlood.
package tcp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

// errorsFigure is how many connects, reads and writes failed.
const errorsFigure = "socket errors"

func kind(name, note, reference, referenceName string, goals func(*study.Report) []study.Goal) *study.Kind {
	return &study.Kind{
		Name: name, Title: "Servers over loopback sockets", Client: "wrk", Goals: goals,
		Overview: []string{rig.Event, rig.Portable, rig.Upstream, rig.NetHTTP, reference},
		Note: note + "CPU is the server's processor time for a request, user and system. Latencies are as wrk reports them, pipelined ones\n" +
			"those of whole batches.\n",
		Columns: []study.Column{
			{Figure: study.Rate, Spread: true},
			{Figure: study.CPUs, Digits: 2, Spread: true},
			{Figure: study.P50, Spread: true},
			{Figure: study.P99, Spread: true},
			{Figure: study.Rate, Title: "requests/s ÷ upstream", To: rig.Upstream},
			{Figure: study.CPUs, Title: "CPU ÷ upstream", To: rig.Upstream},
			{Figure: study.P99, Title: "p99 ÷ upstream", To: rig.Upstream},
			{Figure: study.CPUs, Title: "CPU ÷ " + referenceName, To: reference},
			{Figure: errorsFigure, Sum: true},
		},
	}
}

// The kinds of measurements with wrk.
var (
	Repeated = kind("tcp", "All requests are the same.\n", rig.Floor, "C loop", Goals)
	Varied   = kind("tcp-varied", "No two requests in a row are alike.\n", rig.Floor, "C loop", nil)
	Peers    = peers()
	OverTLS  = kind("tcp-tls", "Connections are kept.\n", rig.Nginx, rig.Nginx, TLSGoals)
)

func peers() *study.Kind {
	k := *Varied
	k.TLS = true
	return &k
}

// Measure measures the servers with wrk, over TLS if the options ask for that.
func Measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	if !s.TLS {
		return run(ctx, s, loads, addFloor)
	}
	return run(ctx, s, tlsLoads(), func(ctx context.Context, s *study.Study) {
		s.Add(rig.BuildTLSLoop(ctx, s.Dir, s.Temp))
		s.Add(rig.NewNginx(ctx, s.Temp, rig.HelloSite()))
	})
}

// MeasureVaried is Measure with varying requests.
func MeasureVaried(ctx context.Context, s *study.Study) (*study.Report, error) {
	return run(ctx, s, variedLoads(), addFloor)
}

// MeasurePeers measures the servers of other libraries, too, with loads of all kinds: varied
// requests, TLS, handlers that wait.
func MeasurePeers(ctx context.Context, s *study.Study) (*study.Report, error) {
	r, err := run(ctx, s, peerLoads(), func(ctx context.Context, s *study.Study) {
		addFloor(ctx, s)
		others, missing := rig.BuildPeers(ctx, s.Dir, s.Temp)
		s.Servers = append(s.Servers, others...)
		for _, what := range missing {
			s.Miss(what)
		}
	})
	if err == nil {
		r.TLS = false
	}
	return r, err
}

func addFloor(ctx context.Context, s *study.Study) { s.Add(rig.BuildFloor(ctx, s.Dir, s.Temp)) }

// run measures the usual servers and those that others adds.
func run(ctx context.Context, s *study.Study, loads []load, others func(context.Context, *study.Study)) (*study.Report, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return nil, wrk.ErrMissing
	}
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	others(ctx, s)
	return study.Measure(ctx, s, loads, func(ctx context.Context, l load, server *rig.Server) (study.Figures, error) {
		return measure(ctx, s, l, server)
	})
}

// spareFiles is how many descriptors a process needs besides its connections.
const spareFiles = 100

// measure runs one load on a fresh server.
func measure(ctx context.Context, s *study.Study, l load, server *rig.Server) (study.Figures, error) {
	if l.conns+spareFiles > s.Limit {
		return nil, fmt.Errorf("a process may have only %d files open", s.Limit)
	}
	settings := rig.Settings{Mode: serving.Plain, Wait: l.wait}
	if l.tls {
		settings.Identity = s.Identity
	}
	if l.wait > 0 {
		settings.Mode = serving.Mixed
	}
	return s.With(ctx, server, settings, func(process *rig.Process) (study.Figures, error) {
		if err := warmUp(process.Addr, l); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		work := wrk.Load{URL: l.url(process.Addr), Conns: l.conns, Script: l.script, Seconds: server.WarmSeconds()}
		if work.Seconds > 0 {
			if _, err := wrk.Run(ctx, s.ClientPlace, s.Temp, work); err != nil {
				return nil, fmt.Errorf("warming up: %w", err)
			}
		}
		work.Seconds = s.Seconds
		var r wrk.Result
		cpu, err := study.CPU(process, func() (n int, err error) {
			r, err = wrk.Run(ctx, s.ClientPlace, s.Temp, work)
			return r.Requests, err
		})
		return study.Figures{
			study.Rate: r.Rate, study.CPUs: cpu, study.P50: study.Micros(r.P50), study.P99: study.Micros(r.P99), errorsFigure: float64(r.Errors),
		}, err
	})
}

// warmUp checks the responses of a server, and takes it past its first requests, which are
// slow.
func warmUp(addr string, l load) error {
	const conns, most = 8, 5 * time.Second
	perConn := 250
	if l.wait > 0 {
		perConn = 10
	}
	deadline := time.Now().Add(most)
	dial := probe.Dial
	if l.tls {
		dial = probe.DialTLS
	}
	for range conns {
		conn, err := dial("", addr, l.path())
		if err != nil {
			return err
		}
		for range perConn {
			begin := time.Now()
			if err = conn.Get(); err == nil && time.Since(begin) < l.wait {
				err = fmt.Errorf("a handler that should wait for %v answers after %v", l.wait, time.Since(begin))
			}
			if err != nil || time.Now().After(deadline) {
				break
			}
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return nil
}
