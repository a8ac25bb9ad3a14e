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
func ServeFile(ctx *RequestCtx, path string) { serveFile(ctx, compressing(), pathOfURI(path)) }

// ServeFileBytes is ServeFile for a byte slice.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, bytesconv.String(path)) }

// ServeFileUncompressed is ServeFile without compression, for content that
// compression does not make smaller.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveFile(ctx, plainly(), pathOfURI(path))
}

// ServeFileBytesUncompressed is ServeFileUncompressed for a byte slice.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, bytesconv.String(path))
}

// ServeFileLiteral is ServeFile that uses path as it is, including percent signs,
// question marks and number signs.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveFile(ctx, compressing(), path) }

// ServeFS is ServeFile for a file of filesystem. path is relative to its root, with
// or without a slash at its beginning.
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
	return string(percent.AppendDecodedPath(nil, bytesconv.Bytes(path)))
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
