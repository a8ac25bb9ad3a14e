package main

import (
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/examples/grpc/boardpb"
)

// rest is the API for clients without protobuf: GET and POST of /notes. It is a handler without
// net/http types.
func (b *board) rest(ctx *fasthttp.RequestCtx) {
	switch {
	case string(ctx.Path()) == "/healthz":
		ctx.WriteString("ok\n")
	case string(ctx.Path()) != "/notes":
		ctx.NotFound()
	case ctx.IsGet() || ctx.IsHead():
		notes := make([]json.RawMessage, 0)
		for _, note := range b.list() {
			one, err := protojson.Marshal(note)
			if err != nil {
				ctx.Error("the notes cannot be encoded", fasthttp.StatusInternalServerError)
				return
			}
			notes = append(notes, one)
		}
		respond(ctx, fasthttp.StatusOK, notes)
	case ctx.IsPost():
		var req boardpb.PostRequest
		if err := protojson.Unmarshal(ctx.PostBody(), &req); err != nil {
			respond(ctx, fasthttp.StatusBadRequest, map[string]string{"error": "the body is not the expected JSON"})
			return
		}
		note, err := b.post(req.GetAuthor(), req.GetText())
		if e, ok := errors.AsType[*failure](err); ok {
			respond(ctx, e.http, map[string]string{"error": e.text})
			return
		}
		body, err := protojson.Marshal(note)
		if err != nil {
			ctx.Error("the note cannot be encoded", fasthttp.StatusInternalServerError)
			return
		}
		respond(ctx, fasthttp.StatusCreated, json.RawMessage(body))
	default:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD, POST")
		ctx.SetStatusCode(fasthttp.StatusMethodNotAllowed)
	}
}

// respond responds with JSON.
func respond(ctx *fasthttp.RequestCtx, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		ctx.Error("the response cannot be encoded", fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetStatusCode(code)
	ctx.SetContentType("application/json")
	ctx.SetBody(append(body, '\n'))
}
