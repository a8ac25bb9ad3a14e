package fasthttpproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
	"github.com/valyala/fasthttp/internal/uri"
	xproxy "golang.org/x/net/proxy"
)

// Error is the error of a proxy that has not connected to the target.
type Error struct {
	// Proxy and Target are "host:port".
	Proxy, Target string

	// StatusCode is the status of the response of an HTTP proxy, such as 407 if it
	// requires other credentials, or 0 if there is no response.
	StatusCode int

	// Body is the beginning of the content of that response: the part that was received
	// together with the status.
	Body []byte

	reason string
	cause  error
}

// Error returns a text with the proxy, the target, and the response or the cause.
func (e *Error) Error() string {
	text := "fasthttpproxy: the proxy " + e.Proxy + " has not connected to " + strconv.Quote(e.Target)
	if e.StatusCode != 0 {
		text += fmt.Sprintf(": it has answered %d %q", e.StatusCode, e.reason)
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the cause, or nil if the proxy has responded.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether the cause is a timeout.
func (e *Error) Timeout() bool {
	timeout, ok := errors.AsType[net.Error](e.cause)
	return ok && timeout.Timeout()
}

// Temporary is part of net.Error.
func (e *Error) Temporary() bool { return e.Timeout() }

// proxy is a parsed proxy.
type proxy struct {
	scheme string
	addr   string // "host:port"
	host   string
	user   *url.Userinfo
}

// errProxy is the error for an invalid proxy. Its text does not contain the proxy, which may
// have a password.
var errProxy = errors.New("fasthttpproxy: the address of the proxy is not a valid url of a known scheme: http, https or socks5")

// withScheme returns the URL of a proxy, with the given scheme unless it has one.
func withScheme(text, scheme string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return scheme + "://" + text
}

func parseProxy(text string) (*proxy, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errProxy
	}
	return newProxy(u)
}

func newProxy(u *url.URL) (*proxy, error) {
	p := &proxy{scheme: u.Scheme, host: u.Hostname(), user: u.User}
	port := u.Port()
	switch p.scheme {
	case "http":
		port = orPort(port, "80")
	case "https":
		port = orPort(port, "443")
	case "socks5", "socks5h":
		port = orPort(port, "1080")
	default:
		return nil, errProxy
	}
	if p.host == "" || !http1.ValidPort([]byte(port)) {
		return nil, errProxy
	}
	p.addr = net.JoinHostPort(p.host, port)
	return p, nil
}

func orPort(port, usual string) string {
	if port == "" {
		return usual
	}
	return port
}

// errTarget is the error for a target that is not "host:port", or has characters that a proxy
// could take for more than a target.
var errTarget = errors.New("fasthttpproxy: the address to connect to is not a valid host with a port")

// checkTarget returns addr in the form for a proxy.
func checkTarget(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errTarget, err)
	}
	if host, err = uri.ASCIIHost(host); err != nil {
		return "", fmt.Errorf("%w: %w", errTarget, err)
	}
	target := net.JoinHostPort(host, port)
	if host == "" || port == "" || !http1.ValidHost([]byte(target)) {
		return "", fmt.Errorf("%w: %q", errTarget, addr)
	}
	return target, nil
}

// tunnel makes conn, a connection to the proxy, a tunnel to the target.
func (p *proxy) tunnel(ctx context.Context, conn net.Conn, target string, config *tls.Config) (net.Conn, error) {
	var err error
	switch p.scheme {
	case "https":
		conn, err = p.handshake(ctx, conn, config)
		if err != nil {
			return nil, p.failed(target, err)
		}
		return p.connect(ctx, conn, target)
	case "http":
		return p.connect(ctx, conn, target)
	default:
		if err := p.socks(ctx, conn, target); err != nil {
			return nil, p.failed(target, err)
		}
		return conn, nil
	}
}

func (p *proxy) failed(target string, err error) error {
	return &Error{Proxy: p.addr, Target: target, cause: err}
}

func (p *proxy) handshake(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	own := &tls.Config{}
	if config != nil {
		own = config.Clone()
	}
	if own.ServerName == "" {
		own.ServerName = p.host
	}
	secure := tls.Client(conn, own)
	return secure, secure.HandshakeContext(ctx)
}

