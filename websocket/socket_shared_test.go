package websocket

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestPreparedMessageIsCompressedOnce sends a message to sockets that share its forms, and to
// others.
func TestPreparedMessageIsCompressedOnce(t *testing.T) {
	m, err := NewPreparedMessage(TextMessage, servertest.SampleText(10_000))
	servertest.Must(t, err)
	socket := func(c Compression, d ws.Deflate) *Socket {
		u := &Upgrader{Compression: c}
		s := &Socket{settings: new(Handler).settingsFor(u)}
		s.ws.Init(ws.Server, &s.settings.limits, ws.Extensions{Compression: true})
		s.beginCompression(d)
		return s
	}
	alone := ws.Deflate{ServerNoContext: true, ClientNoContext: true}
	for i, tt := range []struct {
		c     Compression
		d     ws.Deflate
		forms int
	}{
		{Compression{}, alone, 1},
		{Compression{}, alone, 1},
		{Compression{Level: 1, ContextTakeover: true}, ws.Deflate{}, 1},
		{Compression{}, ws.Deflate{ServerBits: 9, ServerNoContext: true, ClientNoContext: true}, 2},
		{Compression{Level: 6}, ws.Deflate{ServerBits: 9}, 2},
		{Compression{Level: 6}, alone, 3},
		{Compression{Threshold: 20_000}, alone, 3},
	} {
		s := socket(tt.c, tt.d)
		servertest.Must(t, s.SendPrepared(m))
		if len(m.packed) != tt.forms {
			t.Errorf("socket %d: there are %d compressed forms, want %d", i, len(m.packed), tt.forms)
		}
		if n := s.conn.Queued(); (n > 10_000) != (tt.c.Threshold > 10_000) {
			t.Errorf("socket %d: %d bytes are in the queue", i, n)
		}
		if s.context() == nil != (tt.d == alone || tt.d.ServerNoContext) {
			t.Errorf("socket %d: the context is %v", i, s.context())
		}
	}
}
