package websocket

import (
	"context"
	"os"
	"sync"
	"time"
)

// lock is a mutex for which a goroutine can wait for a limited time. Goroutines get it in the
// order in which they have begun to wait. It has no channel until one waits.
type lock struct {
	mu      sync.Mutex
	turn    chan struct{} // passes the lock on
	waiters int32         // that have neither got the lock nor given up
	held    bool
}

func (l *lock) tryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

// lock waits until ctx ends, or until the deadline unless it is zero.
func (l *lock) lock(ctx context.Context, deadline time.Time) error {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return nil
	}
	if l.turn == nil {
		l.turn = make(chan struct{}, 1)
	}
	l.waiters++
	turn := l.turn
	l.mu.Unlock()
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late:
		err = os.ErrDeadlineExceeded
	}
	l.giveUp()
	return err
}

// giveUp ends a wait without the lock.
func (l *lock) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters > 0 {
		// one of those left gets the lock if it was passed on meanwhile
		l.waiters--
		return
	}
	// the lock was passed to this goroutine, the only one left. A goroutine that begins to wait
	// after mu is released could take it, and keep it for any time
	<-l.turn
	l.held = false
}

func (l *lock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters == 0 {
		l.held = false
		return
	}
	l.waiters--
	// there is room: the goroutine that gets the lock takes this out before it unlocks
	l.turn <- struct{}{}
}
