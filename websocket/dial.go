package websocket

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bufpool"
	idial "github.com/valyala/fasthttp/internal/dial"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/ws"
)

// Dialer has the settings for WebSocket connections of a client. The zero value is ready for
// use. The fields must not be changed after first use; the methods may be called
// concurrently.
type Dialer struct {
	// NetDialContext establishes TCP connections to servers. The default is NetDial, and
	// without that a fasthttp.TCPDialer, for IPv4 and IPv6.
	NetDialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// NetDial is NetDialContext without a context. If it takes longer than the dial may, it
	// continues in a goroutine, which closes its connection.
	NetDial func(network, addr string) (net.Conn, error)
	// NetDialTLSContext establishes TLS connections to servers, instead of NetDialContext and
	// TLSClientConfig.
	NetDialTLSContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Proxy returns the URL of the proxy for a request, or nil for none: an HTTP proxy, by
	// CONNECT, also with TLS, or a SOCKS5 proxy. See package fasthttpproxy for the forms of
	// URLs. The functions above are not used then. The default is no proxy.
	Proxy func(*http.Request) (*url.URL, error)

	// TLSClientConfig is the configuration of TLS with servers. Its NextProtos have no
	// effect.
	TLSClientConfig *tls.Config

	// HTTP2Client opens connections over HTTP/2 (RFC 8441), if it is set: as streams of the
	// HTTP/2 connections of this client, which its requests and other WebSockets share. Its
	// Protocols must have HTTP/2, or its Transport be an http3.Transport, for WebSockets over
	// HTTP/3 (RFC 9220). Its settings for connections apply instead of the fields above, except
	// that its timeouts apply to the opening handshake alone. If the server speaks HTTP/1.1,
	// or has not announced that it permits WebSockets over HTTP/2, they are opened over
	// HTTP/1.1 with the fields above, provided that the Protocols of the client have HTTP/1;
	// otherwise the error wraps fasthttp.ErrNoExtendedConnect.
	HTTP2Client *fasthttp.Client

	// HandshakeTimeout limits the time of a dial, the opening handshake included. Zero means
	// no limit but the context, and fasthttp.DefaultDialTimeout for TCP.
	HandshakeTimeout time.Duration

	// Subprotocols are the subprotocols that the client asks for, in its order of
	// preference.
	Subprotocols []string

	// EnableCompression offers permessage-deflate (RFC 7692) to servers, with the parameters
	// of Compression.
	EnableCompression bool
	Compression       Compression

	// Jar supplies the cookies of requests, and receives the cookies of responses. The default
	// is none.
	Jar http.CookieJar

	// ReadLimit, PingInterval, PongTimeout, CloseTimeout, WriteTimeout and WriteBufferSize are as
	// for an Upgrader.
	ReadLimit       int64
	PingInterval    time.Duration
	PongTimeout     time.Duration
	CloseTimeout    time.Duration
	WriteTimeout    time.Duration
	WriteBufferSize int

	// ReadBufferSize has no effect: connections hold a buffer only while data arrives.
	ReadBufferSize int
	// WriteBufferPool has no effect: write buffers are always from a pool.
	WriteBufferPool BufferPool
}

// DefaultDialer is a Dialer with a HandshakeTimeout of 45 seconds, which uses the proxies of
// the environment.
var DefaultDialer = &Dialer{
	Proxy:            http.ProxyFromEnvironment,
	HandshakeTimeout: 45 * time.Second,
}

// protocolField is the name of the field in requests, as RFC 6455 spells it: net/http would
// write another letter in lower case, and some servers distinguish.
var protocolField = headerProtocol

var (
	errURL      = errors.New("websocket: the URL must begin with ws:// or wss://, and have a host and no user information")
	errNoConn   = errors.New("websocket: the dial function returned neither a connection nor an error")
	errAnswer   = fmt.Errorf("%w: the server has accepted something that was not offered", ErrBadHandshake)
	errResponse = fmt.Errorf("%w: the response is not HTTP/1.1, or lacks Upgrade, Connection or the right Sec-WebSocket-Accept", ErrBadHandshake)
)

