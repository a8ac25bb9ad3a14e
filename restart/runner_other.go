//go:build !unix

package restart

import (
	"context"
	"net"
)

// Run is Server.Run, and returns its errors: there are no restarts on this system.
func (r *Runner) Run(ctx context.Context, lns ...net.Listener) error {
	return r.Server.Run(ctx, lns...)
}

// Listen is net.Listen: no listener is inherited on this system.
func Listen(network, addr string) (net.Listener, error) { return net.Listen(network, addr) }

// Notify does nothing on this system, and returns no error.
func Notify(state string) error { return nil }
