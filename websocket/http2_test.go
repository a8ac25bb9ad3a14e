package websocket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// Messages of all sizes go both ways, beyond the windows of HTTP/2, whole and in fragments,
// compressed or not, in both forms of a connection.
func TestHTTP2Echoes(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		for _, compression := range []bool{false, true} {
			u := &websocket.Upgrader{EnableCompression: compression, Subprotocols: []string{"chat"}}
			s := start(both(u, echoConn, &websocket.Handler{OnMessage: echoMessage, MaxQueue: -1}))
			for _, path := range paths {
				c := s.dial(t, path, websocket.Dialer{EnableCompression: compression, Subprotocols: []string{"other", "chat"}})
				if c.Subprotocol() != "chat" {
					t.Errorf("the subprotocol is %q", c.Subprotocol())
				}
				for _, size := range []int{0, 1, 126, 4096, 65536, 300_000, servertest.Heavy(3 << 20)} {
					sent := make(chan error, 1)
					text := servertest.SampleText(size)
					go func() { sent <- c.WriteMessage(websocket.TextMessage, text) }()
					got, p, err := c.ReadMessage()
					if got != websocket.TextMessage || !bytes.Equal(p, text) || err != nil {
						t.Fatalf("%s: %d bytes of %d, %v", describe(path, compression), len(p), size, err)
					}
					servertest.Must(t, servertest.Receive(t, "the end of the sender", sent))
				}
				w, err := c.NextWriter(websocket.BinaryMessage)
				servertest.Must(t, err)
				noise := servertest.Noise(100_000)
				for piece := range slices.Chunk(noise, 999) {
					if _, err := w.Write(piece); err != nil {
						t.Fatal(err)
					}
				}
				servertest.Must(t, w.Close())
				pong := make(chan string, 1)
				c.SetPongHandler(func(payload string) error { pong <- payload; return nil })
				servertest.Must(t, c.WriteControl(websocket.PingMessage, []byte("there?"), time.Time{}))
				servertest.Must(t, c.WriteMessage(websocket.TextMessage, nil))
				if _, p, err := c.ReadMessage(); !bytes.Equal(p, noise) || err != nil {
					t.Fatalf("%s: fragments: %d bytes, %v", path, len(p), err)
				}
				if _, p, err := c.ReadMessage(); len(p) != 0 || err != nil {
					t.Fatalf("%s: %q, %v", path, p, err)
				}
				if got := servertest.Receive(t, "Pong", pong); got != "there?" {
					t.Errorf("%s: the answer is %q", path, got)
				}
				servertest.Must(t, c.Close())
			}
		}
	})
}

// The codes of Close frames arrive, whichever side closes.
func TestHTTP2CloseCodes(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		ended := make(chan error, 10)
		onClose := func(_ *websocket.Socket, _ int, err error) { ended <- err }
		reads := func(c *websocket.Conn) {
			_, p, err := c.ReadMessage()
			if err == nil && string(p) == "close" {
				err = c.CloseWith(4002, "as you like")
			}
			ended <- err
		}
		s := start(both(&websocket.Upgrader{}, reads, &websocket.Handler{OnClose: onClose, OnMessage: func(s *websocket.Socket, _ websocket.Message) {
			_ = s.Close(4002, "as you like")
		}}))
		for _, path := range paths {
			c := s.dial(t, path, websocket.Dialer{})
			servertest.Must(t, c.CloseWith(4001, "bye"))
			var closed *websocket.CloseError
			if err := servertest.Receive(t, "the end", ended); !errors.As(err, &closed) || closed.Code != 4001 || closed.Text != "bye" {
				t.Errorf("%s: the server gets %v", path, err)
			}
			c = s.dial(t, path, websocket.Dialer{})
			servertest.Must(t, c.WriteMessage(websocket.TextMessage, []byte("close")))
			if _, _, err := c.ReadMessage(); !errors.As(err, &closed) || closed.Code != 4002 || closed.Text != "as you like" {
				t.Errorf("%s: the client gets %v", path, err)
			}
			servertest.Must(t, c.CloseNow())
			servertest.Receive(t, "the end", ended)
			// without a closing handshake
			c = s.dial(t, path, websocket.Dialer{})
			servertest.Must(t, c.CloseNow())
			if err := servertest.Receive(t, "the end", ended); err == nil {
				t.Errorf("%s: no error after the end", path)
			}
		}
	})
}

