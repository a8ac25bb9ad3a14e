package fasthttpproxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/uri"
)

// ReverseProxy forwards requests to another server, or to several, and their responses to the
// client. Its method Handler is a fasthttp.RequestHandler:
//
//	proxy := &fasthttpproxy.ReverseProxy{Target: "http://localhost:8081"}
//	server := &fasthttp.Server{Handler: proxy.Handler, StreamRequestBody: true}
//
// Bodies stream in both directions, piece by piece, with their trailer fields, and take no more
// memory than a few buffers: the proxy reads no faster than the receiver does. That needs
// Server.StreamRequestBody (or BodyModeStream) for requests; without it the server collects
// bodies first. Client and server may speak different versions of HTTP.
//
// The proxy removes the fields that concern one connection only, and the ones that Connection
// names (RFC 9110 section 7.6.1), from both messages. Responses keep the Date of the server. It removes fields in which
// clients claim an address or a host, such as Forwarded and X-Forwarded-For, and sets
// X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto: see TrustForwarded. It adds a Via
// field to requests, and forwards informational responses such as 103 (Early Hints). A client
// that expects 100 (Continue) gets it when the server asks for the content.
//
// When the client disconnects, its request to the server is canceled. Whether a request is sent
// again after a failure is a matter of the Client. If the server breaks a response off, so does
// the proxy: the client never gets a part of a response as the whole.
//
// The fields must not be changed after first use, nor the ReverseProxy copied. Handler may be
// called concurrently.
type ReverseProxy struct {
	// Target is the URL of the server, "http://host:port" or "https://host:port". The path of
	// a Target is put in front of the paths of requests; a request gets 400 (Bad Request) if its path
	// would lead out of it by dot segments, also if they are escaped, even twice. If Target is empty, requests go where
	// Client sends them, with the Host field of the client, or else the first address of Client;
	// then Client must be a HostClient or an LBClient, or Rewrite must set the URI.
	Target string

	// Client sends the requests, usually a *fasthttp.HostClient, a *fasthttp.LBClient over
	// several of them, or a *fasthttp.Client. Its time limits, retries and numbers of
	// connections apply. An LBClient without a Timeout has no time limit here. By default the
	// proxy has a client of its own, with TLS 1.2 at least and up to 4096 connections: a request
	// waits for one of them for 10 seconds, and then a minute for the head of the response.
	Client ReverseProxyClient

	// Rewrite changes the request before it is sent: req has its header, with the fields that
	// the proxy sets, its URI, and its body. Fields that clients must not send are
	// removed before, so a client cannot have the fields of Rewrite removed. ctx is the request
	// as it was received, which must not be changed. An error ends the exchange.
	//
	// Paths are forwarded as the client has sent them, for example with dot segments that
	// ctx.Path has resolved. If Rewrite decides by path, it should forward the path that it has
	// checked, escaped again since ctx.Path is decoded:
	// req.URI().SetPath((&url.URL{Path: string(ctx.Path())}).EscapedPath()). A path of Target
	// must then be put in front of it. With an LBClient and no Target, the HostClient that gets the
	// request decides about TLS, and not the scheme of the URI.
	Rewrite func(ctx *fasthttp.RequestCtx, req *fasthttp.Request) error

	// ModifyResponse changes ctx.Response, the response of the server, before it is sent. Its
	// body is a stream unless it is short; a stream that reads it may replace it. ctx.Request.Header
	// never gets the trailer fields of a body forwarded while it arrives. An error ends the
	// exchange, and the client gets the response of ErrorHandler. It is also called before a protocol
	// is switched, with the status 101 (or 200, with HTTP/2): with another status it is not switched.
	ModifyResponse func(ctx *fasthttp.RequestCtx) error

	// ErrorHandler makes the response to a request that has failed. ctx.Response has a status
	// and a short text that fit err, which may be replaced. err wraps one of ErrBadGateway (502),
	// ErrGatewayTimeout (504), ErrUnavailable (503), ErrRequestBody (413, 408 or 400) and
	// ErrClientLeft (499, for logs), or is the error of Rewrite (502) or
	// ModifyResponse (502). By default the proxy logs err, except for ErrClientLeft.
	ErrorHandler func(ctx *fasthttp.RequestCtx, err error)

	// TrustForwarded reports whether the peer of ctx is a proxy whose Forwarded and
	// X-Forwarded-* fields are forwarded, too: the proxy appends the address of the peer to
	// X-Forwarded-For then. By default no peer is.
	TrustForwarded func(ctx *fasthttp.RequestCtx) bool

	// Via is the name of the proxy in the field Via of requests, "fasthttp" by default.
	Via string

	// UpgradeProtocols are the protocols to which a client may switch its connection, by
	// Upgrade or by an extended CONNECT of HTTP/2. By default it is "websocket" alone. The
	// proxy passes on the bytes of such a connection without looking at them, so a protocol
	// that carries requests, such as h2c, would bypass the rules of Rewrite.
	UpgradeProtocols []string

	// PreserveHost sends the Host field of the client, if there is one, instead of the host of
	// Target.
	PreserveHost bool

	// SendForwarded makes the proxy also set the field Forwarded (RFC 7239).
	SendForwarded bool

	once      sync.Once
	target    proxyTarget
	client    ReverseProxyClient
	vias      [4]string // values of Via, for HTTP/1.0, 1.1, 2 and 3
	oneHost   bool      // the client sends all requests to the same host, or to equivalent ones
	anyScheme bool      // which of them gets a request decides about the scheme
	unusable  error     // the fields are inconsistent
}

