package websocket

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/ws"
)

// ErrBadHandshake reports that the peer's part of the opening handshake is not valid. The
// errors of Upgrader.Upgrade and Dialer.Dial for such a peer wrap it.
var ErrBadHandshake = errors.New("websocket: bad handshake")

// Reasons for which an Upgrader refuses a request. They wrap ErrBadHandshake.
var (
	// ErrNotWebSocket reports that the client has not asked for the WebSocket protocol.
	ErrNotWebSocket = fmt.Errorf("%w: the client does not ask for the WebSocket protocol", ErrBadHandshake)
	// ErrVersion reports that the client does not support version 13, the only one.
	ErrVersion = fmt.Errorf("%w: the version of the protocol is not 13", ErrBadHandshake)
	// ErrOrigin reports that a browser has sent the request on behalf of a page whose origin
	// is not allowed.
	ErrOrigin = fmt.Errorf("%w: the origin of the page is not allowed", ErrBadHandshake)
)

var (
	errOther      = fmt.Errorf("%w: the client asks for another protocol", ErrNotWebSocket)
	errMethod     = fmt.Errorf("%w: the method is not GET", ErrBadHandshake)
	errProtocol   = fmt.Errorf("%w: the request is neither HTTP/1.1, nor an extended CONNECT", ErrBadHandshake)
	errKey        = fmt.Errorf("%w: not exactly one Sec-WebSocket-Key, of 16 bytes in base64", ErrBadHandshake)
	errVersions   = fmt.Errorf("%w: more than one Sec-WebSocket-Version", ErrBadHandshake)
	errClosing    = fmt.Errorf("%w: the request closes the connection", ErrBadHandshake)
	errExtensions = fmt.Errorf("%w: malformed Sec-WebSocket-Extensions", ErrBadHandshake)
	errProtocols  = fmt.Errorf("%w: malformed Sec-WebSocket-Protocol", ErrBadHandshake)
)

// HandshakeError is the error of Upgrader.Upgrade for a request that it has refused.
type HandshakeError struct {
	// Status is the status code of the response.
	Status int
	// Err is the reason, which wraps ErrBadHandshake.
	Err error
}

// Error returns the text of the reason.
func (e HandshakeError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e HandshakeError) Unwrap() error { return e.Err }

// The names and values of the fields of the handshake (RFC 6455 section 11.3).
const (
	headerKey        = "Sec-WebSocket-Key"
	headerAccept     = "Sec-WebSocket-Accept"
	headerVersion    = "Sec-WebSocket-Version"
	headerProtocol   = "Sec-WebSocket-Protocol"
	headerExtensions = "Sec-WebSocket-Extensions"

	upgradeName = "websocket"
	version     = "13"
)

// agreement is the result of an opening handshake.
type agreement struct {
	subprotocol string
	deflate     ws.Deflate // the parameters of permessage-deflate
	compressed  bool       // permessage-deflate is used
}

// IsWebSocketUpgrade reports whether the client asks for the WebSocket protocol: Connection
// lists "upgrade", and Upgrade lists "websocket"; or, over HTTP/2, the request is an extended
// CONNECT with the protocol "websocket" (RFC 8441). The request may still not be a valid opening
// handshake.
func IsWebSocketUpgrade(ctx *fasthttp.RequestCtx) bool {
	if protocol := ctx.ConnectProtocol(); protocol != nil {
		return isWebSocket(protocol)
	}
	h := &ctx.Request.Header
	return lists(h.PeekAll(fasthttp.HeaderConnection), "upgrade") && lists(h.PeekAll(fasthttp.HeaderUpgrade), upgradeName)
}

// isWebSocket reports whether protocol, of an extended CONNECT, is WebSocket.
func isWebSocket(protocol []byte) bool { return ascii.EqualFoldString(protocol, upgradeName) }

// FastHTTPIsWebSocketUpgrade is IsWebSocketUpgrade, by the name that it has in
// github.com/fasthttp/websocket.
func FastHTTPIsWebSocketUpgrade(ctx *fasthttp.RequestCtx) bool { return IsWebSocketUpgrade(ctx) }

// Subprotocols returns the subprotocols that the client has asked for, in its order of
// preference.
func Subprotocols(ctx *fasthttp.RequestCtx) []string {
	var all []string
	for _, line := range ctx.Request.Header.PeekAll(headerProtocol) {
		for e, rest := ascii.NextElement(line); ; e, rest = ascii.NextElement(rest) {
			if len(e) > 0 {
				all = append(all, string(e))
			}
			if rest == nil {
				break
			}
		}
	}
	return all
}

