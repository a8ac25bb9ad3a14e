//go:build !windows

package reuseport

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp/tcplisten"
)

// Listen listens on addr, of the form "host:port", with SO_REUSEPORT: any number of
// listeners of the same user that have this option can share the address. The network
// is "tcp4", "tcp6", or "tcp" for both.
//
// If the system has them, Listen sets two more options. With TCP_DEFER_ACCEPT a
// connection is accepted only when the client has sent data, so the server must read
// before it writes. With TCP_FASTOPEN a client that has connected before may send its
// request in the first packet.
//
// The result is a *net.TCPListener. The error is an *ErrNoReusePort if the system
// does not support SO_REUSEPORT.
func Listen(network, addr string) (net.Listener, error) {
	cfg := tcplisten.Config{ReusePort: true, DeferAccept: true, FastOpen: true}
	for {
		ln, err := cfg.NewListener(network, addr)
		option, ok := errors.AsType[*tcplisten.OptionError](err)
		switch {
		case !ok:
			return ln, err
		case option.Option == "TCP_DEFER_ACCEPT" && cfg.DeferAccept:
			cfg.DeferAccept = false
		case option.Option == "TCP_FASTOPEN" && cfg.FastOpen:
			cfg.FastOpen = false
		default:
			return nil, &ErrNoReusePort{option}
		}
	}
}
