package files

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// contentTypes holds the types of common files. The system's own table may know more,
// and is asked next; it differs between machines, so all important types are here.
var contentTypes = map[string]string{
	".7z":          "application/x-7z-compressed",
	".aac":         "audio/aac",
	".apk":         "application/vnd.android.package-archive",
	".avif":        "image/avif",
	".bin":         "application/octet-stream",
	".bmp":         "image/bmp",
	".bz2":         "application/x-bzip2",
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".deb":         "application/vnd.debian.binary-package",
	".eot":         "application/vnd.ms-fontobject",
	".epub":        "application/epub+zip",
	".flac":        "audio/flac",
	".geojson":     "application/geo+json",
	".gif":         "image/gif",
	".gz":          "application/gzip",
	".htm":         "text/html; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/vnd.microsoft.icon",
	".ics":         "text/calendar; charset=utf-8",
	".iso":         "application/octet-stream",
	".jar":         "application/java-archive",
	".jpeg":        "image/jpeg",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".jsonld":      "application/ld+json",
	".log":         "text/plain; charset=utf-8",
	".m3u8":        "application/vnd.apple.mpegurl",
	".m4a":         "audio/mp4",
	".map":         "application/json",
	".md":          "text/markdown; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".mkv":         "video/matroska",
	".mov":         "video/quicktime",
	".mp3":         "audio/mpeg",
	".mp4":         "video/mp4",
	".mpd":         "application/dash+xml",
	".mpeg":        "video/mpeg",
	".oga":         "audio/ogg",
	".ogg":         "audio/ogg",
	".ogv":         "video/ogg",
	".opus":        "audio/ogg",
	".otf":         "font/otf",
	".pdf":         "application/pdf",
	".png":         "image/png",
	".rss":         "application/rss+xml",
	".rtf":         "application/rtf",
	".svg":         "image/svg+xml",
	".tar":         "application/x-tar",
	".tif":         "image/tiff",
	".tiff":        "image/tiff",
	".toml":        "application/toml",
	".ts":          "video/mp2t",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".vtt":         "text/vtt; charset=utf-8",
	".wasm":        "application/wasm",
	".wav":         "audio/wav",
	".weba":        "audio/webm",
	".webm":        "video/webm",
	".webmanifest": "application/manifest+json",
	".webp":        "image/webp",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
	".xhtml":       "application/xhtml+xml",
	".xml":         "text/xml; charset=utf-8",
	".yaml":        "application/yaml",
	".yml":         "application/yaml",
	".zip":         "application/zip",
	".zst":         "application/zstd",
}

// sniffLen is how much of a file is examined if its name does not determine the type.
const sniffLen = 512

// contentTypeByName returns the type for the extension of a file, or "".
func contentTypeByName(name string) string {
	ext := path.Ext(name)
	if known := contentTypes[strings.ToLower(ext)]; known != "" || ext == "" {
		return known
	}
	return mime.TypeByExtension(ext)
}

// typesByExtension holds the application's types by extension. Extensions are in lower
// case.
type typesByExtension map[string]string

func extensionTypes(types map[string]string) typesByExtension {
	if len(types) == 0 {
		return nil
	}
	lower := make(typesByExtension, len(types))
	for ext, typ := range types {
		lower[strings.ToLower(ext)] = typ
	}
	return lower
}

// of returns the type for the name of a file, or "".
func (t typesByExtension) of(name string) string {
	if typ := t[strings.ToLower(path.Ext(name))]; typ != "" {
		return typ
	}
	return contentTypeByName(name)
}

// signatures are the first bytes of some kinds of files.
var signatures = []struct{ start, contentType string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b\x08", "application/gzip"},
	{"\x28\xb5\x2f\xfd", "application/zstd"},
	{"OggS\x00", "application/ogg"},
	{"\x1aE\xdf\xa3", "video/webm"},
	{"wOFF", "font/woff"},
	{"wOF2", "font/woff2"},
	{"\x00asm", "application/wasm"},
	{"%!PS-Adobe-", "application/postscript"},
}

// contentTypeByStart guesses a type from the first bytes of a file.
func contentTypeByStart(b []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.start)) {
			return s.contentType
		}
	}
	if len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP" {
		return "image/webp"
	}
	if len(b) >= 12 && string(b[4:8]) == "ftyp" {
		return "video/mp4"
	}
	if !looksLikeText(b) {
		return "application/octet-stream"
	}
	start := bytes.ToLower(bytes.TrimLeft(b[:min(len(b), 64)], "\ufeff \t\r\n"))
	switch {
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "text/html; charset=utf-8"
	case bytes.HasPrefix(start, []byte("<?xml")):
		return "text/xml; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// looksLikeText reports whether b, which may end within a character, is text in UTF-8.
func looksLikeText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax && !utf8.FullRune(b)
		}
		if r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) || r == 0x7f {
			return false
		}
		b = b[n:]
	}
	return true
}
