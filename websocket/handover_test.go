package websocket

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// A server may shut down before it has called the function given to Hijack, or after it.
func TestShutdownAwaitsTheConnection(t *testing.T) {
	for _, opensFirst := range []bool{true, false} {
		servertest.Bubble(t, func(t *testing.T) {
			h := new(handover)
			nc, peer := servertest.MemoryPair(t)
			server := newConn(nc, ws.Server, agreement{}, options{compression: &Compression{}, closeTimeout: time.Second}, nil)
			client := newConn(peer, ws.Client, agreement{}, options{compression: &Compression{}}, nil)
			if opensFirst {
				h.open(server)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.goAway(ctx)
			}()
			synctest.Wait()
			if !opensFirst {
				h.open(server)
			}
			if _, _, err := client.ReadMessage(); !IsCloseError(err, CloseGoingAway) {
				t.Errorf("the client gets %v", err)
			}
			cancel()
			<-done
			_ = client.CloseNow()
		})
	}
	// nothing is opened
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	new(handover).goAway(ctx)
}
