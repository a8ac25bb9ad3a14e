//go:build !unix

package restart

import (
	"context"
	"errors"
	"net"
)

// Run is Server.Run, and returns its errors: there are no restarts on this system.
func (r *Runner) Run(ctx context.Context, lns ...net.Listener) error {
	return r.alone(ctx, func(ctx context.Context) error { return r.Server.Run(ctx, lns...) })
}

// RunTLS is Server.RunTLS, and returns its errors: there are no restarts on this system.
func (r *Runner) RunTLS(ctx context.Context, certFile, keyFile string, lns ...net.Listener) error {
	return r.alone(ctx, func(ctx context.Context) error { return r.Server.RunTLS(ctx, certFile, keyFile, lns...) })
}

// alone runs the server, and calls Ready.
func (r *Runner) alone(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		err := run(ctx)
		// Ready must not wait for a server that does not serve
		cancel()
		served <- err
	}()
	var err error
	if r.Ready != nil {
		if err = r.Ready(ctx); err != nil {
			cancel()
		}
	}
	return errors.Join(err, <-served)
}

// Listen is net.Listen: no listener is inherited on this system.
func Listen(network, addr string) (net.Listener, error) { return net.Listen(network, addr) }

// Notify does nothing on this system, and returns no error.
func Notify(state string) error { return nil }
