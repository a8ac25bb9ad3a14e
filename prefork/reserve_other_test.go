//go:build !linux && !windows

package prefork

import (
	"net"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// reserve returns an address with a port that was free a moment ago.
func reserve(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	servertest.Must(t, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}
