package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync/atomic"
	"syscall"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/percent"
)

// fileHandler answers requests with files. A request goes through small steps:
//
//	handle  what path it is about
//	find    what that path stands for: a node, from the cache or looked up
//	choose  which representation of it the client gets
//	send    conditions, ranges, and the response
type fileHandler struct {
	tree        fs.FS
	only        string       // the one file that there is, under the path "/"; "" for a tree of files
	cache       *nodeCache   // nil for none
	codings     *fileCodings // nil for none
	indexNames  []string
	pages       bool
	ranges      bool
	tags        tagKind
	types       typesByExtension
	fields      fileFields
	readMethods bool // only GET and HEAD are answered
	hidden      bool // names that begin with a dot are found
	listsHidden bool // and are on pages
	rewrite     PathRewriteFunc
	notFound    RequestHandler
	rootState   atomic.Uint32 // of rootUnknown and so on
}

// What find can fail with, beside the errors of opening a file.
var (
	errNoSlash    = errors.New("fasthttp: path of a directory does not end in a slash")
	errNoIndex    = errors.New("fasthttp: directory has no index")
	errDeniedName = errors.New("fasthttp: index file cannot be opened")

	errNoDirectory = errors.New("fasthttp: not a directory")
)

// pathEnd says what the end of a path means.
type pathEnd uint8

const (
	endsInName  pathEnd = iota // a directory needs a slash there: it is what relative links in its content refer to
	endsInSlash                // a directory, or a file to which the application has given such a path
	endsAsDir                  // the client's own path, with a slash: no file has it
)

// endOf returns how a path of a client ends.
func endOf(p []byte) pathEnd {
	if n := len(p); n > 0 && p[n-1] == '/' || n > 1 && p[n-1] == '.' && p[n-2] == '/' {
		return endsAsDir
	}
	return endsInName
}

// handle is the RequestHandler.
func (h *fileHandler) handle(ctx *RequestCtx) {
	p := ctx.Path()
	end := endOf(p)
	if h.rewrite != nil {
		p = h.rewrite(ctx)
		// a rewriter that puts a slash there wants no redirect to one, and one
		// that takes it off wants a file
		if rewritten := endOf(p); rewritten != end {
			end = endsInSlash
		}
	}
	if h.only != "" && end == endsAsDir {
		end = endsInSlash
	}
	h.serve(ctx, p, end)
}

// serve answers with what the path p stands for.
func (h *fileHandler) serve(ctx *RequestCtx, p []byte, end pathEnd) {
	// the cache may let go of a node between find and acquire
	for {
		n, err := h.find(ctx, p, end)
		if err == nil && end == endsAsDir && !n.dir {
			h.done(n)
			err = fs.ErrNotExist
		}
		if err == errNoSlash || err == nil {
			if h.readMethods && !ctx.IsGet() && !ctx.IsHead() {
				h.done(n)
				ctx.Error("Method not allowed", StatusMethodNotAllowed)
				ctx.Response.Header.setID(field.Allow, []byte("GET, HEAD"))
				return
			}
		}
		if err != nil {
			h.refuse(ctx, err)
			return
		}
		c := h.choose(ctx, n)
		if c.acquire() {
			h.send(ctx, n, c)
			h.done(n)
			return
		}
		h.cache.forget(n)
	}
}

// done lets go of a node that is in no cache.
func (h *fileHandler) done(n *node) {
	if h.cache == nil && n != nil {
		for _, part := range n.parts() {
			part.drop()
		}
	}
}

// redirectToSlash redirects to the path of the request with a slash behind it. A
// reference that begins with a dot leads to no other host, whatever the path is,
// and holds as well behind a proxy that takes something off paths.
func redirectToSlash(ctx *RequestCtx) {
	u := ctx.URI()
	segment := u.PathOriginal()
	segment = segment[bytes.LastIndexByte(segment, '/')+1:]
	if len(segment) == 0 {
		segment = percent.AppendPath(nil, u.LastPathSegment())
	}
	// an escaped slash is one more, which needs no redirect
	segment = bytes.TrimLeft(percent.AppendRecodedPath(nil, segment), "/")
	location := append(append(make([]byte, 0, 64), "./"...), segment...)
	location = append(location, '/')
	ctx.Response.Header.setID(field.Location, u.appendQuery(location))
	ctx.Response.SetStatusCode(StatusFound)
}

