package grpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// patience is how long a call may take. None takes that long unless something is wrong.
const patience = time.Minute

// plain is a codec for messages of plain bytes.
type plain struct{}

func (plain) Name() string { return "plain" }

func (plain) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (plain) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

// served is a server of the service.
type served struct {
	*fasthttp.Server
	*service
	addr string
	// creds are the credentials with which clients connect.
	creds credentials.TransportCredentials
	tls   bool
	roots *x509.CertPool // for TLS
	// handler is the handler: the service, unless a test sets another one.
	handler fasthttp.RequestHandler
}

// handle makes h answer the calls. None may have been made.
func (s *served) handle(h fasthttp.RequestHandler) { s.handler = h }

// eachServer runs a test with a server on each engine, with TLS and without.
func eachServer(t *testing.T, configure func(s *fasthttp.Server), test func(t *testing.T, s *served)) {
	t.Parallel()
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		for _, secure := range []bool{false, true} {
			name := map[fasthttp.Engine]string{fasthttp.EngineAuto: "auto", fasthttp.EnginePortable: "portable"}[engine]
			t.Run(fmt.Sprintf("%s/TLS %v", name, secure), func(t *testing.T) {
				t.Parallel()
				server := &fasthttp.Server{StreamRequestBody: true, Engine: engine, Logger: serving.Logger{T: t}}
				if configure != nil {
					configure(server)
				}
				test(t, start(t, server, secure))
			})
		}
	}
}

func start(t *testing.T, server *fasthttp.Server, secure bool) *served {
	t.Helper()
	s := &served{Server: server, service: &service{hangs: make(chan bool, 100), gone: make(chan error, 100)}, creds: insecure.NewCredentials(), tls: secure}
	s.handler = s.serve
	server.Handler = func(ctx *fasthttp.RequestCtx) { s.handler(ctx) }
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		cert, _ := serving.Certificate()
		s.roots = x509.NewCertPool()
		s.roots.AppendCertsFromPEM(cert)
		s.creds = credentials.NewTLS(&tls.Config{RootCAs: s.roots})
	}
	s.addr, _ = serving.Start(t, server, serving.Options{Secure: secure})
	return s
}

// dial returns a client of the service at an address.
func dial(t *testing.T, addr string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.ForceCodec(plain{})), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func callContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func unary(ctx context.Context, c *grpc.ClientConn, method, message string, opts ...grpc.CallOption) (string, error) {
	in, out := []byte(message), []byte(nil)
	err := c.Invoke(ctx, "/test.Service/"+method, &in, &out, opts...)
	return string(out), err
}

// checkCalls makes calls of each kind.
func checkCalls(t *testing.T, c *grpc.ClientConn) {
	t.Helper()
	checkUnary(t, c)
	checkErrors(t, c)
	checkStreams(t, c)
}

func checkUnary(t *testing.T, c *grpc.ClientConn) {
	t.Helper()
	ctx := callContext(t)
	var head, trailer metadata.MD
	for _, message := range []string{"hello", "", strings.Repeat("large ", 100_000)} {
		got, err := unary(ctx, c, "Unary", message, grpc.Header(&head), grpc.Trailer(&trailer))
		if got != message || err != nil {
			t.Errorf("Unary: got %d bytes, %v, want %d", len(got), err, len(message))
		}
		if fmt.Sprint(head["x-method"], trailer["x-detail"]) != "[Unary] [some]" {
			t.Errorf("Unary: the header is %v, the trailer %v", head, trailer)
		}
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i), i*10)
			if got, err := unary(ctx, c, "Unary", want); got != want || err != nil {
				t.Errorf("call %d: got %d bytes, %v", i, len(got), err)
			}
		})
	}
	all.Wait()
}

func checkErrors(t *testing.T, c *grpc.ClientConn) {
	t.Helper()
	ctx := callContext(t)
	for _, tc := range []struct {
		method, text string
		code         codes.Code
	}{
		{"Fail", "nothing here: 100% sure", codes.NotFound},
		{"Late", "enough", codes.ResourceExhausted},
		{"Nothing", "no such method", codes.Unimplemented},
	} {
		var trailer metadata.MD
		_, err := unary(ctx, c, tc.method, "x", grpc.Trailer(&trailer))
		if s := status.Convert(err); s.Code() != tc.code || s.Message() != tc.text {
			t.Errorf("%s: got %v", tc.method, err)
		}
		if fmt.Sprint(trailer["x-detail"]) != "[some]" {
			t.Errorf("%s: the trailer is %v", tc.method, trailer)
		}
	}
}

