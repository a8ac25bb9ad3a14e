package servertest

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
)

// Engine is a way to serve connections: how bytes are moved, and over which kind of
// connection. All tests of the server's behaviour run on each Engine.
type Engine struct {
	Name   string                                                              // of its subtests
	Kind   Kind                                                                // the engine for the server
	Listen func(t testing.TB) (ln net.Listener, dial func() (net.Conn, error)) // makes a listener, and a function that connects to it
	// Sockets means that connections belong to the operating system: one side can be
	// closed alone, and the peer has an IP address.
	Sockets bool
	// TLS means that the server uses TLS, with Certificate.
	TLS bool
}

// Kind selects an engine of the server.
type Kind int

// The engines of the server.
const (
	Automatic Kind = iota
	Portable
	Event
)

// Engines are the engines of ForEachEngine. Another engine, or another kind of
// connection such as TLS, is another line here.
var Engines = []Engine{
	{Name: "portable/tcp", Kind: Portable, Listen: ListenTCP, Sockets: true},
	{Name: "event/tcp", Kind: Event, Listen: ListenTCP, Sockets: true},
	{Name: "portable/tls", Kind: Portable, Listen: ListenTLS, Sockets: true, TLS: true},
	{Name: "event/tls", Kind: Event, Listen: ListenTLS, Sockets: true, TLS: true},
	{Name: "portable/memory", Kind: Portable, Listen: ListenMemory},
}

// MemoryEngine is the engine for tests that need only one.
var MemoryEngine = Engines[len(Engines)-1]

// SocketEngines are the engines with Sockets.
var SocketEngines = Engines[:4]

// TLSEngines are the engines of ForEachTLSEngine.
var TLSEngines = Engines[2:4]

// ListenTCP listens at a port of the loopback interface.
func ListenTCP(t testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	return ln, func() (net.Conn, error) { return net.Dial("tcp4", addr) }
}

// ListenTLS is ListenTCP with TLS connections.
func ListenTLS(t testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln, _ := ListenTCP(t)
	addr := ln.Addr().String()
	return ln, func() (net.Conn, error) { return tls.Dial("tcp4", addr, TrustCertificate()) }
}

// ListenMemory listens in memory.
func ListenMemory(testing.TB) (net.Listener, func() (net.Conn, error)) {
	ln := fasthttputil.NewInmemoryListener()
	return ln, ln.Dial
}

// TCPPair returns both sides of a TCP connection, which ends with the test.
func TCPPair(t testing.TB) (client, server net.Conn) { return pair(t, ListenTCP) }

// MemoryPair returns both sides of a connection in memory, which ends with the test.
func MemoryPair(t testing.TB) (client, server net.Conn) { return pair(t, ListenMemory) }

func pair(t testing.TB, listen func(t testing.TB) (net.Listener, func() (net.Conn, error))) (client, server net.Conn) {
	t.Helper()
	ln, dial := listen(t)
	defer ln.Close()
	type result struct {
		nc  net.Conn
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		nc, err := ln.Accept()
		accepted <- result{nc, err}
	}()
	client, err := dial()
	Must(t, err)
	t.Cleanup(func() { _ = Close(client) })
	r := Receive(t, "the connection", accepted)
	Must(t, r.err)
	t.Cleanup(func() { _ = Close(r.nc) })
	return client, r.nc
}
