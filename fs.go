package fasthttp

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// FSHandlerCacheDuration is the default of FS.CacheDuration.
const FSHandlerCacheDuration = 10 * time.Second

// FSCompressedFileSuffix is the default suffix of the names of copies in gzip.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSCompressedFileSuffixes are the default suffixes of the names of compressed
// copies, by content coding. The map is read when a request handler is made, and
// must not be changed after that.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": ".fasthttp.gz",
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// FS holds the settings for serving files. NewRequestHandler returns a
// RequestHandler with these settings.
//
// The handler answers GET and HEAD, with the conditions of RFC 9110 section 13 and,
// with AcceptByteRange, the ranges of section 14. For a file that exists, other methods
// get 405. The path of a directory is redirected to the same path with a slash at its
// end, if it has none. The path of a file with a slash at its end is not found. Neither
// is an irregular file, such as a pipe or a device: the handler does not even open it.
// If Root does not exist, the handler logs that once, when it does not find a path.
//
// An FS must not be copied, nor changed after a handler was made from it.
type FS struct {
	_ noCopy

	// FS is the file system of the files, such as an embed.FS. If it is nil, the file
	// system of the operating system is used.
	FS fs.FS

	// PathRewrite returns the path to look up for a request. If it is nil, the
	// handler looks up the path of the request.
	PathRewrite PathRewriteFunc

	// PathNotFound answers requests for which there is no file. If it is nil, the
	// response is a 404 with the text "Cannot open requested path". A file that the process
	// may not open counts as missing. Other errors get 500 in any case, as when the process has
	// too many open files, or end the connection if a part of the file was sent already.
	PathNotFound RequestHandler

	// CompressedFileSuffixes are the suffixes of the names of compressed copies, by
	// content coding: "gzip", "br" and "zstd". For a missing coding, the suffix in
	// FSCompressedFileSuffixes is used.
	CompressedFileSuffixes map[string]string

	// CleanStop, if it is not nil, makes the handler drop its whole cache and close
	// its files when the channel is closed. Do not close it before the handler has
	// served its last request.
	//
	// Without it the handler drops a file and closes it CacheDuration after its
	// last request.
	CleanStop chan struct{}

	// Root is the directory to serve, in FS if FS is set. The default is the working
	// directory, or all of FS. If Root is a single file when the handler is made, it is
	// served for the path "/".
	//
	// Symbolic links in Root are followed if they are relative and lead to a file
	// inside; see AllowSymlinksOutsideRoot. Root itself may be a symbolic link.
	Root string

	// CompressRoot is the directory for compressed copies. It is created if it is
	// missing. The default is Root, so that copies lie beside the files.
	//
	// Copies stay inside CompressRoot as files do inside Root.
	CompressRoot string

	// CompressedFileSuffix is the suffix of the names of copies in gzip, if
	// CompressedFileSuffixes has none; FSCompressedFileSuffix by default.
	CompressedFileSuffix string

	// IndexNames are names of files to serve for a directory. The handler serves the
	// first that exists. There are none by default.
	IndexNames []string

	// ContentTypes are the media types of files by the extension of their names,
	// such as ".glb", in any case. The extension of a name without one is "". These
	// types take precedence over the built-in ones.
	ContentTypes map[string]string

	// CompressTypes are the media types of files that Compress applies to, in the
	// form of Compressor.Types; DefaultCompressTypes by default.
	CompressTypes []string

	// CacheControl is the Cache-Control field of responses with a file or an index
	// page, and of 304, such as "public, max-age=3600"; none by default. It does not
	// replace a field that the application has set.
	CacheControl string

	// CacheDuration is how long a file is served from the cache before the handler
	// checks it for changes, and how long it stays in the cache without a request;
	// FSHandlerCacheDuration by default.
	//
	// The cache holds at most 4096 files: files of up to 64 KiB in memory, up to 64 MiB
	// in all, larger files as open files.
	CacheDuration time.Duration

	// AllowEmptyRoot makes an empty Root mean no directory, so that paths are
	// absolute; on Windows they begin with a drive.
	AllowEmptyRoot bool

	// AllowSymlinksOutsideRoot makes the handler follow all symbolic links in Root
	// and CompressRoot.
	//
	// Otherwise files are opened with os.Root: a path with an absolute link, or a link
	// that leads outside, is not found. A whole volume as Root, such as "/", restricts
	// nothing. This package does not restrict an FS.
	AllowSymlinksOutsideRoot bool

	// AllowHiddenFiles makes the handler serve and list hidden files: a segment of
	// their path begins with a dot, such as .git and .env.
	//
	// Otherwise hidden files are neither found nor listed. Files below a segment
	// ".well-known" (RFC 8615) are found in any case. So are all files if Root is
	// empty and AllowEmptyRoot is set, since paths are absolute then.
	AllowHiddenFiles bool

	// CompressBrotli makes Compress use brotli, too.
	CompressBrotli bool

	// CompressZstd makes Compress use zstd, too.
	CompressZstd bool

	// GenerateIndexPages makes the handler serve a list of the files in a directory
	// that has no index file. Clients that prefer application/json get a list of
	// objects with name, type, mtime and size. Making a list takes some milliseconds
	// for each thousand files; it is cached for CacheDuration.
	//
	// Without it the response for such a directory is a 403.
	GenerateIndexPages bool

	// Compress makes the handler send files compressed to clients that accept it, in
	// the coding that they prefer. Each response has a Vary field for that.
	//
	// The handler makes a copy of a file of 128 bytes to 64 MiB whose type is one of
	// CompressTypes when the first client requests it by GET. The copy is kept in
	// CompressRoot, with a suffix, until the size or the time of the original
	// changes. It ends in a few bytes that hold this size and time; they are not
	// sent. Copies are neither found by their own names nor listed. The handler
	// removes them when it notices that the original is gone. In any tree, names that
	// end in .fasthttp.gz, .fasthttp.br or .fasthttp.zst, also with .tmp after that,
	// are names of copies.
	//
	// If copies cannot be written, and for files of FS, they are kept in memory if
	// the original has no more than 8 MiB.
	Compress bool

	// Precompressed makes the handler send a file name.gz, name.br or name.zst
	// instead of the file name to clients that accept this coding, if it is not
	// older. So a user who can add files to the tree can change the response for
	// another path. Precompressed works without Compress; with it, such a file takes
	// precedence over a copy.
	Precompressed bool

	// AcceptByteRange makes the handler answer Range fields with the requested
	// parts, up to 10 of them. Parts are never compressed.
	AcceptByteRange bool

	// GenerateETag makes responses carry a weak entity tag, derived from the
	// modification time and the size.
	//
	// Files of up to 64 MiB whose modification time is not known, such as files of
	// embed.FS, get a weak tag derived from their content, even without GenerateETag
	// unless SkipCache is set: a client has no other way to ask whether its copy is
	// current. The handler reads such a file when it looks it up.
	GenerateETag bool

	// StrongETag makes responses carry a strong entity tag, derived from the
	// content, so that If-Range can use it, and servers with the same files have the
	// same tags. The handler reads a file for that when it looks it up, so StrongETag
	// should not be combined with SkipCache. Replace files rather than write to them.
	// Files of more than 64 MiB get the tag of GenerateETag.
	StrongETag bool

	// NoSniff makes responses with a file carry "X-Content-Type-Options: nosniff", so
	// that browsers do not guess a type other than Content-Type. Index pages have this
	// field in any case, and a Content-Security-Policy that forbids everything except
	// their style.
	NoSniff bool

	// SkipCache makes every request open its file anew. Content that was compressed
	// in memory is cached nonetheless, by its plain content, up to 32 MiB of it.
	SkipCache bool
}

