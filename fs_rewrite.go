package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// PathRewriteFunc returns the path to look up below FS.Root for a request: that
// of the request, or whatever else is in the context.
//
// The result may be a piece of the context, and is taken literally: percent
// signs in it are not decoded. A path with a ".." segment in it is refused.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// NewPathSlashesStripper returns a function that takes the first slashesCount
// segments off the path, which has as many slashes in front of them:
//
//	0  /foo/bar  stays as it is
//	1  /foo/bar  becomes /bar
//	2  /foo/bar  becomes empty, which stands for the root
func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte { return stripSegments(ctx.Path(), slashesCount) }
}

// NewPathPrefixStripper returns a function that takes the first prefixSize
// bytes off the path:
//
//	0  /foo/bar  stays as it is
//	3  /foo/bar  becomes o/bar
//	7  /foo/bar  becomes r
//
// A path that is shorter than that stays as it is.
func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		p := ctx.Path()
		if len(p) < prefixSize {
			return p
		}
		return p[max(prefixSize, 0):]
	}
}

// invalidHost is the folder for requests whose host cannot be one's name.
const invalidHost = "invalid-host"

// NewVHostPathRewriter returns a function that takes segments off the path as
// NewPathSlashesStripper does, and puts the host of the request, port included,
// in front, so that every host is served from a folder of its own:
//
//	0  http://foobar.com/foo/bar            becomes /foobar.com/foo/bar
//	1  http://img.aaa.com/images/123/4.jpg  becomes /img.aaa.com/123/4.jpg
//
// Where there is no host, or it is no name for a folder, it is "invalid-host".
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

// stripSegments takes n segments, each with the slash in front of it, off p.
func stripSegments(p []byte, n int) []byte {
	for ; n > 0 && len(p) > 0; n-- {
		p = p[1:]
		p = p[ascii.IndexByte(p, '/'):]
	}
	return p
}
