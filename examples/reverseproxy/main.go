// Command reverseproxy passes requests on to another server. Bodies stream
// through it in both directions, however large they are, and so do the trailer
// fields behind them; fields that concern one connection only stay behind; and where the other server breaks off in the
// middle of a response, so does this one, instead of passing on a part as the
// whole.
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
		// the response is that of the other server
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		IdleTimeout:           time.Minute,
	}
	shutDown := make(chan error, 1)
	context.AfterFunc(ctx, func() { shutDown <- server.Shutdown() })

	fmt.Fprintf(stdout, "reverseproxy listens on %s\n", ln.Addr())
	if err := server.Serve(ln); err != nil {
		return err
	}
	p.client.CloseIdleConnections()
	return <-shutDown
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
			StreamResponseBody:       true,
			NoDefaultUserAgentHeader: true,
			// what the client sent means what it meant
			DisablePathNormalizing: true,
		},
	}, nil
}

// exchange is a request on its way to the other server, and the response to it.
type exchange struct {
	req    *fasthttp.Request
	resp   *fasthttp.Response
	cancel context.CancelFunc
}

// release ends the exchange. A response that was not read to its end takes its
// connection with it.
func (e *exchange) release() {
	_ = e.resp.CloseBodyStream()
	e.cancel()
	fasthttp.ReleaseRequest(e.req)
	fasthttp.ReleaseResponse(e.resp)
}

func (p *proxy) serve(ctx *fasthttp.RequestCtx) {
	// the call ends when the client leaves, also while the response is being
	// passed on, which is when this function has returned
	callCtx, cancel := context.WithCancel(context.Background())
	ctx.WatchDisconnect()
	ctx.AfterFunc(cancel)

	e := &exchange{fasthttp.AcquireRequest(), fasthttp.AcquireResponse(), cancel}
	p.fillRequest(ctx, e.req)
	if err := p.client.DoContext(callCtx, e.req, e.resp); err != nil {
		e.release()
		fail(ctx, err)
		return
	}
	passOn(ctx, e)
}

// fail says that there is no response.
func fail(ctx *fasthttp.RequestCtx, err error) {
	ctx.Logger().Printf("%v", err)
	code := fasthttp.StatusBadGateway
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		code = fasthttp.StatusGatewayTimeout
	}
	ctx.Error(fasthttp.StatusMessage(code), code)
}

// fillRequest makes req the request of ctx.
func (p *proxy) fillRequest(ctx *fasthttp.RequestCtx, req *fasthttp.Request) {
	in := &ctx.Request.Header
	in.CopyTo(&req.Header)
	dropConnectionFields(&req.Header)
	req.Header.SetNoDefaultContentType(true)
	// a client may speak HTTP/1.0, and want to close its own connection
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
		// the body is closed by the server, not by the client
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

// passOn makes the response that came the response of ctx.
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
	// what a server sends bit by bit is passed on bit by bit
	out.ImmediateHeaderFlush = true
	body := &trailingBody{stream, &e.resp.Header, &out.Header}
	ctx.SetBodyStream(&passedBody{body, e}, size)
}

// trailingBody is a body on its way. The trailer fields that come behind it in
// from are sent behind it with to.
type trailingBody struct {
	io.Reader
	from, to header
}

// header is what the headers of requests and responses have in common.
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
			// what was taken in may be sent on
			_ = b.to.AddTrailerFieldBytes(name, value)
		}
	}
	return n, err
}

// passedBody is the body of a response that is being passed on. An error of it
// makes the server break off the response.
type passedBody struct {
	io.Reader
	e *exchange
}

// SendsPieces implements fasthttp.PiecewiseStream.
func (b *passedBody) SendsPieces() bool { return true }

// Close implements io.Closer. It is called when the response was sent, or could
// not be.
func (b *passedBody) Close() error {
	b.e.release()
	return nil
}

// connectionFields are the fields that concern one connection (RFC 9110 section
// 7.6.1). Those that Connection names are others.
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
