package fasthttp

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/percent"
)

// fileHandler answers requests with files. A request goes through small steps:
//
//	handle         determines the path to look up
//	Finder.Find    returns the node of that path, from the cache or the file system
//	Finder.Choose  chooses the representation of it for the client
//	send           evaluates conditions and ranges, and sets the response
type fileHandler struct {
	finder      *files.Finder
	ranges      bool
	control     []byte // Cache-Control
	noSniff     bool
	rewrite     PathRewriteFunc
	notFound    RequestHandler
	readMethods bool // only GET and HEAD are answered
}

// newFileHandler returns a handler with the settings of s. found are its settings
// for finding files, which the caller may have changed.
func newFileHandler(s *FS, found *files.Settings) *fileHandler {
	return &fileHandler{
		finder:      files.New(found),
		ranges:      s.AcceptByteRange,
		control:     []byte(s.CacheControl),
		noSniff:     s.NoSniff,
		rewrite:     s.PathRewrite,
		notFound:    s.PathNotFound,
		readMethods: true,
	}
}

// handle is the RequestHandler.
func (h *fileHandler) handle(ctx *RequestCtx) {
	p := ctx.Path()
	end := files.EndOf(p)
	if h.rewrite != nil {
		p = h.rewrite(ctx)
		// a rewriter that adds a slash at the end wants no redirect to one, and a
		// rewriter that removes it wants a file
		if rewritten := files.EndOf(p); rewritten != end {
			end = files.EndsInSlash
		}
	}
	h.serve(ctx, p, end)
}

// serve answers with the file or directory at the path p.
func (h *fileHandler) serve(ctx *RequestCtx, p []byte, end files.End) {
	// the cache may drop a node between Find and Acquire
	for {
		n, err := h.finder.Find(p, end, ctx.Path())
		if err == files.ErrNoSlash || err == nil {
			if h.readMethods && !ctx.IsGet() && !ctx.IsHead() {
				h.finder.Done(n)
				ctx.Error("Method not allowed", StatusMethodNotAllowed)
				ctx.Response.Header.setID(field.Allow, []byte("GET, HEAD"))
				return
			}
		}
		if err != nil {
			h.refuse(ctx, err)
			return
		}
		c := h.finder.Choose(n, &ctx.Request.Header.list, ctx.IsHead())
		if c.Acquire() {
			h.send(ctx, n, c)
			h.finder.Done(n)
			return
		}
		h.finder.Forget(n)
	}
}

// redirectToSlash redirects to the path of the request followed by a slash. A reference
// that begins with a dot cannot lead to another host, whatever the path is, and is also
// right if a proxy removes a prefix of paths.
func redirectToSlash(ctx *RequestCtx) {
	u := ctx.URI()
	segment := u.PathOriginal()
	segment = segment[bytes.LastIndexByte(segment, '/')+1:]
	if len(segment) == 0 {
		segment = percent.AppendPath(nil, u.LastPathSegment())
	}
	// an escaped slash becomes a further slash, which the redirect need not have
	segment = bytes.TrimLeft(percent.AppendRecodedPath(nil, segment), "/")
	location := append(append(make([]byte, 0, 64), "./"...), segment...)
	location = append(location, '/')
	ctx.Response.Header.setID(field.Location, u.appendQuery(location))
	ctx.Response.SetStatusCode(StatusFound)
}

// refuse answers with an error.
func (h *fileHandler) refuse(ctx *RequestCtx, err error) {
	switch {
	case err == files.ErrNoSlash:
		redirectToSlash(ctx)
	case err == files.ErrHostileName:
		ctx.Logger().Printf("%v: %q", err, ctx.Path())
		ctx.Error("Malformed path", StatusBadRequest)
	case err == files.ErrNoIndex, errors.Is(err, files.ErrDeniedName):
		ctx.Error("Directory index is forbidden", StatusForbidden)
	case files.IsServersFault(err):
		ctx.Logger().Printf("cannot serve file: %v", err)
		ctx.Error("Cannot open requested path", StatusInternalServerError)
	default:
		if errors.Is(err, fs.ErrPermission) {
			ctx.Logger().Printf("cannot open file: %v", err)
		}
		// a missing root explains why no path is found
		if err := h.finder.MissingRoot(); err != nil {
			ctx.Logger().Printf("FS.Root cannot be served, so nothing is found in it: %v", err)
		}
		if h.notFound != nil {
			h.notFound(ctx)
			return
		}
		ctx.Error("Cannot open requested path", StatusNotFound)
	}
}
