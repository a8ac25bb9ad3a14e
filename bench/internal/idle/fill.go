package idle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/procfs"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// FillOptions configure how a machine is filled with connections.
type FillOptions struct {
	Conns   int // of all processes; 0 for as many as the machine allows
	Modules rig.Modules

	each int // connections of a server process; 0 for as many as its descriptors allow
}

// Fill builds the servers in dir, which is the bench folder. With each server it opens as many
// connections as the machine allows, to processes that share a port, and sends one request
// over each connection. The program must have called Crowd. A server that failed is in the
// report.
func Fill(ctx context.Context, dir string, opts FillOptions, log *progress.Log) (*FillReport, error) {
	s, err := study.New(dir, &study.Kind{}, study.Options{Modules: opts.Modules}, log)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	limit := s.Limit
	each, err := connsFor(opts.each, 2, limit) // 2, since the processes share a port
	if err != nil {
		return nil, err
	}
	if err := s.Build(ctx, rig.Portable, rig.NetHTTP); err != nil {
		return nil, err
	}
	servers := s.Servers
	r := &FillReport{Head: rig.NewHead(servers, 1)}
	for _, server := range servers {
		f := &filler{server: server, asked: opts.Conns, each: each, limit: limit, log: log}
		row, err := f.fill(ctx)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		r.add(server.Name, row, err)
	}
	return r, nil
}

// filler fills the machine with connections to one server.
type filler struct {
	server *rig.Server
	asked  int // connections; 0 for as many as the machine allows
	each   int // connections of a server process
	limit  int // open files of a process
	log    *progress.Log

	cost float64 // bytes of a connection, at both ends and in the kernel; 0 if not known
}

// session returns a session with one measurement of so many connections.
func (f *filler) session(conns int) *session {
	return &session{
		speaks: HTTP1,
		procs:  max(1, (conns+f.each-1)/f.each),
		cores:  1, // as children of package prefork
		crowds: crowds(conns, f.limit, HTTP1),
	}
}

// fill determines how many connections fit, and measures with that number.
func (f *filler) fill(ctx context.Context) (*Filled, error) {
	begin := time.Now()
	most, err := f.most()
	if err != nil {
		return nil, err
	}
	if most.conns > f.each {
		f.log.Note(fmt.Sprintf("%s: %d connections for a try", f.server.Name, f.each))
		if f.cost, err = f.try(ctx); err != nil {
			return nil, fmt.Errorf("a try with %d connections: %w", f.each, err)
		}
		m, err := procfs.MachineMemory()
		if err != nil {
			return nil, err
		}
		most = least(most, boundOfMemory(m, f.cost))
	}
	if most.conns < 1 {
		return nil, fmt.Errorf("no connection fits: %s", most.why)
	}
	row := &Filled{Asked: most.conns, Limit: most.why}
	err = f.measure(ctx, row)
	row.Seconds = time.Since(begin).Seconds()
	return row, err
}

// most returns the bound that does not depend on the server.
func (f *filler) most() (bound, error) {
	most := boundOfPorts(f.limit)
	left, limited, err := procfs.FilesLeft()
	if err != nil {
		return bound{}, err
	}
	if limited {
		most = least(most, boundOfFiles(left))
	}
	if f.asked > 0 {
		most = least(bound{f.asked, "-conns"}, most)
	}
	return most, nil
}

// try opens the connections of one server process and returns the memory of one connection.
func (f *filler) try(ctx context.Context) (cost float64, err error) {
	h := holding{session: f.session(f.each)}
	defer func() { err = errors.Join(err, h.stop()) }()
	if err := h.begin(ctx, f.server); err != nil {
		return 0, err
	}
	for _, c := range h.crowds {
		if _, err := h.open(ctx, c); err != nil {
			return 0, err
		}
	}
	if h.held < f.each {
		return 0, fmt.Errorf("only %d were opened: %s", h.held, h.wrong)
	}
	if err := h.weigh(); err != nil {
		return 0, err
	}
	taken, err := h.taken()
	if err == nil && taken <= 0 {
		err = errors.New("the kernel freed more memory than the connections took")
	}
	return float64(taken) / float64(h.held), err
}

// measure fills row in.
func (f *filler) measure(ctx context.Context, row *Filled) (err error) {
	h := holding{session: f.session(row.Asked)}
	defer func() { err = errors.Join(err, h.stop()) }()
	row.Processes, row.Clients = h.procs, len(h.crowds)
	f.log.Plan(len(h.crowds)+1, float64(row.Asked)*(1+requestWeight))
	if err := h.begin(ctx, f.server); err != nil {
		return err
	}
	before, err := settled(ctx, h.servers)
	if err != nil {
		return err
	}
	spent, tried, err := f.openAll(ctx, &h, row)
	if err != nil {
		return err
	}
	if h.held == 0 {
		return fmt.Errorf("no connection was opened: %s", cmp.Or(h.wrong, row.Limit))
	}
	row.Held, row.Failed = h.held, tried-h.held
	row.OpenRate = float64(h.held) / spent.Seconds()
	if err := h.weigh(); err != nil {
		return err
	}
	after, err := settled(ctx, h.servers)
	if err != nil {
		return err
	}
	got, err := compare(before, after, h.held)
	if err != nil {
		return err
	}
	row.User = got.resident
	clients, err := resident(h.clients)
	if err != nil {
		return err
	}
	row.Kernel, row.Client = float64(h.kernel)/float64(h.held), float64(clients)/float64(h.held)
	if row.Total, err = h.taken(); err != nil {
		return err
	}
	return f.request(ctx, &h, row)
}

// requestWeight is about how long a request takes, relative to opening a connection.
const requestWeight = 0.3

// openAll opens as many connections as memory has room for, and returns how long that took and
// how many it tried.
func (f *filler) openAll(ctx context.Context, h *holding, row *Filled) (spent time.Duration, tried int, err error) {
	begin := time.Now()
	for _, c := range h.crowds {
		m, err := procfs.MachineMemory()
		if err != nil {
			return 0, 0, err
		}
		if !fits(m, c.Conns, f.cost) {
			row.Limit = fmt.Sprintf("memory: %d were planned, but only %s is left", row.Asked, gib(m.Room))
			f.log.Note(f.server.Name + ": " + row.Limit)
			break
		}
		tried += c.Conns
		f.log.Begin(f.server.Name + ": opening")
		took, err := h.open(ctx, c)
		if err != nil {
			f.log.End(float64(c.Conns), fmt.Sprintf("FAILED: %v", err))
			return 0, 0, fmt.Errorf("with %d connections open: %w", h.held, err)
		}
		f.log.End(float64(c.Conns), fmt.Sprintf("%d connections, %.0f a second, %s of memory left", h.held, float64(c.Conns)/took.Seconds(), gib(m.Room)))
	}
	return time.Since(begin), tried, nil
}

// request sends one request over each connection.
func (f *filler) request(ctx context.Context, h *holding, row *Filled) error {
	f.log.Begin(f.server.Name + ": one request over each")
	used, err := h.servers.CPU()
	if err != nil {
		return err
	}
	got, took, err := h.get(ctx)
	if err != nil {
		return err
	}
	after, err := h.servers.CPU()
	if err != nil {
		return err
	}
	row.Failed += h.held - got
	row.Wrong = h.wrong
	if got > 0 {
		row.RequestRate = float64(got) / took.Seconds()
		row.CPU = float64((after - used).Nanoseconds()) / 1e3 / float64(got)
	}
	f.log.End(float64(row.Asked)*requestWeight, fmt.Sprintf("%.0f a second", row.RequestRate))
	return nil
}
