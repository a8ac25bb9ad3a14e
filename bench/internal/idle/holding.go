package idle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/procfs"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// holding has the processes of both ends, and the number of their connections.
type holding struct {
	*session
	servers rig.Group
	clients []*rig.Child
	held    int
	wrong   string // the error of the first connection that failed
	slab    int64  // slab memory of the kernel before the connections
	kernel  int64  // growth of the slab memory
}

// begin starts the server processes.
func (h *holding) begin(ctx context.Context, server *rig.Server) error {
	m, err := procfs.MachineMemory()
	if err != nil {
		return err
	}
	h.slab = m.Slab
	settings := rig.Settings{Mode: serving.Plain, Procs: h.cores, Identity: h.identity, HTTP2: h.speaks == HTTP2}
	if h.servers, err = server.StartGroup(ctx, h.procs, settings, rig.Everywhere); err != nil {
		return err
	}
	if err := warmUp(h.servers[0].Addr, h.procs, h.speaks); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	return nil
}

// open starts a crowd and returns how long it took to open its connections. Connections that
// could not be opened are no error.
func (h *holding) open(ctx context.Context, c crowd) (time.Duration, error) {
	begin := time.Now()
	c.Addr = h.servers[0].Addr
	client, err := rig.StartSelf(ctx, rig.Anywhere, crowdWord, nil, c)
	if err != nil {
		return 0, err
	}
	h.clients = append(h.clients, client)
	var opened outcome
	err = client.Hear(ctx, crowdWord, &opened)
	h.held += opened.Conns
	h.wrong = cmp.Or(h.wrong, opened.Wrong)
	return time.Since(begin), err
}

// get makes all crowds send their requests at the same time. It returns how many were
// answered, and how long that took.
func (h *holding) get(ctx context.Context) (got int, took time.Duration, err error) {
	begin := time.Now()
	for _, client := range h.clients {
		if err := client.Say(crowdGet); err != nil {
			return 0, 0, err
		}
	}
	for _, client := range h.clients {
		var answered outcome
		if err := client.Hear(ctx, crowdWord, &answered); err != nil {
			return got, 0, err
		}
		got += answered.Conns
		h.wrong = cmp.Or(h.wrong, answered.Wrong)
	}
	return got, time.Since(begin), nil
}

// inodeSize is the kernel's memory for a socket's inode and its hidden directory entry: 832
// and 192 bytes on current 64-bit systems.
//
// The kernel counts them as reclaimable memory, together with the inodes of files, whose
// number changes all the time, and of /proc/PID/fd, which has one for each descriptor while it
// is read. So their growth cannot be measured.
const inodeSize = 1 << 10

// weigh measures the growth of the kernel's memory.
func (h *holding) weigh() error {
	m, err := procfs.MachineMemory()
	const ends = 2
	h.kernel = m.Slab - h.slab + int64(h.held)*ends*inodeSize
	return err
}

// taken returns the memory of all processes, and the kernel's for their sockets.
func (h *holding) taken() (int64, error) {
	servers, err := resident(h.servers)
	if err != nil {
		return 0, err
	}
	clients, err := resident(h.clients)
	return servers + clients + h.kernel, err
}

func resident[P interface{ Resident() (int64, error) }](processes []P) (sum int64, err error) {
	for _, p := range processes {
		size, err := p.Resident()
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}

func (h *holding) stop() error { return errors.Join(stopAll(h.clients), stopAll(h.servers)) }
