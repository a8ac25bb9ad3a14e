package coding

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
)

// compressTypes are the media types of content that becomes smaller when it is
// encoded. Content of other types is not encoded: encoded content has no known length
// and no ranges, and most formats are compressed already.
var compressTypes = []string{
	"text/*", "*/*+json", "*/*+text", "*/*+xml", "*/*+yaml",
	"application/json", "application/jsonl", "application/json-seq", "application/x-ndjson", "application/ndjson",
	"application/javascript", "application/x-javascript", "application/ecmascript",
	"application/xml", "application/xml-dtd", "application/yaml", "application/x-yaml", "application/toml",
	"application/wasm", "application/cbor", "application/msgpack", "application/x-msgpack", "application/vnd.msgpack",
	"application/protobuf", "application/x-protobuf", "application/vnd.google.protobuf",
	"application/graphql", "application/sql", "application/x-sh", "application/x-www-form-urlencoded",
	"application/rtf", "application/postscript", "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
	"application/vnd.apple.mpegurl", "application/x-mpegurl", "application/x-tar",
	"application/vnd.ms-fontobject", "application/x-font-ttf", "application/x-font-otf", "application/x-font-opentype",
	"font/collection", "font/otf", "font/sfnt", "font/ttf",
	"multipart/form-data", "multipart/mixed", "multipart/related",
	"image/bmp", "image/x-ms-bmp", "image/vnd.microsoft.icon", "image/x-icon",
}

// CompressTypes returns the media types of content that becomes smaller when it is
// encoded, in the form that TypesFor accepts. The caller owns the slice.
func CompressTypes() []string { return slices.Clone(compressTypes) }

// TypeSet is a set of media types, all in lower case.
type TypeSet struct {
	exact    map[string]bool
	kinds    map[string]bool // with the slash: "text/"
	suffixes map[string]bool // with the plus sign: "+json"
}

// DefaultTypes is the set of CompressTypes. It must not be changed.
var DefaultTypes = newTypeSet(compressTypes)

// TypesFor returns the set of the types that a setting names, or DefaultTypes if it
// names none. "image/*" means all types of a kind, "*/*+json" all with a suffix, and
// "*/*" all types. Case and parameters do not matter.
func TypesFor(types []string) *TypeSet {
	if len(types) == 0 {
		return DefaultTypes
	}
	return newTypeSet(types)
}

// newTypeSet is like TypesFor, without a default.
func newTypeSet(types []string) *TypeSet {
	s := &TypeSet{exact: map[string]bool{}, kinds: map[string]bool{}, suffixes: map[string]bool{}}
	for _, t := range types {
		t, _, _ = strings.Cut(t, ";")
		t = strings.ToLower(strings.TrimSpace(t))
		if suffix, ok := strings.CutPrefix(t, "*/*"); ok {
			s.suffixes[suffix] = true
		} else if kind, ok := strings.CutSuffix(t, "*"); ok {
			s.kinds[kind] = true
		} else {
			s.exact[t] = true
		}
	}
	return s
}

// longestType is the greatest length of a registered media type (RFC 6838 section
// 4.2). A longer one is in no set.
const longestType = 127 + len("/") + 127

// Has reports whether the type of a Content-Type field is in the set. It ignores
// parameters.
func (s *TypeSet) Has(contentType []byte) bool {
	if semicolon := bytes.IndexByte(contentType, ';'); semicolon >= 0 {
		contentType = contentType[:semicolon]
	}
	slash := bytes.IndexByte(contentType, '/')
	if slash < 0 || len(contentType) > longestType {
		return false
	}
	if slash > 0 && s.kinds[string(contentType[:slash+1])] {
		return true // as nearly all texts are written
	}
	var text [longestType]byte
	kind := append(append(text[:0], ascii.Trim(contentType[:slash])...), '/')
	name := append(kind, ascii.Trim(contentType[slash+1:])...)
	ascii.ToLower(name)
	// the empty suffix means "*/*": all types
	return len(kind) > len("/") && (s.kinds[string(kind)] || s.exact[string(name)] || s.suffixes[""] || s.suffixes[string(suffixOf(name))])
}

// suffixOf returns the structured syntax suffix of a type, "+json" of
// "application/problem+json".
func suffixOf(name []byte) []byte {
	if plus := bytes.LastIndexByte(name, '+'); plus >= 0 {
		return name[plus:]
	}
	return name[len(name):]
}
