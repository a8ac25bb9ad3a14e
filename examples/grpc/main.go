// Command grpc serves one board of notes on one port: by gRPC, with grpc-go; by the Connect
// protocol and gRPC-Web, with connect-go; and as a REST API. README.md has clients.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/examples/grpc/boardpb"
	"github.com/valyala/fasthttp/examples/grpc/boardpb/boardpbconnect"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate

const (
	// callTime is for requests of the REST API, and streamTime for calls: their streams may last
	// long. A client that has disappeared is found by pings.
	callTime   = 10 * time.Second
	streamTime = 24 * time.Hour

	maxMessage = 1 << 20 // bytes of a message of a call
	maxStreams = 250     // calls of a connection at once

	// leaveTime is how long calls may take after the server has begun to end.
	leaveTime = 5 * time.Second
)

func main() {
	addr := flag.String("addr", "localhost:8080", "the TCP address to listen on")
	cert := flag.String("cert", "", "the file of a TLS certificate; without one there is no TLS")
	key := flag.String("key", "", "the file of the certificate's key")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *cert, *key, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// service has the protocols.
type service struct {
	board   *board
	health  *health.Server
	calls   *grpc.Server
	grpc    fasthttp.RequestHandler
	connect fasthttp.RequestHandler
}

func newService() *service {
	s := &service{board: newBoard(), health: health.NewServer()}
	s.calls = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage))
	boardpb.RegisterBoardServer(s.calls, grpcBoard{board: s.board})
	grpc_health_v1.RegisterHealthServer(s.calls, s.health)
	reflection.Register(s.calls)
	for name := range s.calls.GetServiceInfo() {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	s.grpc = fasthttpadaptor.NewFastHTTPHandler(s.calls)

	mux := http.NewServeMux()
	mux.Handle(boardpbconnect.NewBoardHandler(connectBoard{s.board}, connect.WithReadMaxBytes(maxMessage)))
	s.connect = fasthttpadaptor.NewFastHTTPHandler(mux)
	return s
}

// server returns the server for all protocols.
func (s *service) server() *fasthttp.Server {
	server := &fasthttp.Server{
		Name:               "grpc",
		Handler:            s.serve,
		HeaderReceived:     s.configure,
		ReadTimeout:        callTime,
		WriteTimeout:       callTime,
		IdleTimeout:        5 * time.Minute,
		MaxRequestBodySize: maxMessage,
		ShutdownTimeout:    2 * leaveTime,
		HTTP2: fasthttp.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      30 * time.Second,
			PingTimeout:          15 * time.Second,
		},
	}
	// REST and Connect have clients of HTTP/1.1; gRPC without TLS begins with HTTP/2
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// kind is the protocol of a request.
type kind int

const (
	restKind kind = iota
	grpcKind
	connectKind // and gRPC-Web
)

// kindOf returns the protocol of a request, by its head. A call of gRPC and one of Connect can
// have the same path.
func kindOf(h *fasthttp.RequestHeader) kind {
	media, _, _ := strings.Cut(strings.ToLower(string(h.ContentType())), ";")
	if media == "application/grpc" || strings.HasPrefix(media, "application/grpc+") {
		return grpcKind
	}
	if strings.HasPrefix(string(h.RequestURI()), "/"+boardpbconnect.BoardName+"/") {
		return connectKind
	}
	return restKind
}

// configure makes the messages of a call reach their handler as they arrive.
func (s *service) configure(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if kindOf(h) == restKind {
		return fasthttp.RequestConfig{}
	}
	return fasthttp.RequestConfig{BodyMode: fasthttp.BodyModeStream, ReadTimeout: streamTime, WriteTimeout: streamTime}
}

func (s *service) serve(ctx *fasthttp.RequestCtx) {
	switch kindOf(&ctx.Request.Header) {
	case grpcKind:
		s.grpc(ctx)
	case connectKind:
		s.connect(ctx)
	default:
		s.board.rest(ctx)
	}
}

// leave tells clients that the server ends: of health checks, and of Talk. Calls that have not
// ended after leaveTime are cut off.
func (s *service) leave() {
	s.health.Shutdown()
	s.board.leave()
	time.AfterFunc(leaveTime, s.calls.Stop)
}

// run serves until ctx ends. Then it announces the end to clients, and waits for the calls that
// have begun: the server sends GOAWAY, so grpc.Server.GracefulStop is not needed.
func run(ctx context.Context, addr, cert, key string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := newService()
	defer s.calls.Stop()
	defer context.AfterFunc(ctx, s.leave)()
	fmt.Fprintf(stdout, "grpc listens on %s\n", ln.Addr())
	server := s.server()
	if cert != "" {
		return server.RunTLS(ctx, cert, key, ln)
	}
	return server.Run(ctx, ln)
}
