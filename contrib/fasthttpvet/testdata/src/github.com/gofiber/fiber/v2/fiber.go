// Package fiber has the names of github.com/gofiber/fiber/v2 that tests need.
package fiber

import (
	"mime/multipart"

	"github.com/valyala/fasthttp"
)

type (
	Ctx     struct{ _ int }
	Map     map[string]any
	Handler = func(*Ctx) error
	App     struct{ _ int }
	Config  struct{ Immutable bool }
)

func New(config ...Config) *App                            { return *new(*App) }
func (app *App) Get(path string, handlers ...Handler) *App { return *new(*App) }

func (c *Ctx) Params(key string, def ...string) string    { return *new(string) }
func (c *Ctx) Query(key string, def ...string) string     { return *new(string) }
func (c *Ctx) Get(key string, def ...string) string       { return *new(string) }
func (c *Ctx) Cookies(key string, def ...string) string   { return *new(string) }
func (c *Ctx) FormValue(key string, def ...string) string { return *new(string) }
func (c *Ctx) Queries() map[string]string                 { return *new(map[string]string) }
func (c *Ctx) GetReqHeaders() map[string][]string         { return *new(map[string][]string) }
func (c *Ctx) OriginalURL() string                        { return *new(string) }
func (c *Ctx) IP() string                                 { return *new(string) }
func (c *Ctx) Method(override ...string) string           { return *new(string) }
func (c *Ctx) Body() []byte                               { return *new([]byte) }
func (c *Ctx) BodyParser(out any) error                   { return *new(error) }
func (c *Ctx) QueryParser(out any) error                  { return *new(error) }
func (c *Ctx) Context() *fasthttp.RequestCtx              { return *new(*fasthttp.RequestCtx) }
func (c *Ctx) Request() *fasthttp.Request                 { return *new(*fasthttp.Request) }
func (c *Ctx) Response() *fasthttp.Response               { return *new(*fasthttp.Response) }
func (c *Ctx) Locals(key any, value ...any) any           { return *new(any) }
func (c *Ctx) Send(b []byte) error                        { return *new(error) }
func (c *Ctx) SendString(s string) error                  { return *new(error) }
func (c *Ctx) JSON(v any) error                           { return *new(error) }
func (c *Ctx) Next() error                                { return *new(error) }
func (c *Ctx) FormFile(key string) (*multipart.FileHeader, error) {
	return *new(*multipart.FileHeader), *new(error)
}
