package servertest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Server is the interface that this package needs of a server of the root package,
// which it does not import.
type Server interface {
	Serve(ln net.Listener) error                           // until Shutdown
	ServeTLSEmbed(ln net.Listener, cert, key []byte) error // Serve with TLS
	Shutdown() error                                       // waits for all connections
	GetOpenConnectionsCount() int32                        // open connections
	GetCurrentConcurrency() uint32                         // connections being served
}

// Prepare sets the engine of a server, and gives it a Log unless it has a Logger.
// It returns that Log.
type Prepare[S Server] func(s S, e Engine) *Log

// Starter starts a server on the engine of the test.
type Starter[S Server] func(s S) *Running[S]

// ForEachEngine runs a test on every engine, or, with ShareVariable, on one of each kind. start serves until the test ends. Then
// the server is shut down, which must end all its connections and goroutines.
func ForEachEngine[S Server](t *testing.T, prepare Prepare[S], test func(t *testing.T, start Starter[S])) {
	for _, e := range OfEachKind(t, Engines) {
		t.Run(e.Name, func(t *testing.T) {
			test(t, func(s S) *Running[S] { return Start(t, e, s, prepare) })
		})
	}
}

// ForEachTLSEngine runs a test of TLS on every engine that has TLS. e is a copy.
func ForEachTLSEngine(t *testing.T, test func(t *testing.T, e Engine)) {
	for _, e := range TLSEngines {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// Running is a serving server.
type Running[S Server] struct {
	T        testing.TB               // the test it belongs to
	S        S                        // the server
	Engine   Engine                   // on which it runs
	Listener net.Listener             // the listener that it serves
	Log      *Log                     // nil if the server had a Logger
	Dialer   func() (net.Conn, error) // connects to the listener
	Served   chan error               // the result of Serve
	Conns    []*Conn                  // dialed connections, which Stop closes

	mu sync.Mutex // guards Conns
}

// Start starts a server, which is shut down when the test ends.
func Start[S Server](t testing.TB, e Engine, s S, prepare Prepare[S]) *Running[S] {
	t.Helper()
	r := &Running[S]{T: t, S: s, Engine: e, Served: make(chan error, 1)}
	r.Log = prepare(s, e)
	t.Cleanup(r.Stop)
	r.Serve()
	return r
}

// Serve serves a new listener.
func (r *Running[S]) Serve() {
	r.Listener, r.Dialer = r.Engine.Listen(r.T)
	go func(ln net.Listener) {
		if r.Engine.TLS {
			cert, key := Certificate()
			r.Served <- r.S.ServeTLSEmbed(ln, cert, key)
		} else {
			r.Served <- r.S.Serve(ln)
		}
	}(r.Listener)
}

// Stop shuts the server down once all connections of the test are closed.
func (r *Running[S]) Stop() {
	r.mu.Lock()
	for _, c := range r.Conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	ShutDown(r.T, r.S)
	// a test may end before Serve has begun
	_ = r.Listener.Close()
}

// ShutDown shuts down s, whose clients have gone, and checks that nothing is left.
func ShutDown[S Server](t testing.TB, s S) {
	t.Helper()
	patience := Patience
	if t.Failed() {
		// its handlers may wait for the next step of the test
		patience = 10 * Short
	}
	done := make(chan error, 1)
	go func() { done <- s.Shutdown() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	case <-time.After(patience):
		if t.Failed() {
			return
		}
		t.Errorf("Shutdown hangs with %d open connections:\n%s", s.GetOpenConnectionsCount(), Stacks())
	}
	Eventually(t, "counts of connections back at 0", func() bool {
		return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0
	})
}

// Dial opens a connection to the server, which ends with the test.
func (r *Running[S]) Dial() *Conn {
	r.T.Helper()
	nc, err := r.Dialer()
	if err != nil {
		r.T.Fatal(err)
	}
	return r.Wrap(nc)
}

// DialPlain opens a connection without starting TLS on it.
func (r *Running[S]) DialPlain() *Conn {
	r.T.Helper()
	nc, err := net.Dial(r.Listener.Addr().Network(), r.Listener.Addr().String())
	if err != nil {
		r.T.Fatal(err)
	}
	return r.Wrap(nc)
}

// Wrap makes a Conn of a connection to the server.
func (r *Running[S]) Wrap(nc net.Conn) *Conn {
	c := NewConn(r.T, nc)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Conns = append(r.Conns, c)
	return c
}
