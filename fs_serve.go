package fasthttp

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/uri"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// The functions below answer a request with one file that the application names,
// whatever the method of the request is. They can serve every file of the file system.
// So the application must not pass them a path that depends on client input. An FS with
// a Root is for that.

// ServeFile answers with the file, or the index page of the directory, that path names.
// The path is absolute or relative to the working directory. The file is cached, and
// compressed for clients that accept gzip, brotli or zstd, as FS.Compress describes,
// which also documents the place of copies. ServeFile evaluates conditions and byte
// ranges of the request.
//
// path is parsed as the path of a URI: ServeFile decodes escapes in it, and removes a
// question mark or number sign and the text after it. ServeFileLiteral uses path as
// it is.
func ServeFile(ctx *RequestCtx, path string) { serveFile(ctx, compressingHandler(), pathOfURI(path)) }

// ServeFileBytes is ServeFile for a byte slice.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, bytesconv.String(path)) }

// ServeFileUncompressed is ServeFile without compression, for content that
// compression does not make smaller.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveFile(ctx, plainHandler(), pathOfURI(path))
}

// ServeFileBytesUncompressed is ServeFileUncompressed for a byte slice.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, bytesconv.String(path))
}

// ServeFileLiteral is ServeFile that uses path as it is, including percent signs,
// question marks and number signs.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveFile(ctx, compressingHandler(), path) }

// ServeFS is ServeFile for a file of filesystem. path is relative to its root, with
// or without a slash at its beginning. If filesystem is nil, ServeFS logs that, and the
// response is 500.
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveFromFS(ctx, filesystem, pathOfURI(path))
}

// ServeFSLiteral is ServeFS that uses path as it is.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveFromFS(ctx, filesystem, path)
}

// FileLastModified returns the modification time of the file that path names, in UTC,
// truncated to the second like a Last-Modified field. It returns the error of os.Stat.
func FileLastModified(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime().UTC().Truncate(time.Second), nil
}

// ParseByteRange parses the value of a Range field with one range of contentLength
// bytes: "bytes=0-99", "bytes=100-" or, for the last bytes, "bytes=-100" (RFC 9110
// section 14.1.2). It returns the positions of the first and the last byte. A range
// that ends after the content is shortened to end with it.
//
// ParseByteRange returns an error if the value has several ranges or another unit, or
// if the range contains no byte of the content. Empty content always is an error.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return files.ParseByteRange(byteRange, contentLength)
}

// compressingHandler and plainHandler return the handlers for all files of the operating
// system.
var (
	compressingHandler = sync.OnceValue(func() *fileHandler {
		return servingHandler(&FS{AllowEmptyRoot: true, Compress: true, CompressBrotli: true, CompressZstd: true})
	})
	plainHandler = sync.OnceValue(func() *fileHandler { return servingHandler(&FS{AllowEmptyRoot: true}) })
)

// servingHandler makes a handler for files that the application names.
func servingHandler(s *FS) *fileHandler {
	s.GenerateIndexPages, s.AcceptByteRange = true, true
	found := s.settings()
	// the application may name hidden files, and there is no Root that could be
	// missing
	found.FindHidden, found.RootIsThere = true, true
	h := newFileHandler(s, found)
	h.readMethods = false
	return h
}

// pathOfURI returns the decoded form of a path as it appears in a URI.
func pathOfURI(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	return string(urlencoded.AppendDecodedPath(nil, bytesconv.Bytes(path)))
}

// endOfNamed returns the end of path, which decides whether relative links on the
// page of a directory work: they do if the client's own path, or path, ends in a
// slash. A file is found in any case.
func endOfNamed(ctx *RequestCtx, path string) files.End {
	if files.EndOf(ctx.Path()) == files.EndsAsDir || path != "" && os.IsPathSeparator(path[len(path)-1]) {
		return files.EndsInSlash
	}
	return files.EndsInName
}

func serveFile(ctx *RequestCtx, h *fileHandler, path string) {
	full, err := filepath.Abs(path)
	if err != nil {
		h.refuse(ctx, err)
		return
	}
	h.serve(ctx, bytesconv.Bytes(filepath.ToSlash(full)), endOfNamed(ctx, path))
}

func serveFromFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	if filesystem == nil {
		// in the settings of an FS, nil means the file system of the operating system
		ctx.Logger().Printf("cannot serve file: the file system for %q is nil", path)
		ctx.Error("Cannot open requested path", StatusInternalServerError)
		return
	}
	end := files.EndsInSlash
	if path != "" {
		end = endOfNamed(ctx, path)
	}
	handlerFor(filesystem).serve(ctx, bytesconv.Bytes(cleanPath(path)), end)
}

// cleanPath resolves dot segments, which the application may use.
func cleanPath(path string) string {
	b := []byte("/" + path)
	return string(b[:uri.NormalizePath(b)])
}

// maxFileSystems is the number of file systems whose handlers, with their caches, are
// kept.
const maxFileSystems = 32

// fileSystems holds the handlers for comparable file systems.
var fileSystems struct {
	mu       sync.Mutex
	handlers map[fs.FS]*fileHandler
}

// handlerFor returns the handler for a file system.
func handlerFor(filesystem fs.FS) *fileHandler {
	settings := &FS{FS: filesystem, Compress: true, CompressBrotli: true, CompressZstd: true}
	if !reflect.ValueOf(filesystem).Comparable() {
		settings.SkipCache = true
		return servingHandler(settings)
	}
	k := &fileSystems
	var dropped []*fileHandler
	defer func() {
		// closes files of the application, so not with the lock held
		for _, old := range dropped {
			old.finder.Clear()
		}
	}()
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.handlers[filesystem]
	if h != nil {
		return h
	}
	if k.handlers == nil {
		k.handlers = map[fs.FS]*fileHandler{}
	}
	for other, old := range k.handlers {
		if len(k.handlers) < maxFileSystems {
			break
		}
		dropped = append(dropped, old)
		delete(k.handlers, other)
	}
	h = servingHandler(settings)
	k.handlers[filesystem] = h
	return h
}

var noSniffValue = []byte("nosniff")

// send answers with the representation c. It takes over the caller's share of c. If it cannot
// open the file, it returns the error, and has set nothing.
func (h *fileHandler) send(ctx *RequestCtx, n *files.Node, c *files.Content) error {
	req, resp := &ctx.Request.Header, &ctx.Response
	isRead := ctx.IsGet() || ctx.IsHead()
	if isRead {
		switch files.EvalPreconditions(&req.head.List, c.Validator()) {
		case StatusNotModified:
			c.Release()
			resp.ResetBody()
			resp.SetStatusCode(StatusNotModified)
			h.setValidators(resp, n, c)
			return nil
		case StatusPreconditionFailed:
			c.Release()
			ctx.Error("Precondition failed", StatusPreconditionFailed)
			return nil
		}
	}
	var few [files.MaxRanges]files.Span
	var spans []files.Span
	if h.ranges && isRead && req.head.List.FindID(field.Range, 0) >= 0 && files.RangeApplies(&req.head.List, c.Validator(), clock.Now()) {
		var err error
		if spans, err = files.ParseRanges(few[:0], req.peekID(field.Range), c.Size); err != nil {
			c.Release()
			var text [48]byte
			ctx.Error("Range Not Satisfiable", StatusRequestedRangeNotSatisfiable)
			resp.Header.setID(field.ContentRange, files.AppendUnsatisfied(text[:0], c.Size))
			return nil
		}
	}
	var opened io.ReadCloser
	if c.HasToBeReopened() && !ctx.IsHead() {
		var err error
		if opened, err = c.Reopen(partOf(c, spans)); err != nil {
			return err
		}
	}
	h.setFields(resp, n, c)
	setBody(ctx, c, spans, opened)
	return nil
}

// partOf returns the only part to send, or all of c. Content without random access is sent as a
// whole instead of in several parts.
func partOf(c *files.Content, spans []files.Span) files.Span {
	if len(spans) == 1 {
		return spans[0]
	}
	return files.Span{Length: c.Size}
}

