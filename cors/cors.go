// Package cors lets pages of other origins read the responses of a server, by the CORS protocol of
// the Fetch standard (https://fetch.spec.whatwg.org/#http-cors-protocol).
//
//	policy, err := cors.New(cors.Options{
//		Origins: []string{"https://example.com", "https://*.example.org"},
//		Methods: []string{"PUT", "DELETE"},
//		Headers: []string{"Content-Type", "Authorization"},
//	})
//	...
//	policy.Attach(server)
//
// Preflight requests get a 204 and do not reach the handler. The fields are part of every
// response, also of an error, and of a response of the server itself, such as a 413 or the 500
// after a panic: without them a page cannot see the status. If the response depends on the origin,
// Vary names it, also if the origin is refused, so that caches keep the responses apart.
//
// If the origin is allowed, the policy decides on credentials, and its fields replace the ones of
// the handler. Otherwise, the fields of the handler stay.
//
// CORS permits reading; it forbids no request. Simple requests arrive from any page, with the
// cookies of the user: see fasthttp.CrossOriginProtection.
package cors

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/http1"
)

// ErrAnyOrigin reports Options that allow all origins together with credentials: every site could
// act as the user.
var ErrAnyOrigin = errors.New("cors: credentials cannot be allowed for all origins")

// Options has the settings of a Policy.
type Options struct {
	// Origins are the origins that are allowed: as browsers send them, in lower case and without
	// the default port, such as "https://example.com" or "http://localhost:3000"; all hosts below a domain, such as
	// "https://*.example.com", which does not include the domain; or "*" for all origins. The
	// origin "null", which any page can have, cannot be listed.
	Origins []string

	// OriginFunc, if it is set, is called for origins that Origins does not allow, and returns
	// whether they are allowed. It may be called twice for a request. origin is valid until it
	// returns, and ctx may have only a part of the request: see fasthttp.Server.ResponseReady.
	// If the decision depends on other fields of the request, the server must name them in Vary.
	OriginFunc func(ctx *fasthttp.RequestCtx, origin []byte) bool

	// Methods are the methods that are allowed, in addition to GET, HEAD and POST, which the
	// Fetch standard always allows. "*" allows all methods.
	Methods []string

	// Headers are the request fields that are allowed, in addition to the fields that browsers
	// send without asking. Case does not matter. JSON needs Content-Type. "*" allows all fields,
	// Authorization included.
	Headers []string

	// Expose are the response fields that pages can read, in addition to the few that they can
	// always read. Without Credentials, "*" means all fields.
	Expose []string

	// Credentials allows requests with cookies and other credentials of the user. The origins
	// must be listed, or decided by OriginFunc.
	Credentials bool

	// MaxAge is how long a browser may remember the response to a preflight request, rounded up to
	// whole seconds. 0 leaves that to the browser, which is 5 seconds; a negative value forbids it.
	MaxAge time.Duration

	// PrivateNetwork allows preflight requests of public sites to a private network, with
	// Access-Control-Allow-Private-Network, for browsers that ask for it.
	PrivateNetwork bool
}

// Policy decides which pages may read responses. Use New to make one. Its methods may be called
// from any goroutine.
type Policy struct {
	options  Options
	any      bool // all origins are allowed, and the response depends on none
	exact    map[string]bool
	patterns []pattern

	methods, headers     map[string]bool // headers in lower case
	anyMethod, anyHeader bool
	allowMethods         string // the lists, as they are sent
	allowHeaders         string
	expose, maxAge       string
	preflightVary        []string
}

// pattern matches origins of all hosts below a domain.
type pattern struct{ scheme, domain string } // "https://" and ".example.com:8443"

// New returns a policy. It returns ErrAnyOrigin for credentials with all origins, and an error for
// text other than an origin or a name.
func New(o Options) (*Policy, error) {
	p := &Policy{
		options: o, exact: map[string]bool{}, methods: map[string]bool{"GET": true, "HEAD": true, "POST": true}, headers: map[string]bool{},
		preflightVary: []string{fasthttp.HeaderOrigin, fasthttp.HeaderAccessControlRequestMethod, fasthttp.HeaderAccessControlRequestHeaders},
	}
	for _, origin := range o.Origins {
		if err := p.allow(origin); err != nil {
			return nil, err
		}
	}
	if p.any && o.Credentials {
		return nil, ErrAnyOrigin
	}
	for _, names := range [][]string{o.Methods, o.Headers, o.Expose} {
		for _, name := range names {
			if !ascii.All([]byte(name), ascii.Token) || name == "" {
				return nil, fmt.Errorf("cors: %q is no name of a method or field", name)
			}
		}
	}
	if o.Credentials {
		for _, name := range o.Expose {
			if name == "*" {
				return nil, errors.New("cors: with credentials, * in Expose is a name like any other")
			}
		}
	}
	for _, name := range o.Methods {
		p.anyMethod = p.anyMethod || name == "*"
		p.methods[name] = true
	}
	for _, name := range o.Headers {
		p.anyHeader = p.anyHeader || name == "*"
		p.headers[strings.ToLower(name)] = true
	}
	p.allowMethods = strings.Join(append([]string{"GET", "HEAD", "POST"}, o.Methods...), ", ")
	p.allowHeaders = strings.Join(o.Headers, ", ")
	p.expose = strings.Join(o.Expose, ", ")
	if o.MaxAge != 0 {
		seconds := int64(max(o.MaxAge, 0) / time.Second)
		if o.MaxAge%time.Second > 0 {
			// 0 seconds would forbid it
			seconds++
		}
		p.maxAge = strconv.FormatInt(seconds, 10)
	}
	if o.PrivateNetwork {
		p.preflightVary = append(p.preflightVary, requestPrivateNetwork)
	}
	return p, nil
}

