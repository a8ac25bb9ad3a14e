package fasthttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// unanswered are handlers whose requests end without a response, or in the middle of it.
var unanswered = map[string]RequestHandler{
	"handler exits":  func(*RequestCtx) { runtime.Goexit() },
	"handler aborts": func(*RequestCtx) { panic(http.ErrAbortHandler) },
	"body exits": func(ctx *RequestCtx) {
		ctx.SetBodyStream(servertest.ReadFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, nil }), -1)
	},
	"exits within a timeout": func(ctx *RequestCtx) {
		TimeoutHandler(func(ctx *RequestCtx) { ctx.Done() }, servertest.Never, "late")(ctx)
		runtime.Goexit()
	},
	"exits beside a late one": func(ctx *RequestCtx) {
		goOn := make(chan struct{})
		TimeoutHandler(func(ctx *RequestCtx) { ctx.Done(); <-goOn }, servertest.Short, "late")(ctx)
		close(goOn)
		runtime.Goexit()
	},
}

// A request that ends without a response is no longer watched, and its context ends for
// goroutines that still have it.
func TestWatchEndsWithARequestThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, handler := range unanswered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachEngine(t, func(t *testing.T, start starter) {
				for _, everyRequest := range []bool{false, true} {
					told, sent := make(chan struct{}, 8), make(chan SentResponse, 8)
					r := start(withHTTP2(&Server{
						CancelOnDisconnect: everyRequest,
						ResponseSent:       func(_ *RequestCtx, how SentResponse) { sent <- how },
						Handler: func(ctx *RequestCtx) {
							if !everyRequest {
								ctx.WatchDisconnect()
							}
							context.AfterFunc(ctx, func() { told <- struct{}{} })
							handler(ctx)
						},
					}))
					check := func(protocol string) {
						t.Helper()
						servertest.Receive(t, protocol+": the end of the context", told)
						how := servertest.Receive(t, protocol+": a report", sent)
						if how.Err == nil {
							t.Errorf("%s: the report is %+v", protocol, how)
						}
						watchesNobody(t, protocol, r.S)
					}
					c := r.Dial()
					c.Get("/")
					check("HTTP/1")
					client, base := h2Client(t, r)
					if resp, err := client.Get(base + "/"); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					check("HTTP/2")
					if len(sent) > 0 {
						t.Errorf("a response is reported twice: %+v", <-sent)
					}
				}
			})
		})
	}
}

// watchesNobody waits until no request is watched.
func watchesNobody(t *testing.T, protocol string, s *Server) {
	t.Helper()
	servertest.Eventually(t, protocol+": no request is watched", func() bool {
		// a still reachable watch is released with its context
		runtime.GC()
		return s.watches.Len() == 0
	})
}

// A client disconnects in the middle of a file, after the handler has registered for the end
// of the context.
func TestWatchEndsWithAFileThatIsCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large")
	servertest.Must(t, os.WriteFile(path, nil, 0o600))
	servertest.Must(t, os.Truncate(path, 1<<30))
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, watches := range []bool{false, true} {
			sent := make(chan SentResponse, 8)
			r := start(withHTTP2(&Server{
				ResponseSent: func(_ *RequestCtx, how SentResponse) { sent <- how },
				Handler: func(ctx *RequestCtx) {
					if watches {
						ctx.WatchDisconnect()
					}
					context.AfterFunc(ctx, func() {})
					ctx.SendFile(path)
				},
			}))
			check := func(protocol string) {
				t.Helper()
				if how := servertest.Receive(t, protocol+": a report", sent); how.Err == nil {
					t.Errorf("%s: the report is %+v", protocol, how)
				}
				watchesNobody(t, protocol, r.S)
			}
			c := r.Dial()
			c.Get("/")
			_, err := bufio.NewReader(c.Conn).Discard(1000)
			servertest.Must(t, err)
			servertest.Reset(c.Conn)
			check("HTTP/1")
			client, base := h2Client(t, r)
			resp, err := client.Get(base + "/")
			servertest.Must(t, err)
			_, err = io.CopyN(io.Discard, resp.Body, 1000)
			servertest.Must(t, err)
			if err := resp.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			check("HTTP/2")
		}
	})
}
