package http3

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	peer "github.com/quic-go/quic-go/http3"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/servertest"
)

// wait is the time after which a test gives up.
const wait = 60 * time.Second

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// quiet logs to the test.
type quiet struct{ t *testing.T }

func (q quiet) Printf(format string, args ...any) { q.t.Logf(format, args...) }

// patient returns a configuration for a machine that may stand still for a while.
func patient() *quic.Config {
	return &quic.Config{HandshakeIdleTimeout: wait, MaxIdleTimeout: wait, KeepAlivePeriod: keepAlive}
}

// listenQUIC returns a listener without HTTP, which is closed at the end of the test.
func listenQUIC(t *testing.T, config *quic.Config) *quic.Listener {
	t.Helper()
	secure := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{NextProto}}
	ln, err := quic.ListenAddr("127.0.0.1:0", secure, config)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// run runs a server, and returns its address.
func run(t *testing.T, s *fasthttp.Server) (*Server, string) {
	t.Helper()
	return runOver(t, &Server{Server: s})
}

// runOver is run for a Server with settings. If a connection ends gracefully, the client has all the time to
// close it, unless the test has set the grace.
func runOver(t *testing.T, over *Server) (*Server, string) {
	t.Helper()
	if s := over.Server; s.Logger == nil {
		s.Logger = quiet{t}
	}
	if over.QUICConfig == nil {
		over.QUICConfig = patient()
	}
	if over.grace == 0 {
		over.grace = servertest.Never
	}
	over.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- over.Serve(pc) }()
	t.Cleanup(func() {
		if err := over.Close(); err != nil {
			t.Error(err)
		}
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Error(err)
		}
		_ = pc.Close()
	})
	return over, pc.LocalAddr().String()
}

// client returns a client of quic-go.
func client(t *testing.T) *http.Client {
	transport := &peer.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, QUICConfig: patient()}
	t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport, Timeout: wait}
}

// get returns the response to a request, with its body.
func get(t *testing.T, c *http.Client, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestRequestsAndResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Name: "one", Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Seen", fmt.Sprintf("%s %s %s %s %v %v %v", ctx.Method(), ctx.Host(), ctx.RequestURI(),
			ctx.Request.Header.Protocol(), ctx.IsTLS(), ctx.IsHTTP2(), ctx.RemoteIP()))
		ctx.Response.Header.Set("X-Cookie", string(ctx.Request.Header.Cookie("a")))
		ctx.SetStatusCode(fasthttp.StatusAccepted)
		ctx.Write(ctx.PostBody())
	}})
	c := client(t)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
		for _, size := range []int{0, 1, 1000, 100 << 10, 3 << 20} {
			var body io.Reader
			if size > 0 {
				if method == "GET" || method == "HEAD" {
					continue
				}
				body = strings.NewReader(strings.Repeat("x", size))
			}
			req := request(t, method, "https://"+addr+"/path?q=1", body)
			req.Header.Set("Cookie", "a=b")
			resp, got := get(t, c, req)
			want := fmt.Sprintf("%s %s /path?q=1 HTTP/3.0 true false 127.0.0.1", method, addr)
			if resp.StatusCode != 202 || resp.Header.Get("X-Seen") != want || len(got) != size || resp.Header.Get("Server") != "one" || resp.Header.Get("X-Cookie") != "b" {
				t.Errorf("%s with %d bytes: %d, %d bytes, %q", method, size, resp.StatusCode, len(got), resp.Header)
			}
		}
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.PostBody()) }})
	c := client(t)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, ","), 500)
			resp, err := c.Post("https://"+addr, "text/plain", strings.NewReader(want))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// upperCase reads the body of the request while it sends the body of the response.
func upperCase(ctx *fasthttp.RequestCtx) {
	ctx.Response.ImmediateHeaderFlush = true
	in := ctx.RequestBodyStream()
	ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
		buf := make([]byte, 100)
		for {
			n, err := in.Read(buf)
			w.Write(bytes.ToUpper(buf[:n]))
			w.Flush()
			if err != nil {
				fmt.Fprint(w, err)
				return
			}
		}
	})
}

