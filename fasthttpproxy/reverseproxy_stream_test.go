package fasthttpproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// upstreams runs a test with a server behind the proxy that speaks HTTP/1.1, and with one that
// speaks HTTP/2; and with both versions in front, on each engine.
func upstreams(t *testing.T, handler fasthttp.RequestHandler, test func(t *testing.T, front *roottest.Server)) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("upstreamHTTP2=%v", http2), func(t *testing.T) {
				back := start(&fasthttp.Server{Handler: handler, StreamRequestBody: true, HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}})
				p := &fasthttpproxy.ReverseProxy{Target: back.URL(""), Client: clientOf(back, http2)}
				test(t, start(served(t, p)))
			})
		}
	})
}

// clientOf returns a client that speaks one version of HTTP to a server.
func clientOf(s *roottest.Server, http2 bool) *fasthttp.HostClient {
	c := &fasthttp.HostClient{
		Addr: s.Listener.Addr().String(), IsTLS: s.Engine.TLS, TLSConfig: servertest.TrustCertificate(), NoDefaultUserAgentHeader: true,
	}
	if http2 {
		c.Protocols.SetHTTP2(s.Engine.TLS)
		c.Protocols.SetUnencryptedHTTP2(!s.Engine.TLS)
	}
	return c
}

func TestBodiesAndTrailers(t *testing.T) {
	upstreams(t, func(ctx *fasthttp.RequestCtx) {
		body, err := io.ReadAll(ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		ctx.Response.Header.Set("X-Trailer-Of-Request", string(ctx.Request.Header.PeekTrailer("X-Asked")))
		ctx.Response.Header.Set("X-TE", string(ctx.Request.Header.Peek("TE")))
		_ = ctx.Response.Header.AnnounceTrailer("X-Sum")
		ctx.SetBodyStream(&trailed{Reader: strings.NewReader(string(body)), h: &ctx.Response.Header}, -1)
	}, func(t *testing.T, front *roottest.Server) {
		for _, size := range []int{1, 10_000, 1 << 20} {
			body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			req, err := http.NewRequestWithContext(t.Context(), "POST", front.URL("/"), io.MultiReader(strings.NewReader(body)))
			servertest.Must(t, err)
			req.Header.Set("TE", "trailers")
			req.Trailer = http.Header{"X-Asked": {"asked"}}
			resp, err := front.Client.Do(req)
			servertest.Must(t, err)
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(got) != body || err != nil || resp.Trailer.Get("X-Sum") != "sum" || resp.Header.Get("X-Trailer-Of-Request") != "asked" ||
				resp.Header.Get("X-Te") != "trailers" {
				t.Errorf("%d: got %d bytes, %v, with %v and %v", size, len(got), err, resp.Header, resp.Trailer)
			}
		}
	})
}

// trailed is a body with a trailer field.
type trailed struct {
	io.Reader
	h *fasthttp.ResponseHeader
}

func (b *trailed) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		_ = b.h.AddTrailerField("X-Sum", "sum")
	}
	return n, err
}

// Pieces go both ways as they come, at the same time.
func TestPiecesBothWays(t *testing.T) {
	upstreams(t, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.ImmediateHeaderFlush = true
		ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
	}, func(t *testing.T, front *roottest.Server) {
		r, w := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), "POST", front.URL("/"), r)
		servertest.Must(t, err)
		sent := make(chan error, 1)
		next := make(chan struct{}, 1)
		go func() {
			for range 5 {
				if _, err := io.WriteString(w, "piece"); err != nil {
					sent <- err
					return
				}
				servertest.Receive(t, "the piece", next)
			}
			sent <- w.Close()
		}()
		resp, err := front.Client.Do(req)
		servertest.Must(t, err)
		defer resp.Body.Close()
		for range 5 {
			piece := make([]byte, 5)
			if _, err := io.ReadFull(resp.Body, piece); err != nil || string(piece) != "piece" {
				t.Fatalf("got %q, %v", piece, err)
			}
			next <- struct{}{}
		}
		servertest.Must(t, servertest.Receive(t, "the end of the request", sent))
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

// A response that breaks off never looks like a whole one.
func TestCutResponses(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		peer, response := told(t, 1)
		s := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for _, text := range []string{
			"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n0\r\nX-Trailer: a",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\nxyz\r\n",
		} {
			response <- text
			_, content, err := s.Ask(t, "GET", "/", "")
			if err == nil || !strings.HasPrefix("half of it", content) {
				t.Errorf("%q: got %q, %v", text, content, err)
			}
		}
	})
}

