package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/pprofhandler"
	"github.com/valyala/fasthttp/sse"
)

// The limits of the service. Each protects the other clients from one client, or the machine
// from all clients.
const (
	maxBody    = 64 << 10 // bytes of a request, except for pictures
	maxPicture = 8 << 20

	requestTime  = 10 * time.Second // to receive a request
	pictureTime  = time.Minute      // to receive a request with a picture
	responseTime = 30 * time.Second // to send a response
	callTime     = 5 * time.Second  // for the calls of a handler, such as to the store

	maxConns       = 20_000
	maxClientConns = 100
	maxStreams     = 50    // concurrent requests of an HTTP/2 connection
	maxHandlers    = 1_000 // concurrent handlers, for all connections
)

// phase is the phase of the service.
type phase int32

const (
	starting phase = iota
	serving
	// leaving: it still answers requests, but is not ready for more
	leaving
)

// app is the service.
type app struct {
	config   config
	log      *slog.Logger
	access   *accesslog.Log
	phase    atomic.Int32
	store    store
	pictures pictures
	sessions *sessions
	clients  *limiter
	events   sse.Topic
	metrics  *metrics
	slots    chan struct{} // one for each handler that runs
	routes   map[string]methods
	page     fasthttp.RequestHandler
	public   *fasthttp.Server
	admin    *fasthttp.Server
}

// newApp returns a service. serve ends its access log.
func newApp(c config, log *slog.Logger) (*app, error) {
	a := &app{
		config:   c,
		log:      log,
		store:    newMemory(),
		pictures: pictures{c.data},
		sessions: newSessions(),
		clients:  newLimiter(c.rate),
		slots:    make(chan struct{}, maxHandlers),
		page:     newPage(),
	}
	a.routes = a.newRoutes()
	a.public = a.newServer()
	a.access = a.newAccessLog()
	if err := a.observe(a.public); err != nil {
		return nil, errors.Join(err, a.access.Close())
	}
	a.metrics = newMetrics(a)
	a.admin = &fasthttp.Server{
		Handler:      a.operate,
		Name:         "app",
		Logger:       a.public.Logger,
		ReadTimeout:  requestTime,
		WriteTimeout: 2 * time.Minute, // taking a profile is slow
		IdleTimeout:  time.Minute,
		Concurrency:  100,
	}
	return a, nil
}

// newServer returns the public server.
func (a *app) newServer() *fasthttp.Server {
	s := &fasthttp.Server{
		Handler:        a.handler(),
		HeaderReceived: a.allow,
		ErrorHandler:   a.refuse,
		ResponseReady:  secure,
		ResponseSent:   a.sent,
		Name:           "app",
		Logger:         slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),

		ReadTimeout:        requestTime,
		WriteTimeout:       responseTime,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: maxBody,
		Concurrency:        maxConns,
		MaxConnsPerIP:      maxClientConns,
		HTTP2:              fasthttp.HTTP2Config{MaxConcurrentStreams: maxStreams},

		// Behind a proxy, MaxConnsPerIP must not be set: all connections are from the proxy.
		// Name the addresses of the proxy instead, so that ClientIP is the client's:
		// TrustedProxies: fasthttp.TrustedProxies{Ranges: ...},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	return s
}

// allow decides by the head of a request how large its body may be and how long it may take.
func (a *app) allow(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	switch key, _ := pattern(path(h)); key {
	case "/api/notes/{id}/picture":
		if !h.IsPost() {
			return fasthttp.RequestConfig{}
		}
		// a client without a session may not send megabytes
		if _, ok := a.sessions.find(string(h.Cookie(cookieName))); !ok {
			return fasthttp.RequestConfig{RefuseStatus: fasthttp.StatusUnauthorized}
		}
		return fasthttp.RequestConfig{MaxRequestBodySize: maxPicture, ReadTimeout: pictureTime}
	}
	return fasthttp.RequestConfig{}
}

// handler returns the handler of the public server: the first function below receives a
// request first, and its response last.
func (a *app) handler() fasthttp.RequestHandler {
	var protection fasthttp.CrossOriginProtection
	protection.SetDenyHandler(func(ctx *fasthttp.RequestCtx) { a.fail(ctx, errOtherOrigin) })

	h := a.route
	h = protection.Handler(h)
	h = a.limitHandlers(h)
	h = a.limitClients(h)
	h = a.recover(h)
	return h
}

// limitHandlers refuses requests while too many handlers run. Concurrency counts connections;
// over HTTP/2 each can have several handlers.
func (a *app) limitHandlers(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
			next(ctx)
		default:
			a.fail(ctx, errBusy)
		}
	}
}

// operate is the handler of the server for operators.
func (a *app) operate(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/healthz":
		// the process is alive, and need not be restarted
		ctx.WriteString("ok\n")
	case "/readyz":
		if phase(a.phase.Load()) != serving {
			ctx.Error("not ready", fasthttp.StatusServiceUnavailable)
			return
		}
		ctx.WriteString("ready\n")
	case "/metrics":
		ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8")
		a.metrics.write(ctx)
	default:
		// paths below /debug/pprof/, and 404 for all others
		pprofhandler.PprofHandler(ctx)
	}
}

// serve serves until ctx ends, and then shuts down gracefully.
func (a *app) serve(ctx context.Context, config *tls.Config, public, admin net.Listener) error {
	a.public.TLSConfig = config
	served := make(chan error, 2)
	var all sync.WaitGroup
	all.Go(func() { served <- a.public.ServeTLS(public, "", "") })
	all.Go(func() { served <- a.admin.Serve(admin) })
	stop := make(chan struct{})
	all.Go(func() { a.sweep(stop) })
	a.phase.Store(int32(serving))

	var first error
	select {
	case first = <-served:
		// one server without the other is of no use
	case <-ctx.Done():
	}
	a.phase.Store(int32(leaving))
	if first == nil {
		select {
		case first = <-served:
		case <-time.After(a.config.notice):
		}
	}
	err := errors.Join(first, a.shutDown())
	// a Serve that begins after Shutdown would serve
	_, _ = public.Close(), admin.Close()
	close(stop)
	all.Wait()
	close(served)
	for e := range served {
		err = errors.Join(err, e)
	}
	// after the last response
	return errors.Join(err, a.access.Close())
}

// shutDown answers the requests that have been received, and ends the streams of events. The
// server for operators is shut down last, so that the shutdown can be observed.
func (a *app) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.config.grace)
	defer cancel()
	return errors.Join(a.public.ShutdownWithContext(ctx), a.admin.ShutdownWithContext(ctx))
}

// sweep removes expired data.
func (a *app) sweep(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			a.sessions.sweep()
			a.clients.sweep()
		}
	}
}
