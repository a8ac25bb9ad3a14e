package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// program is the server of a test.
var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", stdout)
}

func TestNotes(t *testing.T) {
	p := program.Start(t)
	base := "http://" + p.Addr()

	steps := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/notes", "", 200, "[]"},
		{"POST", "/notes", `{"text": "first"}`, 201, `{"id":1,"text":"first"}`},
		{"POST", "/notes", `{"text": "second"}`, 201, `{"id":2,"text":"second"}`},
		{"GET", "/notes", "", 200, `[{"id":1,"text":"first"},{"id":2,"text":"second"}]`},
		{"GET", "/notes/2", "", 200, `{"id":2,"text":"second"}`},
		{"PUT", "/notes/2", `{"text": "changed"}`, 200, `{"id":2,"text":"changed"}`},
		{"DELETE", "/notes/1", "", 204, ""},
		{"GET", "/notes/1", "", 404, `{"error":"there is no such note"}`},
		{"DELETE", "/notes/1", "", 404, `{"error":"there is no such note"}`},
		{"PUT", "/notes/1", `{"text": "x"}`, 404, `{"error":"there is no such note"}`},
		{"GET", "/notes/x", "", 404, `{"error":"there is no such note"}`},
		{"GET", "/", "", 404, `{"error":"there is nothing here"}`},
		{"PATCH", "/notes", "", 405, `{"error":"the method must be one of GET, HEAD, POST"}`},
		{"POST", "/notes/2", "", 405, `{"error":"the method must be one of GET, HEAD, PUT, DELETE"}`},
		{"POST", "/notes", `{"text": ""}`, 422, `{"error":"a note must have a text"}`},
		{"POST", "/notes", `{"text": "a"} {}`, 400, `{"error":"the body has more than one value"}`},
		{"POST", "/notes", `{"txet": "a"}`, 400, `{"error":"the body is wrong: json: unknown field \"txet\""}`},
		{"GET", "/notes", "", 200, `[{"id":2,"text":"changed"}]`},
	}
	for _, step := range steps {
		req, err := http.NewRequest(step.method, base+step.path, strings.NewReader(step.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := strings.TrimSpace(string(body)); resp.StatusCode != step.status || got != step.want {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, resp.StatusCode, got, step.status, step.want)
		}
	}

	resp, err := http.Post(base+"/notes", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("plain text is answered with %d", resp.StatusCode)
	}
	p.End()
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }

func TestMemoryIsLimited(t *testing.T) {
	n := &notes{all: make(map[int]note)}
	for i := range maxNotes {
		n.all[i] = note{}
	}
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/notes")
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.SetBodyString(`{"text":"one more"}`)
	n.serve(&ctx)
	if got := ctx.Response.StatusCode(); got != fasthttp.StatusInsufficientStorage || len(n.all) != maxNotes {
		t.Errorf("one too many is answered with %d", got)
	}
}

// logged is a fasthttp.Logger.
type logged struct{ strings.Builder }

func (l *logged) Printf(format string, args ...any) { fmt.Fprintf(l, format, args...) }

func TestUnknownErrorsAreLoggedAndNotTold(t *testing.T) {
	var ctx fasthttp.RequestCtx
	log := new(logged)
	ctx.Init(new(fasthttp.Request), nil, log)
	respond(&ctx, nil, errors.New("secret of db7"))
	if body := string(ctx.Response.Body()); ctx.Response.StatusCode() != 500 || strings.Contains(body, "secret") || !strings.Contains(log.String(), "secret of db7") {
		t.Errorf("got %d %s, logged %q", ctx.Response.StatusCode(), body, log)
	}
}