// A connection of HTTP/2 that is cut ends its WebSockets like one of HTTP/1.1.
func TestHTTP2ConnectionsThatAreCut(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		ended := make(chan error, 1)
		s := start(both(&websocket.Upgrader{}, func(c *websocket.Conn) {
			_, _, err := c.ReadMessage()
			ended <- err
		}, nil))
		expect := func(side string, err error) {
			if !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the %s gets %v", side, err)
			}
		}
		raw := openRaw(t, s, "/conn")
		servertest.Must(t, raw.Close())
		expect("server", servertest.Receive(t, "the end", ended))
		var line net.Conn
		s.client.DialContext = func(_ context.Context, network, addr string) (nc net.Conn, err error) {
			nc, err = net.Dial(network, addr)
			line = nc
			return nc, err
		}
		c := s.dial(t, "/conn", websocket.Dialer{})
		// as if the server had ended it
		servertest.Must(t, line.(*net.TCPConn).CloseRead())
		_, _, err := c.ReadMessage()
		expect("client", err)
		_ = c.CloseNow()
		servertest.Receive(t, "the end", ended)
	})
}

// A client of raw frames: the fields of the handshake, and the ends of the stream.
func TestHTTP2SocketsOnTheWire(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		type end struct {
			code int
			err  error
		}
		ends := make(chan end, 10)
		reads := func(c *websocket.Conn) {
			for {
				messageType, p, err := c.ReadMessage()
				if err != nil {
					code := 0
					if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
						code = closed.Code
					}
					ends <- end{code, err}
					return
				}
				_ = c.WriteMessage(messageType, p)
			}
		}
		s := start(both(&websocket.Upgrader{}, reads, &websocket.Handler{OnMessage: echoMessage, OnClose: func(_ *websocket.Socket, code int, err error) {
			ends <- end{code, err}
		}}))
		for _, path := range paths {
			// the stream ends as a TCP connection does
			c := openRaw(t, s, path)
			c.say(ws.Text, "hello")
			c.expect(ws.Text, "hello")
			frame := socketFrame(ws.Binary, "in single bytes")
			for i := range frame {
				c.Data(1, 0, string(frame[i:i+1]))
			}
			c.Flush()
			c.expect(ws.Binary, "in single bytes")
			c.Data(1, servertest.EndStream, "").Flush()
			if st := c.Response(1); !st.Ended {
				t.Errorf("%s: after END_STREAM: %v", path, st)
			}
			if e := servertest.Receive(t, "the end", ends); e.code != websocket.CloseAbnormalClosure {
				t.Errorf("%s: END_STREAM is %d, %v", path, e.code, e.err)
			}
			// a reset in the middle of a frame
			c = openRawOn(t, c.H2Conn, 3, path)
			c.Data(3, 0, string(socketFrame(ws.Text, "a long message")[:9])).Reset(3, http2.ErrCodeCancel).Flush()
			if e := servertest.Receive(t, "the end", ends); e.err == nil || errors.Is(e.err, io.EOF) {
				t.Errorf("%s: a reset is %d, %v", path, e.code, e.err)
			}
			// the closing handshake ends the stream
			c = openRawOn(t, c.H2Conn, 5, path)
			code, _ := ws.AppendClose(nil, 1000, "")
			c.say(ws.Close, string(code))
			c.expectClose(1000)
			c.Until("the end of the stream", func() bool { return c.Stream(5).Ended })
			servertest.Receive(t, "the end", ends)
			// a fault
			c = openRawOn(t, c.H2Conn, 7, path)
			c.Data(7, 0, string(ws.AppendFrame(nil, ws.Head{Opcode: ws.Text, Fin: true}, []byte("unmasked")))).Flush()
			c.expectClose(1002)
			c.Until("the end of the stream", func() bool { return c.Stream(7).Ended })
			servertest.Receive(t, "the end", ends)
			// trailers
			c = openRawOn(t, c.H2Conn, 9, path)
			c.Fields(9, true, "sum: 7").Flush()
			c.ExpectReset(9, http2.ErrCodeProtocol)
			servertest.Receive(t, "the end", ends)
			// the connection still serves
			c.Get(11, "/").Flush()
			if got := c.Response(11).Status(); got != "501" {
				t.Errorf("a GET: %s", got)
			}
		}
	})
}

