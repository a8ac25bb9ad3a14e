// Package h2load measures servers of HTTP/2 over loopback sockets: this fasthttp with its
// event engine and with its portable one, net/http, and nghttpd, h2o and nginx as far as they
// are installed. h2load generates the load. Start with Measure.
package h2load

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// ErrMissing is returned if the load generator is not installed.
var ErrMissing = errors.New("the load generator h2load is not installed; on Debian and Ubuntu: sudo apt-get install nghttp2-client")

// load is one row: the number of connections of h2load, and of streams on each.
type load struct {
	name           string
	conns, streams int
	// toNghttpd and toH2O are the most that the event engine's processor time for a
	// request may be, as a share of theirs, or 0.
	toNghttpd, toH2O float64
}

func (l load) Row() study.Row { return study.Row{Name: l.name} }

var loads = []load{
	{name: "1 connection x 100 streams", conns: 1, streams: 100, toNghttpd: 0.45, toH2O: 0.7},
	{name: "64 connections x 10 streams", conns: 64, streams: 10, toNghttpd: 0.65},
	{name: "512 connections x 1 stream", conns: 512, streams: 1},
}

// Kind is the kind of these measurements.
var Kind = &study.Kind{
	Name: "h2", Title: "Servers of HTTP/2 over loopback sockets", Client: "h2load",
	Note: "CPU is the server's processor time for a request, user and system, and the least of all rounds is that of the one that\n" +
		"other programs on the machine disturbed least.\n",
	Columns: []study.Column{
		{Figure: study.Rate, Spread: true},
		{Figure: study.CPUs, Digits: 2, Spread: true},
		{Figure: study.CPUs, Title: "least", Digits: 2, Least: true},
		{Figure: study.CPUs, Title: "CPU: event ÷ this", From: rig.Event},
	},
	More: func(r *study.Report) (versions []string) {
		for _, name := range []string{rig.Nghttpd, rig.H2O, rig.Nginx} {
			if version := r.Versions[name]; version != "" {
				versions = append(versions, version)
			}
		}
		return versions
	},
	Goals: func(r *study.Report) []study.Goal {
		if r.TLS {
			return nil
		}
		return Goals(r)
	},
}

// Goals judges the event engine by prior knowledge. The report may be nil.
func Goals(r *study.Report) (all []study.Goal) {
	for _, l := range loads {
		for _, to := range []struct {
			server string
			most   float64
		}{{rig.Nghttpd, l.toNghttpd}, {rig.H2O, l.toH2O}} {
			if to.most == 0 {
				continue
			}
			g := study.Goal{
				ID:   fmt.Sprintf("http2-%s-%d", to.server, l.conns),
				Text: fmt.Sprintf("HTTP/2, %s: processor time for a request at most %.2f of %s's", l.name, to.most, to.server),
			}
			ratio := r.Named(l.name).Ratio(study.CPUs, rig.Event, to.server)
			g.Judge(ratio, ratio.Value <= to.most, "%s", ratio)
			all = append(all, g)
		}
	}
	return all
}

// Measure measures the servers.
func Measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	program, err := exec.LookPath("h2load")
	if err != nil {
		return nil, ErrMissing
	}
	if err := s.Build(ctx, rig.Upstream); err != nil { // which has no HTTP/2
		return nil, err
	}
	root, err := rig.PlantHello(s.Temp)
	if err != nil {
		return nil, err
	}
	s.Add(rig.NewNghttpd(ctx, root))
	s.Add(rig.NewH2O(ctx, s.Temp, root))
	s.Add(rig.NewNginx(ctx, s.Temp, rig.HelloSite()))
	return study.Measure(ctx, s, loads, func(ctx context.Context, l load, server *rig.Server) (study.Figures, error) {
		return s.With(ctx, server, rig.Settings{Mode: serving.Plain, Identity: s.Identity, HTTP2: true}, func(process *rig.Process) (study.Figures, error) {
			run := func(howLong ...string) (result, error) {
				return l.run(ctx, s, program, process.Addr, howLong...)
			}
			if _, err := run("-n", fmt.Sprint(warmUp*l.conns*l.streams)); err != nil {
				return nil, fmt.Errorf("warming up: %w", err)
			}
			var r result
			cpu, err := study.CPU(process, func() (n int, err error) {
				r, err = run("-D", fmt.Sprint(s.Seconds))
				return r.requests, err
			})
			return study.Figures{study.Rate: r.rate, study.CPUs: cpu}, err
		})
	})
}

const (
	// warmUp is how many requests each stream has before the measurement.
	warmUp = 20
	// spareTime is how much longer than requested h2load may take before it is killed.
	spareTime = time.Minute
)

// result is h2load's result of a run.
type result struct {
	requests int
	rate     float64 // a second
}

// run puts a load on a server. howLong are the arguments for its duration. The cipher is the one
// that crypto/tls chooses.
func (l load) run(ctx context.Context, s *study.Study, program, addr string, howLong ...string) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.Seconds)*time.Second+spareTime)
	defer cancel()
	args := append([]string{"-t", "1", "-c", strconv.Itoa(l.conns), "-m", strconv.Itoa(l.streams)}, howLong...)
	scheme := "http://"
	if s.TLS {
		scheme = "https://"
		args = append(args, "--npn-list=h2", "--tls13-ciphers=TLS_AES_128_GCM_SHA256")
	}
	line := s.ClientPlace.Command(program, append(args, scheme+addr+"/")...)
	said, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if err = errors.Join(err, ctx.Err()); err == nil {
		r, err = parse(string(said))
	}
	if err != nil {
		err = fmt.Errorf("h2load: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return r, err
}

var (
	finishedLine = regexp.MustCompile(`(?m)^finished in \S+, ([0-9.]+) req/s`)
	requestsLine = regexp.MustCompile(`(?m)^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
	statusLine   = regexp.MustCompile(`(?m)^status codes: \d+ 2xx, 0 3xx, 0 4xx, 0 5xx$`)
	protocolLine = regexp.MustCompile(`(?m)^Application protocol: h2c?$`)
)

// parse parses the output of h2load, and returns an error for a run with failed requests.
func parse(text string) (result, error) {
	finished, requests := finishedLine.FindStringSubmatch(text), requestsLine.FindStringSubmatch(text)
	if finished == nil || requests == nil {
		return result{}, errors.New("no figures")
	}
	if !protocolLine.MatchString(text) {
		return result{}, errors.New("the protocol is not HTTP/2")
	}
	done, err := strconv.Atoi(requests[1])
	if err != nil {
		return result{}, err
	}
	rate, err := strconv.ParseFloat(finished[1], 64)
	if err != nil {
		return result{}, err
	}
	if done == 0 || requests[2] != requests[1] || requests[3] != "0" || requests[4] != "0" || requests[5] != "0" || !statusLine.MatchString(text) {
		return result{}, fmt.Errorf("requests failed: %s", requests[0])
	}
	return result{requests: done, rate: rate}, nil
}
