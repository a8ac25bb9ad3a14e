package fasthttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
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

// handshake makes the connection one with TLS, before a deadline, and chooses what is
// spoken on it. The state is that of the handshake, also if it fails. ctx may be nil.
func (cc *clientConn) handshake(ctx context.Context, config *tls.Config, by time.Time) (tls.ConnectionState, error) {
	state, err := cc.line.Handshake(ctx, config, by, func(state *tls.ConnectionState) (err error) {
		cc.protocol, err = protocolOf(cc, state.NegotiatedProtocol)
		return err
	})
	if err != nil && isTimeout(err) && cc.line.Guard.Err() == nil {
		err = ErrTLSHandshakeTimeout
	}
	return state, err
}
