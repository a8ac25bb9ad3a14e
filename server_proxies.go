package fasthttp

import (
	"net/netip"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/forwarded"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/peers"
)

// TrustedProxies lists the proxies in front of a Server that are trusted to name the
// client of a request, and the fields in which they do so. RequestCtx.ClientIP,
// RequestCtx.ClientScheme and RequestCtx.ClientHost return the results. The zero value
// trusts no proxy.
//
// Any client can send these fields. So name only fields that your proxies set, or
// append to, in each request: a field that they pass on unchanged may have been set by
// the client. The fields of a trailer section do not count.
type TrustedProxies struct {
	// Ranges are the addresses of the proxies. A request of another peer is answered as
	// if it had none of the fields. A range of all addresses, such as 0.0.0.0/0, lets
	// every client claim any address.
	Ranges []netip.Prefix

	// Unix trusts every peer that connects through a Unix socket. To connect, a
	// process needs permission to write to the file of the socket.
	Unix bool

	// AddressField is the name of the field that the proxies append the address of
	// their peer to, "X-Forwarded-For" if it is empty. It may be one that they
	// replace, such as "X-Real-IP".
	//
	// With "Forwarded" (RFC 7239) each element has the address, the scheme and the host
	// of one hop, so SchemeField and HostField have no effect. An IPv6 address has
	// brackets there (RFC 7239 section 6); an address without them counts as none, like
	// "unknown".
	AddressField string

	// SchemeField is the name of the field in which the proxies report whether the
	// client connected with http or https, "X-Forwarded-Proto" if it is empty. If it
	// has several values, the last one counts.
	SchemeField string

	// HostField is the name of the field in which the proxies send the host that the
	// client has requested, such as "X-Forwarded-Host". It is for proxies that send a
	// Host of their own, and set this field in each request: many proxies pass on the
	// field of the client. If HostField is empty, RequestCtx.Host counts. If the field
	// has several values, the last one counts.
	HostField string
}

// proxyTrust is the prepared form of TrustedProxies.
type proxyTrust struct {
	peers                 peers.Set
	address, scheme, host key  // host has no name if there is none
	standard              bool // address is the field Forwarded
}

// newProxyTrust returns nil if no proxy is trusted.
func newProxyTrust(t *TrustedProxies) *proxyTrust {
	if len(t.Ranges) == 0 && !t.Unix {
		return nil
	}
	trust := &proxyTrust{
		peers:   peers.NewSet(t.Ranges, t.Unix),
		address: namedKey(t.AddressField, HeaderXForwardedFor),
		scheme:  namedKey(t.SchemeField, HeaderXForwardedProto),
		host:    namedKey(t.HostField, ""),
	}
	trust.standard = trust.address.id == field.Forwarded
	return trust
}

func namedKey(name, usual string) key {
	if name == "" {
		name = usual
	}
	return keyOf([]byte(name))
}

// ClientIP returns the IP address of the client that sent the request, as far as the
// proxies of Server.TrustedProxies name it. If the peer is not a trusted proxy, it is
// the address of the peer.
//
// Otherwise AddressField is read from its end, with all its lines as one list: a
// trusted proxy appends the address of its own peer. The first address that does not
// belong to a trusted proxy is the client's. The part in front of it was sent by the
// client, and is ignored. If a trusted proxy has appended something other than an
// address, such as "unknown", or nothing at all, the result is the address of that
// proxy, since nothing more is known.
//
// IPv4 addresses are returned as such, whatever form they were received in, and
// addresses have no zone. The result is the zero Addr if the peer has no IP address, as
// on a Unix socket, and no trusted proxy has noted one.
//
// RemoteAddr and RemoteIP return the address of the peer in any case.
func (ctx *RequestCtx) ClientIP() netip.Addr {
	ip, _ := ctx.clientHop()
	return ip
}

