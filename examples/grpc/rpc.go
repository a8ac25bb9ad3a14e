package main

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"github.com/valyala/fasthttp/examples/grpc/boardpb"
)

// grpcBoard is the service for grpc-go.
type grpcBoard struct {
	boardpb.UnimplementedBoardServer
	*board
}

func (s grpcBoard) Post(_ context.Context, req *boardpb.PostRequest) (*boardpb.PostResponse, error) {
	note, err := s.post(req.GetAuthor(), req.GetText())
	return &boardpb.PostResponse{Note: note}, err
}

func (s grpcBoard) List(_ *boardpb.ListRequest, stream grpc.ServerStreamingServer[boardpb.ListResponse]) error {
	for _, note := range s.list() {
		if err := stream.Send(&boardpb.ListResponse{Note: note}); err != nil {
			return err
		}
	}
	return nil
}

func (s grpcBoard) Talk(stream grpc.BidiStreamingServer[boardpb.TalkRequest, boardpb.TalkResponse]) error {
	return s.talk(stream.Context(), stream.Recv, stream.Send)
}

// connectBoard is the service for connect-go.
type connectBoard struct{ *board }

func (s connectBoard) Post(_ context.Context, req *boardpb.PostRequest) (*boardpb.PostResponse, error) {
	note, err := s.post(req.GetAuthor(), req.GetText())
	return &boardpb.PostResponse{Note: note}, connectError(err)
}

func (s connectBoard) List(_ context.Context, _ *boardpb.ListRequest, stream *connect.ServerStream[boardpb.ListResponse]) error {
	for _, note := range s.list() {
		if err := stream.Send(&boardpb.ListResponse{Note: note}); err != nil {
			return err
		}
	}
	return nil
}

func (s connectBoard) Talk(ctx context.Context, stream *connect.BidiStream[boardpb.TalkRequest, boardpb.TalkResponse]) error {
	// connect-go wraps io.EOF
	receive := func() (*boardpb.TalkRequest, error) {
		req, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			err = io.EOF
		}
		return req, err
	}
	return connectError(s.talk(ctx, receive, stream.Send))
}

// connectError returns err with its code.
func connectError(err error) error {
	if e, ok := errors.AsType[*failure](err); ok {
		return connect.NewError(connect.Code(e.code), e)
	}
	return err
}
