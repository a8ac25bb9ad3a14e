package integrationtests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/reuseport"
)

// TestHTTP2ConnectionClose has handlers that close the connection: the server sends GOAWAY,
// answers all requests that it has accepted, and clients continue on another connection.
func TestHTTP2ConnectionClose(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		settings func(s *fasthttp.Server)
		requests int // on each connection
	}{
		{"SetConnectionClose", func(*fasthttp.Server) {}, 0},
		{"MaxRequestsPerConn", func(s *fasthttp.Server) { s.MaxRequestsPerConn = 3 }, 3},
		{"DisableKeepalive", func(s *fasthttp.Server) { s.DisableKeepalive = true }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				g := servertest.NewGate()
				server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					switch string(ctx.Path()) {
					case "/close":
						ctx.SetConnectionClose()
					case "/wait":
						g.Pass("wait")
					}
					fmt.Fprint(ctx, ctx.ConnID())
				}}
				tc.settings(server)
				s := start(server)
				conns := make(map[string]int)
				for range 9 {
					path := "/"
					if tc.requests == 0 {
						path = "/close"
					}
					resp := s.do(t, s.request(t, "GET", path, nil))
					if resp.StatusCode != 200 || resp.Header.Get("Connection") != "" {
						t.Errorf("got %d, %v", resp.StatusCode, resp.Header)
					}
					conns[resp.Content]++
				}
				for id, n := range conns {
					// a client may send one more request before it sees GOAWAY
					if want := max(tc.requests, 1); n > want {
						t.Errorf("connection %s has answered %d requests, want %d", id, n, want)
					}
				}
				if tc.requests == 1 {
					return
				}
				c := s.dialFrames(t)
				c.Begin(1, true, "GET", "/wait")
				servertest.Receive(t, "the request", g.Entered)
				path := "/close"
				if tc.requests > 0 {
					path = "/"
				}
				c.Begin(3, true, "GET", path)
				c.Response(3)
				if tc.requests > 0 {
					c.Begin(5, true, "GET", "/")
					c.Response(5)
				}
				c.Until("GOAWAY", func() bool { return c.Away != nil })
				close(g.Open)
				if f := c.Response(1); f.Head(0)[":status"] != "200" {
					t.Errorf("a request before GOAWAY gets %v, reset %v", f.Heads, f.Reset)
				}
				c.ExpectGoAway(http2.ErrCodeNo)
			})
		})
	}
}

