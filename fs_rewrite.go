package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

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