// NewRequestHandler returns a handler that serves files with the settings of fs. It
// keeps up to 1024 files open between requests: the limit for open files of the process
// must allow for them.
//
// Handlers share no cache, so make one handler from an FS and keep it.
func (fs *FS) NewRequestHandler() RequestHandler {
	h := newFileHandler(fs, fs.settings())
	if h.finder.IsCaching() && fs.CleanStop != nil {
		go func(stop <-chan struct{}) {
			<-stop
			h.finder.Clear()
		}(fs.CleanStop)
	}
	return h.handle
}

// FSHandler returns a handler for the files in root, with index.html as index
// file, index pages for directories without one, and byte ranges. It removes the
// first stripSlashes segments of paths; see NewPathSlashesStripper.
//
// Handlers share no cache, so make one handler for a root and keep it.
func FSHandler(root string, stripSlashes int) RequestHandler {
	fs := &FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true, AcceptByteRange: true}
	if stripSlashes > 0 {
		fs.PathRewrite = NewPathSlashesStripper(stripSlashes)
	}
	return fs.NewRequestHandler()
}

// settings returns the settings of fs for finding files.
func (fs *FS) settings() *files.Settings {
	s := &files.Settings{
		FS:                       fs.FS,
		Root:                     fs.Root,
		AllowEmptyRoot:           fs.AllowEmptyRoot,
		AllowSymlinksOutsideRoot: fs.AllowSymlinksOutsideRoot,
		IndexNames:               fs.IndexNames,
		GenerateIndexPages:       fs.GenerateIndexPages,
		ContentTypes:             fs.ContentTypes,
		TTL:                      fs.CacheDuration,
		SkipCache:                fs.SkipCache,
		FindHidden:               fs.AllowHiddenFiles || fs.FS == nil && fs.Root == "" && fs.AllowEmptyRoot,
		ListHidden:               fs.AllowHiddenFiles,
		Precompressed:            fs.Precompressed,
		CompressRoot:             fs.CompressRoot,
		CompressTypes:            fs.CompressTypes,
	}
	if s.TTL <= 0 {
		s.TTL = FSHandlerCacheDuration
	}
	switch {
	case fs.StrongETag:
		s.Tags = files.StrongTags
	case fs.GenerateETag:
		s.Tags = files.WeakTags
	case !fs.SkipCache:
		s.Tags = files.TimelessTags
	}
	if fs.Compress {
		fs.setCodings(s)
	}
	return s
}

