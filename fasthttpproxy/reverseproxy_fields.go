package fasthttpproxy

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/uri"
)

// fieldKind is how a proxy treats a field that it has received.
type fieldKind uint8

const (
	fieldPasses    fieldKind = iota // it is forwarded
	fieldOfHop                      // it concerns one connection only
	fieldForwarded                  // a proxy names the client in it
	fieldBarred                     // no server should get it from a client
)

// kindOf returns the kind of a field of requests or responses. Underscores count as hyphens, as
// for servers that turn fields into variables: a client could otherwise send X_Forwarded_For.
func kindOf(name []byte) fieldKind {
	const longest = len("proxy-authentication-info")
	if len(name) > longest || len(name) < len("te") {
		return fieldPasses
	}
	switch name[0] | 0x20 {
	case 'c', 'f', 'h', 'k', 'p', 't', 'u', 'x':
	default:
		return fieldPasses
	}
	var lower [longest]byte
	underscores := false
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '_':
			c, underscores = '-', true
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
		"proxy-authentication-info", "te", "transfer-encoding", "upgrade", "http2-settings":
		return fieldOfHop
	case "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-server",
		"x-forwarded-prefix", "x-forwarded-scheme", "x-forwarded-ssl", "x-real-ip":
		if underscores {
			// a proxy that sets the usual field may forward this one
			return fieldBarred
		}
		return fieldForwarded
	case "proxy":
		// a CGI program would take it for the variable HTTP_PROXY
		return fieldBarred
	case "content-length", "host":
		if underscores {
			return fieldBarred
		}
	}
	return fieldPasses
}

// kinds are the kinds of the fields with well-known names.
var kinds = func() (all [field.NumIDs]fieldKind) {
	for id := range all {
		all[id] = kindOf(field.ID(id).Bytes())
	}
	return all
}()

// droppedFields removes the fields that are not forwarded from a header: all of its kind, and the ones
// that Connection fields name.
type droppedFields struct {
	keep     bool // fields of the kind fieldForwarded are forwarded
	trailers bool // the sender accepts trailer fields (RFC 9110 section 10.1.4)
	expects  bool // there is an Expect field, which stays
	names    []string
	options  []string           // of them, the ones that Connection fields name
	room     [usualDrops]string // of names
}

// usualDrops is more than the fields of one connection that a usual message has.
const usualDrops = 4

// messageHeader is a *fasthttp.RequestHeader or a *fasthttp.ResponseHeader.
type messageHeader interface {
	Del(name string)
	ResetConnectionClose()
}

// removeFrom removes the fields, and "close" of Connection.
func (d *droppedFields) removeFrom(h messageHeader) {
	fields, trails := bridge.FieldList(h, 0)
	list := fields.(*field.List)
	d.names = d.room[:0]
	next := func(from int) int {
		for ; from < len(list.Entries); from++ {
			if d.takes(list, from) {
				return from
			}
		}
		return -1
	}
	list.RemoveEach(next(0), next)
	for _, option := range d.options {
		name, id := []byte(option), field.Lookup([]byte(option))
		h.Del(option)
		// names may be spelled as the client has spelled them
		find := func(from int) int { return list.FindFold(id, name, from) }
		list.RemoveEach(find(0), find)
	}
	d.names = append(d.names, d.options...)
	if trails {
		for _, name := range d.names {
			h.Del(name)
		}
	}
	h.ResetConnectionClose()
}

// takes reports whether the field at i is removed.
func (d *droppedFields) takes(list *field.List, i int) bool {
	e := &list.Entries[i]
	kind, name := kinds[e.ID], e.ID.String()
	if e.ID == field.Unknown {
		kind = kindOf(list.Name(i))
	}
	switch {
	case kind == fieldPasses:
		d.expects = d.expects || e.ID == field.Expect
		return false
	case kind == fieldForwarded && d.keep:
		return false
	case e.ID == field.Connection:
		d.options = appendNamed(d.options, list.Value(i))
	case e.ID == field.Te:
		d.trailers = d.trailers || listsTrailers(list.Value(i))
	case e.ID == field.Unknown:
		name = string(list.Name(i))
	}
	d.names = append(d.names, name)
	return true
}

// has reports whether a field of the trailer section is not forwarded either.
func (d *droppedFields) has(name []byte) bool {
	return slices.ContainsFunc(d.names, func(dropped string) bool { return ascii.EqualFoldString(name, dropped) })
}

// listsTrailers reports whether the value of a TE field lists trailers.
func listsTrailers(value []byte) bool {
	for rest := value; rest != nil; {
		var coding []byte
		if coding, rest = ascii.NextElement(rest); ascii.EqualFoldString(coding, "trailers") {
			return true
		}
	}
	return false
}

