package files

import (
	"testing"
)

func TestJSONIsForWhoPrefersIt(t *testing.T) {
	for accept, json := range map[string]bool{
		"": false, "*/*": false, "text/html": false, "application/json": true, "application/json;q=0.5, */*;q=0.1": true, "text/html, application/json": false,
		"application/json, text/html;q=0.9": true, "application/*": true, "application/json;q=0": false, "APPLICATION/JSON": true, "application/json;q=x": false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false, "*/*, text/html;q=0.1": true, "image/png": false,
	} {
		if got := prefersJSON([]byte(accept)); got != json {
			t.Errorf("%q prefers JSON: %v", accept, got)
		}
	}
}

func TestSizesAreReadable(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 10 << 30: "10.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := string(appendSize(nil, size)); got != want {
			t.Errorf("%d is %q, want %q", size, got, want)
		}
	}
}
