package fasthttp

import (
	"errors"
	"mime/multipart"
)

// ErrMissingFile reports that a multipart form has no file under the key.
var ErrMissingFile = errors.New("fasthttp: there is no uploaded file associated with the given key")

// FormValueFunc looks up a form value; see Server.FormValueFunc. It returns nil if
// there is none.
type FormValueFunc func(*RequestCtx, string) []byte

// NetHttpFormValueFunc is a FormValueFunc that looks where net/http does, in the order
// of net/http: in the body first, then in the query. An empty argument counts as
// missing, except in a multipart form.
var NetHttpFormValueFunc = func(ctx *RequestCtx, key string) []byte {
	if value := ctx.PostArgs().Peek(key); len(value) > 0 {
		return value
	}
	if value := ctx.multipartValue(key); value != nil {
		return value
	}
	if value := ctx.QueryArgs().Peek(key); len(value) > 0 {
		return value
	}
	return nil
}

// FormValue returns the first value under key, which is searched for in the query, in
// a body of type application/x-www-form-urlencoded, and in a multipart form, in this
// order; Server.FormValueFunc may set another. It is nil if there is none, and if the body
// could not be read: see PostBodyError.
//
// A multipart form is parsed on first use, without a limit for its size other than
// the server's: if Server.StreamRequestBody is set, and bodies therefore have no
// limit, call MultipartFormWithLimit first.
func (ctx *RequestCtx) FormValue(key string) []byte {
	if ctx.s != nil && ctx.s.FormValueFunc != nil {
		return ctx.s.FormValueFunc(ctx, key)
	}
	if value := ctx.QueryArgs().Peek(key); len(value) > 0 {
		return value
	}
	if value := ctx.PostArgs().Peek(key); len(value) > 0 {
		return value
	}
	return ctx.multipartValue(key)
}

// multipartValue returns the first value of the multipart form under key, or
// nil.
func (ctx *RequestCtx) multipartValue(key string) []byte {
	form, err := ctx.MultipartForm()
	if err != nil || len(form.Value[key]) == 0 {
		return nil
	}
	return []byte(form.Value[key][0])
}

// FormFile returns the first file of the multipart form under key, or ErrMissingFile
// if there is none, or the error of MultipartForm. See there for how long the file
// lives, and SaveMultipartFile for keeping it longer.
func (ctx *RequestCtx) FormFile(key string) (*multipart.FileHeader, error) {
	form, err := ctx.MultipartForm()
	if err != nil {
		return nil, err
	}
	files := form.File[key]
	if len(files) == 0 {
		return nil, ErrMissingFile
	}
	return files[0], nil
}

// MultipartForm returns the form in a body of type multipart/form-data, or
// ErrNoMultipartForm; see Request.MultipartForm. It is valid, and its files exist,
// until the handler returns.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) {
	return ctx.Request.MultipartForm()
}

// MultipartFormWithLimit is MultipartForm with a limit for the body in bytes;
// see Request.MultipartFormWithLimit.
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}
