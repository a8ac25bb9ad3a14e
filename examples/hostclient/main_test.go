package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRunCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.URL.Path))
	}))
	defer server.Close()
	var out strings.Builder
	o := options{addr: server.Listener.Addr().String(), path: "/10-bytes!", requests: 200, callers: 20, conns: 4, timeout: time.Minute}
	if err := run(o, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "200 responses with 2000 bytes in ") || !strings.Contains(got, " 0 too late, 0 failed, ") {
		t.Errorf("got %q", got)
	}
}

func TestRunWithoutServer(t *testing.T) {
	o := options{addr: "127.0.0.1:1", path: "/", requests: 2, callers: 1, conns: 1, timeout: time.Second}
	if err := run(o, new(strings.Builder)); err == nil {
		t.Error("no error without a server")
	}
}
