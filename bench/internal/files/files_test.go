package files

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/wrk"
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

func TestAcceptRefusesRunsThatFailed(t *testing.T) {
	tests := []struct {
		status int
		result wrk.Result
		ok     bool
	}{
		{200, wrk.Result{Requests: 1000, Errors: 10}, true},
		{200, wrk.Result{Requests: 1000, Errors: 11}, false},
		{200, wrk.Result{Requests: 1000, Refused: 1}, false},
		{200, wrk.Result{}, false},
		{404, wrk.Result{Requests: 1000, Refused: 1000}, true},
		{404, wrk.Result{Requests: 1000, Refused: 999}, false},
		{404, wrk.Result{Requests: 1000}, false},
	}
	for _, test := range tests {
		l := load{status: test.status}
		if err := l.accept(test.result); (err == nil) != test.ok {
			t.Errorf("%d, %+v: %v", test.status, test.result, err)
		}
	}
}
