package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestGreetTellsWhatItWasAsked(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod("PUT")
	ctx.Request.SetRequestURI("http://example.com/some/path?a=b")
	ctx.Request.SetBodyString("12345")
	greet(&ctx)

	body := string(ctx.Response.Body())
	if !strings.HasPrefix(body, "Hello, world!\n") {
		t.Errorf("the body does not start with a greeting: %q", body)
	}
	for _, want := range []string{"PUT", "/some/path", "a=b", "example.com", "5 bytes"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body does not have %q:\n%s", want, body)
		}
	}
	if got, want := string(ctx.Response.Header.ContentType()), "text/plain; charset=utf-8"; got != want {
		t.Errorf("the content type is %q, want %q", got, want)
	}
}

func TestRunAnswersUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0", w) }()

	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	resp, err := http.Get("http://" + words[len(words)-1] + "/greet/me")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "/greet/me") {
		t.Errorf("got status %d and %q", resp.StatusCode, body)
	}

	cancel()
	if err := servertest.Receive(t, "the end of run", done); err != nil {
		t.Errorf("run returned %v", err)
	}
}

func TestRunFailsWhereItCannotListen(t *testing.T) {
	if err := run(t.Context(), "127.0.0.1:no-port", io.Discard); err == nil {
		t.Error("run returned no error")
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "127.0.0.1:0", io.Discard); err != nil {
		t.Errorf("run returned %v", err)
	}
}
