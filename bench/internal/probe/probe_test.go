package probe

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

const response = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!"

func TestCheck(t *testing.T) {
	tests := []struct {
		name, text string
		whole, ok  bool
	}{
		{"whole", response, true, true},
		{"nothing", "", false, true},
		{"part of the status", response[:10], false, true},
		{"part of the head", response[:30], false, true},
		{"part of the body", response[:len(response)-1], false, true},
		{"more", response + "H", false, false},
		{"another status", "HTTP/1.1 404 Not Found\r\n", false, false},
		{"another version", "HTTP/1.0 200 OK\r\n", false, false},
		{"another body", response[:len(response)-1] + "?", false, false},
	}
	for _, test := range tests {
		whole, err := Check([]byte(test.text))
		if whole != test.whole || (err == nil) != test.ok {
			t.Errorf("%s: %v, %v", test.name, whole, err)
		}
	}
}

func TestDialTLSWantsTheCipherOfAll(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, serving.Body)
	}))
	server.TLS = new(tls.Config)
	server.StartTLS()
	defer server.Close()
	c, err := DialTLS("", server.Listener.Addr().String(), "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	old := httptest.NewUnstartedServer(server.Config.Handler)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	if _, err := DialTLS("", old.Listener.Addr().String(), "/"); err == nil {
		t.Error("TLS 1.2 was taken")
	}
}
