// Package stackless runs functions that need much stack on a few separate goroutines instead
// of on the many goroutines that call them. A stack that has grown stays large until its
// goroutine ends or the garbage collector shrinks it.
//
// NewFunc is for any function, NewWriter for compressors and the like.
package stackless

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// queuePerWorker is how many calls may wait for each goroutine that runs them.
const queuePerWorker = 1024

// NewFunc returns a function that calls f with its argument on one of GOMAXPROCS
// goroutines, which all calls of that function share, and waits for f to return. If
// too many calls are waiting already, it returns false without calling f.
//
// Use it if f needs much stack, is called from many goroutines, and keeps a processor busy. Do
// not use it if f blocks: then the calls in the queue wait, too. If f panics, so does the
// caller. f must not call the returned function: it might wait for itself.
//
// The first call starts the goroutines, and they never end. So call NewFunc for package
// variables only.
func NewFunc(f func(ctx any)) func(ctx any) bool {
	p := &pool{f: f, workers: runtime.GOMAXPROCS(0)}
	p.queue = make(chan *call, p.workers*queuePerWorker)
	return p.run
}

// pool has the goroutines that run f.
type pool struct {
	f       func(ctx any)
	workers int
	start   sync.Once
	queue   chan *call
}

// call is one call of f. It is reused after f has returned.
type call struct {
	ctx  any
	done chan struct{} // with room for one, so that a worker never waits for a caller
	// fault is the value of a panic of f, and stack the stack of its goroutine
	fault any
	stack []byte
	left  bool // f has ended its goroutine
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func (p *pool) run(ctx any) bool {
	p.start.Do(func() {
		for range p.workers {
			go p.work()
		}
	})
	c := calls.Get().(*call)
	c.ctx = ctx
	select {
	case p.queue <- c:
	default:
		c.ctx = nil
		calls.Put(c)
		return false
	}
	<-c.done
	fault, stack, left := c.fault, c.stack, c.left
	c.ctx, c.fault, c.stack, c.left = nil, nil, nil, false
	calls.Put(c)
	switch {
	case fault != nil:
		panic(&Panic{Value: fault, Stack: stack})
	case left:
		// f has called Goexit, which must end the goroutine of the caller
		runtime.Goexit()
	}
	return true
}

func (p *pool) work() {
	for c := range p.queue {
		p.serve(c)
	}
}

func (p *pool) serve(c *call) {
	returned := false
	defer func() {
		if !returned {
			if c.fault = recover(); c.fault != nil {
				c.stack = debug.Stack()
			} else {
				// Goexit ends this goroutine, so another one replaces it
				c.left = true
				go p.work()
			}
		}
		c.done <- struct{}{}
	}()
	p.f(c.ctx)
	returned = true
}

// Panic is the value of a panic of a function from NewFunc if f has panicked.
type Panic struct {
	Value any    // the value of the panic
	Stack []byte // the stack of the goroutine that has panicked
}

// Error implements error.
func (p *Panic) Error() string {
	return fmt.Sprintf("stackless: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value of the panic if that is an error, and nil otherwise.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
