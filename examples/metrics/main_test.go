package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// program is the server of a test.
var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", stdout)
}

func TestRunCountsItsRequests(t *testing.T) {
	p := program.Start(t)
	base := "http://" + p.Addr()

	get := func(method, path string) string {
		t.Helper()
		req, err := http.NewRequest(method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for range 3 {
		get("GET", "/")
	}
	get("POST", "/nowhere")
	get("BREW", "/nowhere")
	text := get("GET", "/metrics")
	for _, want := range []string{
		`http_requests_total{method="GET",status="200"} 3`,
		`http_requests_total{method="POST",status="404"} 1`,
		`http_requests_total{method="other",status="404"} 1`,
		`http_request_duration_seconds_bucket{le="+Inf"} 5`,
		`http_request_duration_seconds_count 5`,
		`http_requests_in_flight 0`,
		`http_connections 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	checkFormat(t, text)
	p.End()
}

// checkFormat checks each line against the grammar of the format.
func checkFormat(t *testing.T, text string) {
	t.Helper()
	form := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`)
	for line := range strings.Lines(text) {
		if !form.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q is not in the format", line)
		}
	}
}

func TestDurationsAreCountedInClasses(t *testing.T) {
	m := new(metrics)
	for _, taken := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, time.Hour} {
		m.count("GET", 200, taken)
	}
	var b bytes.Buffer
	m.write(&b)
	for _, want := range []string{`{le="0.0001"} 1`, `{le="0.001"} 2`, `{le="0.01"} 3`, `{le="10"} 3`, `{le="+Inf"} 4`, "sum 3600.003"} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%s is missing in\n%s", want, b.String())
		}
	}
}

func TestPanicsAreCounted(t *testing.T) {
	m := new(metrics)
	func() {
		defer func() { _ = recover() }()
		m.measure(func(*fasthttp.RequestCtx) { panic("broken") })(new(fasthttp.RequestCtx))
	}()
	var b bytes.Buffer
	m.write(&b)
	if want := `http_requests_total{method="GET",status="500"} 1`; !strings.Contains(b.String(), want) {
		t.Errorf("%s is missing in\n%s", want, b.String())
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }
