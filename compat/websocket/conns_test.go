package websocket

import (
	"errors"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"
)

// ours are the servers of this module.
var ours = append(connServers(), callbackServers()...)

// ourClients differ in whether compressed messages may refer to those before them.
var ourClients = []client{ourClient, {"fasthttp with contexts", func(t *testing.T, url string, o options) (link, error) {
	o.contexts = true
	return dialLink(t, url, o)
}}}

var ourClient = client{"fasthttp", dialLink}

func connLinkOf(c *websocket.Conn) *connLink {
	l := newConnLink(c, func(err error) error {
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return &closedError{closed.Code, closed.Text}
		}
		return err
	})
	l.format = websocket.FormatCloseMessage
	return l
}

// connServers are servers with Upgrader.Upgrade: on each engine, and with messages that refer to
// those before them.
func connServers() (all []server) {
	for _, e := range append(engines, engines[0]) {
		contexts := len(all) == len(engines)
		name := e.name
		if contexts {
			name += " with contexts"
		}
		all = append(all, server{name: name, start: func(t *testing.T, o options) string {
			up := websocket.Upgrader{Subprotocols: protocols, EnableCompression: o.compress, WriteBufferSize: 1024}
			up.Compression = compression(o)
			up.Compression.ContextTakeover = contexts
			s := newService()
			return serveOurs(t, e.engine, o, func(ctx *fasthttp.RequestCtx) {
				path, query := string(ctx.Path()), string(ctx.QueryArgs().QueryString())
				_ = up.Upgrade(ctx, func(c *websocket.Conn) {
					defer c.Close()
					if isPlain(path) {
						answerPlainly(c, path)
						return
					}
					s.serve(path, query, connLinkOf(c))
				})
			})
		}})
	}
	return all
}

func compression(o options) (c websocket.Compression) {
	c.ContextTakeover = o.contexts
	if o.packAll {
		c.Threshold = -1
	}
	return c
}

func dialConn(t *testing.T, url string, o options) (*websocket.Conn, error) {
	d := websocket.Dialer{Subprotocols: o.protos, EnableCompression: o.compress, TLSClientConfig: insecure, WriteBufferSize: 1024}
	d.Compression = compression(o)
	c, _, err := d.DialContext(t.Context(), url, nil)
	return c, err
}

func dialLink(t *testing.T, url string, o options) (link, error) {
	c, err := dialConn(t, url, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	return connLinkOf(c), nil
}

func dialOurs(t *testing.T, url string) (conn, error) {
	c, err := dialConn(t, url, options{compress: true, packAll: true})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func TestProbesOfClient(t *testing.T) {
	for _, p := range []probe{{patience: patience}, {patience: patience, bytewise: true}} {
		t.Run("bytewise and contexts="+onOff(p.bytewise), func(t *testing.T) {
			t.Parallel()
			checkClient(t, p, func(url string, compress bool) error {
				c, err := dialConn(t, url, options{compress: compress, contexts: p.bytewise, protos: []string{"chat.v1"}})
				if err != nil {
					return err
				}
				defer c.Close()
				answerPlainly(c, "/chat")
				return nil
			}, func(name string, err error) { t.Errorf("%s: %v", name, err) })
		})
	}
}