// appendNamed appends the names in a Connection field. Fields that delimit or route the message stay, whatever the field says.
func appendNamed(drop []string, value []byte) []string {
	for rest := value; rest != nil; {
		var name []byte
		if name, rest = ascii.NextElement(rest); len(name) == 0 {
			continue
		}
		switch {
		case ascii.EqualFoldString(name, fasthttp.HeaderHost), ascii.EqualFoldString(name, fasthttp.HeaderContentLength),
			ascii.EqualFoldString(name, fasthttp.HeaderContentType), ascii.EqualFoldString(name, fasthttp.HeaderMaxForwards),
			ascii.EqualFoldString(name, "close"):
			continue
		}
		if kindOf(name) == fieldOfHop {
			// it is dropped in any case
			continue
		}
		drop = append(drop, string(name))
	}
	return drop
}

// keepDate makes a response be sent with the Date that it was received with (RFC 9110 section 6.6.1), if
// it looks like one: caches count from it. A whole check would take nearly 3 % of the instructions of a
// proxied request.
func keepDate(h *fasthttp.ResponseHeader) {
	fields, _ := bridge.FieldList(h, 0)
	list := fields.(*field.List)
	at := list.FindID(field.Date, 0)
	if at < 0 || list.FindID(field.Date, at+1) >= 0 {
		return
	}
	if date := list.Value(at); len(date) == len(http.TimeFormat) && bytes.HasSuffix(date, []byte(" GMT")) {
		bridge.OmitDate(h)
	}
}

// fillRequest makes x.req the request for the server.
func (x *proxyExchange) fillRequest() {
	p, ctx := x.p, x.ctx
	in, out := &ctx.Request.Header, &x.req.Header
	x.dropped.keep = p.TrustForwarded != nil && p.TrustForwarded(ctx)
	in.CopyTo(out)
	x.dropped.removeFrom(out)
	out.SetNoDefaultContentType(true)
	version := 1
	switch string(in.Protocol()) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		version = 0
	case "HTTP/2.0":
		version = 2
	case "HTTP/3.0":
		version = 3
	}
	if version != 1 {
		// the client may use another version
		out.SetProtocol("HTTP/1.1")
	}
	if x.dropped.trailers {
		out.Set(fasthttp.HeaderTE, "trailers")
		out.Set(fasthttp.HeaderConnection, "TE")
	}
	x.nameClient(p.vias[version])
	x.setTarget()
	if x.protocol == "" {
		x.setBody()
	}
}

// setTarget sets the URI and the host.
func (x *proxyExchange) setTarget() {
	p, req := x.p, x.req
	target := &p.target
	if p.oneHost && p.Rewrite == nil && target.path == "" && bytes.HasPrefix(req.Header.RequestURI(), []byte("/")) {
		// the client needs no URI
		if target.host != "" && !p.PreserveHost || len(req.Header.Host()) == 0 {
			req.Header.SetHost(target.hostField)
		}
		return
	}
	u := req.URI()
	u.DisablePathNormalizing = true
	if concernsServer(&req.Header) {
		// the last proxy sends an asterisk (RFC 9112 section 3.2.4)
		u.SetPath("*")
		req.Header.SetRequestURI("*")
	}
	if target.host == "" {
		x.setClientHost(u)
		return
	}
	if p.PreserveHost {
		req.UseHostHeader = true
		req.Header.SetHostBytes(x.host())
	}
	if target.path != "" && string(u.PathOriginal()) != "*" {
		path := append([]byte(target.path), u.PathOriginal()...)
		if len(path) == len(target.path) {
			// an absolute target may have no path (RFC 9110 section 4.2.3)
			path = append(path, '/')
		}
		query := bytes.Clone(u.QueryString())
		u.SetPathBytes(path)
		if len(query) > 0 {
			// otherwise its question mark stays
			u.SetQueryStringBytes(query)
		}
	}
	u.SetScheme(target.scheme)
	u.SetHost(target.host)
	if !p.PreserveHost {
		req.SetHost(target.host)
	}
}

// concernsServer reports whether a request is OPTIONS with an absolute target that has neither a path nor
// a query: it concerns the whole server, not the resource "/".
func concernsServer(h *fasthttp.RequestHeader) bool {
	target := h.RequestURI()
	if !h.IsOptions() || target[0] == '/' {
		return false
	}
	_, rest, absolute := bytes.Cut(target, []byte("://"))
	return absolute && !bytes.ContainsAny(rest, "/?#")
}

