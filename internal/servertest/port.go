package servertest

import (
	"net"
	"testing"
)

// FreePort returns a port on which no program listens until the test ends, at any of the
// loopback addresses; the default is 127.0.0.1. On each address, another connection uses the
// port as its local end. An address that the system does not have is ignored.
func FreePort(t testing.TB, addresses ...string) (port string) {
	t.Helper()
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1"}
	}
	Eventually(t, "a port that is free", func() bool {
		port = "0"
		for _, a := range addresses {
			ln, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
			if err != nil {
				continue
			}
			t.Cleanup(func() { _ = ln.Close() })
			from, _ := net.ResolveTCPAddr("tcp", net.JoinHostPort(a, port))
			conn, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", ln.Addr().String())
			if err != nil {
				return false
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, port, _ = net.SplitHostPort(conn.LocalAddr().String())
		}
		return true
	})
	return port
}
