package report

import (
	"errors"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
)

var sentinels = []struct {
	name string
	err  error
}{
	{"io.EOF", io.EOF},
	{"io.ErrUnexpectedEOF", io.ErrUnexpectedEOF},
	{"ErrBadTrailer", fasthttp.ErrBadTrailer},
	{"ErrBodyTooLarge", fasthttp.ErrBodyTooLarge},
	{"ErrDuplicateContentLength", fasthttp.ErrDuplicateContentLength},
	{"ErrEmptyRequestURI", fasthttp.ErrEmptyRequestURI},
	{"ErrExtraWhitespaceInRequestLine", fasthttp.ErrExtraWhitespaceInRequestLine},
	{"ErrGetOnly", fasthttp.ErrGetOnly},
	{"ErrInvalidCookieValue", fasthttp.ErrInvalidCookieValue},
	{"ErrMissingRequestMethod", fasthttp.ErrMissingRequestMethod},
	{"ErrNeedMore", fasthttp.ErrNeedMore},
	{"ErrNoArgValue", fasthttp.ErrNoArgValue},
	{"ErrNoCookies", fasthttp.ErrNoCookies},
	{"ErrNonNumericChars", fasthttp.ErrNonNumericChars},
	{"ErrReadingResponseHeaders", fasthttp.ErrReadingResponseHeaders},
	{"ErrReadingResponseTrailer", fasthttp.ErrReadingResponseTrailer},
	{"ErrResponseFirstLineMissingSpace", fasthttp.ErrResponseFirstLineMissingSpace},
	{"ErrSmallReadBuffer", fasthttp.ErrSmallReadBuffer},
	{"ErrUnexpectedStatusCodeChar", fasthttp.ErrUnexpectedStatusCodeChar},
	{"ErrUnsupportedRequestMethod", fasthttp.ErrUnsupportedRequestMethod},
	{"ErrUnsupportedTransferEncoding", fasthttp.ErrUnsupportedTransferEncoding},
	{"ErrorInvalidURI", fasthttp.ErrorInvalidURI},
}

// ErrClass returns the class of an error as errors.Is and errors.As reveal it: "nil", "error"
// for an error that matches no exported name, or the names that it matches.
func ErrClass(err error) string {
	if err == nil {
		return "nil"
	}
	var names []string
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	if as[*fasthttp.ErrSmallBuffer](err) {
		names = append(names, "*ErrSmallBuffer")
	}
	if as[fasthttp.ErrNothingRead](err) {
		names = append(names, "ErrNothingRead")
	}
	if as[fasthttp.ErrBrokenChunk](err) {
		names = append(names, "ErrBrokenChunk")
	}
	if as[fasthttp.ErrBodyStreamWritePanic](err) || as[*fasthttp.ErrBodyStreamWritePanic](err) {
		names = append(names, "ErrBodyStreamWritePanic")
	}
	if as[fasthttp.EscapeError](err) {
		names = append(names, "EscapeError")
	}
	if as[fasthttp.InvalidHostError](err) {
		names = append(names, "InvalidHostError")
	}
	if len(names) == 0 {
		return "error"
	}
	return strings.Join(names, "+")
}

func as[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// Err prints the class of err as a compared field and its text as an uncompared field.
func (c *Case) Err(field string, err error) {
	c.Str(field, ErrClass(err))
	if err != nil {
		c.Str("~"+field, err.Error())
	}
}
