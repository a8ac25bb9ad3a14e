//go:build !race

package clientconn

import (
	"io"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestAskingAllocatesNothing(t *testing.T) {
	client, server := servertest.TCPPair(t)
	a := newAsker(t, client)
	go echo(server, 5)
	b := []byte("hello")
	if n := testing.AllocsPerRun(100, func() {
		asked := a.RoundTrip(client, b, b)
		_, _ = io.ReadFull(client, b[asked.Got:])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
