package fasthttp

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/connpool"
)

// clientTLSConfig returns the configuration for the connections to addr: base,
// which may be nil, with what it leaves open. Nothing about an address, however
// strange, makes it less strict.
//
// The error says that no certificate could be for such a host. Its text is an old one
// that programs compare.
func clientTLSConfig(base *tls.Config, addr string) (*tls.Config, error) {
	config := &tls.Config{}
	if base != nil {
		config = base.Clone()
	}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(AddMissingPort(addr, true))
		switch {
		case err == nil:
			config.ServerName = host
		case config.InsecureSkipVerify:
			config.ServerName = addr
		default:
			return nil, fmt.Errorf("cannot determine tls server name from addr %q: %w", addr, err)
		}
	}
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if config.NextProtos == nil {
		config.NextProtos = []string{"http/1.1"}
	}
	return config, nil
}

// handshakeTimeout limits a TLS handshake for which the application has not set
// another time.
const handshakeTimeout = 10 * time.Second

// handshake makes the connection one with TLS, before a deadline. The state is that
// of the handshake, also if it fails. Functions in the configuration get the values
// of ctx, which may be nil; its end is the guard's.
func (cc *clientConn) handshake(ctx context.Context, config *tls.Config, by time.Time) (tls.ConnectionState, error) {
	if err := cc.guard.limit(by, by); err != nil {
		return tls.ConnectionState{}, err
	}
	gate := &tlsGate{Conn: cc.conn, probe: &cc.probe}
	secure := tls.Client(gate, config)
	if ctx == nil {
		ctx = context.Background()
	}
	err := secure.HandshakeContext(context.WithoutCancel(ctx))
	state := secure.ConnectionState()
	protocol := cc.protocol
	if err == nil {
		protocol, err = protocolOf(cc, state.NegotiatedProtocol)
	}
	if err == nil {
		err = cc.guard.limit(time.Time{}, time.Time{})
	}
	if canceled := cc.guard.err(); canceled != nil {
		return state, canceled
	}
	if err != nil && isTimeout(err) {
		err = ErrTLSHandshakeTimeout
	}
	if err == nil {
		cc.conn, cc.protocol, cc.gate, cc.asker = secure, protocol, gate, nil
	}
	return state, err
}

// tlsGate is a connection below TLS. It can be read without waiting, which is how
// TLS takes in what is its own, such as session tickets, while the connection is
// idle; and it knows whether a record of TLS was received in part.
type tlsGate struct {
	net.Conn
	probe *connpool.Probe
	// dry says that a read must not wait
	dry bool

	head    [5]byte // of the current record
	inHead  int     // bytes of it that came
	content int     // bytes of the record's content that are still to come
}

// NetConn returns the connection below.
func (g *tlsGate) NetConn() net.Conn { return g.Conn }

// errWouldWait is what a read that must not wait fails with. It is one that TLS
// forgets.
var errWouldWait net.Error = &timeoutError{}

// Read implements io.Reader.
func (g *tlsGate) Read(p []byte) (int, error) {
	if g.dry {
		switch g.probe.Look() {
		case connpool.Quiet, connpool.Unknown:
			return 0, errWouldWait
		}
	}
	n, err := g.Conn.Read(p)
	g.follow(p[:n])
	return n, err
}

// follow keeps up with the records in what was received.
func (g *tlsGate) follow(b []byte) {
	for len(b) > 0 {
		if g.content > 0 {
			n := min(g.content, len(b))
			g.content -= n
			b = b[n:]
			continue
		}
		n := copy(g.head[g.inHead:], b)
		g.inHead += n
		b = b[n:]
		if g.inHead == len(g.head) {
			g.inHead = 0
			g.content = int(binary.BigEndian.Uint16(g.head[3:]))
		}
	}
}

// quiet reports whether nothing has come through the connection above, secure,
// that is not TLS talking to itself. What TLS had received with the last response
// counts as well.
func (g *tlsGate) quiet(secure net.Conn) bool {
	g.dry = true
	defer func() { g.dry = false }()
	var b [1]byte
	n, err := secure.Read(b[:])
	return n == 0 && err == error(errWouldWait) && g.inHead == 0 && g.content == 0
}
