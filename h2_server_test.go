package fasthttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/servertest"
)

// withHTTP2 makes s speak HTTP/2, with and without TLS.
func withHTTP2(s *Server) *Server {
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// h2Client returns a net/http client that speaks only HTTP/2, and the beginning of its URIs.
func h2Client(t testing.TB, r *testServer) (client *http.Client, base string) {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: servertest.TrustCertificate()}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	dial := func(context.Context, string, string) (net.Conn, error) {
		if r.Engine.TLS {
			return net.Dial(r.Listener.Addr().Network(), r.Listener.Addr().String())
		}
		return r.Dialer()
	}
	transport.DialContext = dial
	t.Cleanup(transport.CloseIdleConnections)
	base = "http://127.0.0.1"
	if r.Engine.TLS {
		transport.TLSClientConfig = transport.TLSClientConfig.Clone()
		base = "https://127.0.0.1"
	}
	return &http.Client{Transport: transport}, base
}

func TestHTTP2Serves(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{Handler: func(ctx *RequestCtx) {
			fmt.Fprintf(ctx, "%v %s %s %s %q", ctx.IsHTTP2(), ctx.Request.Header.Protocol(), ctx.Method(), ctx.RequestURI(), ctx.Request.Body())
			ctx.Response.Header.Set("X-Cookie", string(ctx.Request.Header.Cookie("b")))
			ctx.Response.Header.Set("Connection", "close-it")
		}}))
		client, base := h2Client(t, r)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				method, body := http.MethodGet, ""
				if i%2 == 1 {
					method, body = http.MethodPost, strings.Repeat("a", i*i*i)
				}
				req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("%s/%d?q", base, i), strings.NewReader(body))
				servertest.Must(t, err)
				req.Header.Set("Cookie", "a=1; b=2")
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if want := fmt.Sprintf("true HTTP/2.0 %s /%d?q %q", method, i, body); string(text) != want || err != nil || resp.ProtoMajor != 2 {
					t.Errorf("%.60s, %v, want %.60s", text, err, want)
				}
				if resp.Header.Get("X-Cookie") != "2" || resp.Header.Get("Server") != "fasthttp" || resp.Header.Get("Connection") != "" {
					t.Errorf("%v", resp.Header)
				}
			})
		}
		servertest.Soon(t, "the clients", all.Wait)
	})
}

func TestHTTP2Streams(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			servertest.Must(t, ctx.Response.Header.SetTrailer("X-Sum"))
			body := ctx.RequestBodyStream()
			ctx.SetBodyStream(trailed{body, func() { ctx.Response.Header.Set("X-Sum", "done "+string(ctx.Request.Header.PeekTrailer("X-End"))) }}, -1)
		}}))
		client, base := h2Client(t, r)
		in, out := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/", in)
		servertest.Must(t, err)
		req.Trailer = http.Header{"X-End": nil}
		resp, err := client.Do(req)
		servertest.Must(t, err)
		defer resp.Body.Close()
		piece := servertest.Noise(30000)
		got := make([]byte, len(piece))
		for range 20 {
			go out.Write(piece)
			if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, piece) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		req.Trailer.Set("X-End", "yes")
		_ = out.Close()
		rest, err := io.ReadAll(resp.Body)
		if len(rest) > 0 || err != nil || resp.Trailer.Get("X-Sum") != "done yes" {
			t.Errorf("%d bytes, %v, %v", len(rest), err, resp.Trailer)
		}
	})
}

// trailed calls a function at the end of a stream.
type trailed struct {
	io.Reader
	end func()
}

func (s trailed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		s.end()
	}
	return n, err
}

var _ = tls.VersionTLS13

// A client sends the preface and its settings, and then nothing for a while.
func TestHTTP2ClientsMayBeSilentBehindThePreface(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if e.TLS {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := withHTTP2(&Server{Handler: echo})
			s.HTTP2.SendPingTimeout = 1
			c := startServer(t, e, s).Dial()
			var first bytes.Buffer
			f := http2.NewFramer(&first, c)
			first.WriteString(http2.ClientPreface)
			servertest.Must(t, f.WriteSettings())
			servertest.Must(t, f.WriteSettingsAck())
			c.Send(first.String())
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					t.Fatalf("the connection ends: %v", err)
				}
				// when this arrives, the server has read from the connection
				if _, ok := frame.(*http2.PingFrame); ok {
					return
				}
			}
		})
	}
}

