package fasthttp

import (
	"context"
	"sync"

	"github.com/valyala/fasthttp/internal/engine"
)

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
