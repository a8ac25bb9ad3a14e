package grpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// The service answers messages of plain bytes. A gRPC server needs no more than this: frames
// of five bytes and a message, in the content of requests and responses, and the outcome in
// the trailers.

// readMessage returns the next message of a request.
func readMessage(r io.Reader) ([]byte, error) {
	var prefix [5]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	if prefix[0] != 0 {
		return nil, errors.New("compressed messages are not supported")
	}
	b := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

// appendMessage appends a message with its frame.
func appendMessage(dst, message []byte) []byte {
	dst = append(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(message)))
	return append(dst, message...)
}

// service is a handler, for servers that stream bodies:
//
//	/test.Service/Unary    answers with the message
//	/test.Service/Fail answers with an error and no message
//	/test.Service/Late     answers with an error after a message
//	/test.Service/Count    answers "n" with n messages
//	/test.Service/Sum      answers with the number of messages, and of their bytes
//	/test.Service/Echo     answers each message at once
//	/test.Service/Hang reports to hangs, and to gone when the client has disconnected
type service struct {
	hangs chan bool
	gone  chan error
}

func (s *service) serve(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.SetContentType("application/grpc")
	if !strings.HasPrefix(string(ctx.Request.Header.ContentType()), "application/grpc") || string(ctx.Request.Header.Peek("TE")) != "trailers" {
		ctx.Error("this is a service of gRPC", fasthttp.StatusUnsupportedMediaType)
		return
	}
	_, method, _ := strings.Cut(strings.TrimPrefix(string(ctx.Path()), "/"), "/")
	if method == "Fail" {
		// a response of trailers alone has the status in its head
		h.Set("Grpc-Status", "5")
		h.Set("Grpc-Message", "nothing here: 100%25 sure")
		h.Set("X-Detail", "some")
		return
	}
	body := ctx.RequestBodyStream()
	status, text := "0", ""
	if err := h.SetTrailer("Grpc-Status, Grpc-Message, X-Detail"); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	h.Set("X-Method", method)
	switch method {
	case "Unary", "Late":
		message, err := readMessage(body)
		if err != nil {
			status, text = "13", err.Error()
		}
		ctx.SetBody(appendMessage(nil, message))
		if method == "Late" {
			status, text = "8", "enough"
		}
	case "Count":
		message, err := readMessage(body)
		n, errN := strconv.Atoi(string(message))
		if err = errors.Join(err, errN); err != nil {
			status, text = "3", err.Error()
			break
		}
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range n {
				_, _ = w.Write(appendMessage(nil, fmt.Appendf(nil, "%d of %d", i+1, n)))
				if w.Flush() != nil {
					return
				}
			}
		})
	case "Sum":
		messages, size := 0, 0
		for {
			message, err := readMessage(body)
			if err != nil {
				break
			}
			messages++
			size += len(message)
		}
		ctx.SetBody(appendMessage(nil, fmt.Appendf(nil, "%d %d", messages, size)))
	case "Echo":
		ctx.EnableFullDuplex()
		ctx.Response.ImmediateHeaderFlush = true
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for {
				message, err := readMessage(body)
				if err != nil {
					return
				}
				_, _ = w.Write(appendMessage(nil, message))
				if w.Flush() != nil {
					return
				}
			}
		})
	case "Hang":
		ctx.WatchDisconnect()
		s.hangs <- true
		<-ctx.Done()
		s.gone <- ctx.Err()
		return
	default:
		status, text = "12", "no such method"
	}
	h.Set("Grpc-Status", status)
	h.Set("Grpc-Message", text)
	h.Set("X-Detail", "some")
}