func checkStreams(t *testing.T, c *grpc.ClientConn) {
	t.Helper()
	ctx := callContext(t)
	open := func(method string, desc grpc.StreamDesc) grpc.ClientStream {
		t.Helper()
		s, err := c.NewStream(ctx, &desc, "/test.Service/"+method)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return s
	}
	send := func(s grpc.ClientStream, text string) {
		t.Helper()
		message := []byte(text)
		if err := s.SendMsg(&message); err != nil {
			t.Fatalf("cannot send: %v", err)
		}
	}
	expect := func(s grpc.ClientStream, want string) {
		t.Helper()
		var got []byte
		if err := s.RecvMsg(&got); string(got) != want || err != nil {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	expectEnd := func(s grpc.ClientStream) {
		t.Helper()
		var got []byte
		if err := s.RecvMsg(&got); err != io.EOF || fmt.Sprint(s.Trailer()["x-detail"]) != "[some]" {
			t.Errorf("at the end: %q, %v, %v", got, err, s.Trailer())
		}
	}

	count := open("Count", grpc.StreamDesc{ServerStreams: true})
	send(count, "100")
	_ = count.CloseSend()
	for i := range 100 {
		expect(count, fmt.Sprintf("%d of 100", i+1))
	}
	expectEnd(count)

	sum := open("Sum", grpc.StreamDesc{ClientStreams: true})
	for range 200 {
		send(sum, strings.Repeat("x", 10_000))
	}
	_ = sum.CloseSend()
	expect(sum, "200 2000000")

	// each message is sent after the one before was echoed
	echo := open("Echo", grpc.StreamDesc{ServerStreams: true, ClientStreams: true})
	for i := range 50 {
		text := strings.Repeat(fmt.Sprint("message ", i), i*10)
		send(echo, text)
		expect(echo, text)
	}
	_ = echo.CloseSend()
	expectEnd(echo)
}

func TestCalls(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) { checkCalls(t, dial(t, s.addr, s.creds)) })
}

// TestQuickCallsAreNoFlood makes calls as quickly as they are answered: a gRPC client sends a
// PING for many of them, to measure the round trip time.
func TestQuickCallsAreNoFlood(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		c := dial(t, s.addr, s.creds)
		for i := range 3000 {
			want := fmt.Sprint("call ", i)
			if got, err := unary(callContext(t), c, "Unary", want); got != want || err != nil {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		echo, err := c.NewStream(callContext(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Service/Echo")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			message, got := []byte(fmt.Sprint("message ", i)), []byte(nil)
			if err := echo.SendMsg(&message); err != nil {
				t.Fatal(err)
			}
			if err := echo.RecvMsg(&got); string(got) != string(message) || err != nil {
				t.Fatalf("got %q, %v, want %q", got, err, message)
			}
		}
		_ = echo.CloseSend()
	})
}

// TestCallsGoOnWithOtherConnections has a server that ends connections after some calls.
func TestCallsGoOnWithOtherConnections(t *testing.T) {
	eachServer(t, func(s *fasthttp.Server) { s.MaxRequestsPerConn = 7 }, func(t *testing.T, s *served) {
		c := dial(t, s.addr, s.creds)
		for i := range 50 {
			want := fmt.Sprint("call ", i)
			if got, err := unary(callContext(t), c, "Unary", want); got != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
	})
}

// TestHandlerLearnsOfACancelledCall has a client that cancels, and one whose deadline passes.
func TestHandlerLearnsOfACancelledCall(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		c := dial(t, s.addr, s.creds)
		if _, err := unary(callContext(t), c, "Unary", "x"); err != nil {
			t.Fatal(err)
		}
		learns := func(limit time.Duration) bool {
			select {
			case err := <-s.gone:
				if err != context.Canceled {
					t.Errorf("Err is %v", err)
				}
				return true
			case <-time.After(limit):
				return false
			}
		}
		ctx, cancel := context.WithCancel(callContext(t))
		defer cancel()
		go func() {
			<-s.hangs
			cancel()
		}()
		if _, err := unary(ctx, c, "Hang", "x"); status.Code(err) != codes.Canceled {
			t.Errorf("the call ends with %v", err)
		}
		if !learns(patience) {
			t.Fatal("the handler does not learn that its client has given up")
		}
		// the timeout may pass before the handler begins
		limit := 100 * time.Millisecond
		for over := false; !over; limit *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if _, err := unary(ctx, c, "Hang", "x"); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("the call ends with %v", err)
			}
			if over = learns(limit); !over && limit > patience {
				t.Fatal("the handler does not learn that the time of its client is over")
			}
		}
		if _, err := unary(callContext(t), c, "Unary", "x"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// TestShutdownWaitsForCalls shuts the server down in the middle of a call.
func TestShutdownWaitsForCalls(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		c := dial(t, s.addr, s.creds)
		ctx := callContext(t)
		echo, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Service/Echo")
		if err != nil {
			t.Fatal(err)
		}
		exchange := func(text string) {
			t.Helper()
			in, out := []byte(text), []byte(nil)
			if err := echo.SendMsg(&in); err != nil {
				t.Fatal(err)
			}
			if err := echo.RecvMsg(&out); string(out) != text || err != nil {
				t.Fatalf("got %q, %v, want %q", out, err, text)
			}
		}
		exchange("before")
		stopped := make(chan error, 1)
		go func() { stopped <- s.ShutdownWithContext(ctx) }()
		for range 20 {
			exchange("meanwhile")
		}
		_ = echo.CloseSend()
		var rest []byte
		if err := echo.RecvMsg(&rest); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		if err := process.Receive(t, "the end of Shutdown", stopped); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}