// TestHTTP2ShutdownAnswersWhatWasAccepted has clients that send requests while the server
// shuts down. All calls succeed, or fail before they have reached a handler.
func TestHTTP2ShutdownAnswersWhatWasAccepted(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = w.WriteString("first ")
					_ = w.Flush()
					g.Pass("stream")
					_, _ = w.WriteString("last")
				})
				return
			}
			g.Pass(string(ctx.Path()))
			ctx.SetBodyString("through")
		}})
		const clients = 20
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				path, want := "/", "through"
				if i%4 == 0 {
					path, want = "/stream", "first last"
				}
				resp, err := s.client.Do(s.request(t, "GET", path, nil))
				if err != nil {
					t.Errorf("a request that was accepted fails: %v", err)
					return
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); string(got) != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			})
		}
		for range clients {
			servertest.Receive(t, "a request", g.Entered)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- s.S.Shutdown() }()
		c := servertest.Receive(t, "the end of Serve", s.Served)
		if c != nil {
			t.Errorf("Serve: %v", c)
		}
		select {
		case err := <-stopped:
			t.Errorf("Shutdown does not wait: %v", err)
		default:
		}
		close(g.Open)
		all.Wait()
		// the connection has nothing more to do
		if err := servertest.Receive(t, "the end of Shutdown", stopped); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestHTTP2ShutdownInTwoSteps checks the frames with which connections end (RFC 9113 section
// 6.8).
func TestHTTP2ShutdownInTwoSteps(t *testing.T) {
	t.Parallel()
	forEachHTTP2ClientInTime(t, func(t testing.TB, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{Handler: passing(g)})
		c, idle := s.dialFrames(t), s.dialFrames(t)
		idle.Sync()
		c.Begin(1, true, "GET", "/1")
		servertest.Receive(t, "the request", g.Entered)
		stopped := make(chan error, 1)
		go func() { stopped <- s.S.Shutdown() }()
		c.Until("the first GOAWAY", func() bool { return c.Away != nil })
		if c.Away.ErrCode != http2.ErrCodeNo {
			t.Errorf("the first GOAWAY is %v", c.Away)
		}
		if c.Away.LastStreamID != 1<<31-1 {
			t.Errorf("the first GOAWAY has the last stream %d", c.Away.LastStreamID)
		}
		// this request was on its way
		c.Begin(3, true, "GET", "/3")
		servertest.Receive(t, "the request that was on its way", g.Entered)
		c.Until("the last GOAWAY", func() bool { return c.Away.LastStreamID < 1<<31-1 })
		if c.Away.ErrCode != http2.ErrCodeNo || c.Away.LastStreamID != 3 {
			t.Errorf("the last GOAWAY is %v", c.Away)
		}
		close(g.Open)
		c.ExpectResponse(1, "200", "through")
		c.ExpectResponse(3, "200", "through")
		c.ExpectGoAway(http2.ErrCodeNo)
		idle.ExpectGoAway(http2.ErrCodeNo)
		if err := servertest.Receive(t, "the end of Shutdown", stopped); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestHTTP2ShutdownIsSeenByHandlers has handlers that wait for the end of their context.
func TestHTTP2ShutdownIsSeenByHandlers(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		h := newHang(true)
		s := start(&fasthttp.Server{Handler: h.handle})
		answered := make(chan error, 1)
		go func() {
			resp, err := s.client.Do(s.request(t, "GET", "/hang", nil))
			if err == nil {
				_ = resp.Body.Close()
			}
			answered <- err
		}()
		servertest.Receive(t, "the request", h.entered)
		stopped := make(chan error, 1)
		go func() { stopped <- s.S.Shutdown() }()
		servertest.Receive(t, "the end of the context", h.left)
		if err := servertest.Receive(t, "the response", answered); err != nil {
			t.Errorf("the response: %v", err)
		}
		servertest.Receive(t, "the end of Shutdown", stopped)
	})
}

// TestHTTP2ShutdownThatMustNotWait has a handler that does not return in time.
func TestHTTP2ShutdownThatMustNotWait(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{Handler: passing(g)})
		c := s.dialFrames(t)
		c.Begin(1, true, "GET", "/")
		servertest.Receive(t, "the request", g.Entered)
		ctx, cancel := context.WithTimeout(t.Context(), servertest.Short)
		defer cancel()
		if err := s.S.ShutdownWithContext(ctx); err != context.DeadlineExceeded {
			t.Errorf("ShutdownWithContext: %v", err)
		}
		close(g.Open)
		_ = c.Conn.Close()
	})
}

func TestHTTP2ConnState(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		states := &servertest.States[fasthttp.ConnState]{}
		g := servertest.NewGate()
		s := start(&fasthttp.Server{ConnState: states.Note, Handler: passing(g)})
		c := s.dialFrames(t)
		c.Sync()
		expect := func(want string) {
			t.Helper()
			servertest.Eventually(t, want, func() bool { return states.Of(0) == want })
		}
		c.Begin(1, true, "GET", "/")
		c.Begin(3, true, "GET", "/")
		servertest.Receive(t, "a request", g.Entered)
		servertest.Receive(t, "another request", g.Entered)
		// two concurrent requests make a connection active once
		before := states.Of(0)
		if !strings.HasPrefix(before, "new active") && !strings.HasPrefix(before, "new idle active") || strings.Count(before, "active") > 2 {
			t.Errorf("the states are %q", before)
		}
		close(g.Open)
		c.ExpectResponse(1, "200", "through")
		c.ExpectResponse(3, "200", "through")
		expect(before + " idle")
		_ = c.Conn.Close()
		expect(before + " idle closed")
	})
}

// TestHTTP2IdleTimeout checks that only connections without requests end.
func TestHTTP2IdleTimeout(t *testing.T) {
	overHTTP2Time(t, func(t testing.TB, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{IdleTimeout: reach, Handler: passing(g)})
		c, idle := s.dialFrames(t), s.dialFrames(t)
		c.Begin(1, true, "GET", "/")
		servertest.Receive(t, "the request", g.Entered)
		idle.ExpectGoAway(http2.ErrCodeNo)
		// the other one began before, and is open
		c.Sync()
		close(g.Open)
		c.ExpectResponse(1, "200", "through")
	})
}