// Dial is DialContext without a context.
func (d *Dialer) Dial(urlStr string, requestHeader http.Header) (*Conn, *http.Response, error) {
	return d.DialContext(context.Background(), urlStr, requestHeader)
}

// DialContext connects to a URL with the scheme ws or wss (RFC 6455 section 3), or http or
// https. requestHeader has further fields of the request, such as Origin, Cookie or Host; it
// must not have the fields of the opening handshake, except for Sec-WebSocket-Protocol if
// d.Subprotocols is empty. ctx limits the dial, and has no effect on the connection.
//
// If the server refuses the handshake, the error wraps ErrBadHandshake, and the response is
// not nil. Its body has the first 1024 bytes of the content at most, and need not be closed.
func (d *Dialer) DialContext(ctx context.Context, urlStr string, requestHeader http.Header) (*Conn, *http.Response, error) {
	if d == nil {
		d = &Dialer{}
	}
	req, key, err := d.request(urlStr, requestHeader)
	if err != nil {
		return nil, nil, err
	}
	if d.HandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.HandshakeTimeout)
		defer cancel()
	}
	req = req.WithContext(ctx)
	if d.HTTP2Client != nil {
		c, resp, err := d.dialHTTP2(ctx, req)
		if err == nil || !d.mayFallBack(err) {
			return c, resp, err
		}
	}
	nc, err := d.connect(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	var c *Conn
	var resp *http.Response
	interrupted := interruptible(ctx, func() { interrupt(nc) }, func() { c, resp, err = d.shake(nc, req, key) })
	if interrupted && !errors.Is(err, ErrBadHandshake) {
		if c != nil {
			_ = c.CloseNow()
		}
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = nc.Close()
		return nil, resp, err
	}
	return c, resp, nil
}

// interrupt ends the reads and writes of a connection that the dial has not finished.
func interrupt(nc net.Conn) {
	if nc.SetDeadline(past) != nil {
		// a *tls.Conn of the application over a connection without deadlines, as a channel of SSH
		_ = nc.Close()
	}
}

// request returns the request of a handshake, and its key.
func (d *Dialer) request(urlStr string, header http.Header) (*http.Request, []byte, error) {
	u, err := url.Parse(urlStr)
	if err != nil {
		return nil, nil, err
	}
	switch u.Scheme {
	case "ws", "http":
		u.Scheme = "http"
	case "wss", "https":
		u.Scheme = "https"
	default:
		return nil, nil, errURL
	}
	if u.Hostname() == "" || u.User != nil {
		return nil, nil, errURL
	}
	u.Fragment, u.RawFragment = "", ""
	var nonce [ws.NonceSize]byte
	_, _ = rand.Read(nonce[:])
	key := ws.AppendKey(nil, nonce)
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Upgrade": {upgradeName}, "Connection": {"Upgrade"},
			// as RFC 6455 spells them
			headerKey: {string(key)}, headerVersion: {version},
		},
	}
	if d.Jar != nil {
		for _, cookie := range d.Jar.Cookies(u) {
			req.AddCookie(cookie)
		}
	}
	if len(d.Subprotocols) > 0 {
		req.Header[protocolField] = []string{strings.Join(d.Subprotocols, ", ")}
	}
	if d.EnableCompression {
		req.Header[headerExtensions] = []string{string(ws.AppendDeflate(nil, d.Compression.offer()))}
	}
	return req, key, addFields(req, header)
}

// addFields adds the fields of the application to a request.
func addFields(req *http.Request, header http.Header) error {
	for name, values := range header {
		switch canonical := http.CanonicalHeaderKey(name); canonical {
		case "Host":
			if len(values) > 0 {
				req.Host = values[0]
			}
		case "Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions":
			return fmt.Errorf("websocket: the field %s is part of the handshake", name)
		case "Sec-Websocket-Protocol":
			if req.Header[protocolField] != nil {
				return fmt.Errorf("websocket: the field %s, and Dialer.Subprotocols", name)
			}
			req.Header[protocolField] = values
		case "Cookie":
			// a request has one such field
			all := append(req.Header["Cookie"], values...)
			req.Header["Cookie"] = []string{strings.Join(all, "; ")}
		default:
			req.Header[canonical] = append(req.Header[canonical], values...)
		}
	}
	return nil
}