// refuse answers with an error.
func (h *fileHandler) refuse(ctx *RequestCtx, err error) {
	switch {
	case err == errNoSlash:
		redirectToSlash(ctx)
	case err == errHostileName:
		ctx.Logger().Printf("%v: %q", err, ctx.Path())
		ctx.Error("Malformed path", StatusBadRequest)
	case err == errNoIndex, errors.Is(err, errDeniedName):
		ctx.Error("Directory index is forbidden", StatusForbidden)
	case isServersFault(err):
		ctx.Logger().Printf("cannot serve file: %v", err)
		ctx.Error("Cannot open requested path", StatusInternalServerError)
	default:
		if errors.Is(err, fs.ErrPermission) {
			ctx.Logger().Printf("cannot open file: %v", err)
		}
		h.noteRoot(ctx)
		if h.notFound != nil {
			h.notFound(ctx)
			return
		}
		ctx.Error("Cannot open requested path", StatusNotFound)
	}
}

// isServersFault reports whether err says nothing of the file that was asked for.
func isServersFault(err error) bool {
	for _, fault := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, errChanged, errLookupFailed} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// What is known of the root of a handler.
const (
	rootUnknown = iota
	rootSeen
	rootMissed // which was logged
)

// noteRoot logs that there is no root, so that it need not be guessed why nothing
// is found.
func (h *fileHandler) noteRoot(ctx *RequestCtx) {
	if h.rootState.Load() != rootUnknown {
		return
	}
	info, err := fs.Stat(h.tree, ".")
	if err == nil && !info.IsDir() {
		err = errNoDirectory
	}
	if err == nil {
		h.rootState.Store(rootSeen)
	} else if h.rootState.CompareAndSwap(rootUnknown, rootMissed) {
		ctx.Logger().Printf("FS.Root cannot be served, so nothing is found in it: %v", err)
	}
}

// find returns what a path stands for. A directory is not looked into where the
// path ends in its name: relative links in what is found there would not fit.
func (h *fileHandler) find(ctx *RequestCtx, p []byte, end pathEnd) (*node, error) {
	if h.cache != nil {
		// a path that stands for itself is found right away; all others are not
		// in the cache
		n, stale := h.cache.get(bytes.Trim(p, "/"))
		switch {
		case n == nil:
		case !h.isCurrent(n, stale, ctx):
			h.cache.forget(n)
		case n.dir && end == endsInName:
			return nil, errNoSlash
		default:
			return n, nil
		}
	}
	name, err := fileName(string(p), servesWindows)
	if err != nil {
		return nil, err
	}
	if isReservedName(name) || !h.hidden && isHiddenPath(name) {
		return nil, fs.ErrNotExist
	}
	if h.cache == nil {
		return h.lookUp(name, ctx, end)
	}
	key := name
	if key == "." {
		key = ""
	}
	for {
		n, err := h.cache.load(key, func() (*node, error) {
			n, err := h.lookUp(name, ctx, end)
			if err == nil {
				n.key = key
			}
			return n, err
		})
		// somebody else may have looked it up, with the slash or without
		switch {
		case err == errNoSlash && end != endsInName:
		case err == nil && n.dir && end == endsInName:
			return nil, errNoSlash
		default:
			return n, err
		}
	}
}

// isCurrent reports whether a node may be served as it is. A page names the path
// that it was made for, and there may be several to one directory.
func (h *fileHandler) isCurrent(n *node, stale bool, ctx *RequestCtx) bool {
	if n.isPage() && n.title != bytesconv.String(ctx.Path()) {
		return false
	}
	if !stale {
		return true
	}
	if n.dir {
		// there may be another index file by now, or other entries
		return false
	}
	info, err := fs.Stat(h.tree, n.name)
	if h.codings != nil && errors.Is(err, fs.ErrNotExist) {
		h.codings.forget(n.name)
	}
	return err == nil && n.isOf(info) && n.besideIsCurrent(h.tree)
}