// TestHTTP2ReadTimeout has requests that do not arrive in full. Other requests on the
// connection continue.
func TestHTTP2ReadTimeout(t *testing.T) {
	overHTTP2Time(t, func(t testing.TB, start http2Starter) {
		read := make(chan error, 1)
		s := start(&fasthttp.Server{ReadTimeout: reach, IdleTimeout: servertest.Never, HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if string(h.RequestURI()) == "/stream" {
				c.BodyMode = fasthttp.BodyModeStream
			}
			return c
		}, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				read <- err
			}
		}})
		c := s.dialFrames(t)
		c.Begin(1, false, "POST", "/stream")
		c.Must(c.WriteData(1, false, []byte("abc")))
		c.Begin(3, false, "POST", "/buffered")
		c.Must(c.WriteData(3, false, []byte("abc")))
		if err := servertest.Receive(t, "the end of the stream", read); err == nil {
			t.Error("a body without its end ends well")
		}
		if f := c.Response(3); f.Reset == nil && f.Head(0)[":status"] != "408" {
			t.Errorf("got %v", f.Heads)
		}
		c.Begin(5, true, "GET", "/")
		c.ExpectResponse(5, "200", "")
	})
}

// TestHTTP2HandlersMayTakeLong has a client that sends everything at once, and then waits for
// longer than a connection may take to begin.
func TestHTTP2HandlersMayTakeLong(t *testing.T) {
	overHTTP2Time(t, func(t testing.TB, start http2Starter) {
		begun, proceed := make(chan struct{}), make(chan struct{})
		s := start(&fasthttp.Server{ReadTimeout: reach, IdleTimeout: reach * 5 / 4, CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == outlasting {
				return
			}
			close(begun)
			select {
			case <-ctx.Done():
				t.Errorf("the connection has ended: %v", ctx.Err())
			case <-proceed:
			}
		}})
		c := s.dialFrames(t)
		c.Begin(1, true, "GET", "/")
		servertest.Receive(t, "the handler", begun)
		idle := s.dialFrames(t).Listen()
		idle.Ask(1, outlasting)
		idle.Ending() // for its IdleTimeout
		servertest.Send(t, "the end of the wait", proceed, struct{}{})
		c.ExpectResponse(1, "200", "")
	})
}

// TestHTTP2WriteTimeout has a client that opens no window for a response.
func TestHTTP2WriteTimeout(t *testing.T) {
	overHTTP2Time(t, func(t testing.TB, start http2Starter) {
		log := make(accessLog, 10)
		s := start(&fasthttp.Server{WriteTimeout: 2 * servertest.Short, ResponseSent: log.note, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/large":
				ctx.SetBodyString(numbered(1 << 20))
			case "/stream":
				ctx.SetBodyStream(plenty{}, -1)
			}
		}})
		conns := []*frameConn{s.dialFrames(t), s.dialFrames(t)}
		for i, path := range []string{"/large", "/stream"} {
			c := conns[i]
			c.Begin(1, true, "GET", path)
		}
		for _, c := range conns {
			f := c.Stream(1)
			for f.Reset == nil {
				if err := c.Take(); err != nil {
					// the whole connection may end
					break
				}
			}
			if f.Ended {
				t.Error("the response ends well")
			}
		}
		lines := []string{servertest.Receive(t, "a response", log), servertest.Receive(t, "a response", log)}
		slices.Sort(lines)
		if want := []string{"GET /large 200 cut", "GET /stream 200 cut"}; !slices.Equal(lines, want) {
			t.Errorf("the log says %q, want %q", lines, want)
		}
	})
}

// TestHTTP2OnOnePort has clients of both versions, and clients that use a disabled version.
func TestHTTP2OnOnePort(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.Request.Header.Protocol()) }})
		s.get(t, "/", "HTTP/2.0")
		c := s.Dial()
		c.Get("/")
		c.Expect(200, "HTTP/1.1")
		tr := &http.Transport{TLSClientConfig: servertest.TrustCertificate()}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(s.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != "HTTP/1.1" || err != nil {
			t.Errorf("a client of HTTP/1 gets %q, %v", got, err)
		}
	})
}

