//go:build !unix

package peers

import (
	"net"
	"testing"
)

func awaitEnd(t *testing.T, _ net.Conn) {
	t.Helper()
	t.Skip("the end of a connection cannot be seen without reading")
}