func TestExpectContinue(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			// a connection that ends after its first response might take the second request
			for lines, ok := headOf(c.R); ok; lines, ok = headOf(c.R) {
				if len(named(lines, "Expect")) != 1 {
					c.Fail("got %q", lines)
				}
				if strings.Contains(lines[0], "/refused") {
					c.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
					c.Linger()
					return
				}
				c.Send("HTTP/1.1 100 Continue\r\n\r\n")
				c.Content("hello")
				c.OK("fine")
			}
		})
		client := &fasthttp.HostClient{Addr: peer.Addr(), ExpectContinueTimeout: time.Hour}
		r := start(served(t, &fasthttpproxy.ReverseProxy{Client: client}))
		head := func(path string) string {
			return servertest.Head("POST "+path+" HTTP/1.1", "Host: a", "Expect: 100-continue", "Content-Length: 5")
		}
		c := r.Dial()
		c.Send(head("/"))
		c.ExpectLine("HTTP/1.1 100 Continue\r\n")
		c.ExpectLine("\r\n")
		c.Send("hello")
		c.Expect(200, "fine")
		c = r.Dial()
		c.Send(head("/refused"))
		// without 100 (Continue) before it
		c.Expect(403, "no")
	})
}

func TestInformationalResponses(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for c.Request() != nil {
				// golang/go issue 81319
				c.Send(servertest.Head("HTTP/1.1 103 Early Hints", "Link: </a>", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5"))
				c.Send(servertest.Head("HTTP/1.1 102 Processing") + servertest.OK)
			}
		})
		s := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for range 2 {
			var got []string
			resp, content := askTraced(t, s, func(code int, h http.Header) {
				got = append(got, fmt.Sprint(code, h["Link"], h["X-Hop"], h["Connection"], h["Keep-Alive"]))
			})
			if resp.StatusCode != 200 || content != "ok" || fmt.Sprint(got) != "[103 [</a>] [] [] [] 102 [] [] [] []]" {
				t.Errorf("got %v, %d %q", got, resp.StatusCode, content)
			}
		}
	})
}

// A server may answer before it has the request. The client gets that, although it still sends.
func TestEarlyResponses(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Head() {
				c.Send("HTTP/1.1 413 Large\r\nContent-Length: 5\r\n\r\nlarge")
				c.Linger()
			}
		})
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		for _, request := range []string{servertest.Part("/", 1<<30, 100), servertest.Chunked("/", "3\r\nabc\r\n")} {
			c := r.Dial()
			c.Send(request)
			c.Expect(413, "large")
			c.ExpectCut()
		}
	})
}

func TestCallsEndWithTheirClients(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			req := c.Request()
			if req == nil {
				return
			}
			if req.URL.Path == "/streaming" {
				c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
			}
			began <- struct{}{}
			c.UntilClosed()
			ended <- struct{}{}
		})
		errs := make(chan error, 10)
		p := &fasthttpproxy.ReverseProxy{Target: peer.URL(""), ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
			errs <- fmt.Errorf("%d %w", ctx.Response.StatusCode(), err)
		}}
		s := start(served(t, p))
		for _, path := range []string{"/silent", "/streaming"} {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "GET", s.URL(path), nil)
			servertest.Must(t, err)
			failed := make(chan error, 1)
			go func() {
				resp, err := s.Client.Do(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				failed <- err
			}()
			servertest.Receive(t, path, began)
			cancel()
			if servertest.Receive(t, "the client", failed) == nil {
				t.Error("the client has a response")
			}
			servertest.Receive(t, "the end of the call", ended)
		}
		if err := servertest.Receive(t, "the error", errs); !errors.Is(err, fasthttpproxy.ErrClientLeft) || !strings.HasPrefix(err.Error(), "499 ") {
			t.Errorf("got %v", err)
		}
	})
}

// Errors of the request's body are the client's.
func TestBrokenRequests(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.UntilClosed() })
		errs := make(chan error, 1)
		p := &fasthttpproxy.ReverseProxy{
			Target: peer.URL(""), ErrorHandler: func(_ *fasthttp.RequestCtx, err error) { errs <- err },
			Rewrite: func(ctx *fasthttp.RequestCtx, _ *fasthttp.Request) error {
				_ = ctx.LimitRequestBody(10)
				return nil
			},
		}
		r := start(served(t, p))
		for status, request := range map[int]string{
			400: servertest.Chunked("/", "3\r\nabcd\r\n"),
			413: servertest.Chunked("/", "b\r\n0123456789a\r\n0\r\n\r\n"),
		} {
			c := r.Dial()
			c.Send(request)
			if resp := c.Next("POST"); resp.StatusCode != status {
				t.Errorf("got %d, want %d", resp.StatusCode, status)
			}
			if err := servertest.Receive(t, "the error", errs); !errors.Is(err, fasthttpproxy.ErrRequestBody) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Whether a request is sent again is a matter of the client: a POST that may have arrived is not.
func TestReplays(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Number%2 == 1 {
				c.Request()
				return
			}
			c.Echo()
		})
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		c := r.Dial()
		c.Send(servertest.Get("/"))
		c.Expect(200, "GET /")
		peer.Counts(2, 2)
	})
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Request() })
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")}))
		c := r.Dial()
		c.Send(servertest.Post("/", "once"))
		c.Expect(502, "Bad Gateway")
		peer.Counts(1, 1)
	})
}