// setClientHost completes the URI of a request whose host the client of the proxy chooses. The connection
// to the server decides about the scheme, whatever the one to the client is.
func (x *proxyExchange) setClientHost(u *fasthttp.URI) {
	target := &x.p.target
	if target.scheme != "" {
		u.SetScheme(target.scheme)
	}
	if len(u.Host()) == 0 && target.hostField != "" {
		u.SetHost(target.hostField)
	}
}

// leaveScheme makes the request one without a scheme, for the host that gets it. A user in the URI, which
// Rewrite may have set, becomes the field that the client would make of it.
func (x *proxyExchange) leaveScheme() {
	req := x.req
	if x.p.Rewrite == nil && bytes.HasPrefix(req.Header.RequestURI(), []byte("/")) {
		return // setTarget has made no URI
	}
	host, err := uri.HostField(req.URI().Host())
	if err == nil && !req.UseHostHeader {
		req.Header.SetHostBytes(host)
	}
	bridge.AuthorizeByURI(req)
	b := bufpool.Get(0)
	b.B = append(b.B, req.RequestURI()...)
	req.SetRequestURIBytes(b.B)
	bufpool.Put(b)
}

// host returns the host that the client has asked for. The one of an absolute target takes precedence
// over the Host field (RFC 9112 section 3.2.2).
func (x *proxyExchange) host() []byte {
	h := &x.ctx.Request.Header
	if target := h.RequestURI(); len(target) > 0 && target[0] != '/' && target[0] != '*' && !h.IsConnect() {
		return x.ctx.Host()
	}
	return h.Host()
}

// setBody sets the body, as a stream if it still arrives.
func (x *proxyExchange) setBody() {
	ctx, req := x.ctx, x.req
	if stream := ctx.RequestBodyStream(); stream != nil && ctx.Request.IsBodyStream() {
		// the response may begin, and informational responses may come, while it is read
		ctx.EnableFullDuplex()
		x.body = newProxiedRequest(ctx, stream, &req.Header, &x.dropped)
		req.SetBodyStream(x.body, ctx.Request.Header.ContentLength())
		return
	}
	if body := ctx.Request.Body(); len(body) > 0 {
		req.SetBodyRaw(body)
	}
	if x.dropped.expects {
		// the client has sent the content already
		req.Header.Del(fasthttp.HeaderExpect)
	}
}

// nameClient adds the fields that name the client and the proxy.
func (x *proxyExchange) nameClient(via string) {
	ctx, out := x.ctx, &x.req.Header
	peer, known := netip.AddrFromSlice(ctx.RemoteIP())
	peer = peer.Unmap()
	known = known && !peer.IsUnspecified()
	host := x.host()
	scheme := "http"
	if ctx.IsTLS() {
		scheme = "https"
	}
	if x.dropped.keep {
		x.keepForwarded(peer, known, host, scheme)
	} else {
		// none of these is in the header
		lines := newLines{text: x.text[:0]}
		if known {
			lines.begin(field.XForwardedFor)
			lines.text = peer.AppendTo(lines.text)
			lines.end()
		}
		lines.begin(field.XForwardedHost)
		lines.text = append(lines.text, host...)
		lines.end()
		lines.begin(field.XForwardedProto)
		lines.text = append(lines.text, scheme...)
		lines.end()
		if !x.p.SendForwarded {
			lines.begin(field.Via)
			lines.text = append(lines.text, via...)
			lines.end()
			lines.addTo(out)
			return
		}
		lines.addTo(out)
	}
	if x.p.SendForwarded {
		out.AddBytesV(fasthttp.HeaderForwarded, appendForwarded(nil, peer, known, host, scheme))
	}
	out.Add(fasthttp.HeaderVia, via)
}

// keepForwarded adds to the fields of a trusted proxy.
func (x *proxyExchange) keepForwarded(peer netip.Addr, known bool, host []byte, scheme string) {
	out := &x.req.Header
	if known {
		var room [64]byte
		value := room[:0]
		for _, before := range out.PeekAll(fasthttp.HeaderXForwardedFor) {
			value = append(append(value, before...), ", "...)
		}
		out.SetBytesV(fasthttp.HeaderXForwardedFor, peer.AppendTo(value))
	}
	if len(out.Peek(fasthttp.HeaderXForwardedHost)) == 0 {
		out.SetBytesV(fasthttp.HeaderXForwardedHost, host)
	}
	if len(out.Peek(fasthttp.HeaderXForwardedProto)) == 0 {
		out.Set(fasthttp.HeaderXForwardedProto, scheme)
	}
}