// The fields of the Private Network Access draft.
const (
	requestPrivateNetwork = "Access-Control-Request-Private-Network"
	allowPrivateNetwork   = "Access-Control-Allow-Private-Network"
)

// allow adds an entry of Options.Origins.
func (p *Policy) allow(origin string) error {
	scheme, host, ok := strings.Cut(origin, "://")
	domain, isPattern := strings.CutPrefix(host, "*")
	switch {
	case origin == "*":
		p.any = true
	case !ok || !ascii.All([]byte(scheme), ascii.Token) || scheme == "" || !validHost(scheme, strings.TrimPrefix(host, "*.")) || origin != strings.ToLower(origin):
		return fmt.Errorf("cors: %q is no origin: want scheme://host or scheme://host:port, in lower case and without the default port", origin)
	case !isPattern && !strings.Contains(host, "*"):
		p.exact[origin] = true
	case isPattern && len(domain) > 1 && domain[0] == '.' && !strings.Contains(domain, "*"):
		p.patterns = append(p.patterns, pattern{scheme + "://", domain})
	default:
		return fmt.Errorf("cors: %q is no pattern: want scheme://*.domain", origin)
	}
	return nil
}

// validHost reports whether a browser would send a host, perhaps with a port, in an origin: it
// leaves out the default port, and writes names that are not ASCII in Punycode.
func validHost(scheme, host string) bool {
	return host != "" && http1.ValidHost([]byte(host)) && !strings.Contains(host, "%") && !strings.HasSuffix(host, ":") &&
		!(scheme == "https" && strings.HasSuffix(host, ":443")) && !(scheme == "http" && strings.HasSuffix(host, ":80"))
}

// Attach applies the policy to all responses of a server. It is called before the server is
// started, and after Server.Handler and Server.ResponseReady were set: it puts functions around
// them.
func (p *Policy) Attach(s *fasthttp.Server) {
	s.Handler = p.Handler(s.Handler)
	before := s.ResponseReady
	s.ResponseReady = func(ctx *fasthttp.RequestCtx) {
		p.finish(ctx)
		if before != nil {
			before(ctx)
		}
	}
}

// Handler returns a handler that answers preflight requests, and otherwise calls next and sets the
// fields of its response. It is for a part of a server, such as a path: responses that the server
// makes itself do not have the fields. Attach is for a whole server.
func (p *Policy) Handler(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if isPreflight(ctx) {
			ctx.Response.Reset()
			ctx.SetStatusCode(fasthttp.StatusNoContent)
			p.preflight(ctx)
			return
		}
		next(ctx)
		// an error resets the response, and a timeout has a response of its own
		if resp := ctx.LastTimeoutErrorResponse(); resp != nil {
			// its request may be in use by the handler, but is only read
			p.set(ctx, &resp.Header)
			return
		}
		p.set(ctx, &ctx.Response.Header)
	}
}

// finish sets the fields of a response just before it is sent.
func (p *Policy) finish(ctx *fasthttp.RequestCtx) {
	if isPreflight(ctx) {
		p.preflight(ctx)
		return
	}
	if len(ctx.Request.Header.Peek(fasthttp.HeaderOrigin)) == 0 && len(ctx.Response.Header.Peek(fasthttp.HeaderAccessControlAllowOrigin)) > 0 {
		// the response after a timeout, whose request is unknown here
		return
	}
	p.set(ctx, &ctx.Response.Header)
}

// isPreflight reports whether a request asks for permission to send another one.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return ctx.IsOptions() && len(h.Peek(fasthttp.HeaderOrigin)) > 0 && len(h.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0
}