// socksDialer has the methods of the undocumented SOCKS5 dialer of
// golang.org/x/net/proxy.
type socksDialer interface {
	DialWithConn(ctx context.Context, c net.Conn, network, address string) (net.Addr, error)
}

// errSocks is returned if the SOCKS5 dialer of golang.org/x/net/proxy has other methods.
var errSocks = errors.New("fasthttpproxy: golang.org/x/net/proxy does not take connections any more")

func (p *proxy) socks(ctx context.Context, conn net.Conn, target string) error {
	var auth *xproxy.Auth
	if p.user != nil {
		auth = &xproxy.Auth{User: p.user.Username()}
		auth.Password, _ = p.user.Password()
	}
	dialer, err := xproxy.SOCKS5("tcp", p.addr, auth, nil)
	if err != nil {
		return err
	}
	d, ok := dialer.(socksDialer)
	if !ok {
		return errSocks
	}
	_, err = d.DialWithConn(ctx, conn, "tcp", target)
	return err
}

// connect asks an HTTP proxy for a tunnel (RFC 9110 section 9.3.6).
func (p *proxy) connect(ctx context.Context, conn net.Conn, target string) (net.Conn, error) {
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, p.failed(target, err)
	}
	if _, err := conn.Write(p.appendConnect(nil, target)); err != nil {
		return nil, p.failed(target, err)
	}
	r := bufio.NewReader(conn)
	if err := p.readAnswer(r, target); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, p.failed(target, err)
	}
	if r.Buffered() == 0 {
		return conn, nil
	}
	// bytes of the target that were received with the response
	early, _ := r.Peek(r.Buffered())
	return &earlyConn{Conn: conn, early: early}, nil
}

func (p *proxy) appendConnect(dst []byte, target string) []byte {
	dst = append(dst, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n"...)
	if authorization := p.authorization(); authorization != "" {
		dst = append(dst, "Proxy-Authorization: "+authorization+"\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// authorization returns the value of Proxy-Authorization, or "" for none.
func (p *proxy) authorization() string {
	if p.user == nil {
		return ""
	}
	password, _ := p.user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user.Username()+":"+password))
}

// isHTTP reports whether the proxy accepts requests with an absolute URI.
func (p *proxy) isHTTP() bool { return p.scheme == "http" || p.scheme == "https" }

const (
	// maxHints is how many informational responses may precede the final one.
	maxHints = 8
	// maxErrorBody is how much of the content of a response is kept.
	maxErrorBody = 1 << 10
)

// errHints is returned if a proxy sends more than maxHints informational responses.
var errHints = errors.New("fasthttpproxy: too many informational responses")

// readAnswer reads the head of the response. The bytes after the head of a 2xx belong to the
// tunnel, whatever its fields are.
func (p *proxy) readAnswer(r *bufio.Reader, target string) error {
	var h header.Header
	head := http1.Head{Connect: true}
	for range maxHints {
		h.Begin(&head)
		if _, err := h.ReadFrom(http1.Response, &head, recvbuf.Buffered{R: r}); err == io.EOF {
			return p.failed(target, io.ErrUnexpectedEOF)
		} else if err != nil {
			return p.failed(target, err)
		}
		switch code := head.Status; code / 100 {
		case 0:
			return p.failed(target, http1.ErrStatusLine)
		case 1:
			continue
		case 2:
			return nil
		default:
			body, _ := r.Peek(min(r.Buffered(), maxErrorBody))
			return &Error{
				Proxy: p.addr, Target: target, StatusCode: code,
				reason: string(h.Reason()), Body: append([]byte(nil), body...),
			}
		}
	}
	return p.failed(target, errHints)
}

// earlyConn is a connection from which some bytes were read already.
type earlyConn struct {
	net.Conn
	early []byte
}

// Read implements net.Conn.
func (c *earlyConn) Read(b []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.early)
	c.early = c.early[n:]
	if len(c.early) == 0 {
		c.early = nil
	}
	return n, nil
}

// CloseWrite shuts down the sending side if the connection can do that.
func (c *earlyConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
