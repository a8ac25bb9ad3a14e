package websocket

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/serving"
	"github.com/valyala/fasthttp/websocket"
)

// engines are the engines of a server.
var engines = []struct {
	name   string
	engine fasthttp.Engine
}{{"event", fasthttp.EngineAuto}, {"portable", fasthttp.EnginePortable}}

// serveOurs starts a server of this module, which the end of the test shuts down. Requests other
// than upgrades get the files in testdata, and may post the result of a page.
func serveOurs(t *testing.T, engine fasthttp.Engine, o options, upgrade func(ctx *fasthttp.RequestCtx)) (addr string) {
	s := &fasthttp.Server{Engine: engine, Handler: func(ctx *fasthttp.RequestCtx) {
		switch {
		case o.page == nil || websocket.IsWebSocketUpgrade(ctx):
			upgrade(ctx)
		case string(ctx.Path()) == "/result":
			o.page.results <- string(ctx.PostBody())
		default:
			// SendFile would leave compressed copies in the folder
			fasthttp.ServeFileUncompressed(ctx, filepath.Join("testdata", filepath.Base(string(ctx.Path()))))
		}
	}}
	addr, _ = serving.Start(t, s, serving.Options{Secure: o.tls})
	return addr
}

// target is the data of a socket: the path and the ID of its request.
type target struct{ path, id string }

// callbacks returns a handler that does the same as service, with two differences: a message
// always has one frame, and "ponged" follows a ping at once, since there is no callback for pongs.
func (s *service) callbacks() *websocket.Handler {
	return &websocket.Handler{
		MaxMessage: 2 * largest,
		MaxQueue:   16 * largest,
		OnOpen: func(c *websocket.Socket) {
			if to := c.Data().(target); to.path == "/seen" {
				go func() { _ = c.Send(opText, []byte(s.awaitNote(to.id))) }()
			}
		},
		OnMessage: func(c *websocket.Socket, m websocket.Message) {
			var err error
			switch c.Data().(target).path {
			case "/seen":
			case "/close":
				number, reason, _ := strings.Cut(string(m.Data), " ")
				code, _ := strconv.Atoi(number)
				err = c.Close(code, reason)
			case "/ping":
				if err = c.Ping(m.Data); err == nil {
					err = c.Send(opText, []byte("ponged"))
				}
			default:
				err = c.Send(m.Type, m.Data)
			}
			if err != nil {
				c.Abort()
			}
		},
		OnClose: func(c *websocket.Socket, _ int, err error) {
			if closed, ok := err.(*websocket.CloseError); ok {
				err = &closedError{closed.Code, closed.Text}
			}
			s.note(c.Data().(target).id, err)
		},
	}
}

// callbackServers are servers with Upgrader.Serve: on each engine, and with messages that refer to
// those before them.
func callbackServers() (all []server) {
	for _, e := range append(engines, engines[0]) {
		contexts := len(all) == len(engines)
		name := e.name + " with callbacks"
		if contexts {
			name += " and contexts"
		}
		all = append(all, server{name: name, start: func(t *testing.T, o options) string {
			up := websocket.Upgrader{Subprotocols: protocols, EnableCompression: o.compress}
			up.Compression = compression(o)
			up.Compression.ContextTakeover = contexts
			s := newService()
			usual, small := s.callbacks(), s.callbacks()
			small.MaxMessage = limit
			return serveOurs(t, e.engine, o, func(ctx *fasthttp.RequestCtx) {
				to := target{string(ctx.Path()), string(ctx.QueryArgs().Peek("id"))}
				h := usual
				if to.path == "/small" {
					h = small
				}
				_ = up.Serve(ctx, h, to)
			})
		}})
	}
	return all
}
