package dial

import (
	"net"
	"sync"
	"time"
)

// Uninterruptible is a dial function that cannot be interrupted.
type Uninterruptible struct {
	// Dial connects.
	Dial func() (net.Conn, error)
	// Late receives the result of Dial if Run has returned without it.
	Late func(net.Conn, error)
	// WrapPanic returns the value with which Run panics after Dial has panicked with
	// value.
	WrapPanic func(value any) any
}

// dialed is the result of a dial function: a connection, an error, or a panic.
type dialed struct {
	conn  net.Conn
	err   error
	fault any
}

// Run dials on a separate goroutine, and waits for the result until expired or
// canceled delivers a value. late reports whether that happened first; then Late will
// be called. A panic of Dial continues in Run, unless Run has returned.
func (a *Uninterruptible) Run(expired <-chan time.Time, canceled <-chan struct{}) (conn net.Conn, late bool, err error) {
	var mu sync.Mutex
	left := false
	done := make(chan dialed, 1)
	go func() {
		// Late has a connection of the application, too: nothing else recovers a panic of it
		defer func() { _ = recover() }()
		r := dialed{err: errGoexit}
		defer func() {
			mu.Lock()
			late := left
			if !late {
				done <- r
			}
			mu.Unlock()
			if late {
				a.Late(r.conn, r.err)
			}
		}()
		r = a.dial()
	}()
	select {
	case r := <-done:
		return r.result()
	case <-expired:
	case <-canceled:
	}
	mu.Lock()
	defer mu.Unlock()
	select {
	case r := <-done:
		return r.result()
	default:
		left = true
		return nil, true, nil
	}
}

// dial calls Dial and catches its panic.
func (a *Uninterruptible) dial() (r dialed) {
	defer func() {
		if p := recover(); p != nil {
			r = dialed{fault: a.WrapPanic(p)}
		}
	}()
	r.conn, r.err = a.Dial()
	return r
}

func (r dialed) result() (net.Conn, bool, error) {
	if r.fault != nil {
		panic(r.fault)
	}
	return r.conn, false, r.err
}
