package websocket

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/valyala/fasthttp/compat/internal/process"
)

type coderLink struct {
	*inbox
	c *websocket.Conn
}

// newCoderLink begins to read from c.
func newCoderLink(c *websocket.Conn) *coderLink {
	c.SetReadLimit(2 * largest)
	return &coderLink{c: c, inbox: newInbox(func() (int, []byte, error) {
		kind, p, err := c.Read(context.Background())
		var closed websocket.CloseError
		if errors.As(err, &closed) {
			err = &closedError{int(closed.Code), closed.Reason}
		}
		return int(kind), p, err
	})}
}

func (l *coderLink) write(kind int, parts ...[]byte) error {
	if len(parts) == 1 {
		return l.c.Write(context.Background(), websocket.MessageType(kind), parts[0])
	}
	w, err := l.c.Writer(context.Background(), websocket.MessageType(kind))
	return writeParts(w, err, parts)
}

func (l *coderLink) read() (int, []byte, error) { return l.next() }

func (l *coderLink) ping(string) error {
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	return l.c.Ping(ctx)
}

func (l *coderLink) close(code int, reason string) error {
	return l.c.Close(websocket.StatusCode(code), reason)
}

func (l *coderLink) subprotocol() string { return l.c.Subprotocol() }

func coderMode(o options) websocket.CompressionMode {
	if o.compress {
		return websocket.CompressionContextTakeover
	}
	return websocket.CompressionDisabled
}

func startCoder(t *testing.T, o options) (addr string) {
	s := newService()
	return startHTTP(t, o, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: protocols, CompressionMode: coderMode(o)})
		if err != nil {
			return
		}
		defer c.CloseNow()
		s.serve(r.URL.Path, r.URL.RawQuery, newCoderLink(c))
	})
}

func dialCoder(t *testing.T, url string, o options) (link, error) {
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		Subprotocols: o.protos, CompressionMode: coderMode(o),
		HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: insecure}},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return newCoderLink(c), nil
}
