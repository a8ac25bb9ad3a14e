package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// The messages of the service, which need no generated code.
type (
	textMessage   = wrapperspb.StringValue
	numberMessage = wrapperspb.Int64Value
)

// connectService is a service of connect-go:
//
//	/test.Connect/Unary   answers with the message
//	/test.Connect/Fail    answers with an error that has details
//	/test.Connect/Sum     answers with the number of bytes in the messages
//	/test.Connect/Count   answers "n" with n messages, and with an error after them if n is odd
//	/test.Connect/Echo    answers each message at once
//	/test.Connect/Time answers whether the client has set a time limit
//	/test.Connect/Hang    sends the message to hangs, and sends it with the error to gone when
//	                      its time is over or the client has disconnected
//
// Each answers the field Ask of a request with one and with a trailer, Told and Told-After.
type connectService struct {
	hangs chan string
	gone  chan goneCall

	mu   sync.Mutex
	seen map[string]bool // of requests: see note
}

// goneCall is a call whose client no longer waits.
type goneCall struct {
	message string
	err     error
}

func newConnectService() *connectService {
	return &connectService{hangs: make(chan string, 100), gone: make(chan goneCall, 100), seen: map[string]bool{}}
}

// tell answers the field of a request.
func tell(asked, header, trailer http.Header) {
	header.Set("Told", asked.Get("Ask"))
	trailer.Set("Told-After", asked.Get("Ask"))
}

// refusal is an error with details.
func refusal() *connect.Error {
	err := connect.NewError(connect.CodeResourceExhausted, errors.New("too much: 100% of é"))
	fields, errFields := structpb.NewStruct(map[string]any{"limit": 7.0, "of": []any{"a", nil}})
	detail, errDetail := connect.NewErrorDetail(fields)
	if err := errors.Join(errFields, errDetail); err != nil {
		panic(err)
	}
	err.AddDetail(detail)
	err.Meta().Set("Why", "refused")
	return err
}

func (s *connectService) unary(_ context.Context, req *connect.Request[textMessage]) (*connect.Response[textMessage], error) {
	resp := connect.NewResponse(wrapperspb.String(req.Msg.GetValue()))
	tell(req.Header(), resp.Header(), resp.Trailer())
	return resp, nil
}

func (s *connectService) fail(context.Context, *connect.Request[textMessage]) (*connect.Response[textMessage], error) {
	return nil, refusal()
}

func (s *connectService) sum(_ context.Context, stream *connect.ClientStream[textMessage]) (*connect.Response[numberMessage], error) {
	n := 0
	for stream.Receive() {
		n += len(stream.Msg().GetValue())
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	resp := connect.NewResponse(wrapperspb.Int64(int64(n)))
	tell(stream.RequestHeader(), resp.Header(), resp.Trailer())
	return resp, nil
}

func (s *connectService) count(_ context.Context, req *connect.Request[numberMessage], stream *connect.ServerStream[textMessage]) error {
	tell(req.Header(), stream.ResponseHeader(), stream.ResponseTrailer())
	n := req.Msg.GetValue()
	for i := range n {
		if err := stream.Send(wrapperspb.String(fmt.Sprintf("%d of %d", i+1, n))); err != nil {
			return err
		}
	}
	if n%2 != 0 {
		return refusal()
	}
	return nil
}

func (s *connectService) echo(_ context.Context, stream *connect.BidiStream[textMessage, textMessage]) error {
	tell(stream.RequestHeader(), stream.ResponseHeader(), stream.ResponseTrailer())
	for {
		message, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

func (s *connectService) time(ctx context.Context, _ *connect.Request[textMessage]) (*connect.Response[wrapperspb.BoolValue], error) {
	_, limited := ctx.Deadline()
	return connect.NewResponse(wrapperspb.Bool(limited)), nil
}

func (s *connectService) hang(ctx context.Context, req *connect.Request[textMessage]) (*connect.Response[textMessage], error) {
	s.hangs <- req.Msg.GetValue()
	<-ctx.Done()
	s.gone <- goneCall{req.Msg.GetValue(), ctx.Err()}
	return nil, ctx.Err()
}

// handler returns the handler of the service.
func (s *connectService) handler() fasthttp.RequestHandler {
	mux := http.NewServeMux()
	idempotent := connect.WithIdempotency(connect.IdempotencyNoSideEffects)
	for method, h := range map[string]http.Handler{
		"Unary": connect.NewUnaryHandler("/test.Connect/Unary", s.unary, idempotent),
		"Fail":  connect.NewUnaryHandler("/test.Connect/Fail", s.fail),
		"Sum":   connect.NewClientStreamHandler("/test.Connect/Sum", s.sum),
		"Count": connect.NewServerStreamHandler("/test.Connect/Count", s.count),
		"Echo":  connect.NewBidiStreamHandler("/test.Connect/Echo", s.echo),
		"Time":  connect.NewUnaryHandler("/test.Connect/Time", s.time),
		"Hang":  connect.NewUnaryHandler("/test.Connect/Hang", s.hang),
	} {
		mux.Handle("/test.Connect/"+method, h)
	}
	serve := fasthttpadaptor.NewFastHTTPHandler(mux)
	return func(ctx *fasthttp.RequestCtx) {
		s.note(ctx)
		serve(ctx)
	}
}

// note records the protocol and the form of a request, such as "HTTP/2 POST application/grpc
// gzip".
func (s *connectService) note(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	words := []string{"HTTP/1", string(ctx.Method()), string(h.ContentType())}
	if ctx.IsHTTP2() {
		words[0] = "HTTP/2"
	}
	for _, name := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		if v := string(h.Peek(name)); v != "" && v != "identity" {
			words = append(words, v)
		}
	}
	s.mu.Lock()
	s.seen[strings.Join(words, " ")] = true
	s.mu.Unlock()
}

// missing returns the forms that have not been received.
func (s *connectService) missing(forms ...string) (missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, form := range forms {
		if !s.seen[form] {
			missing = append(missing, form)
		}
	}
	return missing
}
