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

// startForeign runs a server that does not implement the protocol of this module's servers, at a
// free port, and returns when it accepts connections. It does not end with the program that
// started it: Stop kills it.
func (s *Server) startForeign(ctx context.Context, settings Settings) (*Process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	args, err := s.args(addr, settings)
	if err != nil {
		return nil, err
	}
	child, err := StartChild(ctx, nil, settings.Place.Command(s.binary, args...))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	p := &Process{Addr: addr, child: child, foreign: true}
	for deadline := time.Now().Add(readyTimeout); ; {
		conn, err := net.DialTimeout("tcp4", addr, time.Second)
		if err == nil {
			return p, conn.Close()
		}
		select {
		case <-child.over:
			return nil, fmt.Errorf("starting %s: %w", s.Name, child.ended())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("starting %s: %w", s.Name, err), p.Kill())
		}
	}
}

// freeAddr returns an unused address.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
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