// A client reads nothing of a response, and sends nothing: the request ends nevertheless.
func TestHTTP2StalledResponsesEnd(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if e.TLS {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			sent, counted := make(chan SentResponse, 2), make(chan string, 2)
			s := withHTTP2(&Server{ResponseSent: func(_ *RequestCtx, r SentResponse) { sent <- r }, Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/stream" {
					ctx.SetBodyStream(trailed{strings.NewReader(strings.Repeat("a", 1<<20)), func() { t.Error("all of it was read") }}, -1)
					return
				}
				ctx.SetBodyString(strings.Repeat("a", 1<<20))
			}})
			s.HTTP2.CountError = func(errType string) { counted <- errType }
			s.prepare()
			s.h2.limits.Stall = 1000
			c := startServer(t, e, s).Dial()
			c.Send(http2.ClientPreface)
			f := http2.NewFramer(c, c)
			servertest.Must(t, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}))
			servertest.Must(t, f.WriteSettingsAck())
			var block bytes.Buffer
			enc := hpack.NewEncoder(&block)
			for i, path := range []string{"/stream", "/"} {
				block.Reset()
				for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", path}, {":authority", "a"}} {
					servertest.Must(t, enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
				}
				servertest.Must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
			}
			go io.Copy(io.Discard, c)
			for range 2 {
				if r := servertest.Receive(t, "the end of a request", sent); r.Err == nil || strings.Contains(r.Err.Error(), "client has reset") {
					t.Errorf("the response has ended with %v", r.Err)
				}
				if got := servertest.Receive(t, "an error", counted); got != "enhance_your_calm" {
					t.Errorf("counted %q", got)
				}
			}
		})
	}
}

// Clients often cancel responses, so that is not logged.
func TestHTTP2ResetsAreNotLogged(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		sent := make(chan SentResponse, 1)
		r := start(withHTTP2(&Server{ResponseSent: func(_ *RequestCtx, r SentResponse) { sent <- r }, Handler: func(ctx *RequestCtx) {
			ctx.SetBodyStream(strings.NewReader(strings.Repeat("a", 1<<24)), -1)
		}}))
		for _, leave := range []func(resp *http.Response, client *http.Client){
			func(resp *http.Response, _ *http.Client) { _ = resp.Body.Close() },
			func(resp *http.Response, client *http.Client) {
				// the connection is closed together with its last request
				client.CloseIdleConnections()
				_ = resp.Body.Close()
			},
		} {
			client, base := h2Client(t, r)
			resp, err := client.Get(base + "/")
			servertest.Must(t, err)
			leave(resp, client)
			if r := servertest.Receive(t, "the end of the response", sent); r.Err == nil {
				t.Error("the response was sent")
			}
		}
		r.Log.CheckEmpty(t)
	})
}

// If a hook ends its goroutine after a handler has panicked, the request has ended: a shutdown
// does not wait for it.
func TestHTTP2HookMayEndTheGoroutine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{
			ResponseSent: func(*RequestCtx, SentResponse) { runtime.Goexit() },
			Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/panic" {
					panic(http.ErrAbortHandler)
				}
			},
		}))
		client, base := h2Client(t, r)
		for _, path := range []string{"/panic", "/", "/panic", "/"} {
			resp, err := client.Get(base + path)
			if err == nil {
				_ = resp.Body.Close()
			}
			if (err == nil) != (path == "/") {
				t.Errorf("%s: %v %v", path, resp, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
		defer cancel()
		servertest.Must(t, r.S.ShutdownWithContext(ctx))
	})
}

// A client may wait between the handshake and its preface, and a server that shuts down does
// not wait for it.
func TestHTTP2PrefaceMayComeLate(t *testing.T) {
	s := &Server{}
	s.Protocols.SetUnencryptedHTTP2(true)
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		_, nc := dial(), dial()
		// the server checks the time more often than that
		time.Sleep(10 * h2TickInterval * time.Millisecond)
		p := newH2Peer(t, nc)
		p.ask(1)
		p.await(1)
		_ = nc.Close()
		start := time.Now()
		if err, took := s.Shutdown(), time.Since(start); err != nil || took >= h2TickInterval*time.Millisecond {
			t.Errorf("a shutdown beside a silent client takes %v, %v", took, err)
		}
	})
}