// setCodings sets the codings in which files are encoded, and the suffixes of the
// copies.
func (fs *FS) setCodings(s *files.Settings) {
	s.Codings = coding.SetOf(coding.Gzip)
	if fs.CompressBrotli {
		s.Codings |= coding.SetOf(coding.Brotli)
	}
	if fs.CompressZstd {
		s.Codings |= coding.SetOf(coding.Zstd)
	}
	for c := range coding.Count {
		s.Suffixes[c] = FSCompressedFileSuffixes[c.String()]
		if c == coding.Gzip && fs.CompressedFileSuffix != "" {
			s.Suffixes[c] = fs.CompressedFileSuffix
		}
		if own := fs.CompressedFileSuffixes[c.String()]; own != "" {
			s.Suffixes[c] = own
		}
	}
}

// CacheKind is not used: no function takes or returns one.
//
// Deprecated: it exists for programs that name the type.
type CacheKind uint8

// PathRewriteFunc returns the path to look up below FS.Root for a request.
//
// The result may point into ctx. It is used literally: percent signs in it are not
// decoded. A path with a ".." segment is refused.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// NewPathSlashesStripper returns a function that removes the first slashesCount
// segments of the path, each with the slash before it:
//
//	0  /foo/bar  stays as it is
//	1  /foo/bar  becomes /bar
//	2  /foo/bar  becomes empty, which means the root
func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte { return stripSegments(ctx.Path(), slashesCount) }
}

// NewPathPrefixStripper returns a function that removes the first prefixSize bytes
// of the path:
//
//	0  /foo/bar  stays as it is
//	3  /foo/bar  becomes o/bar
//	7  /foo/bar  becomes r
//
// A path shorter than prefixSize stays as it is.
func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		p := ctx.Path()
		if len(p) < prefixSize {
			return p
		}
		return p[max(prefixSize, 0):]
	}
}

// invalidHost is the folder for requests whose host cannot be the name of a folder.
const invalidHost = "invalid-host"