// NewReverseProxy returns a ReverseProxy for a target, or an error if target is not the URL of a
// server.
func NewReverseProxy(target string) (*ReverseProxy, error) {
	if _, err := parseTarget(target); err != nil {
		return nil, err
	}
	return &ReverseProxy{Target: target}, nil
}

// ReverseProxyClient is a client of a ReverseProxy. *fasthttp.HostClient, *fasthttp.Client,
// *fasthttp.LBClient and *fasthttp.PipelineClient implement it.
type ReverseProxyClient interface {
	// DoContext sends req and fills resp. The call, and the reading of the body of resp if it is
	// a stream, end with ctx.
	DoContext(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) error
}

// proxyTarget is a parsed ReverseProxy.Target. Without one, it has the scheme and the hostField of the
// client, if it knows them.
type proxyTarget struct {
	scheme, host string
	hostField    string // host as the value of a Host field
	path         string // without a slash at its end
}

// setUp prepares the proxy for its first request.
func (p *ReverseProxy) setUp() {
	for i, version := range []string{"1.0 ", "1.1 ", "2 ", "3 "} {
		via := []byte(version + cmp.Or(p.Via, "fasthttp"))
		http1.Clean(via)
		p.vias[i] = string(via)
	}
	if p.Target != "" {
		if p.target, p.unusable = parseTarget(p.Target); p.unusable != nil {
			return
		}
	}
	switch p.client = p.Client; {
	case p.client != nil:
	case p.Target != "":
		p.client = p.ownClient()
	case p.Rewrite != nil:
		p.client = &fasthttp.Client{
			MaxConnsPerHost: ownMaxConns, MaxConnWaitTimeout: ownConnWait, ResponseHeaderTimeout: ownHeadTime,
			NoDefaultUserAgentHeader: true, DisablePathNormalizing: true,
		}
	default:
		p.unusable = errors.New("fasthttpproxy: a ReverseProxy needs a Target, a Client or a Rewrite function")
	}
	if _, ok := p.client.(*fasthttp.Client); ok && p.Target == "" && p.Rewrite == nil {
		// clients would choose the server
		p.unusable = errors.New("fasthttpproxy: a ReverseProxy with a fasthttp.Client needs a Target or a Rewrite function")
	}
	p.oneHost = isOneHost(p.client)
	if p.Target == "" {
		p.target.scheme, p.target.hostField = hostOf(p.client)
		// one with the other scheme may be added at any time
		_, balances := p.client.(*fasthttp.LBClient)
		p.anyScheme = p.oneHost && balances
	}
}

// hostOf returns the scheme of the requests of a client that has hosts of its own, and the value of Host
// for the first one of them, or "".
func hostOf(client any) (scheme, hostField string) {
	switch c := client.(type) {
	case *fasthttp.HostClient:
		addr, _, _ := strings.Cut(c.Addr, ",")
		host, err := uri.HostField([]byte(addr))
		if err == nil && http1.ValidHost(host) {
			hostField = string(host)
		}
		if c.IsTLS {
			return "https", hostField
		}
		return "http", hostField
	case *fasthttp.LBClient:
		if len(c.Clients) > 0 {
			return hostOf(c.Clients[0])
		}
	}
	return "", ""
}

