package fasthttputil

import (
	"net"
	"sync"
)

// InmemoryListener is a net.Listener together with the Dial that reaches it. No
// socket is involved: the connections are those of PipeConns, with all that is said
// there. Use NewInmemoryListener to make one; the zero value is of no use.
//
// All methods may be called by several goroutines at once.
type InmemoryListener struct {
	// accepted has no buffer, so that a send ends exactly when an Accept has taken
	// the connection. Dial and Accept wait on it together with done, which Close
	// closes: from then on neither of them can wait, and so they cannot meet.
	accepted chan net.Conn
	done     chan struct{}

	mu     sync.Mutex
	closed bool
	addr   net.Addr // nil stands for inmemoryAddr
}

// NewInmemoryListener returns an open listener. Its address has the network
// "inmemory" and the text "InmemoryListener" until SetLocalAddr gives it another.
func NewInmemoryListener() *InmemoryListener {
	return &InmemoryListener{
		accepted: make(chan net.Conn),
		done:     make(chan struct{}),
	}
}

// SetLocalAddr makes addr the address of the listener: what Addr returns, and what
// the connections dialed from now on have as local address on the server's side and
// as remote address on the client's. With nil the default address returns.
func (ln *InmemoryListener) SetLocalAddr(localAddr net.Addr) {
	ln.mu.Lock()
	ln.addr = localAddr
	ln.mu.Unlock()
}

// Addr returns the address of the listener. It stays available after Close.
func (ln *InmemoryListener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.addr == nil {
		return inmemoryAddr{}
	}
	return ln.addr
}

// Accept waits for a Dial and returns the server's side of its connection. Each Dial
// is accepted once. After Close, and when Close is called meanwhile, it returns
// ErrInmemoryListenerClosed.
func (ln *InmemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.accepted:
		return c, nil
	case <-ln.done:
		return nil, ErrInmemoryListenerClosed
	}
}

// Dial opens a connection to the listener and returns the client's side of it. It
// waits until Accept has taken the server's side. After Close, and when Close is
// called meanwhile, it returns ErrInmemoryListenerClosed. The client's own address
// is the default of PipeConns; see DialWithLocalAddr for another.
func (ln *InmemoryListener) Dial() (net.Conn, error) {
	return ln.DialWithLocalAddr(nil)
}

// DialWithLocalAddr does what Dial does, and gives the client the address local,
// which the server sees as the remote address. Nil stands for the default.
func (ln *InmemoryListener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	pc := NewPipeConns()
	addr := ln.Addr()
	pc.SetAddresses(local, addr, addr, local)
	select {
	case ln.accepted <- pc.Conn2():
		return pc.Conn1(), nil
	case <-ln.done:
		return nil, ErrInmemoryListenerClosed
	}
}

// Close makes all pending and later Accept and Dial calls return
// ErrInmemoryListenerClosed. Connections that were accepted before live on. The
// first call returns nil, later ones return ErrInmemoryListenerClosed and do
// nothing.
func (ln *InmemoryListener) Close() error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.closed {
		return ErrInmemoryListenerClosed
	}
	ln.closed = true
	close(ln.done)
	return nil
}

// inmemoryAddr is the address of a listener that was given none.
type inmemoryAddr struct{}

func (inmemoryAddr) Network() string { return "inmemory" }

func (inmemoryAddr) String() string { return "InmemoryListener" }