// ClientScheme returns "https" or "http". If the peer is a trusted proxy that reports
// it, this is how the client connected to the first trusted proxy, and otherwise how
// the peer connected. See Server.TrustedProxies.
func (ctx *RequestCtx) ClientScheme() string {
	var said []byte
	if trust := ctx.proxyTrust(); trust != nil {
		if trust.standard {
			_, hop := ctx.clientHop()
			said = hop.Proto
		} else {
			said = lastElement(&ctx.Request.Header.header, trust.scheme)
		}
	}
	switch {
	case ascii.EqualFoldString(said, "https"):
		return "https"
	case ascii.EqualFoldString(said, "http"):
		return "http"
	case ctx.IsTLS():
		return "https"
	}
	return "http"
}

// ClientHost returns the host that the client has requested, with its port if there is
// one, as named by the peer if the peer is a trusted proxy. Otherwise it returns Host.
// See Server.TrustedProxies. It is valid until the handler returns.
//
// The client can choose it freely, like the Host field: compare it with the hosts that
// you serve before you use it in links.
func (ctx *RequestCtx) ClientHost() []byte {
	var said []byte
	if trust := ctx.proxyTrust(); trust != nil {
		if trust.standard {
			_, hop := ctx.clientHop()
			said = hop.Host
		} else if len(trust.host.name) > 0 {
			said = lastElement(&ctx.Request.Header.header, trust.host)
		}
	}
	if len(said) > 0 && http1.ValidHost(said) {
		return said
	}
	return ctx.Host()
}

// proxyTrust returns the trusted proxies, or nil if the peer is none of them.
func (ctx *RequestCtx) proxyTrust() *proxyTrust {
	if ctx.s == nil || ctx.s.trust == nil || !ctx.s.trust.peers.Has(ctx.RemoteAddr()) {
		return nil
	}
	return ctx.s.trust
}

// clientHop goes from the peer to the client, from one trusted proxy to the one in
// front of it. It returns the address of the client, and, if the Forwarded field is
// used, the element that describes its connection.
func (ctx *RequestCtx) clientHop() (ip netip.Addr, hop forwarded.Element) {
	ip = peers.AddrOf(ctx.RemoteAddr())
	trust := ctx.proxyTrust()
	if trust == nil {
		return ip, hop
	}
	h := &ctx.Request.Header.header
	for i := h.lastField(trust.address, h.list.Len()); i >= 0; i = h.lastField(trust.address, i) {
		for rest := h.list.Value(i); rest != nil; {
			var node []byte
			if node, rest = forwarded.Last(rest); len(node) == 0 {
				continue
			}
			parse := forwarded.ParseNode
			if trust.standard {
				next, ok := forwarded.ParseElement(node)
				if !ok {
					return ip, hop
				}
				hop, node, parse = next, next.For, forwarded.ParseFor
			}
			next, ok := parse(node)
			if !ok {
				return ip, hop
			}
			if ip = next; !trust.peers.HasIP(ip) {
				return ip, hop
			}
		}
	}
	return ip, hop
}

// lastElement returns the last element of a list that may have several lines, or
// nil. Empty ones do not count.
func lastElement(h *header, k key) []byte {
	for i := h.lastField(k, h.list.Len()); i >= 0; i = h.lastField(k, i) {
		for rest := h.list.Value(i); rest != nil; {
			var last []byte
			if last, rest = forwarded.Last(rest); len(last) > 0 {
				return last
			}
		}
	}
	return nil
}

// lastField returns the position of the last field of the header section with the
// name k before a position, or -1. Fields of a trailer section are left out, since
// front ends do not check those.
func (h *header) lastField(k key, before int) int {
	for i := before - 1; i >= 0; i-- {
		e := &h.list.Entries[i]
		if e.ID == k.id && e.Flags&field.InTrailers == 0 && (k.id != field.Unknown || ascii.EqualFold(h.list.Bytes(e.Name), k.name)) {
			return i
		}
	}
	return -1
}
