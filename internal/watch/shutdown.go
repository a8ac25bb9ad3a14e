package watch

import (
	"context"
	"sync"
)

// Func is a function that is called when the server shuts down while a request is served.
type Func struct {
	f      func(context.Context)
	shard  *funcShard
	next   *Func // of the request
	ctx    context.Context
	cancel context.CancelFunc

	before, after *Func // in the shard; its mu guards them
	listed        bool  // it is in the shard, and was not called; its mu guards it
}

// numShards is the number of lists of functions, so that requests on all processors do
// not contend for one lock.
const numShards = 16

// funcShard is one list of functions, on cache lines of its own.
type funcShard struct {
	mu    sync.Mutex
	first *Func
	_     [112]byte
}

// Funcs are the functions that a server calls when it shuts down.
type Funcs struct {
	shards [numShards]funcShard

	mu      sync.Mutex
	running int             // functions that have not returned
	ended   chan struct{}   // closed when running becomes 0, if a shutdown waits for that
	ctx     context.Context // of the shutdown that began last, or nil
	begun   uint64          // the number of that shutdown
}

// Add lists a function for the request whose function before is, or nil, on the connection id. If
// stopped is closed, the service of the request has shut down: then the function is called.
func (s *Funcs) Add(f func(context.Context), id uint64, before *Func, stopped <-chan struct{}) *Func {
	r := &Func{f: f, next: before, shard: &s.shards[id%numShards], listed: true}
	r.shard.mu.Lock()
	if r.after = r.shard.first; r.after != nil {
		r.after.before = r
	}
	r.shard.first = r
	r.shard.mu.Unlock()
	// a shutdown closes the channel before it reads the lists
	select {
	case <-stopped:
		if r.take() {
			s.call(r)
		}
	default:
	}
	return r
}

// Remove removes the function from its list, and reports whether it was there.
func (r *Func) Remove() bool {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	return r.unlink()
}

// take is Remove for a function that is called then. Only such functions need a context.
func (r *Func) take() bool {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	return r.takeLocked()
}

// takeLocked is take with the lock held.
func (r *Func) takeLocked() bool {
	if !r.unlink() {
		return false
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return true
}

// End ends the functions of a request, of which r is the last one, or nil: they are not
// called any more, and the contexts of running ones end.
func (r *Func) End() {
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

// After makes the functions of which r is the last one follow older, the last one of others of
// the same request, and returns r. Both may be nil.
func (r *Func) After(older *Func) *Func {
	if r == nil {
		return older
	}
	first := r
	for first.next != nil {
		first = first.next
	}
	first.next = older
	return r
}

// unlink is Remove with the lock held.
func (r *Func) unlink() bool {
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
func (s *Funcs) call(r *Func) {
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

func (s *Funcs) returned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// Announce records the context of a shutdown about to begin: once the channel of the service is
// closed, Add calls functions with it. It returns the number of the shutdown, for End.
func (s *Funcs) Announce(ctx context.Context) (number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	s.ctx = ctx
	return s.begun
}

// Begin calls all functions. Functions that are added later are called by Add.
func (s *Funcs) Begin() {
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

// Wait waits until all functions have returned, or returns the error of ctx if that ends
// before.
func (s *Funcs) Wait(ctx context.Context) error {
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

// End forgets the context of a shutdown about to return, unless another one has begun since.
func (s *Funcs) End(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun == number {
		s.ctx = nil
	}
}

// Len returns the number of functions that a shutdown would call.
func (s *Funcs) Len() (n int) {
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.Lock()
		for r := shard.first; r != nil; r = r.after {
			n++
		}
		shard.mu.Unlock()
	}
	return n
}
