package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRunTellsWhatCame(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		w.Header().Set("X-Agent", r.UserAgent())
		_, _ = w.Write([]byte("twelve bytes"))
	}))
	defer server.Close()
	var out strings.Builder
	if err := run(t.Context(), []string{server.URL + "/old"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/old: 200, 12 bytes", "at " + server.URL + "/new", "X-Agent: example"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
}

func TestRunFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ended, []string{server.URL}, new(strings.Builder)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := run(t.Context(), nil, new(strings.Builder)); err == nil {
		t.Error("there was nothing to do, and no error")
	}
	if err := run(t.Context(), []string{"ftp://example.com/"}, new(strings.Builder)); err == nil {
		t.Error("ftp was fetched")
	}
}