// preflight sets the fields of the response to a preflight request. If the policy refuses it, there
// are none but Vary, and the browser does not send the request.
func (p *Policy) preflight(ctx *fasthttp.RequestCtx) {
	in, out := &ctx.Request.Header, &ctx.Response.Header
	for _, name := range p.preflightVary {
		vary(out, name)
	}
	origin, method, fields := in.Peek(fasthttp.HeaderOrigin), in.Peek(fasthttp.HeaderAccessControlRequestMethod), in.Peek(fasthttp.HeaderAccessControlRequestHeaders)
	if !p.allows(ctx, origin) || !p.allowsMethod(method) || !p.allowsFields(fields) {
		return
	}
	p.permit(out, origin)
	if p.anyMethod {
		out.SetBytesV(fasthttp.HeaderAccessControlAllowMethods, method)
	} else {
		out.Set(fasthttp.HeaderAccessControlAllowMethods, p.allowMethods)
	}
	if p.anyHeader && len(fields) > 0 {
		// with credentials, and for Authorization, browsers do not take * for all fields
		out.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, fields)
	} else if !p.anyHeader && p.allowHeaders != "" {
		out.Set(fasthttp.HeaderAccessControlAllowHeaders, p.allowHeaders)
	}
	if p.maxAge != "" {
		out.Set(fasthttp.HeaderAccessControlMaxAge, p.maxAge)
	}
	if p.options.PrivateNetwork && string(in.Peek(requestPrivateNetwork)) == "true" {
		out.Set(allowPrivateNetwork, "true")
	}
}

// set sets the fields of the response to any other request.
func (p *Policy) set(ctx *fasthttp.RequestCtx, h *fasthttp.ResponseHeader) {
	if !p.any {
		vary(h, fasthttp.HeaderOrigin)
	}
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	if !p.allows(ctx, origin) {
		return
	}
	p.permit(h, origin)
	if p.expose != "" {
		h.Set(fasthttp.HeaderAccessControlExposeHeaders, p.expose)
	}
}

// permit sets the fields that permit an origin to read a response.
func (p *Policy) permit(h *fasthttp.ResponseHeader, origin []byte) {
	// the handler may have copied it from a server that meant another origin
	h.Del(fasthttp.HeaderAccessControlAllowCredentials)
	if p.any {
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
		return
	}
	h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	if p.options.Credentials {
		h.Set(fasthttp.HeaderAccessControlAllowCredentials, "true")
	}
}

// allows reports whether an origin is allowed.
func (p *Policy) allows(ctx *fasthttp.RequestCtx, origin []byte) bool {
	if p.any {
		return true
	}
	if len(origin) == 0 {
		return false
	}
	if p.exact[string(origin)] {
		return true
	}
	for _, pattern := range p.patterns {
		if pattern.matches(origin) {
			return true
		}
	}
	return p.options.OriginFunc != nil && p.options.OriginFunc(ctx, origin)
}

// matches reports whether an origin is below the domain of the pattern.
func (p pattern) matches(origin []byte) bool {
	if len(origin) <= len(p.scheme)+len(p.domain) || string(origin[:len(p.scheme)]) != p.scheme || string(origin[len(origin)-len(p.domain):]) != p.domain {
		return false
	}
	before := byte('.')
	for _, c := range origin[len(p.scheme) : len(origin)-len(p.domain)] {
		switch {
		case c == '.' && before == '.':
			return false
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
		before = c
	}
	return before != '.'
}

func (p *Policy) allowsMethod(method []byte) bool {
	return p.methods[string(method)] || p.anyMethod && ascii.All(method, ascii.Token)
}

// allowsFields reports whether all fields of a list are allowed. Browsers send the names in lower
// case.
func (p *Policy) allowsFields(list []byte) bool {
	var buf [maxName]byte
	for len(list) > 0 {
		var name []byte
		if name, list = nextName(list); len(name) == 0 {
			continue
		}
		if len(name) > maxName || !ascii.All(name, ascii.Token) {
			return false
		}
		lower := buf[:0]
		for _, c := range name {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower = append(lower, c)
		}
		if !p.anyHeader && !p.headers[string(lower)] {
			return false
		}
	}
	return true
}

// maxName is the length of the longest name of a request field that can be allowed.
const maxName = 256

// nextName returns the first element of a list, without white space, and the rest.
func nextName(list []byte) (name, rest []byte) {
	end := len(list)
	for i, c := range list {
		if c == ',' {
			end, rest = i, list[i+1:]
			break
		}
	}
	name = list[:end]
	for len(name) > 0 && (name[0] == ' ' || name[0] == '\t') {
		name = name[1:]
	}
	for len(name) > 0 && (name[len(name)-1] == ' ' || name[len(name)-1] == '\t') {
		name = name[:len(name)-1]
	}
	return name, rest
}

// vary adds a name to the Vary field, unless it has it.
func vary(h *fasthttp.ResponseHeader, name string) {
	for _, value := range h.PeekAll(fasthttp.HeaderVary) {
		for len(value) > 0 {
			var element []byte
			element, value = nextName(value)
			if ascii.EqualFoldString(element, name) || string(element) == "*" {
				return
			}
		}
	}
	if old := h.Peek(fasthttp.HeaderVary); len(old) == 0 {
		h.Set(fasthttp.HeaderVary, name)
		return
	}
	h.Add(fasthttp.HeaderVary, name)
}
