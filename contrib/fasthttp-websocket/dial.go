package websocket

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/valyala/fasthttp/websocket"
)

// Dialer has the settings for WebSocket connections of a client. The zero value is ready for
// use. The methods may be called concurrently.
type Dialer struct {
	// NetDial is NetDialContext without a context.
	NetDial func(network, addr string) (net.Conn, error)

	// NetDialContext establishes TCP connections to servers. The default is NetDial, and
	// without that a fasthttp.TCPDialer, for IPv4 and IPv6.
	NetDialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// NetDialTLSContext establishes TLS connections to servers, instead of NetDialContext and
	// TLSClientConfig.
	NetDialTLSContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Proxy returns the URL of the proxy for a request, or nil for none: an HTTP proxy, by
	// CONNECT, or a SOCKS5 proxy. The functions above are not used then.
	Proxy func(*http.Request) (*url.URL, error)

	// TLSClientConfig is the configuration of TLS with servers. Its NextProtos have no effect.
	TLSClientConfig *tls.Config

	// HandshakeTimeout limits the time of a dial, the opening handshake included. Zero means
	// no limit but the context, and fasthttp.DefaultDialTimeout for TCP.
	HandshakeTimeout time.Duration

	// WriteBufferSize is the size, in bytes, of the fragments in which the writers of
	// Conn.NextWriter send their messages: 4096 by default. ReadBufferSize has no effect:
	// connections hold a buffer only while data arrives.
	ReadBufferSize, WriteBufferSize int

	// WriteBufferPool has no effect: write buffers are always from a pool.
	WriteBufferPool BufferPool

	// Subprotocols are the subprotocols that the client asks for, in its order of preference.
	Subprotocols []string

	// EnableCompression offers permessage-deflate (RFC 7692) to servers.
	EnableCompression bool

	// Jar supplies the cookies of requests, and receives the cookies of responses. The default
	// is none.
	Jar http.CookieJar
}

// DefaultDialer is a Dialer with a HandshakeTimeout of 45 seconds, which uses the proxies of
// the environment.
var DefaultDialer = &Dialer{
	Proxy:            http.ProxyFromEnvironment,
	HandshakeTimeout: 45 * time.Second,
}

// Dial is DialContext without a context.
func (d *Dialer) Dial(urlStr string, requestHeader http.Header) (*Conn, *http.Response, error) {
	return d.DialContext(context.Background(), urlStr, requestHeader)
}

// DialContext connects to a URL with the scheme ws or wss, or http or https. requestHeader has
// further fields of the request, such as Origin, Cookie or Host. ctx limits the dial, and has
// no effect on the connection.
//
// If the server refuses the handshake, the error is ErrBadHandshake, and the response is not
// nil. Its body has the first 1024 bytes of the content at most, and need not be closed.
func (d *Dialer) DialContext(ctx context.Context, urlStr string, requestHeader http.Header) (*Conn, *http.Response, error) {
	if d == nil {
		d = &Dialer{}
	}
	dialer := websocket.Dialer{
		NetDial:           d.NetDial,
		NetDialContext:    d.NetDialContext,
		NetDialTLSContext: d.NetDialTLSContext,
		Proxy:             d.Proxy,
		TLSClientConfig:   d.TLSClientConfig,
		HandshakeTimeout:  d.HandshakeTimeout,
		WriteBufferSize:   d.WriteBufferSize,
		Subprotocols:      d.Subprotocols,
		EnableCompression: d.EnableCompression,
		Jar:               d.Jar,
		ReadLimit:         unlimited,
	}
	c, resp, err := dialer.DialContext(ctx, urlStr, requestHeader)
	if err != nil {
		if resp != nil {
			// programs compare it with ==
			err = ErrBadHandshake
		}
		return nil, resp, err
	}
	return newConn(c, nil), resp, nil
}

// NewClient is Dialer.Dial over a connection that is there, also for wss, since TLS is part of
// netConn. readBufSize has no effect.
//
// Deprecated: Use Dialer.
func NewClient(netConn net.Conn, u *url.URL, requestHeader http.Header, readBufSize, writeBufSize int) (c *Conn, response *http.Response, err error) {
	dial := func(context.Context, string, string) (net.Conn, error) { return netConn, nil }
	d := Dialer{
		ReadBufferSize:    readBufSize,
		WriteBufferSize:   writeBufSize,
		NetDialContext:    dial,
		NetDialTLSContext: dial,
	}
	return d.Dial(u.String(), requestHeader)
}
