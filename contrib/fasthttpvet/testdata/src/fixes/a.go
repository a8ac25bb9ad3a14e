// Package fixes has faults that a fix can mend.
package fixes

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var queue = make(chan []byte)

func body(ctx *fasthttp.RequestCtx) {
	b := ctx.PostBody()
	go func() { fmt.Println(b) }() // want `the result of PostBody`
}

func sends(ctx *fasthttp.RequestCtx) {
	queue <- ctx.Request.Header.Peek("a") // want `the result of Peek`
}

func text(c *fiber.Ctx) error {
	id := c.Params("id")
	go func() { fmt.Println(id) }() // want `the result of Params`
	return nil
}

func fetch(req *fasthttp.Request) []byte {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	return resp.Body() // want `a deferred call releases`
}

func whole(ctx *fasthttp.RequestCtx) {
	go func() { fmt.Println(ctx.ID()) }() // want `ctx \(\*fasthttp.RequestCtx\)`
}
