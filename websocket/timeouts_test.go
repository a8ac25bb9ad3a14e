package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestReleaseContextEndsTheRequestFirst upgrades within handlers that have contexts of their own.
// The values of a request are closed when it ends.
func TestReleaseContextEndsTheRequestFirst(t *testing.T) {
	t.Parallel()
	limit := func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
		return fasthttp.TimeoutHandler(h, servertest.Never, "late")
	}
	wraps := map[string]func(h fasthttp.RequestHandler) fasthttp.RequestHandler{
		"plain":   func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
		"timeout": limit,
		"timeouts": func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			return limit(fasthttp.CompressHandler(limit(h)))
		},
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				for _, releases := range []bool{true, false} {
					for _, again := range []bool{false, true} {
						ended, inTime := make(chan struct{}), make(chan bool, 1)
						look := func() { inTime <- servertest.IsClosed(ended) }
						s := start(&fasthttp.Server{Handler: wrap(func(ctx *fasthttp.RequestCtx) {
							ctx.SetUserValue("value", servertest.CloserFunc(func() { close(ended) }))
							u := &Upgrader{ReleaseContext: releases, CloseTimeout: closing}
							_ = u.Upgrade(ctx, func(c *Conn) {
								look()
								echo(c)
							})
							if again {
								// another function may use the context
								ctx.Hijack(func(net.Conn) { look() })
							}
						})})
						c := dial(t, s, Dialer{})
						if got, want := servertest.Receive(t, "the function", inTime), releases && !again; got != want {
							t.Errorf("the request has ended before the function that was given to Hijack last (another one: %v): %v, want %v", again, got, want)
						}
						if !again {
							servertest.Must(t, c.WriteMessage(TextMessage, []byte("hello")))
							expectMessage(t, c, TextMessage, []byte("hello"))
							// the connection is still part of a shutdown
							done := make(chan error, 1)
							go func() { done <- s.S.Shutdown() }()
							if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseGoingAway) {
								t.Errorf("the client got %v", err)
							}
							servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
						}
						servertest.Receive(t, "the end of the request", ended)
						_ = c.CloseNow()
					}
				}
			})
		})
	}
}

// TestUpgradedConnectionsDoNotCount has more connections of both forms than a server serves: a
// Conn does not count once it is upgraded, and a Socket does.
func TestUpgradedConnectionsDoNotCount(t *testing.T) {
	t.Parallel()
	limits := map[string]*fasthttp.Server{"Concurrency": {Concurrency: 2}, "MaxConnsPerIP": {MaxConnsPerIP: 2}}
	for _, kind := range []string{"Upgrade", "Serve"} {
		for name, limit := range limits {
			t.Run(kind+"/"+name, func(t *testing.T) {
				forEachEngine(t, func(t *testing.T, start starter) {
					server := &fasthttp.Server{Concurrency: limit.Concurrency, MaxConnsPerIP: limit.MaxConnsPerIP}
					server.Handler = func(ctx *fasthttp.RequestCtx) {
						if kind == "Serve" {
							_ = new(Upgrader).Serve(ctx, &Handler{OnMessage: func(s *Socket, m Message) { _ = s.Send(m.Type, m.Data) }}, nil)
							return
						}
						_ = new(Upgrader).Upgrade(ctx, echo)
					}
					s := start(server)
					if !s.Engine.Sockets && limit.MaxConnsPerIP > 0 {
						t.Skip("no address")
					}
					open := func() (*Conn, error) {
						c, _, err := dialHeader(s, Dialer{}, nil)
						if err != nil {
							return nil, err
						}
						t.Cleanup(func() { _ = c.CloseNow() })
						servertest.Must(t, c.WriteMessage(TextMessage, []byte("hello")))
						expectMessage(t, c, TextMessage, []byte("hello"))
						return c, nil
					}
					for range 2 {
						_, err := open()
						servertest.Must(t, err)
					}
					if kind == "Serve" {
						if _, err := open(); err == nil {
							t.Error("a socket too many was opened")
						}
						if n := s.S.GetOpenConnectionsCount(); n < 2 {
							t.Errorf("the server has %d connections, want those of the sockets", n)
						}
						return
					}
					for range 5 {
						_, err := open()
						servertest.Must(t, err)
					}
					servertest.Eventually(t, "no connection of the server", func() bool { return s.S.GetOpenConnectionsCount() == 0 })
				})
			})
		}
	}
}

