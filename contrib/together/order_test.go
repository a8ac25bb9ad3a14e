package together

import (
	"bytes"
	"io"
	"log"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
	"github.com/valyala/fasthttp/cors"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/requestid"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// permutations calls f with all orders of list.
func permutations(list []int, k int, f func(order []int)) {
	if k == len(list) {
		f(list)
		return
	}
	for i := k; i < len(list); i++ {
		list[k], list[i] = list[i], list[k]
		permutations(list, k+1, f)
		list[k], list[i] = list[i], list[k]
	}
}

// TestAttachInAnyOrder checks that an access log, a policy of CORS, request ids and OpenTelemetry
// see each response, whichever was attached first.
func TestAttachInAnyOrder(t *testing.T) {
	permutations([]int{0, 1, 2, 3}, 0, func(order []int) { testOrder(t, order) })
}

func testOrder(t *testing.T, order []int) {
	const origin = "https://example.com"
	var lines bytes.Buffer
	spans := tracetest.NewSpanRecorder()
	s := &fasthttp.Server{
		MaxRequestBodySize: 10,
		Logger:             log.New(io.Discard, "", 0),
		Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/panics" {
				panic("on purpose")
			}
			ctx.Error(requestid.FromContext(ctx), fasthttp.StatusNotFound)
		},
	}
	entries := accesslog.New(accesslog.Options{Writer: &lines, IDField: requestid.DefaultField})
	policy, err := cors.New(cors.Options{Origins: []string{origin}, Methods: []string{"PUT"}})
	servertest.Must(t, err)
	ids, err := requestid.New(requestid.Options{})
	servertest.Must(t, err)
	attach := []func(){
		func() { entries.Attach(s) },
		func() { policy.Attach(s) },
		func() { ids.Attach(s) },
		func() {
			otelfasthttp.Attach(s, otelfasthttp.WithTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))))
		},
	}
	for _, i := range order {
		attach[i]()
	}
	server := fasthttptest.NewServer(t, s)
	requests := []struct{ method, path, body string }{{"GET", "/", ""}, {"POST", "/", "longer than 10"}, {"GET", "/panics", ""}, {"OPTIONS", "/", ""}}
	var sent []string
	for _, r := range requests {
		var req fasthttp.Request
		var resp fasthttp.Response
		req.Header.SetMethod(r.method)
		req.SetRequestURI(server.URL + r.path)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "PUT")
		req.SetBodyString(r.body)
		servertest.Must(t, server.Client.Do(&req, &resp))
		id := string(resp.Header.Peek(requestid.DefaultField))
		if id == "" || string(resp.Header.Peek("Access-Control-Allow-Origin")) != origin {
			t.Errorf("%v: %s %s: the response has %s", order, r.method, r.path, &resp.Header)
		}
		if resp.StatusCode() == fasthttp.StatusNotFound && string(resp.Body()) != id {
			t.Errorf("%v: the handler sees the id %s, not %s", order, resp.Body(), id)
		}
		sent = append(sent, id)
	}
	servertest.Eventually(t, "the spans", func() bool { return len(spans.Ended()) == len(requests) })
	// the last hook may run after the client has the response
	servertest.Must(t, s.Shutdown())
	servertest.Must(t, entries.Close())
	for i, id := range sent {
		if r := requests[i]; !strings.Contains(lines.String(), id) {
			t.Errorf("%v: %s %s: %s is not in the log", order, r.method, r.path, id)
		}
	}
}
