package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// readyTimeout is how long a started program may take to listen.
const readyTimeout = 10 * time.Second

// StartForeign runs a server that does not implement the protocol of this module's servers,
// and returns when it accepts connections at addr. It does not end with the program that
// started it: Stop kills it.
func StartForeign(ctx context.Context, line []string, addr string) (*Process, error) {
	child, err := StartChild(ctx, nil, line)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", line[0], err)
	}
	p := &Process{Addr: addr, child: child, foreign: true}
	for deadline := time.Now().Add(readyTimeout); ; {
		conn, err := net.DialTimeout("tcp4", addr, time.Second)
		if err == nil {
			return p, conn.Close()
		}
		select {
		case <-child.over:
			return nil, fmt.Errorf("starting %s: %w", line[0], child.ended())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("starting %s: %w", line[0], err), p.Kill())
		}
	}
}

// Kill kills the server. It returns an error if the server had ended before.
func (p *Process) Kill() (err error) {
	p.child.once.Do(func() {
		select {
		case <-p.child.over:
			err = p.child.ended()
		default:
			_ = p.child.cmd.Process.Kill()
			<-p.child.over
		}
		_ = p.child.stdin.Close()
	})
	return err
}
