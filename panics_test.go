package fasthttp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// makesMistake is a named handler, so that a stack can be searched for its name.
func makesMistake(ctx *RequestCtx) {
	ctx.SetUserValue("id", "7")
	panic("a mistake")
}

// TestPanicsCanBeTracedToTheirHandlers checks the traces of a request whose handler has
// panicked: the stack of the handler in the log, and the values for Server.ResponseSent.
func TestPanicsCanBeTracedToTheirHandlers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ids := make(chan any, 1)
		ts := start(withHTTP2(&Server{Handler: makesMistake, ResponseSent: func(ctx *RequestCtx, _ SentResponse) {
			ids <- ctx.UserValue("id")
		}}))
		check := func(protocol string) {
			if id := servertest.Receive(t, protocol+": a call of ResponseSent", ids); id != "7" {
				t.Errorf("%s: ResponseSent got the id %v", protocol, id)
			}
		}

		ts.Dial().Send(servertest.Get("/"))
		check("HTTP/1.1")
		client, base := h2Client(t, ts)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, http.NoBody)
		servertest.Must(t, err)
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Errorf("HTTP/2: the response is a %d, want none", resp.StatusCode)
		}
		check("HTTP/2")

		var lines []string
		servertest.Eventually(t, "two lines in the log", func() bool {
			lines = ts.Log.All()
			return len(lines) == 2
		})
		for _, line := range lines {
			if !strings.Contains(line, "a mistake") || !strings.Contains(line, "fasthttp.makesMistake(") {
				t.Errorf("the log has no stack of the handler: %q", line)
			}
		}
	})
}
