//go:build !windows

package reuseport

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp/tcplisten"
)

// Listen listens on addr, of the form "host:port", with SO_REUSEPORT: any
// number of listeners of this user that were made so may have that address. The
// network is "tcp4", "tcp6", or "tcp" for both.
//
// Where the system has them, two more options are set: TCP_DEFER_ACCEPT, by
// which a connection is accepted when the client has sent something, so the
// server must read before it writes, and TCP_FASTOPEN, by which a client that
// was there before may send its request in the first packet.
//
// The result is a *net.TCPListener. The error is an *ErrNoReusePort where the
// system knows no SO_REUSEPORT.
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
