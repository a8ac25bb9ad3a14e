package fasthttp

// SendFile answers with the file that path names; see ServeFile, for which it is
// another name. Errors are logged and answered with a status code of their own.
//
// path must never be made of text from a client: it can name every file of the
// system. Use an FS with a Root for that.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes is SendFile for a byte slice.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral is SendFile that uses path as it is; see ServeFileLiteral.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }
