package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/valyala/fasthttp"
)

// connectClient calls a connectService.
type connectClient struct {
	*connectService
	web     *http.Client
	url     string
	options []connect.ClientOption
}

// connectProtocols are the protocols of connect-go, with the Content-Type of their unary calls
// and of their streams.
var connectProtocols = []struct {
	name, unary, stream string
	options             []connect.ClientOption
}{
	{"Connect", "application/proto", "application/connect+proto", nil},
	{"Connect with JSON", "application/json", "application/connect+json", []connect.ClientOption{connect.WithProtoJSON()}},
	{"gRPC", "application/grpc", "application/grpc", []connect.ClientOption{connect.WithGRPC()}},
	{"gRPC-Web", "application/grpc-web+proto", "application/grpc-web+proto", []connect.ClientOption{connect.WithGRPCWeb()}},
}

// newConnectHTTP returns a client that speaks only one version of HTTP.
func newConnectHTTP(t *testing.T, s *served, http2 bool) *http.Client {
	var p http.Protocols
	switch {
	case !http2:
		p.SetHTTP1(true)
	case s.tls:
		p.SetHTTP2(true)
	default:
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{Protocols: &p, TLSClientConfig: &tls.Config{RootCAs: s.roots}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func connectTo[Req, Res any](c *connectClient, method string, options ...connect.ClientOption) *connect.Client[Req, Res] {
	return connect.NewClient[Req, Res](c.web, c.url+method, append(c.options[:len(c.options):len(c.options)], options...)...)
}

// TestConnect has clients of connect-go, and its handlers through fasthttpadaptor, with each
// of its protocols and each version of HTTP.
func TestConnect(t *testing.T) {
	eachServer(t, func(s *fasthttp.Server) { s.Protocols.SetHTTP1(true) }, func(t *testing.T, s *served) {
		service := newConnectService()
		s.handle(service.handler())
		for _, http2 := range []bool{false, true} {
			web := newConnectHTTP(t, s, http2)
			version := "HTTP/1"
			if http2 {
				version = "HTTP/2"
			}
			for _, p := range connectProtocols {
				t.Run(version+"/"+p.name, func(t *testing.T) {
					scheme := map[bool]string{false: "http://", true: "https://"}[s.tls]
					c := &connectClient{connectService: service, web: web, url: scheme + s.addr + "/test.Connect/", options: p.options}
					checkConnectUnary(t, c)
					checkConnectErrors(t, c)
					checkConnectStreams(t, c)
					checkConnectEcho(t, c, http2)
					checkConnectTime(t, c)
					if http2 {
						// over HTTP/1 the handler learns of it seconds later
						checkConnectCancel(t, c)
					}
					forms := []string{"POST " + p.unary, "POST " + p.unary + " gzip", "POST " + p.stream, "POST " + p.stream + " gzip"}
					if strings.HasPrefix(p.name, "Connect") {
						checkConnectGet(t, c)
						forms = append(forms, "GET ")
					}
					for i := range forms {
						forms[i] = version + " " + forms[i]
					}
					if missing := service.missing(forms...); missing != nil {
						t.Errorf("no request has come as %q", missing)
					}
				})
			}
		}
	})
}

// checkTold checks the fields that answer the field Ask of a request.
func checkTold(t *testing.T, what string, header, trailer http.Header) {
	t.Helper()
	if fmt.Sprint(header["Told"], trailer["Told-After"]) != "[something] [something]" {
		t.Errorf("%s: the header is %v, the trailer %v", what, header, trailer)
	}
}

func checkConnectUnary(t *testing.T, c *connectClient) {
	t.Helper()
	ctx := callContext(t)
	for form, options := range map[string][]connect.ClientOption{"plain": nil, "gzip": {connect.WithSendGzip()}} {
		unary := connectTo[textMessage, textMessage](c, "Unary", options...)
		for _, text := range []string{"hello", "", strings.Repeat("large ", 200_000)} {
			req := connect.NewRequest(wrapperspb.String(text))
			req.Header().Set("Ask", "something")
			resp, err := unary.CallUnary(ctx, req)
			if err != nil || resp.Msg.GetValue() != text {
				t.Errorf("Unary, %s: %v, want %d bytes", form, err, len(text))
				continue
			}
			checkTold(t, "Unary", resp.Header(), resp.Trailer())
		}
	}
	unary := connectTo[textMessage, textMessage](c, "Unary")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i), i*10)
			resp, err := unary.CallUnary(ctx, connect.NewRequest(wrapperspb.String(want)))
			if err != nil || resp.Msg.GetValue() != want {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// checkConnectGet calls without a body, which the Connect protocol permits.
func checkConnectGet(t *testing.T, c *connectClient) {
	t.Helper()
	unary := connectTo[textMessage, textMessage](c, "Unary", connect.WithHTTPGet(), connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	for _, text := range []string{"", "a b&c=d/é", strings.Repeat("long ", 1000)} {
		resp, err := unary.CallUnary(callContext(t), connect.NewRequest(wrapperspb.String(text)))
		if err != nil || resp.Msg.GetValue() != text {
			t.Errorf("GET: %v, want %d bytes", err, len(text))
		}
	}
}

// checkRefusal checks that an error is the one of refusal.
func checkRefusal(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*connect.Error](err)
	if !ok || e.Code() != connect.CodeResourceExhausted || e.Message() != "too much: 100% of é" || len(e.Details()) != 1 || !connect.IsWireError(err) {
		t.Errorf("%s ends with %v", what, err)
		return
	}
	value, err := e.Details()[0].Value()
	fields, ok := value.(*structpb.Struct)
	if err != nil || !ok || fmt.Sprint(fields.AsMap()) != "map[limit:7 of:[a <nil>]]" {
		t.Errorf("%s: the details are %v, %v", what, value, err)
	}
	if e.Meta().Get("Why") != "refused" {
		t.Errorf("%s: the fields of the error are %v", what, e.Meta())
	}
}

func checkConnectErrors(t *testing.T, c *connectClient) {
	t.Helper()
	ctx := callContext(t)
	_, err := connectTo[textMessage, textMessage](c, "Fail").CallUnary(ctx, connect.NewRequest(wrapperspb.String("x")))
	checkRefusal(t, "Fail", err)
	_, err = connectTo[textMessage, textMessage](c, "Nothing").CallUnary(ctx, connect.NewRequest(wrapperspb.String("x")))
	if connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
}

func checkConnectStreams(t *testing.T, c *connectClient) {
	t.Helper()
	ctx := callContext(t)
	for form, options := range map[string][]connect.ClientOption{"plain": nil, "gzip": {connect.WithSendGzip()}} {
		sum := connectTo[textMessage, numberMessage](c, "Sum", options...).CallClientStream(ctx)
		sum.RequestHeader().Set("Ask", "something")
		text := strings.Repeat("x", 20_000)
		for range 100 {
			if err := sum.Send(wrapperspb.String(text)); err != nil {
				t.Fatalf("Sum, %s: %v", form, err)
			}
		}
		resp, err := sum.CloseAndReceive()
		if err != nil || resp.Msg.GetValue() != 2_000_000 {
			t.Fatalf("Sum, %s: %v, %v", form, resp, err)
		}
		checkTold(t, "Sum", resp.Header(), resp.Trailer())

		// an odd number ends with an error
		for _, n := range []int64{0, 100, 101} {
			req := connect.NewRequest(wrapperspb.Int64(n))
			req.Header().Set("Ask", "something")
			count, err := connectTo[numberMessage, textMessage](c, "Count", options...).CallServerStream(ctx, req)
			if err != nil {
				t.Fatalf("Count, %s: %v", form, err)
			}
			got := int64(0)
			for count.Receive() {
				if got++; count.Msg().GetValue() != fmt.Sprintf("%d of %d", got, n) {
					t.Errorf("Count, %s: message %d is %q", form, got, count.Msg().GetValue())
				}
			}
			if err := count.Err(); n%2 != 0 {
				checkRefusal(t, "Count", err)
			} else if err != nil {
				t.Errorf("Count, %s: %v", form, err)
			} else {
				checkTold(t, "Count", count.ResponseHeader(), count.ResponseTrailer())
			}
			if got != n {
				t.Errorf("Count, %s: %d messages, want %d", form, got, n)
			}
			_ = count.Close()
		}
	}
}

// checkConnectEcho sends each message after the one before was echoed. connect-go refuses such
// streams over HTTP/1.
func checkConnectEcho(t *testing.T, c *connectClient, http2 bool) {
	t.Helper()
	for form, options := range map[string][]connect.ClientOption{"plain": nil, "gzip": {connect.WithSendGzip()}} {
		echo := connectTo[textMessage, textMessage](c, "Echo", options...).CallBidiStream(callContext(t))
		echo.RequestHeader().Set("Ask", "something")
		if !http2 {
			_ = echo.Send(wrapperspb.String("x"))
			_ = echo.CloseRequest()
			if _, err := echo.Receive(); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("Echo, %s, by HTTP/1: %v", form, err)
			}
			_ = echo.CloseResponse()
			continue
		}
		for i := range 30 {
			text := strings.Repeat(fmt.Sprint("message ", i), i*100)
			if err := echo.Send(wrapperspb.String(text)); err != nil {
				t.Fatalf("Echo, %s: %v", form, err)
			}
			if got, err := echo.Receive(); err != nil || got.GetValue() != text {
				t.Fatalf("Echo, %s: %v, want %d bytes", form, err, len(text))
			}
		}
		if err := echo.CloseRequest(); err != nil {
			t.Errorf("Echo, %s: %v", form, err)
		}
		if got, err := echo.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("Echo, %s, at the end: %v, %v", form, got, err)
		}
		checkTold(t, "Echo", echo.ResponseHeader(), echo.ResponseTrailer())
		_ = echo.CloseResponse()
	}
}

// checkConnectTime has calls with a time limit.
func checkConnectTime(t *testing.T, c *connectClient) {
	t.Helper()
	limited := connectTo[textMessage, wrapperspb.BoolValue](c, "Time")
	for _, want := range []bool{true, false} {
		ctx := callContext(t)
		if !want {
			ctx = context.WithoutCancel(ctx)
		}
		if resp, err := limited.CallUnary(ctx, connect.NewRequest(wrapperspb.String("x"))); err != nil || resp.Msg.GetValue() != want {
			t.Errorf("Time: %v, %v, want %v", resp, err, want)
		}
	}
	hang := connectTo[textMessage, textMessage](c, "Hang")
	// the timeout may pass before the handler begins
	limit := 50 * time.Millisecond
	for over := false; !over; limit *= 2 {
		message := fmt.Sprint(t.Name(), limit)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		if _, err := hang.CallUnary(ctx, connect.NewRequest(wrapperspb.String(message))); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("a call whose time is over ends with %v", err)
		}
		cancel()
		if _, over = c.learns(message, limit); !over && limit > patience {
			t.Fatal("the handler does not learn that the time of its client is over")
		}
	}
}

// checkConnectCancel has a call that the client cancels.
func checkConnectCancel(t *testing.T, c *connectClient) {
	t.Helper()
	message := t.Name() + " cancel"
	ctx, cancel := context.WithCancel(callContext(t))
	defer cancel()
	go func() {
		for begun := range c.hangs {
			if begun == message {
				cancel()
				return
			}
		}
	}()
	_, err := connectTo[textMessage, textMessage](c, "Hang").CallUnary(ctx, connect.NewRequest(wrapperspb.String(message)))
	if connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("the call that is given up ends with %v", err)
	}
	if err, ok := c.learns(message, patience); !ok || err != context.Canceled {
		t.Errorf("the handler of the call that is given up gets %v", err)
	}
}

// learns waits until the handler of a hanging call has noticed that the client no longer
// waits.
func (s *connectService) learns(message string, limit time.Duration) (err error, ok bool) {
	late := time.After(limit)
	for {
		select {
		case call := <-s.gone:
			if call.message == message {
				return call.err, true
			}
		case <-late:
			return nil, false
		}
	}
}
