package websocket

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/websocket"
)

// options are the differences between the servers and the clients of a test.
type options struct {
	tls      bool
	compress bool
	packAll  bool     // this module compresses the smallest messages, too
	contexts bool     // of a client of this module: compressed messages may refer to those before
	protos   []string // of a client
	page     *page    // of a server, or nil
}

func gorillaClosed(err error) error {
	if e, ok := err.(*websocket.CloseError); ok {
		return &closedError{e.Code, e.Text}
	}
	return err
}

func gorillaLink(c *websocket.Conn) *connLink {
	l := newConnLink(c, gorillaClosed)
	l.format = websocket.FormatCloseMessage
	return l
}

// startGorilla starts a server of net/http and gorilla. Messages above 1 KiB of a writer have
// several frames there.
func startGorilla(t *testing.T, o options) (addr string) {
	s := newService()
	up := websocket.Upgrader{Subprotocols: protocols, EnableCompression: o.compress, WriteBufferSize: 1024}
	return startHTTP(t, o, func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		if isPlain(r.URL.Path) {
			answerPlainly(c, r.URL.Path)
			return
		}
		s.serve(r.URL.Path, r.URL.RawQuery, gorillaLink(c))
	})
}

// startHTTP starts a server of net/http, which the end of the test stops.
func startHTTP(t *testing.T, o options, h http.HandlerFunc) (addr string) {
	s := httptest.NewUnstartedServer(h)
	if o.tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// insecure accepts the certificates of the servers here.
var insecure = &tls.Config{InsecureSkipVerify: true}

func dialGorilla(t *testing.T, url string, o options) (link, error) {
	d := websocket.Dialer{Subprotocols: o.protos, EnableCompression: o.compress, TLSClientConfig: insecure, WriteBufferSize: 1024}
	c, _, err := d.DialContext(t.Context(), url, nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	return gorillaLink(c), nil
}
