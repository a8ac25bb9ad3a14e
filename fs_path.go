package fasthttp

import (
	"bytes"
	"path"
	"runtime"
	"strings"

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

// nameError says what is wrong with a path to look up, by the status code that
// answers it.
type nameError int

func (e nameError) Error() string { return "fasthttp: path names no file" }

const (
	errHostileName = nameError(StatusBadRequest)
	errNoSuchName  = nameError(StatusNotFound)
)

// fileName turns the path to look up into the name of a file in the tree that
// is served: relative, without empty and "." segments, "." for the root. It is
// a pure function; what it lets pass never leaves the tree by its spelling.
func fileName(p string, windows bool) (string, error) {
	if strings.IndexByte(p, 0) >= 0 || hasDotDot(p) {
		return "", errHostileName
	}
	if windows && !isWindowsPath(p) {
		return "", errNoSuchName
	}
	name := path.Clean("/" + p)[1:]
	if name == "" {
		return ".", nil
	}
	return name, nil
}

// hasDotDot reports whether a segment of p is "..".
func hasDotDot(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment == ".." {
			return true
		}
	}
	return false
}

// wellKnown is the folder that is for everybody although its name begins with a
// dot (RFC 8615).
const wellKnown = ".well-known"

// isHiddenPath reports whether a segment of the name of a file begins with a dot.
// What is below a well-known folder is not hidden by that, but by its own name.
func isHiddenPath(name string) bool {
	if name[0] != '.' && !strings.Contains(name, "/.") || name == "." {
		return false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment[0] == '.' && segment != wellKnown {
			return true
		}
	}
	return false
}

// servesWindows reports whether the rules of Windows for names apply.
const servesWindows = runtime.GOOS == "windows"

// isWindowsPath reports whether Windows takes each segment of p for the name of a
// file, and for no other one than it says.
func isWindowsPath(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment != "" && segment != "." && !isWindowsName(segment) {
			return false
		}
	}
	return true
}

// isWindowsName refuses drives and alternate streams (a colon), other
// separators, wildcards, control characters, the names of devices, and the dots
// and spaces at the end that Windows would drop.
func isWindowsName(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' {
			return false
		}
	}
	last := name[len(name)-1]
	return !strings.ContainsAny(name, `\:*?"<>|`) && last != '.' && last != ' ' && !isDeviceName(name)
}

// isDeviceName reports whether name stands for a device, as "nul" does and, in
// many versions of Windows, "NUL.txt" and "nul ".
func isDeviceName(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.TrimRight(base, " ")
	for _, device := range []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} {
		if strings.EqualFold(base, device) {
			return true
		}
	}
	if len(base) < 4 || !strings.EqualFold(base[:3], "COM") && !strings.EqualFold(base[:3], "LPT") {
		return false
	}
	switch number := base[3:]; number {
	case "¹", "²", "³":
		return true
	default:
		return len(number) == 1 && ascii.Is(number[0], ascii.Digit)
	}
}