// lists reports whether any of the lines, each of which is a list, has the element, in upper
// or lower case.
func lists(lines [][]byte, element string) bool {
	for _, rest := range lines {
		for rest != nil {
			var e []byte
			if e, rest = ascii.NextElement(rest); ascii.EqualFoldString(e, element) {
				return true
			}
		}
	}
	return false
}

// handshake checks the request against RFC 6455 section 4.2, or RFC 8441 section 5 over HTTP/2,
// and makes ctx.Response the response: 101, or 200 over HTTP/2, with the fields that the handler
// has set, or a refusal. The caller then takes the connection over. The error is a
// HandshakeError.
func (u *Upgrader) handshake(ctx *fasthttp.RequestCtx) (agreement, error) {
	if status, err := u.check(ctx); err != nil {
		return agreement{}, u.refuse(ctx, status, err)
	}
	var a agreement
	var err error
	if a.subprotocol, err = u.chooseSubprotocol(ctx); err != nil {
		return agreement{}, u.refuse(ctx, fasthttp.StatusBadRequest, err)
	}
	if a.deflate, a.compressed, err = u.chooseDeflate(ctx); err != nil {
		return agreement{}, u.refuse(ctx, fasthttp.StatusBadRequest, err)
	}
	u.accept(ctx, &a)
	return a, nil
}

// check returns the reason to refuse a request, and the status of the response.
func (u *Upgrader) check(ctx *fasthttp.RequestCtx) (status int, err error) {
	h := &ctx.Request.Header
	if protocol := ctx.ConnectProtocol(); protocol != nil {
		return u.checkExtended(ctx, protocol)
	}
	switch {
	case ctx.IsHTTP2(), string(h.Protocol()) == "HTTP/3.0":
		return fasthttp.StatusNotImplemented, errProtocol
	case !h.IsHTTP11():
		return fasthttp.StatusUpgradeRequired, errProtocol
	case !IsWebSocketUpgrade(ctx):
		return fasthttp.StatusUpgradeRequired, ErrNotWebSocket
	case !ctx.IsGet():
		return fasthttp.StatusMethodNotAllowed, errMethod
	case h.ConnectionClose():
		return fasthttp.StatusBadRequest, errClosing
	}
	switch err := checkVersion(h); err {
	case nil:
	case ErrVersion:
		return fasthttp.StatusUpgradeRequired, err
	default:
		return fasthttp.StatusBadRequest, err
	}
	if keys := h.PeekAll(headerKey); len(keys) != 1 || !ws.IsKey(keys[0]) {
		return fasthttp.StatusBadRequest, errKey
	}
	if !u.allowsOrigin(ctx) {
		return fasthttp.StatusForbidden, ErrOrigin
	}
	return 0, nil
}

// checkExtended is check for an extended CONNECT, which has neither a key nor fields of the
// connection.
func (u *Upgrader) checkExtended(ctx *fasthttp.RequestCtx, protocol []byte) (status int, err error) {
	if !isWebSocket(protocol) {
		return fasthttp.StatusNotImplemented, errOther
	}
	if err := checkVersion(&ctx.Request.Header); err != nil {
		return fasthttp.StatusBadRequest, err
	}
	if !u.allowsOrigin(ctx) {
		return fasthttp.StatusForbidden, ErrOrigin
	}
	return 0, nil
}

// checkVersion checks the version of the protocol that the client wants to speak.
func checkVersion(h *fasthttp.RequestHeader) error {
	switch versions := h.PeekAll(headerVersion); {
	case len(versions) > 1:
		return errVersions
	case len(versions) == 0 || string(versions[0]) != version:
		return ErrVersion
	}
	return nil
}

// refuse makes the response a refusal, and returns the error of Upgrade.
func (u *Upgrader) refuse(ctx *fasthttp.RequestCtx, status int, reason error) error {
	if u.Error != nil {
		u.Error(ctx, status, reason)
	} else {
		ctx.Error(reason.Error(), status)
	}
	h := &ctx.Response.Header
	if reason == ErrVersion {
		h.Set(headerVersion, version)
	}
	switch ctx.Response.StatusCode() {
	case fasthttp.StatusUpgradeRequired:
		// RFC 9110 section 15.5.22, RFC 6455 section 4.4
		h.Set(fasthttp.HeaderUpgrade, upgradeName)
		h.Set(fasthttp.HeaderConnection, "Upgrade")
		h.Set(headerVersion, version)
	case fasthttp.StatusMethodNotAllowed:
		h.Set(fasthttp.HeaderAllow, fasthttp.MethodGet)
	}
	return HandshakeError{Status: status, Err: reason}
}