// NewVHostPathRewriter returns a function that removes segments of the path as
// NewPathSlashesStripper does, and prepends the host of the request, including its
// port, so that every host is served from a folder of its own:
//
//	0  http://foobar.com/foo/bar            becomes /foobar.com/foo/bar
//	1  http://img.aaa.com/images/123/4.jpg  becomes /img.aaa.com/123/4.jpg
//
// If there is no host, or it cannot be the name of a folder, the folder is
// "invalid-host".
func NewVHostPathRewriter(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		rest := stripSegments(ctx.Path(), slashesCount)
		host := ctx.Host()
		if !isFolderName(host) {
			host = []byte(invalidHost)
		}
		b := make([]byte, 0, 1+len(host)+len(rest))
		return append(append(append(b, '/'), host...), rest...)
	}
}

func isFolderName(host []byte) bool {
	return len(host) > 0 && string(host) != "." && string(host) != ".." && !bytes.ContainsAny(host, "/\\\x00")
}

// stripSegments returns p without its first n segments, each with the slash before it.
func stripSegments(p []byte, n int) []byte {
	for ; n > 0 && len(p) > 0; n-- {
		p = p[1:]
		p = p[ascii.IndexByte(p, '/'):]
	}
	return p
}

// fileHandler answers requests with files. A request goes through small steps:
//
//	handle         determines the path to look up
//	Finder.Find    returns the node of that path, from the cache or the file system
//	Finder.Choose  chooses the representation of it for the client
//	send           evaluates conditions and ranges, and sets the response
type fileHandler struct {
	finder       *files.Finder
	ranges       bool
	cacheControl []byte // Cache-Control
	noSniff      bool
	rewrite      PathRewriteFunc
	notFound     RequestHandler
	readMethods  bool // only GET and HEAD are answered
}

// newFileHandler returns a handler with the settings of s. found are its settings
// for finding files, which the caller may have changed.
func newFileHandler(s *FS, found *files.Settings) *fileHandler {
	return &fileHandler{
		finder:       files.New(found),
		ranges:       s.AcceptByteRange,
		cacheControl: []byte(s.CacheControl),
		noSniff:      s.NoSniff,
		rewrite:      s.PathRewrite,
		notFound:     s.PathNotFound,
		readMethods:  true,
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

// maxTries is how often a file is looked up for a request if it changes meanwhile.
const maxTries = 3

// serve answers with the file or directory at the path p.
func (h *fileHandler) serve(ctx *RequestCtx, p []byte, end files.End) {
	for tries := 1; ; {
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
		c := h.finder.Choose(n, &ctx.Request.Header.head.List, ctx.IsHead())
		// the cache may drop a node between Find and Acquire
		if c.Acquire() {
			err := h.send(ctx, n, c)
			h.finder.Done(n)
			if err == nil {
				return
			}
			// the file may be another one by now, or none
			if tries++; tries > maxTries {
				h.refuse(ctx, err)
				return
			}
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
		segment = urlencoded.AppendPath(nil, u.LastPathSegment())
	}
	// an escaped slash becomes a further slash, which the redirect need not have
	segment = bytes.TrimLeft(urlencoded.AppendRecodedPath(nil, segment), "/")
	location := append(append(make([]byte, 0, 64), "./"...), segment...)
	location = append(location, '/')
	ctx.Response.Header.setID(field.Location, u.appendQuery(location))
	ctx.Response.SetStatusCode(StatusFound)
}

// refuse answers with an error. It logs errors quoted, since they have the client's path.
func (h *fileHandler) refuse(ctx *RequestCtx, err error) {
	if errors.Is(err, fs.ErrPermission) {
		ctx.Logger().Printf("cannot open file: %q", err)
	}
	switch {
	case err == files.ErrNoSlash:
		redirectToSlash(ctx)
	case err == files.ErrHostileName:
		ctx.Logger().Printf("%v: %q", err, ctx.Path())
		ctx.Error("Malformed path", StatusBadRequest)
	case files.IsServersFault(err):
		ctx.Logger().Printf("cannot serve file: %q", err)
		ctx.Error("Cannot open requested path", StatusInternalServerError)
	case err == files.ErrNoIndex, errors.Is(err, files.ErrDeniedName):
		ctx.Error("Directory index is forbidden", StatusForbidden)
	default:
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