// offer returns the offer of a client.
func (c *Compression) offer() ws.Deflate {
	d := ws.Deflate{ClientBits: ws.AnyBits, ServerNoContext: !c.ContextTakeover, ClientNoContext: !c.ContextTakeover}
	if bits := c.bits(); bits < ws.MaxBits {
		d.ServerBits, d.ClientBits = bits, bits
	}
	return d
}

// tcp establishes TCP connections by default.
var tcp fasthttp.TCPDialer

// connect connects to the server of a request, through a proxy or not, with TLS if the scheme
// is https.
func (d *Dialer) connect(ctx context.Context, req *http.Request) (net.Conn, error) {
	secure := req.URL.Scheme == "https"
	port := req.URL.Port()
	switch {
	case port != "":
	case secure:
		port = "443"
	default:
		port = "80"
	}
	addr := net.JoinHostPort(req.URL.Hostname(), port)
	var proxy *url.URL
	if d.Proxy != nil {
		var err error
		if proxy, err = d.Proxy(req); err != nil {
			return nil, err
		}
	}
	dial := tcp.DialContext
	switch {
	case d.NetDialContext != nil:
		dial = d.NetDialContext
	case d.NetDial != nil:
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return aside(ctx, func() (net.Conn, error) { return d.NetDial(network, addr) })
		}
	}
	if proxy == nil && secure && d.NetDialTLSContext != nil {
		return checkDialed(d.NetDialTLSContext(ctx, "tcp", addr))
	}
	if proxy != nil {
		dial = through(proxy)
	}
	nc, err := checkDialed(dial(ctx, "tcp", addr))
	if err != nil || !secure {
		return nc, err
	}
	return d.secure(ctx, nc, req.URL.Hostname())
}

// checkDialed returns the result of a dial function, with deadlines, or an error if there is neither
// a connection nor an error.
func checkDialed(nc net.Conn, err error) (net.Conn, error) {
	switch {
	case err != nil:
		return nil, err
	case nc == nil:
		return nil, errNoConn
	}
	return netio.WithDeadlines(nc), nil
}

// through returns a function that connects through a proxy.
func through(proxy *url.URL) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		d := &fasthttpproxy.Dialer{
			Config:        httpproxy.Config{HTTPProxy: proxy.String(), HTTPSProxy: proxy.String()},
			DialDualStack: true,
		}
		if deadline, ok := ctx.Deadline(); ok {
			d.Timeout = max(time.Until(deadline), time.Nanosecond)
		}
		dial, err := d.GetDialFunc(false)
		if err != nil {
			return nil, err
		}
		// its timeouts end the dial if ctx does
		return aside(ctx, func() (net.Conn, error) { return dial(addr) })
	}
}

// aside connects with a function that has no context, and returns when ctx ends. It closes a late
// connection.
func aside(ctx context.Context, connect func() (net.Conn, error)) (net.Conn, error) {
	if ctx.Done() == nil {
		return connect()
	}
	u := idial.Uninterruptible{
		Dial:      connect,
		WrapPanic: func(value any) any { return value },
		Late: func(nc net.Conn, _ error) {
			if nc != nil {
				_ = nc.Close()
			}
		},
	}
	nc, late, err := u.Run(nil, ctx.Done())
	if late {
		err = context.Cause(ctx)
	}
	return nc, err
}