// lookUp opens what a name stands for.
func (h *fileHandler) lookUp(name string, ctx *RequestCtx, end pathEnd) (*node, error) {
	if h.only != "" {
		if name != "." {
			return nil, fs.ErrNotExist
		}
		name = h.only
	}
	f, info, err := openWithInfo(h.tree, name)
	if err != nil {
		if h.codings != nil && errors.Is(err, fs.ErrNotExist) {
			h.codings.forget(name)
		}
		return nil, err
	}
	if info.IsDir() {
		defer func() { _ = f.Close() }()
		if end == endsInName {
			return nil, errNoSlash
		}
		return h.lookUpDirectory(f, info, name, string(ctx.Path()))
	}
	if h.codings != nil && h.codings.isCopy(name, f, info) {
		return nil, errors.Join(fs.ErrNotExist, f.Close())
	}
	return h.newNode(f, info, name)
}

// newNode makes the node of an open file, which it takes over.
func (h *fileHandler) newNode(f fs.File, info fs.FileInfo, name string) (*node, error) {
	c, err := loadContent(f, info.Size(), h.types.of(name), func() (fs.File, error) { return h.tree.Open(name) })
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, name)
	}
	c.setModified(info.ModTime())
	if err := h.tags.tag(c); err != nil {
		c.release()
		return nil, fmt.Errorf("%w: %s", err, name)
	}
	return &node{name: name, info: info, plain: c}, nil
}

// lookUpDirectory finds the index file of a directory, or makes a page with the
// title of it.
func (h *fileHandler) lookUpDirectory(dir fs.File, info fs.FileInfo, name, title string) (*node, error) {
	for _, index := range h.indexNames {
		f, info, err := openWithInfo(h.tree, path.Join(name, index))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, errors.Join(errDeniedName, err)
		case info.IsDir():
			_ = f.Close()
			continue
		}
		n, err := h.newNode(f, info, path.Join(name, index))
		if err == nil {
			n.dir = true
		}
		return n, err
	}
	if !h.pages {
		return nil, errNoIndex
	}
	list, modified, err := h.listDirectory(name, dir, info)
	if err != nil {
		return nil, err
	}
	page := dataContent(appendPage(nil, title, name == ".", list), "text/html; charset=utf-8", modified)
	listing := dataContent(appendListing(nil, list), "application/json", modified)
	if err := errors.Join(h.tags.tag(page), h.tags.tag(listing)); err != nil {
		return nil, err
	}
	return &node{
		name: name, dir: true, title: title, info: info, plain: page,
		json: &node{name: name, dir: true, title: title, info: info, plain: listing},
	}, nil
}

// choose returns the representation for the client.
func (h *fileHandler) choose(ctx *RequestCtx, n *node) *fileContent {
	header := &ctx.Request.Header
	if n.json != nil && prefersJSON(header.peekID(field.Accept)) {
		n = n.json
	}
	if h.codings == nil || header.list.FindID(field.Range, 0) >= 0 {
		return n.plain
	}
	return h.codings.choose(h, n, ctx)
}

// send answers with a representation, whose share it takes over.
func (h *fileHandler) send(ctx *RequestCtx, n *node, c *fileContent) {
	req, resp := &ctx.Request.Header, &ctx.Response
	isRead := ctx.IsGet() || ctx.IsHead()
	if isRead {
		switch files.EvalPreconditions(&req.list, c.validator()) {
		case StatusNotModified:
			c.release()
			resp.ResetBody()
			resp.SetStatusCode(StatusNotModified)
			h.setValidators(resp, n, c)
			return
		case StatusPreconditionFailed:
			c.release()
			ctx.Error("Precondition failed", StatusPreconditionFailed)
			return
		}
	}
	var few [files.MaxRanges]files.Span
	var spans []files.Span
	if h.ranges && isRead && req.list.FindID(field.Range, 0) >= 0 && files.RangeApplies(&req.list, c.validator(), clock.Now()) {
		var err error
		if spans, err = files.ParseRanges(few[:0], req.peekID(field.Range), c.size); err != nil {
			c.release()
			var text [48]byte
			ctx.Error("Range Not Satisfiable", StatusRequestedRangeNotSatisfiable)
			resp.Header.setID(field.ContentRange, files.AppendUnsatisfied(text[:0], c.size))
			return
		}
	}
	h.setFields(resp, n, c)
	if err := h.setBody(ctx, c, spans); err != nil {
		h.refuse(ctx, err)
	}
}

