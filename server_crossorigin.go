package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
)

// ErrCrossOrigin reports that a browser has sent a request on behalf of a page of
// another origin. The errors of CrossOriginProtection.Check wrap it.
var ErrCrossOrigin = errors.New("fasthttp: cross-origin request")

var (
	errCrossOriginSite = fmt.Errorf("%w: Sec-Fetch-Site says so", ErrCrossOrigin)
	errCrossOriginHost = fmt.Errorf("%w, or one of a browser that is out of date: there is no Sec-Fetch-Site, and Origin is not Host", ErrCrossOrigin)
)

// CrossOriginProtection refuses requests that change something and that browsers send
// on behalf of pages of other origins (cross-site request forgery). It needs no token
// in forms, and follows the rules of http.CrossOriginProtection:
//
//   - GET, HEAD and OPTIONS are allowed. Handlers must not change anything for them.
//   - With Sec-Fetch-Site, which all browsers have sent since 2023, the request is
//     allowed if that is "same-origin" or "none".
//   - With Origin alone it is allowed if its host and port equal
//     RequestCtx.ClientHost, which is the Host field unless Server.TrustedProxies
//     names another one.
//   - With neither it is allowed: browsers send one of them.
//   - A request that these rules refuse is allowed if its Origin is trusted, or if
//     the function given to SetInsecureBypass allows it.
//
// Requests that are always GET, such as WebSocket handshakes, are not protected:
// compare Origin yourself there.
//
// The zero value is ready for use, trusts no origin, and must not be copied. All
// methods may be called at any time, and from any goroutine.
type CrossOriginProtection struct {
	_ noCopy

	mu      sync.Mutex // held while trusted is replaced
	trusted atomic.Pointer[map[string]bool]
	bypass  atomic.Pointer[func(ctx *RequestCtx) bool]
	deny    atomic.Pointer[RequestHandler]
}

// AddTrustedOrigin allows all requests whose Origin is exactly the given one, such as
// "https://example.com" or "https://example.com:8443". It returns an error if origin is
// not one.
func (p *CrossOriginProtection) AddTrustedOrigin(origin string) error {
	if len(originHost(bytesconv.Bytes(origin))) == 0 {
		return fmt.Errorf("fasthttp: %q is no origin: want scheme://host or scheme://host:port", origin)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]bool{strings.Clone(origin): true}
	if trusted := p.trusted.Load(); trusted != nil {
		maps.Copy(all, *trusted)
	}
	p.trusted.Store(&all)
	return nil
}

// SetInsecureBypass allows all requests for which f returns true, such as those for
// some paths. f replaces the function of an earlier call. A nil f allows none.
//
// f is only called for requests that would be refused. It should get the path as the
// handlers do, with RequestCtx.Path.
func (p *CrossOriginProtection) SetInsecureBypass(f func(ctx *RequestCtx) bool) {
	if f == nil {
		p.bypass.Store(nil)
		return
	}
	p.bypass.Store(&f)
}

// SetDenyHandler makes h answer the requests that are refused. By default, and with a
// nil h, they get a 403 with the error of Check. Check does not call it.
func (p *CrossOriginProtection) SetDenyHandler(h RequestHandler) {
	if h == nil {
		p.deny.Store(nil)
		return
	}
	p.deny.Store(&h)
}

// Handler returns a handler that calls h for the requests that Check allows, and
// refuses all other requests.
func (p *CrossOriginProtection) Handler(h RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		err := p.Check(ctx)
		if err == nil {
			h(ctx)
			return
		}
		if deny := p.deny.Load(); deny != nil {
			(*deny)(ctx)
			return
		}
		ctx.Error(err.Error(), StatusForbidden)
	}
}

// Check returns an error that wraps ErrCrossOrigin if the request ought to be
// refused.
func (p *CrossOriginProtection) Check(ctx *RequestCtx) error {
	if ctx.IsGet() || ctx.IsHead() || ctx.IsOptions() {
		return nil
	}
	header := &ctx.Request.Header
	origin := header.Peek(HeaderOrigin)
	refused := errCrossOriginSite
	switch site := header.Peek("Sec-Fetch-Site"); string(site) {
	case "same-origin", "none":
		return nil
	case "":
		if len(origin) == 0 {
			return nil
		}
		if host := originHost(origin); len(host) > 0 && ascii.EqualFold(host, ctx.ClientHost()) {
			return nil
		}
		refused = errCrossOriginHost
	}
	if trusted := p.trusted.Load(); trusted != nil && (*trusted)[string(origin)] {
		return nil
	}
	if bypass := p.bypass.Load(); bypass != nil && (*bypass)(ctx) {
		return nil
	}
	return refused
}

// originHost returns the host of an origin, with its port if there is one (RFC 6454
// section 6.2), or nil if origin is not the origin of a host.
func originHost(origin []byte) []byte {
	scheme, host, found := bytes.Cut(origin, []byte("://"))
	if !found || len(scheme) == 0 || !ascii.All(scheme, ascii.Token) || !http1.ValidHost(host) {
		return nil
	}
	return host
}
