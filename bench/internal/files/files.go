// Package files measures servers of files over loopback sockets: this fasthttp
// with its event engine and with its portable one, the published fasthttp, and
// nginx. Start with Measure.
package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// Options select what to measure.
type Options struct {
	Rounds  int
	Seconds int // that a run takes
	Pin     bool
	TLS     bool
	Rows    *regexp.Regexp
	Modules rig.Modules
}

// ErrNoWrk is returned if the load generator is not installed.
var ErrNoWrk = errors.New("the load generator wrk is not installed; on Debian and Ubuntu: sudo apt-get install wrk")

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

// Measure builds the servers in dir, which is the bench folder, and measures them. The report
// has the failed runs; runs is the number of all runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	wrkProgram, err := exec.LookPath("wrk")
	if err != nil {
		return nil, 0, ErrNoWrk
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	root, err := plant(temp)
	if err != nil {
		return nil, 0, err
	}
	log.Note(fmt.Sprintf("building the servers (%s, %s)", opts.Modules.Ours, opts.Modules.Upstream))
	servers, err := rig.BuildFiles(ctx, dir, temp, opts.Modules)
	if err != nil {
		return nil, 0, err
	}
	s := &session{
		root: root, rounds: opts.Rounds, seconds: opts.Seconds, wrk: wrkProgram,
		place: rig.Anywhere, clientPlace: rig.Anywhere, log: log,
	}
	if opts.TLS {
		if s.identity, err = rig.NewIdentity(temp); err != nil {
			return nil, 0, err
		}
	}
	if opts.Pin {
		if s.place, s.clientPlace, err = rig.Separate(); err != nil {
			s.miss("nothing is pinned: " + err.Error())
		}
	}
	s.servers = servers
	if nginx, err := rig.NewNginx(ctx, temp, site(root)); err != nil {
		s.miss("measuring without nginx: " + err.Error())
	} else {
		s.nginx = nginx.Version
		s.servers = append(s.servers, nginx)
	}
	log.Note(fmt.Sprintf("servers: %v; wrk: %v", s.place, s.clientPlace))
	for _, l := range s.rows() {
		if opts.Rows.MatchString(l.name) {
			s.loads = append(s.loads, l)
		}
	}
	if len(s.loads) == 0 {
		return nil, 0, fmt.Errorf("no row matches %q", opts.Rows)
	}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	r = s.report()
	r.Head = rig.NewHead(servers, opts.Rounds)
	return r, opts.Rounds * len(s.loads) * len(s.servers), nil
}

func (s *session) miss(what string) {
	s.missing = append(s.missing, what)
	s.log.Note(what)
}

// start runs a server of the files.
func (s *session) start(ctx context.Context, server *rig.Server) (*rig.Process, error) {
	return server.Start(ctx, rig.Settings{
		Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Args: []string{"-root", s.root}, Identity: s.identity,
	})
}

// micros converts a time to µs, the unit of the figures.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
