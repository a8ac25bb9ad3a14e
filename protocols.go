package fasthttp

import (
	"cmp"
	"time"
)

// Protocols is a set of versions of HTTP. The zero value means HTTP/1 alone; any other set
// contains only the versions that were added to it. So a server for both HTTP/1 and HTTP/2
// needs both SetHTTP1 and SetHTTP2.
type Protocols struct{ bits uint8 }

const (
	bitHTTP1 = 1 << iota
	bitHTTP2
	bitUnencryptedHTTP2
)

func (p *Protocols) set(bit uint8, on bool) {
	if on {
		p.bits |= bit
	} else {
		p.bits &^= bit
	}
}

// HTTP1 reports whether p includes HTTP/1.0 and HTTP/1.1, as the zero value does.
func (p Protocols) HTTP1() bool { return p.bits&bitHTTP1 != 0 || p.bits == 0 }

// SetHTTP1 adds HTTP/1 to p, or removes it. A server without it closes TLS connections whose
// client has not agreed on HTTP/2 in the handshake, and treats all connections without TLS as
// HTTP/2.
func (p *Protocols) SetHTTP1(ok bool) { p.set(bitHTTP1, ok) }

// HTTP2 reports whether p includes HTTP/2 over TLS.
func (p Protocols) HTTP2() bool { return p.bits&bitHTTP2 != 0 }

// SetHTTP2 adds HTTP/2 over TLS to p, or removes it. The two sides agree on it in the
// handshake, by application-layer protocol negotiation (RFC 7301). Of the versions that a
// client offers, a server chooses HTTP/2.
func (p *Protocols) SetHTTP2(ok bool) { p.set(bitHTTP2, ok) }

// UnencryptedHTTP2 reports whether p includes HTTP/2 without TLS.
func (p Protocols) UnencryptedHTTP2() bool { return p.bits&bitUnencryptedHTTP2 != 0 }

// SetUnencryptedHTTP2 adds HTTP/2 without TLS to p, or removes it. A client must know that
// the server speaks it (RFC 9113 section 3.3): there is no upgrade from HTTP/1.1, and a
// request for one is answered over HTTP/1.1.
func (p *Protocols) SetUnencryptedHTTP2(ok bool) { p.set(bitUnencryptedHTTP2, ok) }

// String returns the names of the versions in p, such as "{HTTP1,HTTP2}".
func (p Protocols) String() string {
	text := "{"
	for _, v := range []struct {
		on   bool
		name string
	}{{p.HTTP1(), "HTTP1"}, {p.HTTP2(), "HTTP2"}, {p.UnencryptedHTTP2(), "UnencryptedHTTP2"}} {
		if !v.on {
			continue
		}
		if len(text) > 1 {
			text += ","
		}
		text += v.name
	}
	return text + "}"
}

// HTTP2Config configures HTTP/2, of a server or of a client. The fields have the names of
// net/http, except for ExtendedConnect. In each field, 0 or less means the default. Other
// settings apply to HTTP/2 as well, such as ReadBufferSize, MaxRequestBodySize, ReadTimeout,
// WriteTimeout and IdleTimeout of a server. docs/security.md lists all limits, and how peers
// that exceed them are handled.
type HTTP2Config struct {
	// MaxConcurrentStreams is how many requests a client may have open at once on a
	// connection of a server. The server refuses further requests, which the client may send
	// again. No more handlers than this run at once per connection, even if the client has
	// given up their requests; further requests wait. Default 250. It has no meaning for a
	// client.
	MaxConcurrentStreams int

	// MaxDecoderHeaderTableSize and MaxEncoderHeaderTableSize limit the tables with which
	// fields are compressed (RFC 7541), in bytes, of received and of sent fields. Both are
	// 4,096 by default, and the first is never less than that. HTTP/3 sends fields without a
	// table unless the second is set: small messages cost more processor time with it.
	MaxDecoderHeaderTableSize int
	MaxEncoderHeaderTableSize int

	// MaxReadFrameSize is the size of the largest accepted frame, in bytes, from 16 KiB,
	// the default, to 16 MiB. A larger frame ends its connection.
	MaxReadFrameSize int

	// MaxReceiveBufferPerConnection and MaxReceiveBufferPerStream limit the content in
	// bytes that may be on its way to handlers, for all requests of a connection and for
	// each request. Clients wait until there is room for more. Content that the server
	// buffers before it calls the handler does not count once it has arrived: see
	// Server.MaxRequestBodySize and MaxRequestBodyMemory. Defaults 1 MiB and 256 KiB. The
	// first is at least 65,535. For a client they limit the content of responses that has
	// arrived and was not read from a body stream: 1 GiB and 1 MiB by default.
	MaxReceiveBufferPerConnection int
	MaxReceiveBufferPerStream     int

	// ExtendedConnect makes a server accept extended CONNECT requests (RFC 8441), by which
	// browsers open WebSockets on an HTTP/2 or HTTP/3 connection that they have, and announce that:
	// see RequestCtx.ConnectProtocol. The handlers of all paths for which pages open
	// WebSockets must then accept such requests, as websocket.Upgrader does: browsers do not
	// try HTTP/1.1 instead. It has no meaning for a client, which follows the announcement
	// of the server.
	ExtendedConnect bool

	// SendPingTimeout is the time without frames from the peer after which a PING is
	// sent, to check whether the peer is still there. By default no PING is sent. A
	// server checks its connections once a second; a client as often as needed.
	SendPingTimeout time.Duration

	// PingTimeout is how long the peer may take to send anything after that PING, before
	// the connection is closed. Default 15 seconds.
	PingTimeout time.Duration

	// WriteByteTimeout closes a connection that accepts none of the bytes to be written for
	// this long. On the portable engine it is the limit for each write, of 64 KiB at most.
	// Within each such period a client must also accept 1 KiB of every stream of a server
	// with content waiting, or the stream is reset: so it is the longest pause of a download,
	// or of a reader of events. Default 15 seconds.
	WriteByteTimeout time.Duration

	// CountError is called for each fault of a peer that ends a stream or a connection, and
	// for each malformed request that gets 400 instead, for metrics. errType is the name of
	// its code in RFC 9113 section 7, in lower case, such as "protocol_error" and
	// "enhance_your_calm", or "no_error" for a peer that has not answered a PING. Several
	// connections may call it concurrently, and it must not wait.
	CountError func(errType string)
}

// h2WriteTime is the default of PingTimeout and WriteByteTimeout.
const h2WriteTime = 15 * time.Second

// positive returns a value if it is set, or else its default.
func positive[T cmp.Ordered](value, byDefault T) T {
	var zero T
	if value > zero {
		return value
	}
	return byDefault
}