// The protocol of a request belongs to its connection: forwarded by HTTP/1 it is HTTP/1.1,
// unless the application sets another one.
func TestHTTP2IsNotTheProtocolOfOtherConnections(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 3)
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{Handler: func(ctx *RequestCtx) {
			line := func(req *Request) string {
				text, _, _ := strings.Cut(req.String(), "\r\n")
				return text
			}
			var other Request
			ctx.Request.CopyTo(&other)
			for range 3000 {
				other.Header.Set("X-Long", strings.Repeat("a", 1+len(other.Header.Peek("X-Long"))))
			}
			lines <- string(other.Header.Protocol()) + " " + line(&other)
			lines <- line(&ctx.Request)
			ctx.Request.Header.SetProtocol("HTTP/2.0")
			lines <- line(&ctx.Request)
		}}))
		client, base := h2Client(t, r)
		resp, err := client.Get(base + "/")
		servertest.Must(t, err)
		_ = resp.Body.Close()
		for _, want := range []string{"HTTP/2.0 GET / HTTP/1.1", "GET / HTTP/1.1", "GET / HTTP/2.0"} {
			if got := servertest.Receive(t, "a line", lines); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

// TestHTTP2LimitsStreams limits streams after requests with buffered bodies. The streams are
// read in the contexts of those requests.
func TestHTTP2LimitsStreams(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r := start(withHTTP2(&Server{
			HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
				if string(h.RequestURI()) != "/buffered" {
					c.BodyMode = BodyModeStream
				}
				return c
			},
			Handler: func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/buffered" {
					return
				}
				first := ctx.LimitRequestBody(10)
				// has no effect, since it is higher
				second := ctx.LimitRequestBody(1000)
				body, err := io.ReadAll(ctx.RequestBodyStream())
				fmt.Fprintf(ctx, "%v, %v, %d, %v", first, second, len(body), err)
			},
		}))
		client, base := h2Client(t, r)
		send := func(target string, body io.Reader) string {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+target, body)
			servertest.Must(t, err)
			resp, err := client.Do(req)
			servertest.Must(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			servertest.Must(t, err)
			return string(text)
		}
		// net/http cannot see its length
		stream := func(n int) io.Reader { return struct{ io.Reader }{strings.NewReader(strings.Repeat("a", n))} }
		for range 10 {
			send("/buffered", strings.NewReader("small"))
			if got, want := send("/", stream(10)), "<nil>, <nil>, 10, <nil>"; got != want {
				t.Errorf("at the limit: %s, want %s", got, want)
			}
			if got := send("/", stream(500)); !strings.HasSuffix(got, ErrBodyTooLarge.Error()) {
				t.Errorf("over the limit: %s, want %v", got, ErrBodyTooLarge)
			}
		}
	})
}

// lostH2 is an HTTP/2 exchange whose connection ends just before the outcome is reported.
type lostH2 struct{ *h2Exchange }

func (x lostH2) cutOff() error {
	x.h.end(h2Ended)
	return x.h2Exchange.cutOff()
}

// failedH2 is a body whose connection fails, as with a fault of the client, before its end is sent.
type failedH2 struct{ x *h2Exchange }

func (r failedH2) Read(p []byte) (int, error) {
	r.x.h.mu.Lock()
	r.x.h.conn.Close(1) // a fault of the protocol
	r.x.h.mu.Unlock()
	return copy(p, "the end"), io.EOF
}

// A response that the connection has taken whole is reported as sent, though the connection ends
// before that.
func TestHTTP2ReportsWhatWasTakenAsSent(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		sent := make(chan SentResponse, 1)
		r := start(withHTTP2(&Server{
			ResponseSent: func(_ *RequestCtx, s SentResponse) { sent <- s },
			Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/small":
					ctx.SetBodyString("small")
				case "/large":
					ctx.SetBody(make([]byte, 1<<20))
				case "/stream":
					ctx.SetBodyStream(strings.NewReader("stream"), -1)
				case "/trailers":
					ctx.SetBodyString("body")
					servertest.Must(t, ctx.Response.Header.AddTrailerField("X-End", "yes"))
				case "/cut":
					ctx.SetBodyStream(strings.NewReader("short"), 100)
				}
				x := ctx.exchange.t.(*h2Exchange)
				if string(ctx.Path()) == "/failed" {
					ctx.SetBodyStream(failedH2{x}, -1)
				}
				ctx.exchange.t = lostH2{x}
			},
		}))
		for _, path := range []string{"/nothing", "/small", "/large", "/stream", "/trailers", "/cut", "/failed"} {
			client, base := h2Client(t, r)
			go func() {
				// the end of the connection may reach the client first
				if resp, err := client.Get(base + path); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			got := servertest.Receive(t, path, sent)
			if (got.Err != nil) != (path == "/cut" || path == "/failed") || got.StatusCode != 200 {
				t.Errorf("%s: the outcome is %+v", path, got)
			}
		}
	})
}
