package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertls"
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
		secure[i] = &tlsListener{ln, config}
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

// shutdownFunc is a function given to RequestCtx.OnShutdown.
type shutdownFunc struct {
	f      func(context.Context)
	shard  *shutdownShard
	next   *shutdownFunc // of the request
	ctx    context.Context
	cancel context.CancelFunc

	before, after *shutdownFunc // in the shard; its mu guards them
	listed        bool          // it is in the shard, and was not called; its mu guards it
}

// shutdownShards is the number of lists of functions, so that requests on all processors do
// not contend for one lock.
const shutdownShards = 16

// shutdownShard is one list of functions, on cache lines of its own.
type shutdownShard struct {
	mu    sync.Mutex
	first *shutdownFunc
	_     [112]byte
}

// shutdownFuncs are the functions that a server calls when it shuts down.
type shutdownFuncs struct {
	shards [shutdownShards]shutdownShard

	mu      sync.Mutex
	running int             // functions that have not returned
	ended   chan struct{}   // closed when running becomes 0, if a shutdown waits for that
	ctx     context.Context // of the shutdown that began last, or nil
}

// add lists a function, unless the service to which its request belongs has shut down: then
// the function is called.
func (s *shutdownFuncs) add(f func(context.Context), id uint64, service *engine.Service) *shutdownFunc {
	r := &shutdownFunc{f: f, shard: &s.shards[id%shutdownShards], listed: true}
	r.shard.mu.Lock()
	if r.after = r.shard.first; r.after != nil {
		r.after.before = r
	}
	r.shard.first = r
	r.shard.mu.Unlock()
	// a shutdown closes the channel before it reads the lists
	select {
	case <-service.Done():
		if r.take() {
			s.call(r)
		}
	default:
	}
	return r
}

// remove removes the function from its list, and reports whether it was there.
func (r *shutdownFunc) remove() bool {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	return r.unlink()
}

// take is remove for a function that is called then. Only such functions need a context.
func (r *shutdownFunc) take() bool {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	return r.takeLocked()
}

// takeLocked is take with the lock held.
func (r *shutdownFunc) takeLocked() bool {
	if !r.unlink() {
		return false
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return true
}

// end ends the functions of a request, of which r is the last one, or nil: they are not
// called any more, and the contexts of running ones end.
func (r *shutdownFunc) end() {
	for ; r != nil; r = r.next {
		r.shard.mu.Lock()
		r.unlink()
		cancel := r.cancel
		r.shard.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

// unlink is remove with the lock held.
func (r *shutdownFunc) unlink() bool {
	if !r.listed {
		return false
	}
	r.listed = false
	if r.after != nil {
		r.after.before = r.before
	}
	if r.before != nil {
		r.before.after = r.after
	} else {
		r.shard.first = r.after
	}
	r.before, r.after = nil, nil
	return true
}

// call calls the function in a goroutine. Its context ends with the shutdown, or with the
// request.
func (s *shutdownFuncs) call(r *shutdownFunc) {
	s.mu.Lock()
	s.running++
	shutdown := s.ctx
	s.mu.Unlock()
	go func() {
		defer s.returned()
		defer r.cancel()
		if shutdown == nil {
			// the shutdown has returned without waiting for the request
			r.cancel()
		} else {
			defer context.AfterFunc(shutdown, r.cancel)()
		}
		r.f(r.ctx)
	}()
}

func (s *shutdownFuncs) returned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// announce records the context of a shutdown about to begin: once the channel of the service is
// closed, add calls functions with it.
func (s *shutdownFuncs) announce(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

// begin calls all functions. Functions that are added later are called by add.
func (s *shutdownFuncs) begin() {
	for i := range s.shards {
		shard := &s.shards[i]
		for {
			shard.mu.Lock()
			r := shard.first
			if r != nil {
				r.takeLocked()
			}
			shard.mu.Unlock()
			if r == nil {
				break
			}
			s.call(r)
		}
	}
}

// wait waits until all functions have returned, or returns the error of ctx if that ends
// before.
func (s *shutdownFuncs) wait(ctx context.Context) error {
	s.mu.Lock()
	if s.running == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	ended := s.ended
	s.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end forgets the context of a shutdown about to return.
func (s *shutdownFuncs) end(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == ctx {
		s.ctx = nil
	}
}