// TestHTTP2PingsAClientThatIsSilent has a client that answers them, and one that has
// disappeared.
func TestHTTP2PingsAClientThatIsSilent(t *testing.T) {
	overHTTP2Time(t, func(t testing.TB, start http2Starter) {
		server := &fasthttp.Server{Handler: echo}
		server.HTTP2.SendPingTimeout, server.HTTP2.PingTimeout = servertest.Short, 3*reach // the other client answers in this time
		s := start(server)
		silent := s.dialFrames(t)
		silent.Begin(1, true, "GET", "/")
		silent.ExpectResponse(1, "200", `GET / ""`)
		// from now on it answers nothing, although it reads
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := silent.ReadFrame(); err != nil {
					return
				}
			}
		}()
		c := s.dialFrames(t)
		for range 2 {
			c.Pings = 0
			c.Until("a PING", func() bool { return c.Pings > 0 })
		}
		c.Until("the end of the silent one", func() bool { return servertest.IsClosed(ended) })
		c.Begin(1, true, "GET", "/")
		c.ExpectResponse(1, "200", `GET / ""`)
	})
}

// TestHTTP2OnListenersThatShareAPort has two servers, both of which answer. One of them shuts
// down, and clients continue with the other one.
func TestHTTP2OnListenersThatShareAPort(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		engine := start(&fasthttp.Server{}).Engine
		var addr string
		engine.Listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
			if addr == "" {
				addr = "127.0.0.1:0"
			}
			ln, err := reuseport.Listen("tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			addr = ln.Addr().String()
			return ln, func() (net.Conn, error) { return net.Dial("tcp4", addr) }
		}
		var servers []*http2Server
		for _, name := range []string{"one", "other"} {
			servers = append(servers, startHTTP2(t, engine, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				fmt.Fprintf(ctx, "%s %s", name, ctx.Request.Header.Protocol())
			}}))
		}
		ask := func() (string, error) {
			c := &http.Client{Transport: servers[0].transport(t)}
			defer c.CloseIdleConnections()
			resp, err := c.Do(servers[0].request(t, "GET", "/", nil))
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			return string(got), err
		}
		// the system chooses by the port of the client
		seen := make(map[string]bool)
		servertest.Eventually(t, "an answer of each server", func() bool {
			got, err := ask()
			servertest.Must(t, err)
			seen[got] = true
			return len(seen) == 2
		})
		if !seen["one HTTP/2.0"] || !seen["other HTTP/2.0"] {
			t.Errorf("the answers are %v", seen)
		}
		servertest.ShutDown(t, servers[1].S)
		answers := 0
		servertest.Eventually(t, "answers of the other server", func() bool {
			got, err := ask()
			if err != nil {
				// a child process between fork and exec holds a copy of the listener, at which
				// connections still arrive, until it closes the copy
				answers = 0
				return false
			}
			if got != "one HTTP/2.0" {
				t.Errorf("got %q from a server that was shut down", got)
			}
			answers++
			return answers == 10
		})
	})
}

// A shutdown ends idle connections at once if their clients answer the PING sent with the first
// GOAWAY (RFC 9113 section 6.8). For other clients it waits until the connection has checked the
// time twice, and then for the end of their input.
func TestHTTP2ShutdownOfIdleConnectionsIsShort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		answers bool
		most    time.Duration
	}{
		{"clients that answer", true, 100 * time.Millisecond},
		{"clients that do not", false, 3 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				server := &fasthttp.Server{Handler: echo, Logger: noLog{}}
				ts := serveHTTP2(t, servertest.MemoryEngine, server)
				for range 100 {
					c := greetHTTP2(ts)
					c.Get(1, "/").Flush()
					c.ExpectResponse(1, "200", `GET / ""`)
					if !test.answers {
						continue
					}
					go func() {
						for c.Take() == nil {
						}
						_ = c.Close()
					}()
				}
				// long enough for them to release their memory
				synctest.Wait()
				time.Sleep(time.Minute) // bubble: within inBubble
				begun := time.Now()
				servertest.Must(t, server.Shutdown())
				if d := time.Since(begun); d > test.most {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}
