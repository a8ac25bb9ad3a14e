// Package fiber has the names of github.com/gofiber/fiber/v3 that tests need.
package fiber

import (
	"bufio"
	"context"

	"github.com/valyala/fasthttp"
)

type Ctx interface {
	Params(key string, def ...string) string
	Query(key string, def ...string) string
	Get(key string, def ...string) string
	Body() []byte
	Context() context.Context
	RequestCtx() *fasthttp.RequestCtx
	SendStreamWriter(w func(*bufio.Writer)) error
	SendString(s string) error
	Next() error
	Abandon()
}

type DefaultCtx struct{ Ctx }

func Query[V any](c Ctx, key string, def ...V) V { return *new(V) }
