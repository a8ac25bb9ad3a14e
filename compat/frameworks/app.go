package frameworks

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
)

// The methods that are found at run time. A file with a build tag compares them with the types.
type (
	protocolsSetter    interface{ SetProtocols(p *http.Protocols) }
	proxiesSetter      interface{ SetTrustedProxies(ranges []netip.Prefix) }
	responseSentSetter interface {
		SetResponseSent(value func(ctx *fasthttp.RequestCtx, statusCode int, bytes int64, refused, err error))
	}
	bodyModeSetter    interface{ SetBodyMode(stream bool) }
	clientAddresser   interface{ ClientIP() netip.Addr }
	timeoutSetter     interface{ SetTimeout(value time.Duration) }
	dialContextSetter interface {
		SetDialContext(value func(ctx context.Context, network, addr string) (net.Conn, error))
	}
)

// Config has the settings of an App.
type Config struct {
	Protocols *http.Protocols
	Proxies   []netip.Prefix
	// Log gets each response.
	Log func(path string, status int, size int64)
	// Stream reports whether the handler gets the body of a request as it arrives.
	Stream func(path string) bool
}

// App is a server.
type App struct {
	Server fasthttp.Server
	// Missing has the names of settings that the version of fasthttp does not have.
	Missing []string
}

// New returns an App.
func New(c Config, handler fasthttp.RequestHandler) *App {
	a := &App{}
	a.Server.Handler = handler
	server := any(&a.Server)
	if s, ok := server.(protocolsSetter); ok {
		s.SetProtocols(c.Protocols)
	} else {
		a.Missing = append(a.Missing, "Protocols")
	}
	if s, ok := server.(proxiesSetter); ok {
		s.SetTrustedProxies(c.Proxies)
	} else {
		a.Missing = append(a.Missing, "TrustedProxies")
	}
	if s, ok := server.(responseSentSetter); ok && c.Log != nil {
		s.SetResponseSent(func(ctx *fasthttp.RequestCtx, statusCode int, bytes int64, refused, err error) {
			c.Log(string(ctx.Path()), statusCode, bytes)
		})
	} else {
		a.Missing = append(a.Missing, "ResponseSent")
	}
	a.streamBodies(c)
	return a
}

// streamBodies makes the handlers of some paths get the bodies of requests as they arrive. The
// configurations are made once: a method that is found in this way makes its variable escape to
// the heap.
func (a *App) streamBodies(c Config) {
	if c.Stream == nil {
		return
	}
	var streamed fasthttp.RequestConfig
	s, ok := any(&streamed).(bodyModeSetter)
	if !ok {
		a.Missing = append(a.Missing, "BodyMode")
		return
	}
	s.SetBodyMode(true)
	a.Server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		if c.Stream(string(h.RequestURI())) {
			return streamed
		}
		return fasthttp.RequestConfig{}
	}
}

// ClientIP returns the address of the client of a request, behind proxies if the version of
// fasthttp knows them. It is 0.0.0.0 with both versions if the client has none.
func ClientIP(ctx *fasthttp.RequestCtx) string {
	if c, ok := any(ctx).(clientAddresser); ok {
		if ip := c.ClientIP(); ip.IsValid() {
			return ip.String()
		}
	}
	return ctx.RemoteIP().String()
}

// NewClient returns a client with a dial function that gets the context of the call. If the
// version of fasthttp has none, dial gets a context without a deadline.
func NewClient(timeout time.Duration, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *fasthttp.Client {
	c := &fasthttp.Client{}
	if s, ok := any(c).(dialContextSetter); ok {
		s.SetDialContext(dial)
	} else {
		c.Dial = func(addr string) (net.Conn, error) { return dial(context.Background(), "tcp", addr) }
	}
	if s, ok := any(c).(timeoutSetter); ok {
		s.SetTimeout(timeout)
	} else {
		c.ReadTimeout, c.WriteTimeout = timeout, timeout
	}
	return c
}
