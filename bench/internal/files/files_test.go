package files

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// TestAnswersAreChecked first uses net/http, which responds correctly, and then
// servers that do not.
func TestAnswersAreChecked(t *testing.T) {
	root, err := plant(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(root))
	packed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			http.ServeFile(w, r, filepath.Join(root, r.URL.Path+".gz"))
			return
		}
		files.ServeHTTP(w, r)
	})
	wrong := func(change func(w http.ResponseWriter) int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(change(w))
			_, _ = w.Write([]byte("something else"))
		})
	}
	tests := []struct {
		name    string
		handler http.Handler
		ok      bool
	}{
		{"good", packed, true},
		{"other content", wrong(func(http.ResponseWriter) int { return 200 }), false},
		{"other status", wrong(func(http.ResponseWriter) int { return 500 }), false},
		{"other coding", wrong(func(w http.ResponseWriter) int {
			w.Header().Set("Content-Encoding", "br")
			return 200
		}), false},
	}
	for _, test := range tests {
		server := httptest.NewServer(test.handler)
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		for _, l := range loads {
			err := l.ask(t.Context(), client, server.URL)
			if (err == nil) != test.ok {
				t.Errorf("%s, %s: %v", test.name, l.name, err)
			}
		}
		server.Close()
	}
}
