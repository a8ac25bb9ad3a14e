package fasthttp

// LimitRequestBody limits the body of the request to limit bytes, as
// http.MaxBytesReader does. It is for servers with StreamRequestBody, where
// MaxRequestBodySize does not hold; of a body that is a stream it counts what is read
// from then on. A limit that is lower than one before holds, a higher one changes
// nothing.
//
// The error is ErrBodyTooLarge if the body is known to be larger. Otherwise reading
// it, or a form in it, fails with an error that wraps ErrBodyTooLarge once there are
// more than limit bytes. Of a stream that is too large no more is read, and the
// connection is closed behind the response, for which 413 is the status. A stream that
// the application has set in its place has no limit but that of what it reads from it.
func (ctx *RequestCtx) LimitRequestBody(limit int64) error {
	req := &ctx.Request
	limit = max(limit, 0)
	// the stream of a handler with a timeout is in the context around it
	if stream, ok := req.body.stream.(*bodyStream); ok && stream.in != nil {
		return stream.limit(limit)
	}
	switch {
	case req.onlyForm() && req.form.read > limit, int64(len(req.body.bytes())) > limit:
		return ErrBodyTooLarge
	}
	return nil
}
