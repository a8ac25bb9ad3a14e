package fasthttputil

import (
	"net"
	"sync"
)

// InmemoryListener is a net.Listener together with a Dial that connects to it. It uses no
// socket: each connection is a PipeConns pair, with the behavior that PipeConns documents. Use
// NewInmemoryListener to make one; the zero value cannot be used.
//
// All methods may be called by several goroutines at once.
type InmemoryListener struct {
	// accepted has no buffer, so a send ends exactly when an Accept receives the connection.
	// Dial and Accept wait for accepted and for done, which Close closes: from then on neither
	// waits, and no connection is accepted.
	accepted chan net.Conn
	done     chan struct{}

	mu     sync.Mutex
	closed bool
	addr   net.Addr // nil means inmemoryAddr
}

// NewInmemoryListener returns an open listener. Its address has the network
// "inmemory" and the text "InmemoryListener" until SetLocalAddr gives it another.
func NewInmemoryListener() *InmemoryListener {
	return &InmemoryListener{
		accepted: make(chan net.Conn),
		done:     make(chan struct{}),
	}
}

// SetLocalAddr sets the address of the listener: the result of Addr, and for connections
// dialed from now on the local address of the server's side and the remote address of the
// client's. Nil restores the default address.
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

// Accept waits for a Dial and returns the server's side of its connection. Each Dial is
// accepted once. If the listener is closed, before the call or during it, Accept returns
// ErrInmemoryListenerClosed.
func (ln *InmemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.accepted:
		return c, nil
	case <-ln.done:
		return nil, ErrInmemoryListenerClosed
	}
}

// Dial opens a connection to the listener and returns the client's side of it. It waits until
// Accept has returned the server's side. If the listener is closed, before the call or during
// it, Dial returns ErrInmemoryListenerClosed. The client has the default address of PipeConns;
// DialWithLocalAddr sets another one.
func (ln *InmemoryListener) Dial() (net.Conn, error) {
	return ln.DialWithLocalAddr(nil)
}

// DialWithLocalAddr is like Dial, and gives the client the address local, which the server
// sees as the remote address. Nil means the default.
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

// Close makes all pending and later calls of Accept and Dial return
// ErrInmemoryListenerClosed. Connections that were accepted before stay open. The
// first call returns nil; later calls do nothing and return ErrInmemoryListenerClosed.
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

// inmemoryAddr is the default address of a listener.
type inmemoryAddr struct{}

func (inmemoryAddr) Network() string { return "inmemory" }

func (inmemoryAddr) String() string { return "InmemoryListener" }