// The refusals of an opening handshake are responses.
func TestHTTP2HandshakesAreRefused(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		never := func(c *websocket.Conn) { t.Error("a refused handshake is accepted") }
		s := start(both(&websocket.Upgrader{}, never, &websocket.Handler{OnOpen: func(*websocket.Socket) { t.Error("a refused handshake is accepted") }}))
		c := servertest.GreetH2(s.socketServer)
		id := uint32(1)
		replaced := func(path, old, by string) []string {
			lines := extendedConnect(path)
			i := slices.Index(lines, old)
			lines[i] = by
			return lines
		}
		for _, path := range paths {
			for _, tt := range []struct {
				fields  []string
				status  string
				version string
			}{
				{replaced(path, "sec-websocket-version: 13", "a: b"), "400", "13"},
				{replaced(path, "sec-websocket-version: 13", "sec-websocket-version: 8"), "400", "13"},
				{extendedConnect(path, "sec-websocket-version: 13"), "400", ""},
				{extendedConnect(path, "origin: https://elsewhere.example"), "403", ""},
				{extendedConnect(path, "sec-websocket-extensions: a;;"), "400", ""},
				{extendedConnect(path, "sec-websocket-protocol: a b"), "400", ""},
				{replaced(path, ":protocol: websocket", ":protocol: connect-udp"), "501", ""},
			} {
				c.Fields(id, false, tt.fields...).Flush()
				st := c.Response(id)
				if st.Status() != tt.status || st.Field("sec-websocket-version") != tt.version || st.Field("upgrade") != "" {
					t.Errorf("%v: %v, %v", tt.fields, st, st.Fields())
				}
				id += 2
			}
		}
		// the origin of the server itself
		c.Fields(id, false, extendedConnect("/other", "origin: http://a")...)
		c.Reset(id, http2.ErrCodeCancel).Flush()
		c.Sync()
	})
}

func TestHTTP2Shutdown(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		left, opened := make(chan struct{}, 10), make(chan struct{}, 10)
		reads := func(c *websocket.Conn) {
			opened <- struct{}{}
			_, _, _ = c.ReadMessage()
			left <- struct{}{}
		}
		s := start(both(&websocket.Upgrader{}, reads, &websocket.Handler{
			OnOpen:  func(*websocket.Socket) { opened <- struct{}{} },
			OnClose: func(*websocket.Socket, int, error) { left <- struct{}{} },
		}))
		var conns []*websocket.Conn
		for range 3 {
			for _, path := range paths {
				conns = append(conns, s.dial(t, path, websocket.Dialer{}))
				servertest.Receive(t, "a connection", opened)
			}
		}
		if n := s.S.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d sockets have %d connections", len(conns), n)
		}
		done := make(chan error, 1)
		go func() { done <- s.S.Shutdown() }()
		for _, c := range conns {
			// reading the Close message of the server answers it
			select {
			case err := <-done:
				t.Fatalf("Shutdown has not waited: %v", err)
			default:
			}
			if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
				t.Errorf("a client gets %v", err)
			}
			servertest.Must(t, c.Close())
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
		for range conns {
			servertest.Receive(t, "the end of a socket", left)
		}
	})
}

