// Command reverseproxy forwards requests to another server. Bodies of any size stream through
// it in both directions, with their trailer fields. It does not forward fields that concern
// one connection only. If the other server aborts a response, the proxy also aborts its
// response: the client must not mistake a part for the whole.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	backend := flag.String("backend", "http://localhost:8081", "the `URL` of the server to pass requests on to")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *backend, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr, backend string, stdout io.Writer) error {
	p, err := newProxy(backend)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler:           p.serve,
		StreamRequestBody: true,
		// bodies may be large: only heads have a timeout, and bodies have a minimum rate
		ReadHeaderTimeout:  10 * time.Second,
		MinRequestBodyRate: 1 << 10,
		// the fields are the other server's
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		IdleTimeout:           time.Minute,
		// received requests are answered, except for responses that do not end
		ShutdownTimeout: 30 * time.Second,
	}

	fmt.Fprintf(stdout, "reverseproxy listens on %s\n", ln.Addr())
	err = server.Run(ctx, ln)
	p.client.CloseIdleConnections()
	return err
}

type proxy struct {
	client *fasthttp.HostClient
	scheme string
	host   string
}

func newProxy(backend string) (*proxy, error) {
	u, err := url.Parse(backend)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%q is no URL of a server", backend)
	}
	return &proxy{
		scheme: u.Scheme,
		host:   u.Host,
		client: &fasthttp.HostClient{
			Addr:                     u.Host,
			IsTLS:                    u.Scheme == "https",
			MaxConns:                 1024,
			MaxConnWaitTimeout:       5 * time.Second,
			ResponseHeaderTimeout:    time.Minute,
			StreamResponseBody:       true,
			NoDefaultUserAgentHeader: true,
			// forward the path and the fields as the client has sent them
			DisablePathNormalizing: true,
		},
	}, nil
}

// exchange is a request to the other server, and the response to it.
type exchange struct {
	req    *fasthttp.Request
	resp   *fasthttp.Response
	cancel context.CancelFunc
}

// release ends the exchange. If the response was not read to its end, its connection is
// closed.
func (e *exchange) release() {
	_ = e.resp.CloseBodyStream()
	e.cancel()
	fasthttp.ReleaseRequest(e.req)
	fasthttp.ReleaseResponse(e.resp)
}

func (p *proxy) serve(ctx *fasthttp.RequestCtx) {
	// the call ends when the client closes its connection, also while the response is being
	// forwarded, after this function has returned. It does not end when the server shuts down,
	// although ctx does
	callCtx, cancel := context.WithCancel(context.Background())
	ctx.AfterDisconnect(cancel)

	e := &exchange{fasthttp.AcquireRequest(), fasthttp.AcquireResponse(), cancel}
	p.fillRequest(ctx, e.req)
	if err := p.client.DoContext(callCtx, e.req, e.resp); err != nil {
		e.release()
		fail(ctx, err)
		return
	}
	passOn(ctx, e)
}

// fail sends the response for a failure of the other server.
func fail(ctx *fasthttp.RequestCtx, err error) {
	ctx.Logger().Printf("%v", err)
	code := fasthttp.StatusBadGateway
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		code = fasthttp.StatusGatewayTimeout
	}
	ctx.Error(fasthttp.StatusMessage(code), code)
}

// fillRequest copies the request of ctx to req.
func (p *proxy) fillRequest(ctx *fasthttp.RequestCtx, req *fasthttp.Request) {
	in := &ctx.Request.Header
	in.CopyTo(&req.Header)
	dropConnectionFields(&req.Header)
	req.Header.SetNoDefaultContentType(true)
	// the client may use HTTP/1.0, or ask to close its own connection
	req.Header.SetProtocol("HTTP/1.1")

	forwarded := ctx.RemoteIP().String()
	if before := in.PeekAll("X-Forwarded-For"); len(before) > 0 {
		forwarded = joined(before) + ", " + forwarded
	}
	req.Header.Set("X-Forwarded-For", forwarded)
	req.Header.SetBytesV("X-Forwarded-Host", in.Host())
	req.Header.Set("X-Forwarded-Proto", string(ctx.URI().Scheme()))

	u := req.URI()
	u.DisablePathNormalizing = true
	u.SetScheme(p.scheme)
	u.SetHost(p.host)
	req.SetHost(p.host)

	if body := ctx.RequestBodyStream(); body != nil {
		// the server closes the body, not the client
		req.SetBodyStream(&trailingBody{body, in, &req.Header}, in.ContentLength())
	}
}

func joined(values [][]byte) string {
	var b strings.Builder
	for i, value := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(value)
	}
	return b.String()
}

// passOn makes the response of the other server the response of ctx.
func passOn(ctx *fasthttp.RequestCtx, e *exchange) {
	out := &ctx.Response
	size := e.resp.Header.ContentLength()
	e.resp.Header.CopyTo(&out.Header)
	dropConnectionFields(&out.Header)
	if ctx.IsHead() {
		out.SkipBody = true
		e.release()
		return
	}
	stream := e.resp.BodyStream()
	if stream == nil {
		out.SetBody(e.resp.Body())
		e.release()
		return
	}
	// each piece that the other server sends is forwarded at once
	out.ImmediateHeaderFlush = true
	body := &trailingBody{stream, &e.resp.Header, &out.Header}
	ctx.SetBodyStream(&passedBody{body, e}, size)
}

// trailingBody is a forwarded body. The trailer fields that from has after the body are added
// to to.
type trailingBody struct {
	io.Reader
	from, to header
}

// header has the methods that the headers of requests and responses share.
type header interface {
	TrailerFields() iter.Seq2[[]byte, []byte]
	AddTrailerFieldBytes(name, value []byte) error
	PeekAll(name string) [][]byte
	Del(name string)
}

// Read implements io.Reader.
func (b *trailingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		for name, value := range b.from.TrailerFields() {
			// fields that were accepted on receipt can be sent
			_ = b.to.AddTrailerFieldBytes(name, value)
		}
	}
	return n, err
}

// passedBody is the body of a forwarded response. Its errors make the server abort the
// response.
type passedBody struct {
	io.Reader
	e *exchange
}

// SendsPieces implements fasthttp.PiecewiseStream.
func (b *passedBody) SendsPieces() bool { return true }

// Close implements io.Closer. The server calls it after the response was sent, or has
// failed.
func (b *passedBody) Close() error {
	b.e.release()
	return nil
}

// connectionFields are the fields that concern one connection (RFC 9110 section 7.6.1).
// The field Connection may name further ones.
var connectionFields = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Transfer-Encoding", "Upgrade",
}

func dropConnectionFields(h header) {
	var named []string
	for _, value := range h.PeekAll("Connection") {
		for name := range strings.SplitSeq(string(value), ",") {
			named = append(named, strings.TrimSpace(name))
		}
	}
	for _, name := range append(named, connectionFields...) {
		h.Del(name)
	}
}
