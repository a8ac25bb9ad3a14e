package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"

	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// failure is the message of a failing case of grpc-go's interop client.
type failure string

// panicLogger panics if grpc-go wants to end the process, which is how the cases of its interop
// client fail. It logs nothing.
type panicLogger struct{ grpclog.LoggerV2 }

func (panicLogger) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (panicLogger) Fatalln(args ...any)               { panic(failure(fmt.Sprintln(args...))) }
func (panicLogger) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (panicLogger) Info(...any)                       {}
func (panicLogger) Infoln(...any)                     {}
func (panicLogger) Infof(string, ...any)              {}
func (panicLogger) Warning(...any)                    {}
func (panicLogger) Warningln(...any)                  {}
func (panicLogger) Warningf(string, ...any)           {}
func (panicLogger) Error(...any)                      {}
func (panicLogger) Errorln(...any)                    {}
func (panicLogger) Errorf(string, ...any)             {}
func (panicLogger) V(int) bool                        { return false }

func TestMain(m *testing.M) {
	// this must be before any call
	grpclog.SetLoggerV2(panicLogger{})
	os.Exit(m.Run())
}

// interopCases are the cases of grpc-go's interop client (google.golang.org/grpc/interop/client).
//
// Some are omitted. compute_engine_creds, service_account_creds, jwt_token_creds,
// per_rpc_creds, oauth2_auth_token, google_default_credentials and
// compute_engine_channel_credentials need accounts of Google. pick_first_unary needs a server
// that names itself, which the interop server of grpc-go does not. rpc_soak and channel_soak
// are in TestInterop.
var interopCases = []struct {
	name string
	run  func(ctx context.Context, cc *grpc.ClientConn)
}{
	{"empty_unary", call(interop.DoEmptyUnaryCall)},
	{"large_unary", call(interop.DoLargeUnaryCall)},
	{"client_streaming", call(interop.DoClientStreaming)},
	{"server_streaming", call(interop.DoServerStreaming)},
	{"ping_pong", call(interop.DoPingPong)},
	{"empty_stream", call(interop.DoEmptyStream)},
	{"timeout_on_sleeping_server", call(interop.DoTimeoutOnSleepingServer)},
	{"cancel_after_begin", call(interop.DoCancelAfterBegin)},
	{"cancel_after_first_response", call(interop.DoCancelAfterFirstResponse)},
	{"status_code_and_message", call(interop.DoStatusCodeAndMessage)},
	{"special_status_message", call(interop.DoSpecialStatusMessage)},
	{"custom_metadata", call(interop.DoCustomMetadata)},
	{"unimplemented_method", func(ctx context.Context, cc *grpc.ClientConn) { interop.DoUnimplementedMethod(ctx, cc) }},
	{"unimplemented_service", func(ctx context.Context, cc *grpc.ClientConn) {
		interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(cc))
	}},
	{"orca_per_rpc", func(ctx context.Context, cc *grpc.ClientConn) {
		interop.DoORCAPerRPCTest(ctx, testgrpc.NewTestServiceClient(cc))
	}},
	{"orca_oob", func(ctx context.Context, cc *grpc.ClientConn) {
		interop.DoORCAOOBTest(ctx, testgrpc.NewTestServiceClient(cc))
	}},
}

func call(do func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)) func(context.Context, *grpc.ClientConn) {
	return func(ctx context.Context, cc *grpc.ClientConn) { do(ctx, testgrpc.NewTestServiceClient(cc)) }
}

// newInteropServer returns the interop server of grpc-go, which is an http.Handler.
func newInteropServer(t *testing.T) *grpc.Server {
	t.Helper()
	recorder := orca.NewServerMetricsRecorder()
	s := grpc.NewServer(orca.CallMetricsServerOption(recorder))
	t.Cleanup(s.Stop)
	if err := orca.Register(s, orca.ServiceOptions{MinReportingInterval: time.Second, ServerMetricsProvider: recorder}); err != nil {
		t.Fatal(err)
	}
	testgrpc.RegisterTestServiceServer(s, interop.NewTestServer(interop.NewTestServerOptions{MetricsRecorder: recorder}))
	return s
}

// dialInterop returns a connection like the one of grpc-go's interop client.
func dialInterop(t *testing.T, s *served) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(s.creds), grpc.WithNoProxy(),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return cc
}

// TestInterop runs grpc-go's own interop client with its own interop server, unmodified,
// through fasthttpadaptor.
func TestInterop(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		s.handle(fasthttpadaptor.NewFastHTTPHandler(newInteropServer(t)))
		cc := dialInterop(t, s)
		defer cc.Close()
		for _, c := range interopCases {
			t.Run(c.name, func(t *testing.T) { runInterop(t, func(ctx context.Context) { c.run(ctx, cc) }) })
		}
		for _, reconnect := range []bool{false, true} {
			name := map[bool]string{false: "rpc_soak", true: "channel_soak"}[reconnect]
			t.Run(name, func(t *testing.T) {
				runInterop(t, func(ctx context.Context) { interop.DoSoakTest(ctx, soak(t, s, cc, reconnect)) })
			})
		}
	})
}

// soak makes 60 large calls with four workers, each with its own connection if reconnect is set.
func soak(t *testing.T, s *served, cc *grpc.ClientConn, reconnect bool) interop.SoakTestConfig {
	return interop.SoakTestConfig{
		RequestSize: 271828, ResponseSize: 314159,
		PerIterationMaxAcceptableLatency: patience, OverallTimeout: patience,
		ServerAddr: s.addr, NumWorkers: 4, Iterations: 60,
		ChannelForTest: func() (*grpc.ClientConn, func()) {
			if !reconnect {
				return cc, func() {}
			}
			own := dialInterop(t, s)
			return own, func() { _ = own.Close() }
		},
	}
}

// runInterop runs a case, and fails the test if the case fails.
func runInterop(t *testing.T, run func(ctx context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			if f, ok := p.(failure); ok {
				t.Fatalf("%s", f)
			}
			t.Fatalf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	run(callContext(t))
}

// TestCallsBehindNetHTTP has a fasthttp handler in a net/http server.
func TestCallsBehindNetHTTP(t *testing.T) {
	t.Parallel()
	s := &service{}
	server := httptest.NewUnstartedServer(fasthttpadaptor.NewHTTPHandler(s.serve))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	checkCalls(t, dial(t, server.Listener.Addr().String(), credentials.NewTLS(&tls.Config{RootCAs: roots})))
}