// An LBClient without a time limit has none in a proxy, and gives each of its clients a share.
func TestBalancedServers(t *testing.T) {
	var clients []fasthttp.BalancingClient
	var peers []*servertest.Peer
	for range 3 {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.Echo() })
		peers = append(peers, p)
		clients = append(clients, &fasthttp.HostClient{Addr: p.Addr()})
	}
	r := servertest.Start(t, servertest.SocketEngines[1], served(t, &fasthttpproxy.ReverseProxy{Client: &fasthttp.LBClient{Clients: clients}}), roottest.Prepare)
	c := r.Dial()
	for range 9 {
		c.Send(servertest.Get("/"))
		c.Expect(200, "GET /")
	}
	for i, p := range peers {
		if n := p.Requests.Load(); n != 3 {
			t.Errorf("server %d got %d requests", i, n)
		}
	}
}

func TestHooks(t *testing.T) {
	upstreams(t, func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s?%s for %s", ctx.Path(), ctx.QueryArgs().String(), ctx.Request.Header.Peek("X-Added"))
	}, func(t *testing.T, front *roottest.Server) {
		// the proxy of this test is in front of the one of upstreams
		p := &fasthttpproxy.ReverseProxy{
			Target: front.URL(""), Client: clientOf(front, front.HTTP2),
			Rewrite: func(ctx *fasthttp.RequestCtx, req *fasthttp.Request) error {
				req.URI().SetPath((&url.URL{Path: string(ctx.Path())}).EscapedPath())
				req.URI().QueryArgs().Add("b", "2")
				req.Header.Set("X-Added", "me")
				return nil
			},
			ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
				ctx.Response.Header.Set("X-Modified", "yes")
				body := append([]byte(nil), ctx.Response.Body()...)
				ctx.SetBody(append(body, " (changed)"...))
				return nil
			},
		}
		s := roottest.Start(t, front.Engine, front.HTTP2, served(t, p))
		var fields []string
		if !s.HTTP2 {
			fields = []string{"Connection", "x-added"}
		}
		resp, content := s.MustAsk(t, "GET", "/x/../y?a=1", "", fields...)
		if content != "/y?a=1&b=2 for me (changed)" || resp.Header.Get("X-Modified") != "yes" {
			t.Errorf("got %q with %v", content, resp.Header)
		}
	})
}

// A short response takes few allocations: the exchange, and the watching of the client.
func TestAllocationsOfAnExchange(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	back := servertest.Start(t, servertest.SocketEngines[1], &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Success("text/plain", []byte("short"))
	}}, roottest.Prepare)
	p := &fasthttpproxy.ReverseProxy{Client: &fasthttp.HostClient{Addr: back.Listener.Addr().String()}}
	r := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare)
	c := r.Dial()
	request, buf := []byte(servertest.Get("/a?b=c", "User-Agent: me", "Cookie: a=b")), make([]byte, 4096)
	ask := func() {
		if _, err := c.Conn.Write(request); err != nil {
			t.Fatal(err)
		}
		for got := 0; !bytes.HasSuffix(buf[:got], []byte("\r\n\r\nshort")); {
			n, err := c.Conn.Read(buf[got:])
			if got += n; err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		ask()
	}
	if n := testing.AllocsPerRun(1000, ask); n > 9 {
		t.Errorf("%v allocations", n)
	}
}

// Early hints pass through whatever versions of HTTP the two sides speak.
func TestEarlyHints(t *testing.T) {
	upstreams(t, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Link", "</a>")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.SetBodyString("ok")
	}, func(t *testing.T, front *roottest.Server) {
		var got []string
		resp, content := askTraced(t, front, func(code int, h http.Header) { got = append(got, fmt.Sprint(code, h["Link"])) })
		if resp.StatusCode != 200 || content != "ok" || fmt.Sprint(got) != "[103 [</a>]]" {
			t.Errorf("got %v, %d %q", got, resp.StatusCode, content)
		}
	})
}

// A panic of a hook ends the exchange, and the connection of the call.
func TestPanicsOfHooks(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		ended := make(chan struct{}, 2)
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil {
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
				c.UntilClosed()
				ended <- struct{}{}
			}
		})
		r := start(served(t, &fasthttpproxy.ReverseProxy{
			Target: peer.URL(""), ModifyResponse: func(*fasthttp.RequestCtx) error { panic("expected") },
		}))
		c := r.Dial()
		c.Send(servertest.Get("/"))
		if resp := c.Next("GET"); resp.StatusCode != 500 {
			t.Errorf("got %d", resp.StatusCode)
		}
		servertest.Receive(t, "the end of the call", ended)
	})
}
