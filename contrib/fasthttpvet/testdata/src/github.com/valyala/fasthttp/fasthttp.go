// Package fasthttp has the names of github.com/valyala/fasthttp that tests need.
package fasthttp

import (
	"bufio"
	"io"
	"iter"
	"mime/multipart"
	"time"
)

type RequestCtx struct {
	Request  Request
	Response Response
}

type (
	Request        struct{ Header RequestHeader }
	Response       struct{ Header ResponseHeader }
	RequestHeader  struct{ _ int }
	ResponseHeader struct{ _ int }
	Args           struct{ _ int }
	URI            struct{ _ int }
	Client         struct{ StreamResponseBody bool }
	RequestHandler func(ctx *RequestCtx)
	StreamWriter   func(w *bufio.Writer)
)

func (ctx *RequestCtx) PostBody() []byte { return *new([]byte) }
func (ctx *RequestCtx) Path() []byte     { return *new([]byte) }
func (ctx *RequestCtx) QueryArgs() *Args { return *new(*Args) }
func (ctx *RequestCtx) URI() *URI        { return *new(*URI) }
func (ctx *RequestCtx) FormFile(key string) (*multipart.FileHeader, error) {
	return *new(*multipart.FileHeader), *new(error)
}
func (ctx *RequestCtx) UserValue(key any) any               { return *new(any) }
func (ctx *RequestCtx) SetUserValue(key, value any)         {}
func (ctx *RequestCtx) SetBodyStreamWriter(sw StreamWriter) {}
func (ctx *RequestCtx) TimeoutError(msg string)             {}
func (ctx *RequestCtx) EnableFullDuplex()                   {}
func (ctx *RequestCtx) RequestBodyStream() io.Reader        { return *new(io.Reader) }
func (ctx *RequestCtx) SetStatusCode(code int)              {}
func (ctx *RequestCtx) Write(p []byte) (int, error)         { return *new(int), *new(error) }
func (ctx *RequestCtx) ID() uint64                          { return *new(uint64) }
func (ctx *RequestCtx) Deadline() (time.Time, bool)         { return *new(time.Time), *new(bool) }
func (ctx *RequestCtx) Done() <-chan struct{}               { return *new(<-chan struct{}) }
func (ctx *RequestCtx) Err() error                          { return *new(error) }
func (ctx *RequestCtx) Value(key any) any                   { return *new(any) }

func (req *Request) Body() []byte             { return *new([]byte) }
func (req *Request) URI() *URI                { return *new(*URI) }
func (req *Request) SetRequestURI(uri string) {}
func (req *Request) CopyTo(dst *Request)      {}
func (resp *Response) Body() []byte           { return *new([]byte) }
func (resp *Response) SetBody(b []byte)       {}
func (resp *Response) SetBodyRaw(b []byte)    {}
func (resp *Response) BodyStream() io.Reader  { return *new(io.Reader) }
func (resp *Response) CloseBodyStream() error { return *new(error) }
func (resp *Response) Reset()                 {}
func (resp *Response) StatusCode() int        { return *new(int) }

func (h *RequestHeader) Peek(key string) []byte             { return *new([]byte) }
func (h *RequestHeader) PeekAll(key string) [][]byte        { return *new([][]byte) }
func (h *RequestHeader) UserAgent() []byte                  { return *new([]byte) }
func (h *RequestHeader) String() string                     { return *new(string) }
func (h *RequestHeader) VisitAll(f func(key, value []byte)) {}
func (h *RequestHeader) All() iter.Seq2[[]byte, []byte]     { return *new(iter.Seq2[[]byte, []byte]) }
func (h *RequestHeader) CopyTo(dst *RequestHeader)          {}
func (a *Args) Peek(key string) []byte                      { return *new([]byte) }
func (u *URI) Path() []byte                                 { return *new([]byte) }
func (u *URI) String() string                               { return *new(string) }

func (c *Client) Do(req *Request, resp *Response) error { return *new(error) }

func AcquireRequest() *Request    { return *new(*Request) }
func ReleaseRequest(req *Request) {}
func AcquireResponse() *Response  { return *new(*Response) }
func ReleaseResponse(r *Response) {}
func AcquireArgs() *Args          { return *new(*Args) }
func ReleaseArgs(a *Args)         {}
func AcquireURI() *URI            { return *new(*URI) }
func ReleaseURI(u *URI)           {}
