package integrationtests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// crowd is the number of concurrent requests: below the limit of streams, so that all of them
// use one connection, beside another connection that must not be affected.
const crowd = 240

// crowdServer is the handler of a server that a crowd uses.
func crowdServer(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/hang":
		ctx.WatchDisconnect()
		<-ctx.Done()
	case "/early":
		ctx.SetStatusCode(fasthttp.StatusUnauthorized)
	default:
		fmt.Fprint(ctx, len(ctx.PostBody()))
	}
}

// askOnce makes a request whose body can be sent once, and returns the status and the body.
func (s *http2Server) askOnce(ctx context.Context, t *testing.T, path string, body io.Reader, fields ...string) (string, error) {
	if body != nil {
		body = io.MultiReader(body)
	}
	resp, err := s.client.Do(s.request(t, http.MethodPost, path, body, fields...).WithContext(ctx))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(b)), err
}

// messages is a body of n pieces that are sent one by one.
type messages struct{ n int }

func (m *messages) Read(p []byte) (int, error) {
	if m.n == 0 {
		return 0, io.EOF
	}
	m.n--
	return copy(p, "a small message"), nil
}

// TestHTTP2CrowdsAreServed has a client behave as applications do, with many requests at once:
// repeatedly cancel all pending requests; upload; send large heads; and continue to send
// content that the server has refused. None of that may end the connection, and no request may
// be refused.
func TestHTTP2CrowdsAreServed(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("b"), servertest.Heavy(2<<20))
	large := "Bearer " + strings.Repeat("t", 8<<10)
	for _, test := range []struct {
		name   string
		stream bool
		n      int
		rounds int
		ask    func(ctx context.Context, t *testing.T, s *http2Server) (string, error)
		want   string // "" if all requests are canceled
	}{
		{"all is given up", false, crowd, servertest.Heavy(8), func(ctx context.Context, t *testing.T, s *http2Server) (string, error) {
			return s.askOnce(ctx, t, "/hang", nil)
		}, ""},
		{"uploads", false, 24, 1, func(ctx context.Context, t *testing.T, s *http2Server) (string, error) {
			return s.askOnce(ctx, t, "/", bytes.NewReader(body))
		}, fmt.Sprint("200 ", len(body))},
		{"large heads", false, crowd, 1, func(ctx context.Context, t *testing.T, s *http2Server) (string, error) {
			return s.askOnce(ctx, t, "/", strings.NewReader("x"), "Authorization", large)
		}, "200 1"},
		{"answers before small messages have ended", true, 20, 3, func(ctx context.Context, t *testing.T, s *http2Server) (string, error) {
			return s.askOnce(ctx, t, "/early", &messages{servertest.Heavy(5000)})
		}, "401 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				var faults atomic.Int32
				server := &fasthttp.Server{Handler: crowdServer, StreamRequestBody: test.stream}
				server.HTTP2.CountError = func(code string) {
					if code != "cancel" {
						faults.Add(1)
						t.Log("the server counts", code)
					}
				}
				s := start(server)
				// the greeting has a time limit, which a busy machine exceeds beside a crowd
				if got, err := s.askOnce(t.Context(), t, "/", nil); err != nil || got != "200 0" {
					t.Errorf("before: %q, %v", got, err)
				}
				for range test.rounds {
					ctx, cancel := context.WithCancel(t.Context())
					outcomes := make(chan error, test.n)
					for range test.n {
						go func() {
							got, err := test.ask(ctx, t, s)
							if err == nil && got != test.want {
								err = fmt.Errorf("%q, want %q", got, test.want)
							}
							outcomes <- err
						}()
					}
					if test.want == "" {
						// requests that the server has not seen yet are canceled as well
						time.AfterFunc(50*time.Millisecond, cancel)
					}
					for range test.n {
						if err := servertest.Receive(t, "an outcome", outcomes); err != nil && !(test.want == "" && errors.Is(err, context.Canceled)) {
							t.Error(err)
						}
					}
					cancel()
					if got, err := s.askOnce(t.Context(), t, "/", nil); err != nil || got != "200 0" {
						t.Errorf("afterwards: %q, %v", got, err)
					}
				}
				if faults.Load() > 0 {
					t.Errorf("%d faults", faults.Load())
				}
			})
		})
	}
}

// TestHTTP2ResetWhileQueuedHasNoHandler resets a request that waits for the handlers of other
// requests, whose streams were reset as well.
func TestHTTP2ResetWhileQueuedHasNoHandler(t *testing.T) {
	for _, e := range servertest.Engines[:2] {
		t.Run(e.Name, func(t *testing.T) {
			began, goOn := make(chan string, 10), make(chan struct{})
			s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				began <- string(ctx.Path())
				if string(ctx.Path()) == "/long" {
					<-goOn
				}
				ctx.SetBodyString("ok")
			}}
			s.HTTP2.MaxConcurrentStreams = 1
			c := greetHTTP2(serveHTTP2(t, e, s)).Listen()
			c.Get(1, "/long").Flush()
			servertest.Receive(t, "the first request", began)
			c.Reset(1, http2.ErrCodeCancel)
			c.Get(3, "/queued").Reset(3, http2.ErrCodeCancel)
			c.Get(5, "/last").Sync()
			close(goOn)
			if got := servertest.Receive(t, "another request", began); got != "/last" {
				t.Errorf("%s has reached a handler", got)
			}
			if got := c.Await(5).String(); got != "200 ok" {
				t.Errorf("got %s", got)
			}
		})
	}
}