// Deadlines and contexts of both sides end calls that wait, and the connection is usable after
// a read.
func TestHTTP2Deadlines(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		results := make(chan error, 10)
		handle := func(c *websocket.Conn) {
			_ = c.SetReadDeadline(time.Now().Add(servertest.Short))
			_, _, err := c.ReadMessage()
			results <- err
			_ = c.SetReadDeadline(time.Time{})
			ctx, cancel := context.WithCancel(context.Background())
			cancel2 := time.AfterFunc(servertest.Short, cancel)
			defer cancel2.Stop()
			_, _, err = c.ReadContext(ctx)
			results <- err
			_ = c.WriteMessage(websocket.TextMessage, []byte("usable"))
			_, _, err = c.ReadMessage()
			results <- err
			// the peer grants no more window
			_ = c.SetWriteDeadline(time.Now().Add(servertest.Short))
			for err = nil; err == nil; {
				err = c.WriteMessage(websocket.BinaryMessage, make([]byte, 10_000))
			}
			results <- err
		}
		s := start(both(&websocket.Upgrader{CloseTimeout: -1}, handle, nil))
		c := openRaw(t, s, "/conn")
		for _, want := range []error{os.ErrDeadlineExceeded, context.Canceled} {
			if err := servertest.Receive(t, "the end of a read", results); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		c.expect(ws.Text, "usable")
		c.say(ws.Text, "go on")
		servertest.Must(t, servertest.Receive(t, "a message", results))
		if err := servertest.Receive(t, "the end of a write", results); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write that waits for a window: %v", err)
		}
		c.Reset(1, http2.ErrCodeCancel).Flush()
	})
}

// The limits of requests do not apply, but a socket counts as a stream.
func TestHTTP2SocketsAreNoRequests(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		s := both(&websocket.Upgrader{}, echoConn, &websocket.Handler{OnMessage: echoMessage})
		s.MaxRequestBodySize, s.GetOnly = 1000, true
		s.HTTP2.MaxConcurrentStreams = 2
		running := start(s)
		for _, path := range paths {
			c := running.dial(t, path, websocket.Dialer{})
			text := servertest.SampleText(50_000)
			servertest.Must(t, c.WriteMessage(websocket.TextMessage, text))
			if _, p, err := c.ReadMessage(); !bytes.Equal(p, text) || err != nil {
				t.Errorf("%s: %d bytes, %v", path, len(p), err)
			}
		}
		raw := openRaw(t, running, "/conn")
		openRawOn(t, raw.H2Conn, 3, "/socket")
		raw.Fields(5, false, extendedConnect("/conn")...).Flush()
		raw.ExpectReset(5, http2.ErrCodeRefusedStream)
		// the place of a socket that has ended is free
		raw.Reset(1, http2.ErrCodeCancel).Flush()
		openRawOn(t, raw.H2Conn, 7, "/conn")
	})
}