// setFields sets what 200 and 206 have in common. A Content-Type that is there
// already is the application's. Where it has set no more than that, what is set
// here is the same for all responses with the content.
func (h *fileHandler) setFields(resp *Response, n *node, c *fileContent) {
	if resp.Header.slots[slotContentType].Len == 0 {
		resp.Header.SetContentTypeBytes(c.typ)
	}
	if c.coding != "" {
		resp.Header.SetContentEncoding(c.coding)
	}
	alike := h.cache != nil && len(resp.Header.list.Entries) == 0 && resp.StatusCode() == StatusOK
	if lines := c.fields.Load(); alike && lines != nil {
		resp.Header.appendLines(lines)
		return
	}
	if h.ranges {
		resp.Header.setID(field.AcceptRanges, []byte("bytes"))
	}
	h.fields.set(&resp.Header, n)
	h.setValidators(resp, n, c)
	if alike {
		c.fields.Store(linesOf(&resp.Header.list))
	}
}

// setValidators sets what a 304 has to say as well (RFC 9110 section 15.4.5).
func (h *fileHandler) setValidators(resp *Response, n *node, c *fileContent) {
	if len(c.etag) > 0 {
		resp.Header.setID(field.Etag, c.etag)
	}
	// the tag says it better to who has the content already
	if len(c.date) > 0 && (len(c.etag) == 0 || resp.StatusCode() != StatusNotModified) {
		resp.Header.setID(field.LastModified, c.date)
	}
	if len(h.fields.control) > 0 {
		setDefault(&resp.Header, field.CacheControl, h.fields.control)
	}
	if h.codings != nil {
		resp.Header.varyBy(HeaderAcceptEncoding)
	}
	if n.json != nil {
		resp.Header.varyBy(HeaderAccept)
	}
}

// setBody sets the status and the body: all of the content without spans, else
// those parts of it.
func (h *fileHandler) setBody(ctx *RequestCtx, c *fileContent, spans []files.Span) error {
	resp := &ctx.Response
	resp.SetStatusCode(StatusOK)
	part := files.Span{Length: c.size}
	switch len(spans) {
	case 0:
	case 1:
		part = spans[0]
		var text [72]byte
		resp.SetStatusCode(StatusPartialContent)
		resp.Header.setID(field.ContentRange, files.AppendContentRange(text[:0], part, c.size))
	default:
		if src := c.readerAt(); src != nil {
			sendRanges(ctx, c, src, spans)
			return nil
		}
		// such content cannot be read in any order, so the client gets all of it
	}
	if ctx.IsHead() {
		c.release()
		skipBody(resp, part.Length)
		return nil
	}
	if c.shared == nil && c.reopen == nil {
		resp.SetBodyRaw(c.data[part.Offset:part.End()])
		return nil
	}
	stream, err := c.open(part)
	if err != nil {
		return err
	}
	resp.SetBodyStream(stream, int(part.Length))
	return nil
}

// sendRanges makes several ranges the body.
func sendRanges(ctx *RequestCtx, c *fileContent, src io.ReaderAt, spans []files.Span) {
	resp := &ctx.Response
	boundary := files.NewBoundary()
	body := files.NewByteRanges(src, spans, c.size, resp.Header.ContentType(), boundary, func() error {
		c.release()
		return nil
	})
	resp.SetStatusCode(StatusPartialContent)
	resp.Header.SetContentType("multipart/byteranges; boundary=" + boundary)
	if ctx.IsHead() {
		_ = body.Close()
		skipBody(resp, body.Size)
		return
	}
	resp.SetBodyStream(body, int(body.Size))
}

// skipBody makes the response one to HEAD, which only says how long the body
// would be.
func skipBody(resp *Response, size int64) {
	resp.ResetBody()
	resp.SkipBody = true
	resp.Header.SetContentLength(int(size))
}
