package files

import (
	"errors"
	"path"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrHostileName says that a path has a ".." segment or a NUL in it, for which no
// client has a reason.
var ErrHostileName = errors.New("fasthttp: path names no file")

// errNoSuchName says that nothing can have the name that a path stands for.
var errNoSuchName = errors.New("fasthttp: no file can have the name of the path")

// End says what the end of a path means.
type End uint8

const (
	// EndsInName is the end of the path of a file. A directory needs a slash
	// behind it, which relative links in the content refer to.
	EndsInName End = iota
	// EndsInSlash is the end of the path of a directory, or of a file to which the
	// application has given such a path.
	EndsInSlash
	// EndsAsDir is the end of a client's own path with a slash, which no file has.
	EndsAsDir
)

// EndOf returns how a path of a client ends.
func EndOf(p []byte) End {
	if n := len(p); n > 0 && p[n-1] == '/' || n > 1 && p[n-1] == '.' && p[n-2] == '/' {
		return EndsAsDir
	}
	return EndsInName
}

// Name turns the path to look up into the name of a file in the tree that
// is served: relative, without empty and "." segments, "." for the root. It is
// a pure function; what it lets pass never leaves the tree by its spelling.
func Name(p string, windows bool) (string, error) {
	if strings.IndexByte(p, 0) >= 0 || hasDotDot(p) {
		return "", ErrHostileName
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
