package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/servertls"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// defaultShutdownTimeout is the default of Server.ShutdownTimeout.
const defaultShutdownTimeout = 20 * time.Second

var errNoListener = errors.New("fasthttp: cannot run the server: there is no listener")

// Run serves HTTP on the connections that the listeners accept until ctx ends. Then it shuts
// the server down gracefully, as ShutdownWithContext does, within ShutdownTimeout. With
// signal.NotifyContext it is the whole life of a service:
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	ln, err := net.Listen("tcp", ":8080")
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := server.Run(ctx, ln); err != nil {
//		log.Fatal(err)
//	}
//
// It returns nil if ctx has ended and the shutdown is complete; so it does after other code
// has called Shutdown, or has closed all the listeners. If a listener fails, or if the server
// has no Handler, Run shuts down all of them, and returns the error of Serve, joined with
// further errors. If the shutdown takes longer than ShutdownTimeout, Run leaves the busy
// connections alone and returns an error that wraps context.DeadlineExceeded.
//
// Run closes the listeners, and returns an error if there are none. If ctx has already ended,
// it serves nothing. A program with several servers runs each of them in a goroutine, and
// cancels their common context when one of them returns.
func (s *Server) Run(ctx context.Context, lns ...net.Listener) error {
	return s.run(ctx, lns)
}

// RunTLS is Run for HTTPS with the certificate of the files, as for ServeTLS: if the names are
// empty, only TLSConfig is used. It returns the error of reading the files at once.
func (s *Server) RunTLS(ctx context.Context, certFile, keyFile string, lns ...net.Listener) error {
	config, err := s.servingConfig(servertls.Source{InFiles: true, Cert: certFile, Key: keyFile})
	if err != nil {
		closeListeners(lns)
		return err
	}
	secure := make([]net.Listener, len(lns))
	for i, ln := range lns {
		secure[i] = &tlsListener{ln, tlswire.With(config)}
	}
	return s.run(ctx, secure)
}

func (s *Server) run(ctx context.Context, lns []net.Listener) error {
	if len(lns) == 0 {
		return errNoListener
	}
	if ctx.Err() != nil {
		closeListeners(lns)
		return nil
	}
	served := make(chan error, len(lns))
	for _, ln := range lns {
		go func() { served <- s.Serve(ln) }()
	}
	var failed error
	serving := len(lns)
	for stopped := false; serving > 0 && failed == nil && !stopped; {
		select {
		case failed = <-served:
			serving--
		case <-ctx.Done():
			stopped = true
		}
	}
	limit, cancel := s.shutdownContext(ctx)
	defer cancel()
	err := s.ShutdownWithContext(limit)
	// a Serve that begins only now would serve
	closeListeners(lns)
	for ; serving > 0; serving-- {
		failed = errors.Join(failed, <-served)
	}
	if err == nil {
		// that Serve may have accepted connections
		err = s.ShutdownWithContext(limit)
	}
	if err != nil && errors.Is(err, limit.Err()) {
		err = fmt.Errorf("fasthttp: the shutdown has not ended within %v: %w", s.shutdownTimeout(), err)
	}
	if failed == nil {
		return err
	}
	return errors.Join(failed, err)
}

// shutdownContext returns the context of the shutdown of a server that has run until ctx ended.
func (s *Server) shutdownContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if s.ShutdownTimeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.shutdownTimeout())
}

func (s *Server) shutdownTimeout() time.Duration {
	if s.ShutdownTimeout == 0 {
		return defaultShutdownTimeout
	}
	return s.ShutdownTimeout
}

func closeListeners(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}
