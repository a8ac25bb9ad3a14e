package idle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// session has the settings of the processes of both ends.
type session struct {
	identity *rig.Identity // nil without TLS
	speaks   Protocol
	procs    int // server processes
	cores    int // of each: GOMAXPROCS
	crowds   []crowd
}

// sample is one measurement: the cost of a connection, and the total of all server processes.
type sample struct {
	resident, heap, stack, goroutines float64 // a connection; sizes in bytes
	total                             float64 // bytes resident with all connections
}

// measure starts server processes, opens all connections, and compares the usage of the
// processes before and after.
func (s *session) measure(ctx context.Context, server *rig.Server) (got sample, err error) {
	h := holding{session: s}
	defer func() { err = errors.Join(err, h.stop()) }()
	if err := h.begin(ctx, server); err != nil {
		return got, err
	}
	before, err := settled(ctx, h.servers)
	if err != nil {
		return got, err
	}
	conns := 0
	for _, c := range s.crowds {
		conns += c.Conns
		if _, err := h.open(ctx, c); err == nil && h.held < conns {
			return got, fmt.Errorf("opening connections: %s", h.wrong)
		} else if err != nil {
			return got, fmt.Errorf("opening connections: %w", err)
		}
	}
	after, err := settled(ctx, h.servers)
	if err != nil {
		return got, err
	}
	return compare(before, after, conns)
}

// stopAll ends servers or crowds.
func stopAll[P interface{ Stop() error }](processes []P) (err error) {
	for _, p := range processes {
		err = errors.Join(err, p.Stop())
	}
	return err
}

// warmUp loads the code and the tables for serving into memory, with some connections for each
// process, so that the measured connections do not include them. It uses few connections: a
// server may reuse their goroutines for later connections, which would then seem to have none.
func warmUp(addr string, procs int, speaks Protocol) error {
	var conns []conn
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	const perProcess = 8
	for range perProcess * procs {
		conn, err := open("", addr, speaks)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		if err := conn.Get(); err != nil {
			return err
		}
	}
	return nil
}

// settled returns the usage of the processes when they have finished their work: the end of
// connections, or the last of many requests. It asks a few times and takes the lowest figures
// of each.
func settled(ctx context.Context, processes []*rig.Process) ([]rig.Usage, error) {
	const times, pause = 4, 250 * time.Millisecond
	least := make([]rig.Usage, len(processes))
	for i := range times {
		for j, p := range processes {
			u, err := p.Usage(ctx)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				least[j] = u
				continue
			}
			least[j].Resident = min(least[j].Resident, u.Resident)
			least[j].HeapInUse = min(least[j].HeapInUse, u.HeapInUse)
			least[j].StackInUse = min(least[j].StackInUse, u.StackInUse)
			least[j].Goroutines = min(least[j].Goroutines, u.Goroutines)
			least[j].Descriptors = min(least[j].Descriptors, u.Descriptors)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return least, nil
}

// compare divides the increase by the number of connections.
func compare(before, after []rig.Usage, conns int) (sample, error) {
	var got sample
	var open int
	for i, b := range before {
		a := after[i]
		open += a.Descriptors - b.Descriptors
		got.resident += float64(a.Resident - b.Resident)
		got.heap += float64(a.HeapInUse) - float64(b.HeapInUse)
		got.stack += float64(a.StackInUse) - float64(b.StackInUse)
		got.goroutines += float64(a.Goroutines - b.Goroutines)
		got.total += float64(a.Resident)
	}
	// A server may have opened or closed a few other files.
	if spare := 16 * len(before); open < conns-spare || open > conns+spare {
		return got, fmt.Errorf("the server has %d of %d connections open", open, conns)
	}
	for _, figure := range []*float64{&got.resident, &got.heap, &got.stack, &got.goroutines} {
		*figure /= float64(conns)
	}
	return got, nil
}
