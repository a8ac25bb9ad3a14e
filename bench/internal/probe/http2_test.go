package probe

import (
	"io"
	"net"
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

func TestHTTP2FramesMayComeInPieces(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	c := &HTTP2Conn{conn: newConn(client, "localhost", "/"), host: "localhost", next: 1}
	defer c.Close()
	text := appendFrame(nil, 0, frameSettings, 0, 0)
	text = append(appendFrame(text, 1, frameHeaders, flagEndHeaders, 1), field200)
	text = append(appendFrame(text, len(serving.Body), frameData, flagEndStream, 1), serving.Body...)
	go func() {
		go func() { _, _ = io.Copy(io.Discard, server) }()
		for i := range text {
			if _, err := server.Write(text[i : i+1]); err != nil {
				return
			}
		}
	}()
	if err := c.Get(); err != nil {
		t.Fatal(err)
	}
}
