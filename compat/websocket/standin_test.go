package websocket

import (
	"testing"

	"github.com/gorilla/websocket"
)

var ours = callbackServers()

var ourClient = client{"stand-in", dialGorilla}

func dialOurs(t *testing.T, url string, compress bool) (conn, error) {
	d := websocket.Dialer{EnableCompression: compress}
	c, _, err := d.DialContext(t.Context(), url, nil)
	return c, err
}
