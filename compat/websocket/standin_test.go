package websocket

import (
	"io"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
)

var ours = []server{{"stand-in", startGorilla}}

var ourClient = client{"stand-in", dialGorilla}

var ourPages = []server{{"stand-in", func(t *testing.T, o options) string {
	s := newService()
	up := websocket.Upgrader{Subprotocols: protocols, EnableCompression: o.compress}
	return startHTTP(t, o, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			if r.URL.Path == "/result" {
				b, _ := io.ReadAll(r.Body)
				o.page.results <- string(b)
				return
			}
			http.ServeFile(w, r, "testdata"+r.URL.Path)
			return
		}
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		s.serve(r.URL.Path, r.URL.RawQuery, gorillaLink(c))
	})
}}}

func dialOurs(t *testing.T, url string, compress bool) (conn, error) {
	d := websocket.Dialer{EnableCompression: compress}
	c, _, err := d.DialContext(t.Context(), url, nil)
	return c, err
}
