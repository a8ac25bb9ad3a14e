package coding

import (
	"strings"
	"testing"
)

func TestTypesThatAreWorthEncoding(t *testing.T) {
	for contentType, want := range map[string]bool{
		"text/html; charset=utf-8":         true,
		"TEXT/Plain":                       true,
		" text / css ":                     true,
		"text/event-stream":                true,
		"application/json":                 true,
		"application/javascript;x=image/a": true,
		"application/wasm":                 true,
		"application/vnd.api+json":         true,
		"multipart/mixed; boundary=x":      true,
		"application/x-ndjson":             true,
		"application/problem+json":         true,
		"image/svg+xml":                    true,
		"image/x-icon":                     true,
		"image/bmp":                        true,
		"font/ttf":                         true,
		"model/gltf+json":                  true,
		"multipart/x-mixed-replace":        false,
		"application/octet-stream":         false,
		"application/x-unknown":            false,
		"image/png":                        false,
		"image/webp; text/html":            false,
		"IMAGE/JPEG":                       false,
		"video/mp4":                        false,
		"audio/ogg":                        false,
		"font/woff2":                       false,
		"application/zip":                  false,
		"Application/ZIP":                  false,
		"application/gzip; q=1":            false,
		"application/epub+zip":             false,
		"application/pdf":                  false,
		"application/vnd.rar":              false,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": false,
		"":      false,
		"text":  false,
		"/":     false,
		"/*":    false,
		"+json": false,
		strings.Repeat("x", 200) + "/" + strings.Repeat("y", 200) + "+json": false,
	} {
		if got := DefaultTypes.Has([]byte(contentType)); got != want {
			t.Errorf("%q: %v, want %v", contentType, got, want)
		}
	}
}

func TestTypesAreNamedByPattern(t *testing.T) {
	types := TypesFor([]string{"Application/X-Mine", "image/*", "*/*+cbor", " text/plain ", "text/csv; charset=utf-8", "audio/*;q=1"})
	for contentType, want := range map[string]bool{
		"application/x-mine; a=b":  true,
		"application/x-mine2":      false,
		"image/png":                true,
		"IMAGE/x":                  true,
		"imagex/png":               false,
		"a/b+cbor":                 true,
		"a/b+c+cbor":               true,
		"a/bcbor":                  false,
		"text/plain":               true,
		"text/html":                false,
		"text/csv":                 true,
		"text/csv; header=present": true,
		"audio/wav":                true,
	} {
		if got := types.Has([]byte(contentType)); got != want {
			t.Errorf("%q: %v, want %v", contentType, got, want)
		}
	}
	if !TypesFor([]string{"*/*"}).Has([]byte("a/b")) || TypesFor(nil) != DefaultTypes {
		t.Error("all types, or none")
	}
	if n := testing.AllocsPerRun(100, func() { types.Has([]byte("application/problem+json; charset=utf-8")) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	list := CompressTypes()
	list[0] = "x/y"
	if CompressTypes()[0] == "x/y" {
		t.Error("the list is not the caller's own")
	}
}