// The body of the request is read while the body of the response is sent.
func TestStreamsInBothDirections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: upperCase})
	body, send := io.Pipe()
	req := request(t, "POST", "https://"+addr, body)
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, piece := range []string{"one", "two", "three"} {
		fmt.Fprint(send, piece)
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != strings.ToUpper(piece) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	send.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "EOF" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestTrailersInBothDirections(t *testing.T) {
	for _, stream := range []bool{false, true} {
		_, addr := run(t, &fasthttp.Server{StreamRequestBody: stream, Handler: func(ctx *fasthttp.RequestCtx) {
			var body []byte
			if stream {
				body, _ = io.ReadAll(ctx.RequestBodyStream())
			} else {
				body = ctx.PostBody()
			}
			ctx.Response.Header.SetTrailer("X-After")
			ctx.Response.Header.Set("X-After", string(ctx.Request.Header.PeekTrailer("X-Sum")))
			if stream {
				ctx.Response.SetBodyStream(bytes.NewReader(body), -1)
			} else {
				ctx.Write(body)
			}
		}})
		req := request(t, "POST", "https://"+addr, io.MultiReader(strings.NewReader("content")))
		req.Trailer = http.Header{"X-Sum": []string{"17"}}
		resp, body := get(t, client(t), req)
		if body != "content" || resp.Trailer.Get("X-After") != "17" {
			t.Errorf("stream %v: %q, %q", stream, body, resp.Trailer)
		}
	}
}

func TestInformationalResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Link", "</a>; rel=preload")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.Write(ctx.PostBody())
	}})
	req := request(t, "POST", "https://"+addr, strings.NewReader("body"))
	req.Header.Set("Expect", "100-continue")
	var seen []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		seen = append(seen, fmt.Sprint(code, h.Get("Link")))
		return nil
	}}
	resp, body := get(t, client(t), req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if resp.StatusCode != 200 || body != "body" || strings.Join(seen, "|") != "100|103</a>; rel=preload" {
		t.Errorf("%d, %q, %q", resp.StatusCode, body, seen)
	}
}

func TestPolicyOfTheServer(t *testing.T) {
	var mu sync.Mutex
	var sent []fasthttp.SentResponse
	release := make(chan struct{})
	_, addr := run(t, &fasthttp.Server{
		MaxRequestBodySize: 1000, ReadBufferSize: 2000,
		HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if string(h.RequestURI()) == "/refused" {
				c.RefuseStatus = fasthttp.StatusTeapot
			}
			return c
		},
		ResponseSent: func(ctx *fasthttp.RequestCtx, r fasthttp.SentResponse) {
			mu.Lock()
			sent = append(sent, r)
			mu.Unlock()
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/panic":
				panic("as it should")
			case "/hijack":
				ctx.Hijack(func(net.Conn) {})
			case "/late":
				go func() { <-release; ctx.Response.SetBodyString("too late") }()
				ctx.TimeoutError("timed out")
			case "/bad":
				ctx.SetStatusCode(7)
			}
		},
	})
	defer close(release)
	c := client(t)
	for _, row := range []struct {
		method, path, header, body string
		want                       int
	}{
		{"GET", "/", "", "", 200}, {"POST", "/", "", strings.Repeat("x", 1001), 413}, {"GET", "/", strings.Repeat("y", 2000), "", 431},
		{"GET", "/refused", "", "", 418}, {"GET", "/panic", "", "", 0}, {"GET", "/hijack", "", "", 501},
		{"GET", "/late", "", "", 408}, {"GET", "/bad", "", "", 500}, {"GET", "/", "", "", 200},
	} {
		var body io.Reader
		if row.body != "" {
			body = io.MultiReader(strings.NewReader(row.body)) // of unknown length
		}
		req := request(t, row.method, "https://"+addr+row.path, body)
		req.Header.Set("X-Long", row.header)
		resp, err := c.Do(req)
		if row.want == 0 {
			if e, ok := errors.AsType[*peer.Error](err); !ok || e.ErrorCode != peer.ErrCodeInternalError {
				t.Errorf("%s: %v", row.path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.path, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != row.want {
			t.Errorf("%s: %d, want %d", row.path, resp.StatusCode, row.want)
		}
	}
	servertest.Eventually(t, "a report of each response", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(sent) == 9
	})
}

func TestHandlersLearnThatTheClientHasLeft(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WatchDisconnect()
		close(begun)
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
		case <-time.After(wait):
			ended <- errors.New("the handler was not told")
		}
	}})
	cancellable, cancel := context.WithCancel(context.Background())
	req := request(t, "GET", "https://"+addr, nil).WithContext(cancellable)
	go func() { servertest.Receive(t, "the request", begun); cancel() }()
	if _, err := client(t).Do(req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := servertest.Receive(t, "the end of the handler", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReadTimeout(t *testing.T) {
	c := client(t)
	// the limit applies to the head as well
	servertest.Doubling(t, func(limit time.Duration) error {
		_, addr := run(t, &fasthttp.Server{ReadTimeout: limit, Handler: func(ctx *fasthttp.RequestCtx) {}})
		body, send := io.Pipe()
		defer send.Close()
		resp, err := c.Do(request(t, "POST", "https://"+addr, body))
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != fasthttp.StatusRequestTimeout {
			return fmt.Errorf("the status is %d", resp.StatusCode)
		}
		return nil
	})
}

// A shutdown tells clients to send no more requests, and lets the ones that it has end.
func TestShutdownIsGraceful(t *testing.T) {
	t.Parallel()
	gate := servertest.NewGate()
	s, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { gate.Pass("") }})
	r := dial(t, addr)
	r.control()
	stream := r.stream(true, getHead()...)
	servertest.Receive(t, "the request", gate.Entered)
	ended := make(chan error, 1)
	go func() {
		err := s.Shutdown(context.Background())
		if err == nil && !servertest.IsClosed(gate.Open) {
			err = errors.New("it has ended before the request")
		}
		ended <- err
	}()
	expectGoAway(t, r.serverControl(), 4)
	close(gate.Open)
	if got := r.response(stream); got != "200" {
		t.Errorf("the response is %s", got)
	}
	_ = r.q.CloseWithError(0, "")
	if err := servertest.Receive(t, "the end of Shutdown", ended); err != nil {
		t.Error(err)
	}
}

