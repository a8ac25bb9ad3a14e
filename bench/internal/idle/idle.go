// Package idle measures the resources that a server holds for a connection that waits for its
// next request: this fasthttp with its event engine and with its portable one, the published
// fasthttp, and net/http. Start with Measure.
package idle

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Options select what to measure.
type Options struct {
	Conns   int // of each server process; 0 for as many as its descriptors allow
	Procs   int // server processes, which share a port
	Rounds  int
	Speaks  Protocol
	Servers []string // by their names; none for all
	Modules rig.Modules
}

// The bounds of Procs and Conns: the most that a machine should be expected to handle.
const (
	MostProcs = 64
	MostConns = 150_000
)

// Measure builds the servers in dir, which is the bench folder, and measures them. The program
// must have called Crowd. The report has the failed runs; runs is the number of all runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	limit, err := rig.RaiseFileLimit()
	if err != nil {
		return nil, 0, err
	}
	if opts.Speaks == TLS && opts.Conns == 0 {
		opts.Conns = min(TLSConns, max(1, limit-spareFiles))
	}
	if opts.Conns, err = connsFor(opts.Conns, opts.Procs, limit); err != nil {
		return nil, 0, err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	self, servers, err := build(ctx, dir, temp, opts.Modules, log)
	if err != nil {
		return nil, 0, err
	}
	if len(opts.Servers) > 0 {
		servers = slices.DeleteFunc(servers, func(s *rig.Server) bool { return !slices.Contains(opts.Servers, s.Name) })
	}
	if opts.Speaks == HTTP2 { // which upstream lacks
		servers = slices.DeleteFunc(servers, func(s *rig.Server) bool { return s.Name == rig.Upstream })
	}
	var identity *rig.Identity
	if opts.Speaks == TLS {
		if identity, err = rig.NewIdentity(temp); err != nil {
			return nil, 0, err
		}
	}
	s := &session{
		identity: identity,
		speaks:   opts.Speaks,
		servers:  servers,
		conns:    opts.Conns,
		procs:    opts.Procs,
		cores:    rig.Anywhere.Procs(),
		rounds:   opts.Rounds,
		crowds:   crowds(opts.Conns*opts.Procs, limit, opts.Speaks),
		self:     self,
		log:      log,
	}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	return s.report(), opts.Rounds * len(servers), nil
}

// build compiles the servers into temp. self is this program's file.
func build(ctx context.Context, dir, temp string, modules rig.Modules, log progress.Log) (self string, servers []*rig.Server, err error) {
	if self, err = os.Executable(); err != nil {
		return "", nil, err
	}
	log.Note(fmt.Sprintf("building the servers (%s, %s)", modules.Ours, modules.Upstream))
	servers, err = rig.Build(ctx, dir, temp, modules)
	return self, servers, err
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