// secure begins TLS on a connection.
func (d *Dialer) secure(ctx context.Context, nc net.Conn, host string) (net.Conn, error) {
	config := &tls.Config{}
	if d.TLSClientConfig != nil {
		config = d.TLSClientConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	config.NextProtos = []string{"http/1.1"}
	conn := tls.Client(nc, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return conn, nil
}

// The limits of a response to an opening handshake.
const (
	maxResponseHead    = 64 << 10
	maxResponseContent = 1024
)

// shake performs the opening handshake of a client (RFC 6455 section 4.1).
func (d *Dialer) shake(nc net.Conn, req *http.Request, key []byte) (*Conn, *http.Response, error) {
	if err := req.Write(nc); err != nil {
		return nil, nil, err
	}
	r := bufio.NewReader(io.LimitReader(nc, maxResponseHead))
	resp, err := finalResponse(r, req)
	if err != nil {
		return nil, nil, err
	}
	if d.Jar != nil {
		if cookies := resp.Cookies(); len(cookies) > 0 {
			d.Jar.SetCookies(req.URL, cookies)
		}
	}
	a, err := d.agreed(req, resp, key)
	if err != nil {
		p := make([]byte, maxResponseContent)
		n := 0
		if resp.StatusCode != http.StatusSwitchingProtocols {
			n, _ = io.ReadFull(resp.Body, p)
		}
		resp.Body = io.NopCloser(bytes.NewReader(p[:n]))
		return nil, resp, err
	}
	resp.Body = http.NoBody
	var ahead *bufpool.Buffer
	if n := r.Buffered(); n > 0 {
		ahead = bufpool.Get(n)
		p, _ := r.Peek(n)
		ahead.B = append(ahead.B, p...)
	}
	return newConn(nc, ws.Client, a, d.options(), ahead), resp, nil
}

// finalResponse reads a response, after the informational ones that a server may send before it
// (RFC 9110 section 15.2). The limit of r is one for all of them.
func finalResponse(r *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(r, req)
		if err != nil || resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
	}
}

// options returns the settings of connections.
func (d *Dialer) options() options {
	return options{
		readLimit: d.ReadLimit, pingInterval: d.PingInterval, pongTimeout: d.PongTimeout, closeTimeout: d.CloseTimeout,
		writeTimeout: d.WriteTimeout, writeBuffer: d.WriteBufferSize, compression: &d.Compression,
	}
}

// refusedWith returns the error of a response with this status.
func refusedWith(status int) error {
	return fmt.Errorf("%w: the status of the response is %d, and neither 101, nor a 2xx over HTTP/2", ErrBadHandshake, status)
}

// agreed checks the response, and returns the result of the handshake.
func (d *Dialer) agreed(req *http.Request, resp *http.Response, key []byte) (a agreement, err error) {
	accept := resp.Header["Sec-Websocket-Accept"]
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return a, refusedWith(resp.StatusCode)
	case !resp.ProtoAtLeast(1, 1):
		return a, errResponse
	case len(accept) != 1 || !ws.Accepts([]byte(accept[0]), key),
		!hasElement(resp.Header["Upgrade"], upgradeName), !hasElement(resp.Header["Connection"], "upgrade"):
		return a, errResponse
	}
	return d.agreedTerms(req, resp)
}

// agreedTerms is the part of agreed for the fields that do not depend on the version of HTTP.
func (d *Dialer) agreedTerms(req *http.Request, resp *http.Response) (a agreement, err error) {
	switch protocols := resp.Header["Sec-Websocket-Protocol"]; {
	case len(protocols) > 1, len(protocols) == 1 && !hasExactElement(req.Header[protocolField], protocols[0]):
		return a, errAnswer
	case len(protocols) == 1:
		a.subprotocol = protocols[0]
	}
	extensions := strings.Join(resp.Header["Sec-Websocket-Extensions"], ",")
	a.deflate, a.compressed, err = ws.ParseAnswer([]byte(extensions), d.Compression.offer())
	if err != nil || a.compressed && !d.EnableCompression {
		return a, errAnswer
	}
	return a, nil
}

// hasElement is lists for fields of net/http.
func hasElement(lines []string, element string) bool {
	for _, line := range lines {
		if lists([][]byte{[]byte(line)}, element) {
			return true
		}
	}
	return false
}

// hasExactElement is hasElement with regard to upper and lower case.
func hasExactElement(lines []string, element string) bool {
	for _, line := range lines {
		for rest := []byte(line); rest != nil; {
			var e []byte
			if e, rest = ascii.NextElement(rest); string(e) == element {
				return true
			}
		}
	}
	return false
}
