package fasthttp

// LimitRequestBody limits the body of the request to limit bytes, as http.MaxBytesReader does.
// It is for bodies that the handler gets as they arrive, by StreamRequestBody or
// BodyModeStream, to which MaxRequestBodySize does not apply. If the body is a stream, it
// counts the bytes that are read after the call. A limit lower than an earlier one replaces
// it, a higher one changes nothing.
//
// The error is ErrBodyTooLarge if the body is known to be larger. Otherwise reading it,
// or a form in it, fails with an error that wraps ErrBodyTooLarge once there are more
// than limit bytes. The server stops reading a stream that exceeds the limit, and
// closes the connection after the response, whose status should be 413. A stream with
// which the application has replaced the body is limited only by the body that it reads
// from.
func (ctx *RequestCtx) LimitRequestBody(limit int64) error {
	req := &ctx.Request
	limit = max(limit, 0)
	// of a handler with a timeout, the context around it has the source
	if source, ok := req.body.stream.(contentSource); ok {
		return source.Limit(limit)
	}
	switch {
	case req.onlyForm() && req.form.read > limit, int64(len(req.body.bytes())) > limit:
		return ErrBodyTooLarge
	}
	return nil
}
