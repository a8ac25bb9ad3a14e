package fasthttp

import "testing"

func TestTypesThatAreWorthEncoding(t *testing.T) {
	for contentType, want := range map[string]bool{
		"text/html; charset=utf-8":         true,
		"TEXT/Plain":                       true,
		" text / css ":                     true,
		"text/event-stream":                true,
		"multipart/byteranges; boundary=x": true,
		"application/json":                 true,
		"application/javascript;x=image/a": true,
		"application/wasm":                 true,
		"application/octet-stream":         true,
		"application/problem+json":         true,
		"image/svg+xml":                    true,
		"image/x-icon":                     true,
		"image/bmp":                        true,
		"font/ttf":                         true,
		"model/gltf+json":                  true,
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
		"":     false,
		"text": false,
		"/":    false,
	} {
		if got := encodesWell([]byte(contentType)); got != want {
			t.Errorf("%q: %v, want %v", contentType, got, want)
		}
	}
}
