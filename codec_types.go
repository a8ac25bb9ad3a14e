package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// Media types of content that becomes smaller when it is encoded. Types of
// text do, and most of application; images, sound and films are encoded well
// enough by themselves, with a few exceptions.
var (
	encodableImages = []string{"bmp", "svg+xml", "vnd.microsoft.icon", "x-icon", "x-ms-bmp"}
	encodableFonts  = []string{"collection", "otf", "sfnt", "ttf"}

	// containers of application types that are encoded by themselves
	encodedApplications = []string{
		"epub+zip", "font-woff", "gzip", "java-archive", "pdf", "vnd.android.package-archive", "vnd.rar", "x-7z-compressed",
		"x-bzip", "x-bzip2", "x-compress", "x-gzip", "x-lzma", "x-rar-compressed", "x-xz", "zip", "zlib", "zstd",
	}
	encodedOffice   = []string{"vnd.oasis.opendocument.", "vnd.openxmlformats-officedocument."}
	encodedSuffixes = []string{"+gzip", "+zip", "+zstd"}
	plainSuffixes   = []string{"+json", "+text", "+xml", "+yaml"}
)

// encodesWell tells whether content of the type is likely to become smaller when
// it is encoded.
func encodesWell(contentType []byte) bool {
	if bytes.HasPrefix(contentType, []byte("text/")) {
		return true
	}
	if semicolon := bytes.IndexByte(contentType, ';'); semicolon >= 0 {
		contentType = contentType[:semicolon]
	}
	slash := bytes.IndexByte(contentType, '/')
	if slash < 0 {
		return false
	}
	kind, subtype := ascii.Trim(contentType[:slash]), ascii.Trim(contentType[slash+1:])
	switch {
	case ascii.EqualFoldString(kind, "text"), ascii.EqualFoldString(kind, "multipart"), anyOf(plainSuffixes, subtype, hasSuffixFold):
		return true
	case ascii.EqualFoldString(kind, "application"):
		return !anyOf(encodedApplications, subtype, ascii.EqualFoldString) &&
			!anyOf(encodedOffice, subtype, hasPrefixFold) && !anyOf(encodedSuffixes, subtype, hasSuffixFold)
	case ascii.EqualFoldString(kind, "font"):
		return anyOf(encodableFonts, subtype, ascii.EqualFoldString)
	case ascii.EqualFoldString(kind, "image"):
		return anyOf(encodableImages, subtype, ascii.EqualFoldString)
	}
	return false
}

// anyOf tells whether b is, in the sense of matches, one of the texts.
func anyOf(texts []string, b []byte, matches func(b []byte, text string) bool) bool {
	for _, text := range texts {
		if matches(b, text) {
			return true
		}
	}
	return false
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && ascii.EqualFoldString(b[:len(prefix)], prefix)
}

func hasSuffixFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && ascii.EqualFoldString(b[len(b)-len(suffix):], suffix)
}
