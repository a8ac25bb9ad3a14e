package integrationtests

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// pushed is a pushed body, which ends by itself when the server shuts down.
type pushed struct {
	push   fasthttp.Push
	opened chan struct{}
	ended  chan error
	tick   func(p *pushed)
	stop   func(p *pushed)
}

func newPushed() *pushed {
	return &pushed{opened: make(chan struct{}, 10), ended: make(chan error, 10), stop: func(p *pushed) { p.push.Close() }}
}

func (p *pushed) Opened(*fasthttp.Push)           { p.opened <- struct{}{} }
func (p *pushed) Tick(*fasthttp.Push)             { p.tick(p) }
func (p *pushed) ShuttingDown(*fasthttp.Push)     { p.stop(p) }
func (p *pushed) Ended(_ *fasthttp.Push, e error) { p.ended <- e }

// pushes returns a handler that pushes the body for the path /, and sends the path as the body for
// any other path. The channel gets the bodies, once they have begun.
func pushes(prepare func(ctx *fasthttp.RequestCtx, p *pushed)) (fasthttp.RequestHandler, <-chan *pushed) {
	made := make(chan *pushed, 2000)
	return func(ctx *fasthttp.RequestCtx) {
		if path := ctx.Path(); len(path) > 1 {
			_, _ = ctx.Write(path)
			return
		}
		p := newPushed()
		ctx.PushBody(&p.push, p)
		if prepare != nil {
			prepare(ctx, p)
		}
		made <- p
	}, made
}

// beginning receives the next body, and waits until it has begun.
func beginning(t testing.TB, made <-chan *pushed) *pushed {
	t.Helper()
	p := servertest.Receive(t, "a pushed body", made)
	servertest.Receive(t, "its beginning", p.opened)
	return p
}

// wantEnd checks with which error the body has ended.
func (p *pushed) wantEnd(t testing.TB, want func(err error) bool) {
	t.Helper()
	if err := servertest.Receive(t, "the end of a pushed body", p.ended); !want(err) {
		t.Errorf("a pushed body has ended with %v", err)
	}
}

func isNil(err error) bool { return err == nil }

// openHead sends a request, and reads the head of the response.
func openHead(t testing.TB, c *servertest.Conn, request string) (head string) {
	t.Helper()
	c.Send(request)
	for {
		line, err := c.R.ReadString('\n')
		servertest.Must(t, err)
		if head += line; line == "\r\n" {
			return head
		}
	}
}

// wantText reads the text that must be next.
func wantText(t testing.TB, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("got %.300q, %v, want %.300q", got[:n], err, text)
	}
}

// pushClient is a client of net/http for one version of HTTP.
type pushClient struct {
	ts     *testServer
	client *http.Client
}

// forEachPush runs a test on each engine with sockets over HTTP/1.1, the same with compression, and
// HTTP/2.
func forEachPush(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) *pushClient)) {
	t.Parallel()
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		for _, way := range []string{"HTTP1", "gzip", "HTTP2"} {
			t.Run(e.Name+"/"+way, func(t *testing.T) {
				t.Parallel()
				test(t, func(s *fasthttp.Server) *pushClient { return startPush(t, e, way, s) })
			})
		}
	}
}

func startPush(t testing.TB, e servertest.Engine, way string, s *fasthttp.Server) *pushClient {
	http2 := way == "HTTP2"
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2.WriteByteTimeout = servertest.Never
	if way == "gzip" {
		s.Handler = fasthttp.CompressHandler(s.Handler)
	}
	var p http.Protocols
	switch {
	case !http2:
		p.SetHTTP1(true)
	case e.TLS:
		p.SetHTTP2(true)
	default:
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{Protocols: &p, TLSClientConfig: servertest.TrustCertificate(), DisableCompression: way != "gzip"}
	t.Cleanup(tr.CloseIdleConnections)
	return &pushClient{startServer(t, e, s), &http.Client{Transport: tr}}
}

// open sends a GET, and returns the body of the response. end makes the client leave.
func (c *pushClient) open(t testing.TB, path string) (r *bufio.Reader, end func()) {
	t.Helper()
	r, end, err := c.tryOpen(t, path)
	servertest.Must(t, err)
	return r, end
}

// tryOpen is open, which may fail.
func (c *pushClient) tryOpen(t testing.TB, path string) (r *bufio.Reader, end func(), err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", c.url(path), nil)
	servertest.Must(t, err)
	resp, err := c.client.Do(req)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	end = func() { cancel(); _ = resp.Body.Close() }
	t.Cleanup(end)
	return bufio.NewReader(resp.Body), end, nil
}

// url returns the URL of a path.
func (c *pushClient) url(path string) string {
	if c.ts.Engine.TLS {
		return "https://" + c.ts.Listener.Addr().String() + path
	}
	return "http://" + c.ts.Listener.Addr().String() + path
}

// text is text of n lines.
func text(n int) []byte { return []byte(strings.Repeat("0123456789abcde\n", n)) }