// newLines are fields that are added to a header together, which costs less than one by one. The text
// has the form in which it is sent; values must be valid.
type newLines struct {
	text    []byte
	n       int
	entries [4]field.Entry
}

// begin begins a field. Its value is appended to text.
func (l *newLines) begin(id field.ID) {
	e := &l.entries[l.n]
	e.ID, e.Name.Off = id, uint32(len(l.text))
	l.text = append(append(l.text, id.String()...), ": "...)
	e.Name.Len = uint32(len(id.String()))
	e.Value.Off = uint32(len(l.text))
}

// end ends it.
func (l *newLines) end() {
	e := &l.entries[l.n]
	e.Value.Len = uint32(len(l.text)) - e.Value.Off
	l.text = append(l.text, "\r\n"...)
	l.n++
}

// addTo adds the fields to h.
func (l *newLines) addTo(h *fasthttp.RequestHeader) {
	fields, _ := bridge.FieldList(h, len(l.text))
	list := fields.(*field.List)
	at := list.Append(l.text).Off
	for _, e := range l.entries[:l.n] {
		e.Name.Off += at
		e.Value.Off += at
		list.Entries = append(list.Entries, e)
	}
	list.Changed = true
}

// appendForwarded appends an element of the field Forwarded (RFC 7239 section 4).
func appendForwarded(dst []byte, peer netip.Addr, known bool, host []byte, scheme string) []byte {
	dst = append(dst, "for="...)
	switch {
	case !known:
		dst = append(dst, "unknown"...)
	case peer.Is6():
		dst = append(peer.AppendTo(append(dst, `"[`...)), `]"`...)
	default:
		dst = peer.AppendTo(dst)
	}
	if len(host) > 0 {
		dst = append(dst, `;host="`...)
		for _, c := range host {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
	}
	return append(append(dst, ";proto="...), scheme...)
}

// maxForwards returns the value of Max-Forwards, which only TRACE and OPTIONS heed (RFC 9110
// section 7.6.2). limited is false if there is none.
func maxForwards(h *fasthttp.RequestHeader) (hops int, limited bool) {
	if !h.IsTrace() && !h.IsOptions() {
		return 0, false
	}
	hops, err := fasthttp.ParseUint(h.Peek(fasthttp.HeaderMaxForwards))
	return hops, err == nil
}

// answerLastHop answers a TRACE or OPTIONS request that goes no further. The response to
// TRACE has no fields with secrets (RFC 9110 section 9.3.8).
func answerLastHop(ctx *fasthttp.RequestCtx) {
	if ctx.IsOptions() {
		return
	}
	h := &ctx.Request.Header
	var echo fasthttp.RequestHeader
	h.CopyTo(&echo)
	for _, name := range []string{fasthttp.HeaderAuthorization, fasthttp.HeaderCookie, fasthttp.HeaderProxyAuthorization} {
		echo.Del(name)
	}
	ctx.SetContentType("message/http")
	ctx.SetBody(echo.Header())
}

// askForProtocol makes x.req ask the server to switch to x.protocol: by an extended CONNECT of
// HTTP/2, or by Upgrade.
func (x *proxyExchange) askForProtocol(extended bool) {
	h := &x.req.Header
	// there is no content that could wait for the server (RFC 9110 section 10.1.1)
	h.Del(fasthttp.HeaderExpect)
	if extended {
		for _, name := range []string{fasthttp.HeaderConnection, fasthttp.HeaderUpgrade, fasthttp.HeaderSecWebSocketKey} {
			h.Del(name)
		}
		h.SetConnectProtocol(x.protocol)
		return
	}
	if h.IsConnect() {
		h.SetConnectProtocol("")
		h.SetMethod(fasthttp.MethodGet)
	}
	if x.protocol == webSocket && len(h.Peek(fasthttp.HeaderSecWebSocketKey)) == 0 {
		// an extended CONNECT that has failed had none
		if key := x.ctx.Request.Header.Peek(fasthttp.HeaderSecWebSocketKey); len(key) > 0 {
			h.SetBytesV(fasthttp.HeaderSecWebSocketKey, key)
		} else {
			h.Set(fasthttp.HeaderSecWebSocketKey, newWebSocketKey())
		}
	}
	// it would have to be listed beside the upgrade, which not every server parses as a list
	h.Del(fasthttp.HeaderTE)
	h.Set(fasthttp.HeaderConnection, "Upgrade")
	h.Set(fasthttp.HeaderUpgrade, x.protocol)
}

// newWebSocketKey returns a key for an opening handshake (RFC 6455 section 4.1).
func newWebSocketKey() string {
	var key [16]byte
	_, _ = rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:])
}
