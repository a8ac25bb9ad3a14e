// Package files measures servers of files over loopback sockets: this fasthttp
// with its event engine and with its portable one, the published fasthttp, and
// nginx. Start with Measure.
package files

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

// site returns the configuration that nginx's manual recommends for serving files. Missing
// files are not cached, since the other servers do not cache them either.
func site(root string) rig.NginxSite {
	return rig.NginxSite{
		HTTP: `	sendfile on;
	tcp_nopush on;
	open_file_cache max=1000 inactive=60s;
	open_file_cache_valid 60s;
	gzip_static on;
	gzip_vary on;
	types { text/plain txt; }
	charset utf-8;
`,
		Server: "\t\troot " + root + ";\n",
		Module: "http_gzip_static_module",
	}
}

const (
	both         = "with wrk" // processor time of server and client
	errorsFigure = "socket errors"
)

// Kind is the kind of these measurements.
var Kind = &study.Kind{
	Name: "files", Title: "Servers of files over loopback sockets", Client: "wrk",
	Note: "CPU is the server's processor time for a request, user and system; \"with wrk\" that of the client is added. Over loopback\n" +
		"the system does much of the work of sending on behalf of whoever happens to run: for large files a server that sends in\n" +
		"small pieces has the client pay, so look at the sum of both. With TLS the goals are for server and client together.\n",
	Columns: []study.Column{
		{Figure: study.Rate, Spread: true},
		{Figure: study.CPUs, Digits: 2, Spread: true},
		{Figure: both, Digits: 2, Spread: true},
		{Figure: study.CPUs, Title: "CPU ÷ upstream", To: rig.Upstream},
		{Figure: study.CPUs, Title: "CPU ÷ nginx", To: rig.Nginx},
		{Figure: both, Title: "with wrk ÷ upstream", To: rig.Upstream},
		{Figure: both, Title: "with wrk ÷ nginx", To: rig.Nginx},
		{Figure: errorsFigure, Sum: true},
	},
	More: func(r *study.Report) []string { return []string{cmp.Or(r.Versions[rig.Nginx], "no nginx")} },
	Goals: func(r *study.Report) []study.Goal {
		if r.TLS {
			return TLSGoals(r)
		}
		return Goals(r)
	},
}

// Goals combines the goals of all rows: one for each other server. The report may be nil.
func Goals(r *study.Report) []study.Goal {
	all := []study.Goal{
		{ID: "files-upstream", Text: "Files over sockets: processor time for a request no more than upstream's"},
		{ID: "files-nginx", Text: "Files over sockets: processor time for a request at most 1.3 of nginx's, 1.1 for large files"},
	}
	for i, to := range []string{rig.Upstream, rig.Nginx} {
		var missed []string
		worst, share := "", 0.0
		for _, l := range loads {
			ratio := r.Named(l.name).Ratio(study.CPUs, rig.Event, to)
			if ratio.Value == 0 {
				continue
			}
			most := 1.0
			met := study.NoWorse(ratio)
			if to == rig.Nginx {
				most, met = l.nginxGoal, ratio.Value <= l.nginxGoal
			}
			if !met {
				missed = append(missed, fmt.Sprintf("%s %.2f", l.name, ratio.Value))
			}
			if ratio.Value/most > share {
				worst, share = fmt.Sprintf("%.2f at most (%s)", ratio.Value, l.name), ratio.Value/most
			}
		}
		if all[i].Met, all[i].Figure = worst != "" && len(missed) == 0, worst; len(missed) > 0 {
			all[i].Figure = "not with " + strings.Join(missed, ", ")
		}
	}
	return all
}

// tlsMost is the most processor time of server and client together over TLS, as a share of their
// time with upstream.
const tlsMost = 1.05

// TLSGoals combines the goals of all rows over TLS. The report may be nil.
func TLSGoals(r *study.Report) []study.Goal {
	g := study.Goal{ID: "tls-files", Text: fmt.Sprintf("Files over TLS: processor time of server and client at most %.2f of that with upstream", tlsMost), Met: true}
	var figures []string
	for _, l := range large() {
		if ratio := r.Named(l.name).Ratio(both, rig.Event, rig.Upstream); ratio.Value > 0 {
			g.Met = g.Met && ratio.Value <= tlsMost
			figures = append(figures, fmt.Sprintf("%s %.2f", l.name, ratio.Value))
		}
	}
	g.Figure = strings.Join(figures, ", ")
	return []study.Goal{g}
}

// Measure measures the servers.
func Measure(ctx context.Context, s *study.Study) (*study.Report, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return nil, wrk.ErrMissing
	}
	root, err := plant(s.Temp)
	if err != nil {
		return nil, err
	}
	if s.Servers, err = rig.BuildFiles(ctx, s.Dir, s.Temp, s.Modules); err != nil {
		return nil, err
	}
	s.Add(rig.NewNginx(ctx, s.Temp, site(root)))
	all, scheme := slices.Clone(loads), "http://"
	if s.TLS {
		all, scheme = large(), "https://"
	}
	return study.Measure(ctx, s, all, func(ctx context.Context, l load, server *rig.Server) (study.Figures, error) {
		settings := rig.Settings{Mode: serving.Plain, Args: []string{"-root", root}, Identity: s.Identity}
		return s.With(ctx, server, settings, func(process *rig.Process) (study.Figures, error) {
			url := scheme + process.Addr
			if err := l.warmUp(ctx, url); err != nil {
				return nil, fmt.Errorf("warming up: %w", err)
			}
			var r wrk.Result
			cpu, err := study.CPU(process, func() (n int, err error) {
				r, err = wrk.Run(ctx, s.ClientPlace, s.Temp, wrk.Load{
					URL: url + l.path, Conns: l.conns, Seconds: s.Seconds, Field: l.field, Refused: l.status >= 400,
				})
				return r.Requests, err
			})
			return study.Figures{study.Rate: r.Rate, study.CPUs: cpu, both: cpu + study.Micros(r.CPU)/float64(max(1, r.Requests)), errorsFigure: float64(r.Errors)}, err
		})
	})
}
