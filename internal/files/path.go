package files

import (
	"errors"
	"path"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrHostileName means that a path has a ".." segment or a NUL, which no client has
// a reason to send.
var ErrHostileName = errors.New("fasthttp: path names no file")

// errNoSuchName means that no file can have the name of a path.
var errNoSuchName = errors.New("fasthttp: no file can have the name of the path")

// End is the meaning of the end of a path.
type End uint8

const (
	// EndsInName is the end of the path of a file. A directory needs a slash after
	// it, since relative links in the content depend on it.
	EndsInName End = iota
	// EndsInSlash is the end of the path of a directory, or of a file to which the
	// application has given such a path.
	EndsInSlash
	// EndsAsDir is the end of a client's own path with a slash, which no file has.
	EndsAsDir
)

// EndOf returns the End of a client's path.
func EndOf(p []byte) End {
	if n := len(p); n > 0 && p[n-1] == '/' || n > 1 && p[n-1] == '.' && p[n-2] == '/' {
		return EndsAsDir
	}
	return EndsInName
}

// Name converts the path to look up into the name of a file in the served tree:
// relative, without empty and "." segments, "." for the root. It is a pure
// function; the spelling of its results never leads out of the tree.
func Name(p string, windows bool) (string, error) {
	if strings.IndexByte(p, 0) >= 0 || hasDotDot(p) {
		return "", ErrHostileName
	}
	if windows && (!isWindowsPath(p) || hasShortName(p)) {
		return "", errNoSuchName
	}
	name := path.Clean("/" + p)[1:]
	if name == "" {
		return ".", nil
	}
	return name, nil
}

// driveName is Name on Windows for an absolute path, such as C:/a: the application has
// chosen it, or its beginning, and may use short names, as the system does for temporary files.
func driveName(p string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 || hasDotDot(p) {
		return "", ErrHostileName
	}
	name := path.Clean("/" + p)[1:]
	drive, rest, _ := strings.Cut(name, "/")
	if len(drive) != len("C:") || !ascii.Is(drive[0], ascii.Alpha) || drive[1] != ':' || !isWindowsPath(rest) {
		return "", errNoSuchName
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

// wellKnown is the public folder with a name that begins with a dot (RFC 8615).
const wellKnown = ".well-known"

// isHiddenPath reports whether a segment of the name of a file begins with a dot. A
// well-known folder does not hide its content, but a name in it can.
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

// servesWindows reports whether Windows' rules for names apply.
const servesWindows = runtime.GOOS == "windows"

// isWindowsPath reports whether Windows accepts each segment of p as the name of a
// file, and, except for short names, of no other file.
func isWindowsPath(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment != "" && segment != "." && !isWindowsName(segment) {
			return false
		}
	}
	return true
}

// isWindowsName rejects drives and alternate streams (a colon), other separators,
// wildcards, control characters, the names of devices, and trailing dots and spaces, which
// Windows would drop.
func isWindowsName(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' {
			return false
		}
	}
	last := name[len(name)-1]
	return !strings.ContainsAny(name, `\:*?"<>|`) && last != '.' && last != ' ' && !isDeviceName(name)
}

// hasShortName reports whether a segment of p is a short name.
func hasShortName(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if isShortName(segment) {
			return true
		}
	}
	return false
}

// isShortName reports whether name has the form of the second names that Windows gives to
// files, such as GIT~1 for .git: up to eight bytes, of which the last are a tilde and a
// number, and an extension of up to three.
func isShortName(name string) bool {
	base, extension, _ := strings.Cut(name, ".")
	start, number, found := strings.Cut(base, "~")
	return found && start != "" && len(base) <= 8 && len(extension) <= 3 && !strings.Contains(extension, ".") &&
		number != "" && number[0] != '0' && ascii.All([]byte(number), ascii.Digit)
}

// isDeviceName reports whether name means a device, as "nul" does and, in many
// versions of Windows, "NUL.txt" and "nul ".
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