// The timeouts of a server and of a client are for requests, and not for sockets.
func TestHTTP2SocketsOutlastTheTimeouts(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ln, connect := servertest.ListenMemory(t)
		s := both(&websocket.Upgrader{}, echoConn, &websocket.Handler{OnMessage: echoMessage})
		s.Logger = &servertest.Log{}
		s.Protocols.SetUnencryptedHTTP2(true)
		s.HTTP2.ExtendedConnect = true
		s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = time.Second, time.Second, time.Second
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		client := &fasthttp.Client{
			Dial:        func(string) (net.Conn, error) { return connect() },
			ReadTimeout: time.Second, WriteTimeout: time.Second, MaxIdleConnDuration: time.Second,
		}
		client.Protocols.SetUnencryptedHTTP2(true)
		for _, path := range paths {
			began := time.Now()
			c, _, err := (&websocket.Dialer{HTTP2Client: client, HandshakeTimeout: time.Second}).Dial("ws://any.host"+path, nil)
			servertest.Must(t, err)
			if took := time.Since(began); took > 0 {
				t.Errorf("the opening handshake waits for %v", took)
			}
			for _, wait := range []time.Duration{0, 10 * time.Second, time.Hour} {
				time.Sleep(wait)
				servertest.Must(t, c.WriteMessage(websocket.TextMessage, []byte("still here")))
				if _, p, err := c.ReadMessage(); string(p) != "still here" || err != nil {
					t.Fatalf("%s after %v: %q, %v", path, wait, p, err)
				}
			}
			servertest.Must(t, c.Close())
		}
		client.CloseIdleConnections()
		servertest.Must(t, s.Shutdown())
		servertest.Must(t, <-served)
		// the coarse clock ends by itself
		time.Sleep(time.Minute)
	})
}

// Without HTTP2Config.ExtendedConnect the server announces nothing and accepts nothing.
func TestHTTP2SocketsAreOffByDefault(t *testing.T) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := both(&websocket.Upgrader{}, echoConn, nil)
			s.Protocols.SetHTTP1(true)
			s.Protocols.SetHTTP2(true)
			s.Protocols.SetUnencryptedHTTP2(true)
			h := &http2Server{servertest.Start(t, e, s, prepareServer), http2Client(t, e)}
			raw := servertest.GreetH2(h.socketServer)
			if _, announced := raw.SettingsReceived[http2.SettingEnableConnectProtocol]; announced {
				t.Error("extended CONNECT is announced")
			}
			raw.Fields(1, false, extendedConnect("/conn")...).Flush()
			raw.ExpectReset(1, http2.ErrCodeProtocol)
			// the client does not try
			if c, _, err := h.try("/conn", websocket.Dialer{}, nil); !errors.Is(err, fasthttp.ErrNoExtendedConnect) {
				t.Errorf("a dial: %v, %v", c, err)
			}
			// and falls back if it speaks HTTP/1.1
			if !e.TLS {
				return
			}
			h.client.Protocols.SetHTTP1(true)
			c, resp, err := h.try("/conn", websocket.Dialer{TLSClientConfig: servertest.TrustCertificate()}, nil)
			servertest.Must(t, err)
			if resp.StatusCode != 101 {
				t.Errorf("the response is %v", resp)
			}
			servertest.Must(t, c.WriteMessage(websocket.TextMessage, []byte("over HTTP/1.1")))
			if _, p, err := c.ReadMessage(); string(p) != "over HTTP/1.1" || err != nil {
				t.Errorf("%q, %v", p, err)
			}
			servertest.Must(t, c.Close())
		})
	}
}

// A server that speaks HTTP/1.1 alone gets the socket over HTTP/1.1, unless the client speaks
// HTTP/2 alone.
func TestHTTP2DialsFallBack(t *testing.T) {
	e := servertest.TLSEngines[0]
	s := &http2Server{servertest.Start(t, e, both(&websocket.Upgrader{}, echoConn, nil), prepareServer), http2Client(t, e)}
	s.client.Protocols.SetHTTP1(true)
	c, resp, err := s.try("/conn", websocket.Dialer{TLSClientConfig: servertest.TrustCertificate()}, nil)
	servertest.Must(t, err)
	if resp.StatusCode != 101 {
		t.Errorf("the response is %v", resp)
	}
	servertest.Must(t, c.CloseNow())
	plain := &http2Server{servertest.Start(t, servertest.Engines[0], both(&websocket.Upgrader{}, echoConn, nil), prepareServer), s.client}
	c, _, err = plain.try("/conn", websocket.Dialer{}, nil)
	servertest.Must(t, err)
	servertest.Must(t, c.CloseNow())
}