// accept makes the response a 101, or a 200 to an extended CONNECT.
func (u *Upgrader) accept(ctx *fasthttp.RequestCtx, a *agreement) {
	ctx.Response.ResetBody()
	h := &ctx.Response.Header
	var room [256]byte
	if ctx.ConnectProtocol() != nil {
		ctx.SetStatusCode(fasthttp.StatusOK)
	} else {
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		h.Set(fasthttp.HeaderUpgrade, upgradeName)
		h.Set(fasthttp.HeaderConnection, "Upgrade")
		h.SetBytesV(headerAccept, ws.AppendAccept(room[:0], ctx.Request.Header.Peek(headerKey)))
	}
	if a.subprotocol != "" {
		h.Set(headerProtocol, a.subprotocol)
	} else {
		h.Del(headerProtocol)
	}
	if a.compressed {
		h.SetBytesV(headerExtensions, ws.AppendDeflate(room[:0], a.deflate))
	} else {
		h.Del(headerExtensions)
	}
}

// chooseSubprotocol returns the first of u.Subprotocols that the client has asked for. If
// the server has no list, it returns the subprotocol that the handler has set in the
// response.
func (u *Upgrader) chooseSubprotocol(ctx *fasthttp.RequestCtx) (string, error) {
	lines := ctx.Request.Header.PeekAll(headerProtocol)
	for _, rest := range lines {
		for rest != nil {
			var e []byte
			if e, rest = ascii.NextElement(rest); len(e) > 0 && !ascii.IsToken(e) {
				return "", errProtocols
			}
		}
	}
	if len(u.Subprotocols) == 0 {
		return string(ctx.Response.Header.Peek(headerProtocol)), nil
	}
	for _, ours := range u.Subprotocols {
		for _, rest := range lines {
			for rest != nil {
				var e []byte
				// unlike most names, these are case-sensitive (RFC 6455 section 11.3.4)
				if e, rest = ascii.NextElement(rest); string(e) == ours && ours != "" {
					return ours, nil
				}
			}
		}
	}
	return "", nil
}

// chooseDeflate answers the first acceptable offer of permessage-deflate.
func (u *Upgrader) chooseDeflate(ctx *fasthttp.RequestCtx) (answer ws.Deflate, ok bool, err error) {
	var room [8]ws.Deflate
	offers := room[:0]
	for _, line := range ctx.Request.Header.PeekAll(headerExtensions) {
		// a malformed field fails the handshake even if nothing in it would be accepted
		if offers, err = ws.ParseOffers(offers, line); err != nil {
			return ws.Deflate{}, false, errExtensions
		}
	}
	if !u.EnableCompression {
		return ws.Deflate{}, false, nil
	}
	terms := u.Compression.terms()
	for _, offer := range offers {
		if answer, ok = terms.Answer(offer); ok {
			return answer, true, nil
		}
	}
	return ws.Deflate{}, false, nil
}

// allowsOrigin reports whether the page that has caused the request may connect. Only
// browsers send Origin (RFC 6455 section 10.2).
func (u *Upgrader) allowsOrigin(ctx *fasthttp.RequestCtx) bool {
	if u.CheckOrigin != nil {
		return u.CheckOrigin(ctx)
	}
	lines := ctx.Request.Header.PeekAll(fasthttp.HeaderOrigin)
	if len(lines) == 0 {
		return true
	}
	origin := lines[0]
	if len(lines) > 1 {
		return false
	}
	scheme, host, found := bytes.Cut(origin, []byte("://"))
	if !found || len(host) == 0 || !ascii.IsToken(scheme) || !http1.ValidHost(host) {
		// such as "null", the origin of pages without one
		return false
	}
	if ascii.EqualFold(host, ctx.ClientHost()) {
		return true
	}
	for _, pattern := range u.OriginPatterns {
		text := host
		if strings.Contains(pattern, "://") {
			text = origin
		}
		if matches(pattern, text) {
			return true
		}
	}
	return false
}

// matches reports whether text matches the pattern, in which a star matches any characters,
// or none. Upper and lower case are equal.
func matches(pattern string, text []byte) bool {
	p, t := 0, 0
	star, from := -1, 0 // the last star, and the text after the characters that it matches
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && ascii.Lower(pattern[p]) == ascii.Lower(text[t]):
			p, t = p+1, t+1
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
