// Package replace serves the connections of a net/http server with a fasthttp.Server.
package replace

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/internal/clock"
)

// Server is a net/http server, with some of its unexported state.
type Server interface {
	Config() *http.Server
	// Handler returns the handler that the server calls for each request.
	Handler() http.Handler
	Protocols() http.Protocols
	// KeepAlives reports whether connections are reused.
	KeepAlives() bool
	// Closed reports whether Close or Shutdown was called.
	Closed() bool
}

// Handler returns a handler that calls h through both adaptors.
func Handler(h http.Handler) http.Handler {
	return fasthttpadaptor.NewHTTPHandler(fasthttpadaptor.NewFastHTTPHandler(h))
}

// serving has the state of the running servers.
var serving = struct {
	mu      sync.Mutex
	servers map[*http.Server]*server
}{servers: map[*http.Server]*server{}}

// server is the replacement of a net/http server.
type server struct {
	fasthttp.Server

	mu        sync.Mutex
	listeners []*listener
	conns     map[net.Conn]struct{}
}

// Serve serves the connections of ln until it fails.
func Serve(from Server, ln net.Listener) error {
	if from.Closed() {
		_ = ln.Close()
		return http.ErrServerClosed
	}
	s := serverFor(from)
	kept := &listener{Listener: ln}
	s.mu.Lock()
	s.listeners = append(s.listeners, kept)
	s.mu.Unlock()
	if _, ok := ln.(*net.TCPListener); ok {
		// the event engine serves only such listeners
		_ = s.Serve(ln)
		kept.err = net.ErrClosed
	} else {
		_ = s.Serve(kept)
	}
	s.mu.Lock()
	s.listeners = slices.DeleteFunc(s.listeners, func(l *listener) bool { return l == kept })
	s.rest()
	s.mu.Unlock()
	if from.Closed() {
		return http.ErrServerClosed
	}
	return kept.err
}

// listener records the error with which it ends: fasthttp's Serve takes io.EOF, which
// in-memory listeners return, for a normal close.
type listener struct {
	net.Listener
	err error
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		l.err = err
	}
	return c, err
}

// Close closes the listeners and the connections of a server.
func Close(of *http.Server) error {
	s := lookUp(of)
	if s == nil {
		return nil
	}
	var errs []error
	s.mu.Lock()
	for _, ln := range s.listeners {
		errs = append(errs, ln.Close())
	}
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	return errors.Join(errs...)
}

// Shutdown shuts a server down gracefully.
func Shutdown(of *http.Server, ctx context.Context) error {
	s := lookUp(of)
	if s == nil {
		return nil
	}
	return s.ShutdownWithContext(ctx)
}

func lookUp(of *http.Server) *server {
	serving.mu.Lock()
	defer serving.mu.Unlock()
	return serving.servers[of]
}

func serverFor(from Server) *server {
	serving.mu.Lock()
	defer serving.mu.Unlock()
	config := from.Config()
	s := serving.servers[config]
	if s == nil {
		s = &server{conns: map[net.Conn]struct{}{}}
		s.configure(from)
		serving.servers[config] = s
	}
	return s
}

// configure sets the settings of a program that migrates from net/http.
func (s *server) configure(from Server) {
	config := from.Config()
	handler := fasthttpadaptor.NewFastHTTPHandler(from.Handler())
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		handler(ctx)
		if !from.KeepAlives() {
			ctx.SetConnectionClose()
		}
	}
	s.Logger = log.Default()
	if config.ErrorLog != nil {
		s.Logger = config.ErrorLog
	}
	s.LogAllErrors = true
	s.StreamRequestBody = true
	s.NoDefaultServerHeader = true
	s.ReadTimeout = max(config.ReadTimeout, 0)
	s.ReadHeaderTimeout = max(config.ReadHeaderTimeout, 0)
	s.WriteTimeout = max(config.WriteTimeout, 0)
	s.IdleTimeout = max(config.IdleTimeout, 0)
	s.ReadBufferSize = max(config.MaxHeaderBytes, 0)
	s.DisableKeepalive = !from.KeepAlives()
	protocols := from.Protocols()
	s.Protocols.SetHTTP1(protocols.HTTP1())
	s.Protocols.SetHTTP2(protocols.HTTP2())
	s.Protocols.SetUnencryptedHTTP2(protocols.UnencryptedHTTP2())
	if h2 := config.HTTP2; h2 != nil {
		s.HTTP2 = fasthttp.HTTP2Config{
			MaxConcurrentStreams:          h2.MaxConcurrentStreams,
			MaxDecoderHeaderTableSize:     h2.MaxDecoderHeaderTableSize,
			MaxEncoderHeaderTableSize:     h2.MaxEncoderHeaderTableSize,
			MaxReadFrameSize:              h2.MaxReadFrameSize,
			MaxReceiveBufferPerConnection: h2.MaxReceiveBufferPerConnection,
			MaxReceiveBufferPerStream:     h2.MaxReceiveBufferPerStream,
			SendPingTimeout:               h2.SendPingTimeout,
			PingTimeout:                   h2.PingTimeout,
			WriteByteTimeout:              h2.WriteByteTimeout,
			CountError:                    h2.CountError,
		}
	}
	s.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		s.keep(c, state)
		if config.ConnState != nil {
			config.ConnState(c, states[state])
		}
	}
	for name, next := range config.TLSNextProto {
		if name == "h2" {
			continue
		}
		s.NextProto(name, func(c net.Conn) error {
			tc, ok := c.(*tls.Conn)
			if !ok {
				return errors.New("no connection of crypto/tls")
			}
			next(config, tc, from.Handler())
			return nil
		})
	}
}

// keep records the connections that Close must close.
func (s *server) keep(c net.Conn, state fasthttp.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == fasthttp.StateClosed || state == fasthttp.StateHijacked {
		delete(s.conns, c)
	} else {
		s.conns[c] = struct{}{}
	}
	s.rest()
}

// rest ends the goroutines that wait for work when there is none: httptest.Server closes its
// listener and its connections, but does not call Shutdown. The caller holds mu.
func (s *server) rest() {
	if len(s.listeners) == 0 && len(s.conns) == 0 {
		go func() { _ = s.Shutdown() }()
	}
}

var states = map[fasthttp.ConnState]http.ConnState{
	fasthttp.StateNew:      http.StateNew,
	fasthttp.StateActive:   http.StateActive,
	fasthttp.StateIdle:     http.StateIdle,
	fasthttp.StateHijacked: http.StateHijacked,
	fasthttp.StateClosed:   http.StateClosed,
}

// KeepClock starts the clock of the process outside of testing/synctest bubbles: otherwise its
// first user in a bubble would start it there.
func KeepClock() {
	_ = clock.Elapsed()
	go func() {
		for range time.Tick(clock.Resolution) {
			_ = clock.Elapsed()
		}
	}()
}
