package tcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// shakeKinds are the rows of handshakes.
var shakeKinds = []tlsload.Kind{tlsload.Full, tlsload.Resumed}

const (
	// shakeConns is how many clients perform handshakes at the same time.
	shakeConns = 32
	// shakeWarm is how long they do so before it counts.
	shakeWarm = 300 * time.Millisecond
)

// secureSession has the common parts of the measurements with package tlsload.
type secureSession struct {
	servers       []*rig.Server
	identity      *rig.Identity
	rounds        int
	seconds       int
	place, client rig.Place
	missing       []string
	log           progress.Log

	failures []string
}

// secure builds the servers for a session, with nginx if requested. temp is a folder for them.
func (o Options) secure(ctx context.Context, dir, temp string, nginx bool, log progress.Log) (*secureSession, error) {
	if _, err := rig.RaiseFileLimit(); err != nil {
		return nil, err
	}
	servers, err := o.build(ctx, dir, temp, log)
	if err != nil {
		return nil, err
	}
	s := &secureSession{servers: servers, rounds: o.Rounds, seconds: o.Seconds, place: rig.Anywhere, client: rig.Anywhere, log: log}
	if s.identity, err = rig.NewIdentity(temp); err != nil {
		return nil, err
	}
	if nginx {
		if server, err := rig.NewNginx(ctx, temp, rig.HelloSite()); err != nil {
			s.miss("measuring without nginx: " + err.Error())
		} else {
			s.servers = append(s.servers, server)
		}
	}
	if o.Pin {
		if s.place, s.client, err = rig.Separate(); err != nil {
			s.miss("nothing is pinned: " + err.Error())
		}
	}
	log.Note(fmt.Sprintf("servers: %v; clients: %v", s.place, s.client))
	return s, nil
}

func (s *secureSession) miss(what string) {
	s.missing = append(s.missing, what)
	s.log.Note(what)
}

// start starts a server, and takes it past its first requests.
func (s *secureSession) start(ctx context.Context, server *rig.Server) (*rig.Process, error) {
	process, err := server.Start(ctx, rig.Settings{Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Identity: s.identity})
	if err != nil {
		return nil, err
	}
	if err := warmUp(process.Addr, load{tls: true}); err != nil {
		return nil, errors.Join(fmt.Errorf("warming up: %w", err), process.Stop())
	}
	return process, nil
}

// shakeSession measures handshakes.
type shakeSession struct {
	*secureSession
	samples map[turns.Key][]shakeSample // the load is the kind
}

// shakeSample is one run.
type shakeSample struct {
	rate float64 // handshakes a second
	cpu  float64 // µs of the server's processor time for one, its connection and its request
	p99  float64 // µs from the connect to the end of the connection
}

func (s shakeSample) String() string {
	return fmt.Sprintf("%.0f handshakes/s, %.1f µs CPU, p99 %.0f µs", s.rate, s.cpu, s.p99)
}

// MeasureHandshakes measures new connections over TLS. dir is the bench folder. The
// program must call tlsload.Main before anything else.
func MeasureHandshakes(ctx context.Context, dir string, opts Options, log progress.Log) (*HandshakeReport, int, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	secure, err := opts.secure(ctx, dir, temp, true, log)
	if err != nil {
		return nil, 0, err
	}
	s := &shakeSession{secureSession: secure}
	plan := turns.Plan{Rounds: s.rounds, Log: s.log}
	for _, kind := range shakeKinds {
		plan.Loads = append(plan.Loads, string(kind))
	}
	for _, server := range s.servers {
		plan.Servers = append(plan.Servers, server.Name)
	}
	s.samples, s.failures, err = turns.Run(ctx, plan, func(load, server int) (shakeSample, error) {
		return s.measure(ctx, shakeKinds[load], s.servers[server])
	})
	if err != nil {
		return nil, 0, err
	}
	return s.report(), s.rounds * len(shakeKinds) * len(s.servers), nil
}

// measure runs one load on a fresh server.
func (s *shakeSession) measure(ctx context.Context, kind tlsload.Kind, server *rig.Server) (got shakeSample, err error) {
	process, err := s.start(ctx, server)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	r, err := tlsload.Run(ctx, s.client, tlsload.Load{
		Kind: kind, Addr: process.Addr, Conns: shakeConns, Warm: shakeWarm, Time: time.Duration(s.seconds) * time.Second,
	})
	if err != nil {
		return got, err
	}
	end, err := process.CPU()
	if err != nil {
		return got, err
	}
	return shakeSample{rate: r.Rate, cpu: micros(end-begin) / float64(r.Done), p99: micros(r.P99)}, nil
}