// The client of quic-go fails if GOAWAY arrives while it begins a request.
func TestConnectionsEndAfterMaxRequests(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{MaxRequestsPerConn: 2, Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control()
	seen := r.serverControl()
	for i := range 2 {
		if got := r.response(r.stream(true, getHead()...)); got != "200" {
			t.Errorf("response %d is %s", i, got)
		}
	}
	expectGoAway(t, seen, 8)
	if got := r.response(r.stream(true, getHead()...)); got != "H3_REQUEST_REJECTED" {
		t.Errorf("a request after GOAWAY: %s", got)
	}
}

// expectGoAway awaits the two frames of a graceful end. From the id of the second one on, requests are not
// served.
func expectGoAway(t *testing.T, seen <-chan wire.Frame, final uint64) {
	t.Helper()
	for _, last := range []uint64{maxStreamID, final} {
		f := servertest.Receive(t, "GOAWAY", seen)
		if id, e := wire.Number(f.Payload); f.Type != wire.TypeGoAway || id != last || e != nil {
			t.Errorf("the client gets frame %d with %x, want GOAWAY with %d", f.Type, f.Payload, last)
		}
	}
}

func TestServerNeedsAHandler(t *testing.T) {
	if err := new(Server).Serve(nil); err != ErrNoServer {
		t.Error(err)
	}
	if err := (&Server{Server: new(fasthttp.Server)}).Serve(nil); err == nil {
		t.Error("no error")
	}
	if err := (&Server{Server: new(fasthttp.Server)}).ListenAndServe("127.0.0.1:0", "no such file", "no such file"); err == nil {
		t.Error("no error")
	}
}

// tickets tells when a ticket for another connection has arrived.
type tickets struct {
	tls.ClientSessionCache
	arrived chan struct{}
}

func (c tickets) Put(key string, state *tls.ClientSessionState) {
	c.ClientSessionCache.Put(key, state)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// A request that was sent as 0-RTT data is served after the handshake (RFC 8470 section 3).
func TestEarlyData(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		conf := patient()
		conf.Allow0RTT = allowed
		_, addr := runOver(t, &Server{
			QUICConfig: conf,
			Server: &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				if state := ctx.TLSConnectionState(); !state.HandshakeComplete {
					t.Error("the handshake is not complete")
				}
			}},
		})
		config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{NextProto}}
		cache := tickets{tls.NewLRUClientSessionCache(1), make(chan struct{}, 1)}
		config.ClientSessionCache = cache
		for _, resumes := range []bool{false, true} {
			within, cancel := context.WithTimeout(context.Background(), wait)
			q, err := quic.DialAddrEarly(within, addr, config, patient())
			if err != nil {
				t.Fatal(err)
			}
			r := raw{t, q}
			r.control()
			if got := r.response(r.stream(true, getHead()...)); got != "200" && (allowed || !resumes) {
				t.Errorf("allowed: %v, resumes: %v: %s", allowed, resumes, got)
			}
			select {
			case <-q.HandshakeComplete():
			case <-within.Done():
				t.Fatal("the handshake does not end")
			}
			cancel()
			if !resumes {
				servertest.Receive(t, "a ticket", cache.arrived)
			}
			if used := q.ConnectionState().Used0RTT; used != (allowed && resumes) {
				t.Errorf("allowed: %v, resumes: %v, used: %v", allowed, resumes, used)
			}
			_ = q.CloseWithError(0x100, "")
		}
	}
}