// setFields sets the fields that 200 and 206 have in common. It keeps a Content-Type
// that the application has set. If the application has set no other field, the
// fields set here are the same for all responses with this content, and are cached.
func (h *fileHandler) setFields(resp *Response, n *files.Node, c *files.Content) {
	if resp.Header.head.Slots[header.SlotContentType].Len == 0 {
		resp.Header.SetContentTypeBytes(c.Type)
	}
	if c.Coding != "" {
		resp.Header.SetContentEncoding(c.Coding)
	}
	alike := h.finder.IsCaching() && len(resp.Header.head.List.Entries) == 0 && resp.StatusCode() == StatusOK
	if lines, ok := c.Fields.Load().(*header.Lines); alike && ok {
		resp.Header.head.AppendLines(lines)
		return
	}
	if h.ranges {
		resp.Header.setID(field.AcceptRanges, []byte("bytes"))
	}
	if h.noSniff || n.IsPage() {
		setDefault(&resp.Header, field.XContentTypeOptions, noSniffValue)
	}
	if n.IsPage() {
		setDefault(&resp.Header, field.ContentSecurityPolicy, files.PagePolicy)
	}
	h.setValidators(resp, n, c)
	if alike {
		c.Fields.Store(header.LinesOf(&resp.Header.head.List))
	}
}

// setValidators sets the fields that a 304 needs as well (RFC 9110 section 15.4.5).
func (h *fileHandler) setValidators(resp *Response, n *files.Node, c *files.Content) {
	if len(c.ETag) > 0 {
		resp.Header.setID(field.Etag, c.ETag)
	}
	// the tag is the better validator for a client that has the content
	if len(c.LastModified) > 0 && (len(c.ETag) == 0 || resp.StatusCode() != StatusNotModified) {
		resp.Header.setID(field.LastModified, c.LastModified)
	}
	if len(h.cacheControl) > 0 {
		setDefault(&resp.Header, field.CacheControl, h.cacheControl)
	}
	if h.finder.HasCodings() {
		resp.Header.varyBy(HeaderAcceptEncoding)
	}
	if n.IsPage() {
		resp.Header.varyBy(HeaderAccept)
	}
}

// setBody sets the status and the body: all of the content if there are no spans,
// otherwise these parts of it. opened is the stream of content that has to be reopened.
func setBody(ctx *RequestCtx, c *files.Content, spans []files.Span, opened io.ReadCloser) {
	resp := &ctx.Response
	resp.SetStatusCode(StatusOK)
	part := partOf(c, spans)
	switch len(spans) {
	case 0:
	case 1:
		var text [72]byte
		resp.SetStatusCode(StatusPartialContent)
		resp.Header.setID(field.ContentRange, files.AppendContentRange(text[:0], part, c.Size))
	default:
		if src := c.ReaderAt(); src != nil {
			sendRanges(ctx, c, src, spans)
			return
		}
	}
	if ctx.IsHead() {
		c.Release()
		skipBody(resp, part.Length)
		return
	}
	if data, ok := c.Bytes(part); ok {
		resp.SetBodyRaw(data)
		return
	}
	if shared := c.Shared(); shared != nil {
		opened = newFileStream(shared.Part(part))
	}
	resp.SetBodyStream(opened, streamSize(part.Length))
}

// sendRanges makes several ranges the body, as multipart/byteranges.
func sendRanges(ctx *RequestCtx, c *files.Content, src io.ReaderAt, spans []files.Span) {
	resp := &ctx.Response
	boundary := files.NewBoundary()
	body := files.NewByteRanges(src, spans, c.Size, resp.Header.ContentType(), boundary, func() error {
		c.Release()
		return nil
	})
	resp.SetStatusCode(StatusPartialContent)
	resp.Header.SetContentType("multipart/byteranges; boundary=" + boundary)
	if ctx.IsHead() {
		_ = body.Close()
		skipBody(resp, body.Size)
		return
	}
	resp.SetBodyStream(body, streamSize(body.Size))
}

// skipBody makes the response fit HEAD: without the body, but with its length.
func skipBody(resp *Response, size int64) {
	resp.ResetBody()
	resp.SkipBody = true
	resp.Header.SetContentLength(streamSize(size))
}

// setDefault sets a field, unless the application has set it.
func setDefault(h *ResponseHeader, id field.ID, value []byte) {
	if h.head.List.FindID(id, 0) < 0 {
		h.setID(id, value)
	}
}