// A path is sent as the URL has it, as over HTTP/1.1.
func TestHTTP2DialsKeepThePath(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		targets := make(chan string, 1)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			targets <- string(ctx.RequestURI())
			ctx.Error("enough", 403)
		}})
		for _, path := range []string{"", "?q", "/a%2Fb", "/a//b", "/a/../b", "/%e4?x=%2F&y=a+b"} {
			want := path
			if !strings.HasPrefix(path, "/") {
				want = "/" + path
			}
			for _, client := range []*fasthttp.Client{s.client, nil} {
				d := websocket.Dialer{HTTP2Client: client, TLSClientConfig: servertest.TrustCertificate()}
				if _, _, err := d.Dial(s.url(path), nil); !errors.Is(err, websocket.ErrBadHandshake) {
					t.Errorf("%q: %v", path, err)
				}
				if got := servertest.Receive(t, "a request", targets); got != want {
					t.Errorf("%q is sent as %q (HTTP/2: %v)", path, got, client != nil)
				}
			}
		}
	})
}

// A refused dial has the response, and the connection continues.
func TestHTTP2DialsAreRefused(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		u := &websocket.Upgrader{}
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/forbidden":
				ctx.Error(strings.Repeat("no, ", 1000), 403)
			case "/other":
				ctx.SetBodyString("a page")
			case "/protocol":
				ctx.Response.Header.Set("Sec-WebSocket-Protocol", "never asked for")
				_ = u.Upgrade(ctx, echoConn)
			case "/fields":
				if got := ctx.Request.Header.Peek("X-Mine"); string(got) != "yes" || string(ctx.Host()) != "name.example" {
					t.Errorf("X-Mine %q, host %q", got, ctx.Host())
				}
				if string(ctx.QueryArgs().Peek("a")) != "b" || string(ctx.ConnectProtocol()) != "websocket" || !websocket.IsWebSocketUpgrade(ctx) {
					t.Errorf("got %s", &ctx.Request)
				}
				ctx.Response.Header.Set("X-Yours", "yes")
				_ = u.Upgrade(ctx, echoConn)
			}
		}})
		_, resp, err := s.try("/forbidden", websocket.Dialer{}, nil)
		if !errors.Is(err, websocket.ErrBadHandshake) || resp == nil || resp.StatusCode != 403 || resp.Status != "403 Forbidden" {
			t.Fatalf("%v, %+v", err, resp)
		}
		if !strings.Contains(err.Error(), "403") {
			t.Errorf("the error does not name the status: %v", err)
		}
		if p, err := io.ReadAll(resp.Body); len(p) != 1024 || err != nil {
			t.Errorf("the content has %d bytes, %v", len(p), err)
		}
		if _, resp, err = s.try("/other", websocket.Dialer{}, nil); !errors.Is(err, websocket.ErrBadHandshake) || resp == nil || resp.StatusCode != 501 {
			t.Errorf("a page: %v, %+v", err, resp)
		}
		if _, resp, err = s.try("/protocol", websocket.Dialer{}, nil); !errors.Is(err, websocket.ErrBadHandshake) || resp == nil {
			t.Errorf("a subprotocol: %v, %+v", err, resp)
		}
		c, resp, err := s.try("/fields?a=b", websocket.Dialer{}, http.Header{"X-Mine": {"yes"}, "Host": {"name.example"}})
		servertest.Must(t, err)
		if resp.Header.Get("X-Yours") != "yes" {
			t.Errorf("the response has %v", resp.Header)
		}
		if _, ok := c.NetConn().(interface{ CloseWrite() error }); !ok || c.RemoteAddr().(*net.TCPAddr).String() != s.Listener.Addr().String() {
			t.Errorf("the connection is %T to %v", c.NetConn(), c.RemoteAddr())
		}
		servertest.Must(t, c.Close())
		if n := s.S.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}