// TestWriteTimeout has a peer of a pipe without a buffer, which reads slowly, and then not at all.
func TestWriteTimeout(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int
		limit time.Duration
	}{
		{"small", 100, 10 * time.Second},
		{"large", 200 << 10, 40 * time.Second},
	} {
		for _, writer := range []bool{false, true} {
			servertest.Bubble(t, func(t *testing.T) {
				peer, nc := net.Pipe()
				c := (&Upgrader{WriteTimeout: 10 * time.Second, WriteBufferSize: 1 << 20, CloseTimeout: time.Second}).newConn(nc, agreement{})
				write := func() error {
					if !writer {
						return c.WriteMessage(BinaryMessage, make([]byte, tt.size))
					}
					w, err := c.NextWriter(BinaryMessage)
					servertest.Must(t, err)
					_, _ = w.Write(make([]byte, tt.size))
					return w.Close()
				}
				read := make(chan error)
				for range 3 {
					go func() {
						time.Sleep(tt.limit)
						_, err := io.ReadFull(peer, make([]byte, 2))
						if err == nil {
							_, err = io.ReadFull(peer, make([]byte, frameSize(tt.size)-2))
						}
						read <- err
					}()
					servertest.Must(t, write())
					servertest.Must(t, <-read)
				}
				began := time.Now()
				if err := write(); err == nil || !netio.IsTimeout(err) {
					t.Errorf("%s: a peer that reads nothing: %v", tt.name, err)
				}
				if took := time.Since(began); took < tt.limit || took > tt.limit+tt.limit/8 {
					t.Errorf("%s: a write has failed after %v", tt.name, took)
				}
				// other limits replace it
				began = time.Now()
				_ = c.SetWriteDeadline(began.Add(time.Hour))
				if err := write(); err == nil || time.Since(began) != time.Hour {
					t.Errorf("%s: a deadline: %v after %v", tt.name, err, time.Since(began))
				}
				_ = c.SetWriteDeadline(time.Time{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began = time.Now()
				if err := c.WriteContext(ctx, BinaryMessage, make([]byte, tt.size)); err != context.DeadlineExceeded || time.Since(began) != time.Hour {
					t.Errorf("%s: a context: %v after %v", tt.name, err, time.Since(began))
				}
				_ = c.CloseNow()
				_ = peer.Close()
			})
		}
	}
}

// frameSize returns the size of a frame of a server with a payload of n bytes.
func frameSize(n int) int {
	switch {
	case n < 126:
		return 2 + n
	case n < 1<<16:
		return 4 + n
	}
	return 10 + n
}

// TestCloseSendsNoAlertAfterAFailedWrite has a peer that reads nothing: after a write that was cut it could
// not read the alert that ends a TLS connection either, for which there is no room.
func TestCloseSendsNoAlertAfterAFailedWrite(t *testing.T) {
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	servertest.Must(t, err)
	for name, end := range map[string]func(c *Conn) error{
		"Close": (*Conn).Close,
		"CloseNow": func(c *Conn) error {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			if err := c.WriteMessage(TextMessage, []byte("hello")); err == nil {
				return errors.New("a message was sent")
			}
			return c.CloseNow()
		},
	} {
		servertest.Bubble(t, func(t *testing.T) {
			peer, nc := net.Pipe()
			server := tls.Server(peer, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true})
			client := tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
			shaken := make(chan error, 1)
			go func() { shaken <- server.Handshake() }()
			servertest.Must(t, client.Handshake())
			servertest.Must(t, <-shaken)
			c := newConn(client, ws.Client, agreement{}, settingsOf(Dialer{CloseTimeout: time.Second}), nil)
			began := time.Now()
			if err := end(c); err != nil || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			if _, err := nc.Write(nil); err != io.ErrClosedPipe {
				t.Errorf("%s: the connection is open: %v", name, err)
			}
			_ = peer.Close()
		})
	}
}
