package http3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/altsvc"
	"github.com/valyala/fasthttp/http3/internal/wire"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// Announce returns a function for fasthttp.Server.ResponseReady that tells clients of HTTP/1.1 and
// HTTP/2 over TLS that the same host serves HTTP/3 on a UDP port, for maxAge (RFC 7838). It leaves
// responses alone that have the field Alt-Svc.
func Announce(port uint16, maxAge time.Duration) func(ctx *fasthttp.RequestCtx) {
	value := altsvc.Append(nil, altsvc.Service{Protocol: NextProto, Port: port, MaxAge: maxAge})
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		if ctx.IsTLS() && !bytes.Equal(ctx.Request.Header.Protocol(), protocol) && len(h.Peek(altSvc)) == 0 {
			h.SetBytesV(altSvc, value)
		}
	}
}

const altSvc = "Alt-Svc"

var protocol = []byte("HTTP/3.0")

// The defaults of an AltTransport.
const (
	// DefaultMaxOrigins is the default of AltTransport.MaxOrigins.
	DefaultMaxOrigins = 1024
	// DefaultMaxAge is the default of AltTransport.MaxAge.
	DefaultMaxAge = 7 * 24 * time.Hour
	// DefaultConnectTime is the default of AltTransport.ConnectTime.
	DefaultConnectTime = time.Second
	// DefaultAvoidTime is the default of AltTransport.AvoidTime.
	DefaultAvoidTime = 5 * time.Minute
)

// AltTransport sends requests by HTTP/3 to the servers that have announced it in the field Alt-Svc of
// an earlier response (RFC 7838), and all other ones by another transport. Assign it to
// Client.Transport or HostClient.Transport. Its zero value is ready for use. Its fields must not be
// changed once it is used.
//
// If there is no connection within ConnectTime, the request is sent by the other transport, and so are
// further ones to this server for AvoidTime. The certificate of an alternative must be valid
// for the host of the URI. Clients with dial functions of their own, such as for a proxy, with several addresses
// in Addr, or with an announced host other than their own get no alternatives.
type AltTransport struct {
	// HTTP3 has the connections of HTTP/3. If it is nil, the AltTransport has its own.
	HTTP3 *Transport

	// Base sends the other requests. Nil means fasthttp.DefaultTransport.
	Base fasthttp.RoundTripper

	// MaxOrigins is for how many addresses announcements are kept, DefaultMaxOrigins by default.
	MaxOrigins int

	// MaxAge limits how long an announcement is used, DefaultMaxAge by default.
	MaxAge time.Duration

	// ConnectTime limits the wait for a connection of HTTP/3, DefaultConnectTime by default.
	ConnectTime time.Duration

	// AvoidTime is how long HTTP/3 is not tried again after it has failed, DefaultAvoidTime by
	// default.
	AvoidTime time.Duration

	once sync.Once
	h3   *Transport

	mu      sync.Mutex
	origins map[origin]*alternative
}

var _ fasthttp.RoundTripperContext = (*AltTransport)(nil)

// origin is the address of a client.
type origin struct {
	addr string
	tls  *tls.Config
}

// alternative is a service that was announced.
type alternative struct {
	a    *AltTransport
	addr string
	host string // of the origin
	rt   fasthttp.RoundTripperContext

	// guarded by AltTransport.mu
	until   time.Time // when the announcement ends
	avoided time.Time // until when it is not used
}

// RoundTrip implements fasthttp.RoundTripper.
func (a *AltTransport) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	return a.roundTrip(noContext, hc, req, resp)
}

// RoundTripContext implements fasthttp.RoundTripperContext.
func (a *AltTransport) RoundTripContext(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	return a.roundTrip(ctx, hc, req, resp)
}

// noContext means that the context of the call applies.
var noContext context.Context

// roundTrip is RoundTrip and RoundTripContext.
func (a *AltTransport) roundTrip(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	a.prepare()
	if !hc.IsTLS || strings.Contains(hc.Addr, ",") || hc.Dial != nil || hc.DialTimeout != nil || hc.DialContext != nil {
		return a.base(ctx, hc, req, resp)
	}
	from := origin{hc.Addr, hc.TLSConfig}
	alt, streams := a.find(from), req.IsBodyStream()
	if alt == nil || req.Header.IsConnect() {
		if retry, err = a.base(ctx, hc, req, resp); err == nil {
			a.learn(from, resp)
		}
		return retry, err
	}
	retry, err = sendBy(ctx, alt.rt, hc, req, resp)
	switch {
	case err == nil && (resp.StatusCode() != fasthttp.StatusMisdirectedRequest || streams):
		a.learn(from, resp)
		return retry, nil
	case err == nil:
		// RFC 7838 section 6: the alternative does not serve the origin
		_ = resp.CloseBodyStream()
	case isUnreached(err):
	case isFallback(err) && !streams:
	default:
		return retry, err
	}
	a.avoid(alt)
	return a.base(ctx, hc, req, resp)
}