// isOneHost reports whether a client sends requests to its own hosts, whatever their URIs are.
func isOneHost(client any) bool {
	switch c := client.(type) {
	case *fasthttp.HostClient:
		return !c.AbsoluteForm
	case *fasthttp.LBClient:
		for _, one := range c.Clients {
			if !isOneHost(one) {
				return false
			}
		}
		return true
	}
	return false
}

// The settings of a client that the user has not chosen.
const (
	ownMaxConns = 4096
	ownConnWait = 10 * time.Second
	ownHeadTime = time.Minute
)

func (p *ReverseProxy) ownClient() *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: p.target.host, IsTLS: p.target.scheme == "https", TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		MaxConns: ownMaxConns, MaxConnWaitTimeout: ownConnWait, ResponseHeaderTimeout: ownHeadTime,
		NoDefaultUserAgentHeader: true, DisablePathNormalizing: true,
	}
}

func parseTarget(text string) (t proxyTarget, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return t, fmt.Errorf("fasthttpproxy: invalid Target: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return t, fmt.Errorf("fasthttpproxy: the Target %q is not the URL of a server", text)
	}
	host, err := uri.ASCIIHost(u.Host)
	if err != nil {
		return t, fmt.Errorf("fasthttpproxy: invalid Target: %w", err)
	}
	hostField, err := uri.HostField([]byte(host))
	if err != nil {
		return t, fmt.Errorf("fasthttpproxy: invalid Target: %w", err)
	}
	return proxyTarget{u.Scheme, host, string(hostField), strings.TrimSuffix(u.EscapedPath(), "/")}, nil
}

// CloseIdleConnections closes the connections to the server that are not in use, if the client
// has such a method.
func (p *ReverseProxy) CloseIdleConnections() {
	p.once.Do(p.setUp)
	if c, ok := p.client.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Handler forwards the request of ctx, and its response.
func (p *ReverseProxy) Handler(ctx *fasthttp.RequestCtx) {
	p.once.Do(p.setUp)
	x := &proxyExchange{p: p, ctx: ctx}
	over := false
	defer func() {
		if !over {
			// a function of the application has panicked
			x.release()
		}
	}()
	x.serve()
	over = true
}

// speaksHTTP2 reports whether the client may speak HTTP/2 to the server.
func (p *ReverseProxy) speaksHTTP2() bool {
	var protocols fasthttp.Protocols
	isTLS := p.target.scheme == "https"
	switch c := p.client.(type) {
	case *fasthttp.HostClient:
		protocols, isTLS = c.Protocols, c.IsTLS
	case *fasthttp.Client:
		protocols = c.Protocols
	}
	if isTLS {
		return protocols.HTTP2()
	}
	return protocols.UnencryptedHTTP2() && !protocols.HTTP1()
}

// upgrade returns the protocol to which the client wants to switch its connection, or "" if there
// is none. ok is false if it is not allowed, and the request cannot be answered otherwise.
func (p *ReverseProxy) upgrade(ctx *fasthttp.RequestCtx) (protocol string, ok bool) {
	in := &ctx.Request.Header
	if extended := ctx.ConnectProtocol(); extended != nil {
		protocol = p.allowed(extended)
		return protocol, protocol != ""
	}
	if in.IsConnect() {
		return "", false
	}
	if !in.IsGet() || !in.IsHTTP11() || !in.ConnectionUpgrade() || hasContent(&ctx.Request) {
		return "", true
	}
	for _, value := range in.PeekAll(fasthttp.HeaderUpgrade) {
		for rest := value; rest != nil; {
			var name []byte
			name, rest = ascii.NextElement(rest)
			if protocol = p.allowed(name); protocol != "" {
				return protocol, true
			}
		}
	}
	return "", true
}

// hasContent reports whether a request has content, as far as it is known before it was read.
func hasContent(req *fasthttp.Request) bool {
	if req.IsBodyStream() {
		return req.Header.ContentLength() != 0
	}
	return len(req.Body()) > 0
}

// allowed returns the protocol with the name if a client may switch to it, or "".
func (p *ReverseProxy) allowed(name []byte) string {
	if p.UpgradeProtocols == nil {
		if ascii.EqualFoldString(name, webSocket) {
			return webSocket
		}
		return ""
	}
	for _, protocol := range p.UpgradeProtocols {
		if ascii.EqualFoldString(name, protocol) {
			return protocol
		}
	}
	return ""
}

const webSocket = "websocket"
