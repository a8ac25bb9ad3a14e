package fasthttp

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/percent"
	"github.com/valyala/fasthttp/internal/uri"
)

// The functions here that answer a request do so with one file that the application
// names, whatever the method of the request is. They must never be given a path that
// was made of what a client has sent: they serve every file there is. An FS with a
// Root is for that.

// ServeFile answers with the file, or the index page of the directory, that path
// names: an absolute path, or one from the working directory on. It is
// compressed for clients that accept gzip, brotli or zstd, and kept in a cache,
// as with FS.Compress: see there for where copies are written. Conditions and
// byte ranges of the request are honoured.
//
// path is read as that of a URI: escapes in it are decoded, and what follows a
// question mark or number sign is cut off. ServeFileLiteral takes it as it is.
func ServeFile(ctx *RequestCtx, path string) { serveFile(ctx, compressing(), pathOfURI(path)) }

// ServeFileBytes is ServeFile for a byte slice.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, bytesconv.String(path)) }

// ServeFileUncompressed is ServeFile without compression, for content that does
// not get smaller by it.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveFile(ctx, plainly(), pathOfURI(path))
}

// ServeFileBytesUncompressed is ServeFileUncompressed for a byte slice.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, bytesconv.String(path))
}

// ServeFileLiteral is ServeFile for a path that is taken as it is, percent
// signs, question marks and number signs included.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveFile(ctx, compressing(), path) }

// ServeFS is ServeFile for a file of filesystem. path is taken from its root on,
// with or without a slash in front.
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveFromFS(ctx, filesystem, pathOfURI(path))
}

// ServeFSLiteral is ServeFS for a path that is taken as it is.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveFromFS(ctx, filesystem, path)
}

// FileLastModified returns when the file that path names was last changed, cut
// off to the second as the Last-Modified field has it. The error is that of os.Stat.
func FileLastModified(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime().UTC().Truncate(time.Second), nil
}

// ParseByteRange reads the value of a Range field that asks for one range of
// contentLength bytes: "bytes=0-99", "bytes=100-" or, for the last ones,
// "bytes=-100" (RFC 9110 section 14.1.2). It returns the positions of the first
// and the last byte; a range that ends behind the content ends with it.
//
// It is an error if the value asks for several ranges, has another unit, or if
// no byte of the content lies in the range: so it always is where there is no
// content.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return files.ParseByteRange(byteRange, contentLength)
}

// compressing and plainly return the handlers for all files of the operating
// system.
var (
	compressing = sync.OnceValue(func() *fileHandler {
		return servingHandler(&FS{AllowEmptyRoot: true, Compress: true, CompressBrotli: true, CompressZstd: true})
	})
	plainly = sync.OnceValue(func() *fileHandler { return servingHandler(&FS{AllowEmptyRoot: true}) })
)

// servingHandler makes a handler for files that the application names.
func servingHandler(s *FS) *fileHandler {
	s.GenerateIndexPages, s.AcceptByteRange = true, true
	found := s.settings()
	// a name that the application gives is meant, and there is no Root that could
	// be missing
	found.FindHidden, found.RootIsThere = true, true
	h := newFileHandler(s, found)
	h.readMethods = false
	return h
}

// pathOfURI returns what a path stands for that is written as in a URI.
func pathOfURI(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	return string(percent.AppendDecodedPath(nil, bytesconv.Bytes(path)))
}

// endOfNamed returns whether relative links fit, should path be a directory. A
// file is meant however the client's own path ends.
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
	end := files.EndsInSlash
	if path != "" {
		end = endOfNamed(ctx, path)
	}
	handlerFor(filesystem).serve(ctx, bytesconv.Bytes(cleanPath(path)), end)
}

// cleanPath resolves dot segments, which the application may well use.
func cleanPath(path string) string {
	b := []byte("/" + path)
	return string(b[:uri.NormalizePath(b)])
}

// maxFileSystems is how many file systems are remembered with what was found in
// them.
const maxFileSystems = 32

// fileSystems are the handlers for those file systems that can be told apart.
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
		old.finder.Clear()
		delete(k.handlers, other)
	}
	h = servingHandler(settings)
	k.handlers[filesystem] = h
	return h
}