func (a *AltTransport) base(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	rt := a.Base
	if rt == nil {
		rt = fasthttp.DefaultTransport
	}
	return sendBy(ctx, rt, hc, req, resp)
}

// sendBy sends a request by rt.
func sendBy(ctx context.Context, rt fasthttp.RoundTripper, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	if with, ok := rt.(fasthttp.RoundTripperContext); ok && ctx != nil {
		return with.RoundTripContext(ctx, hc, req, resp)
	}
	return rt.RoundTrip(hc, req, resp)
}

// unreached is the error of an alternative to which there is no connection.
type unreached struct{ error }

func (u unreached) Unwrap() error { return u.error }

func isUnreached(err error) bool {
	_, ok := errors.AsType[unreached](err)
	return ok
}

// isFallback reports whether the server wants the request by another version.
func isFallback(err error) bool {
	e, ok := errors.AsType[*resetByServer](err)
	return ok && e.code == wire.VersionFallback
}

// Open implements bridge.Client.
func (alt *alternative) Open(key *bridge.ClientKey, wait bridge.ClientWait) (bridge.ClientStream, error) {
	key.Addrs, key.ServerName = alt.addr, alt.host
	callUntil := wait.Until
	until := time.Now().Add(cmp.Or(max(alt.a.ConnectTime, 0), DefaultConnectTime))
	if callUntil.IsZero() || until.Before(callUntil) {
		wait.Until = until
	}
	s, err := alt.a.h3.open(key, wait)
	switch {
	case err == nil:
		return s, nil
	case err == bridge.ErrNoRoom, wait.Ctx.Err() != nil, !callUntil.IsZero() && !time.Now().Before(callUntil):
		return nil, err
	}
	// the time for connecting is not the one of the call
	return nil, unreached{errors.New(err.Error())}
}

// find returns the alternative of an origin, if it may be used.
func (a *AltTransport) find(from origin) *alternative {
	a.mu.Lock()
	defer a.mu.Unlock()
	alt := a.origins[from]
	if alt == nil {
		return nil
	}
	now := time.Now()
	if !now.Before(alt.until) {
		delete(a.origins, from)
		return nil
	}
	if now.Before(alt.avoided) {
		return nil
	}
	return alt
}

// avoid makes alt unused for some time.
func (a *AltTransport) avoid(alt *alternative) {
	a.mu.Lock()
	defer a.mu.Unlock()
	alt.avoided = time.Now().Add(cmp.Or(max(a.AvoidTime, 0), DefaultAvoidTime))
}

// learn records the announcement of a response.
func (a *AltTransport) learn(from origin, resp *fasthttp.Response) {
	value := resp.Header.Peek(altSvc)
	if len(value) == 0 {
		return
	}
	services, clear, err := altsvc.Parse(string(value))
	if err != nil {
		return
	}
	host, _, err := net.SplitHostPort(from.addr)
	if err != nil {
		host = strings.Trim(from.addr, "[]")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range services {
		if s.Protocol != NextProto || s.Host != "" && !strings.EqualFold(s.Host, host) {
			continue
		}
		if s.MaxAge > 0 {
			a.keep(from, host, s)
			return
		}
	}
	// an announcement replaces all earlier ones (RFC 7838 section 3.1)
	if clear || len(services) > 0 {
		delete(a.origins, from)
	}
}

// keep records an alternative. mu is held.
func (a *AltTransport) keep(from origin, host string, s altsvc.Service) {
	addr := net.JoinHostPort(host, strconv.Itoa(int(s.Port)))
	alt := a.origins[from]
	if alt == nil || alt.addr != addr {
		if alt == nil {
			a.makeRoom()
		}
		alt = &alternative{a: a, addr: addr, host: host}
		alt.rt = bridge.NewTransport(alt).(fasthttp.RoundTripperContext)
		a.origins[from] = alt
		a.h3.prepare()
	}
	alt.until = time.Now().Add(min(s.MaxAge, cmp.Or(max(a.MaxAge, 0), DefaultMaxAge)))
}

// makeRoom removes alternatives if there are too many. mu is held.
func (a *AltTransport) makeRoom() {
	most := cmp.Or(max(a.MaxOrigins, 0), DefaultMaxOrigins)
	if len(a.origins) < most {
		return
	}
	now := time.Now()
	for from, alt := range a.origins {
		if !now.Before(alt.until) {
			delete(a.origins, from)
		}
	}
	for from := range a.origins {
		if len(a.origins) < most {
			break
		}
		delete(a.origins, from)
	}
}

// prepare prepares a for its first use.
func (a *AltTransport) prepare() {
	a.once.Do(func() {
		a.origins = make(map[origin]*alternative)
		if a.h3 = a.HTTP3; a.h3 == nil {
			a.h3 = new(Transport)
		}
	})
}

// CloseIdleConnections closes the connections of HTTP/3 without requests.
func (a *AltTransport) CloseIdleConnections() {
	a.prepare()
	a.h3.CloseIdleConnections()
}

// Close closes HTTP3, or the Transport used in its place.
func (a *AltTransport) Close() error {
	a.prepare()
	return a.h3.Close()
}
