package probe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

func TestHTTP2Get(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		ok      bool
	}{
		{"the answer", func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 || r.Method != http.MethodGet || r.URL.Path != "/" {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, serving.Body)
		}, true},
		{"another status", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, serving.Body)
		}, false},
		{"another body", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, serving.Body+"!") }, false},
		{"no body", func(http.ResponseWriter, *http.Request) {}, false},
		{"a reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(test.handler)
			protocols.EnableHTTP2(server.Config)
			server.Start()
			defer server.Close()
			c, err := DialHTTP2("", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 3 {
				if err := c.Get(); (err == nil) != test.ok {
					t.Errorf("got %v", err)
				}
				if !test.ok {
					break
				}
			}
		})
	}
}
