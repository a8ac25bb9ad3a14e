package websocket

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestDocumentedLimits compares the limits in docs/security.md with the code.
func TestDocumentedLimits(t *testing.T) {
	var u Upgrader
	socket := new(Handler).settingsFor(&u)
	if socket.message != DefaultReadLimit || socket.closingTime != DefaultCloseTimeout || socket.ping != 0 {
		t.Errorf("a socket has other limits than a Conn: %+v", socket.socketTerms)
	}
	servertest.CheckLimits(t, "../docs/security.md", "Limit of a WebSocket", map[string]any{
		"message that is received, after decompression":                    servertest.Size(DefaultReadLimit),
		"frames of a message":                                              standardLimits.Fragments,
		"frames of a message that are empty":                               standardLimits.Empty,
		"payload of a control frame":                                       servertest.Size(ws.MaxControl),
		"output of a socket that waits":                                    servertest.Size(socket.queue),
		"time in which a peer of a socket takes 64 KiB of that":            socket.write,
		"time in which a peer of a `Conn` takes a frame, for each 64 KiB":  nil,
		"time for a Pong or Close frame that answers the peer of a `Conn`": controlTimeout,
		"time without a message":                                           nil,
		"time between pings":                                               nil,
		"time for the answer to a ping":                                    "`PingInterval`",
		"time for the closing handshake":                                   DefaultCloseTimeout,
		"response to an opening handshake, its head":                       servertest.Size(maxResponseHead),
		"content of a response that refuses it, which is kept":             servertest.Size(maxResponseContent),
		"time for a dial of `DefaultDialer`":                               DefaultDialer.HandshakeTimeout,
	})
}
