// Package stackless runs functions that need much stack on a few goroutines of
// their own, instead of on each of the many that call them: a stack that has
// grown once is kept until its goroutine ends or the garbage collector shrinks
// it.
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
// goroutines, which all calls of that function share, and waits for f to return.
// It returns false, without having called f, where already so many calls are
// waiting that another one would only make matters worse.
//
// That pays where f needs much stack, is called from many goroutines, and keeps
// a processor busy: while f waits for something, a call in the queue waits, too.
// A panic of f becomes one of the caller. f must not call the function that it
// became, since it might wait for itself.
//
// The goroutines are started by the first call and stay, so NewFunc is for
// package variables.
func NewFunc(f func(ctx any)) func(ctx any) bool {
	p := &pool{f: f, workers: runtime.GOMAXPROCS(0)}
	p.queue = make(chan *call, p.workers*queuePerWorker)
	return p.run
}

// pool is the goroutines that run f.
type pool struct {
	f       func(ctx any)
	workers int
	start   sync.Once
	queue   chan *call
}

// call is one call of f. It is used again when it has returned.
type call struct {
	ctx  any
	done chan struct{} // with room for one, so that a worker never waits for a caller
	// fault is the value that f has panicked with, and stack where
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
		// what f meant for the goroutine that called it
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
				// Goexit takes this goroutine away, so another one takes over
				c.left = true
				go p.work()
			}
		}
		c.done <- struct{}{}
	}()
	p.f(c.ctx)
	returned = true
}

// Panic is what the caller of a function made by NewFunc panics with where the
// function did.
type Panic struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that it happened on
}

// Error implements error.
func (p *Panic) Error() string {
	return fmt.Sprintf("stackless: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value of the panic where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
