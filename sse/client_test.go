package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// errEnough ends Source.Read.
var errEnough = errors.New("enough")

// collect reads n events as text.
func collect(t *testing.T, s *sse.Source, n int) (all []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*servertest.Patience)
	defer cancel()
	err = s.Read(ctx, func(e sse.Event) error {
		all = append(all, fmt.Sprintf("%s/%s/%s", e.ID, e.Name, e.Data))
		if len(all) == n {
			return errEnough
		}
		return nil
	})
	return all, err
}

func TestSourceReconnects(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		ts := start(serving(sse.Options{Retry: time.Millisecond}, func(s *sse.Stream) {
			// the client may repeat a GET whose connection was lost
			n := 1
			if s.LastEventID() != "0" {
				n = 2
			}
			_ = s.Send(sse.Event{ID: fmt.Sprint(n), Name: "n", Data: []byte("after " + s.LastEventID())})
			_ = s.Send(data("second"))
			if n > 1 {
				<-s.Done()
			}
		}))
		s := sse.Source{URL: ts.URL("/"), Client: ts.ours(t), LastEventID: "0"}
		var reasons []error
		s.Disconnected = func(reason error, wait time.Duration) {
			reasons = append(reasons, reason)
			if wait < 100*time.Millisecond || wait > 150*time.Millisecond {
				t.Errorf("the client waits for %v", wait)
			}
		}
		got, err := collect(t, &s, 4)
		if want := []string{"1/n/after 0", "1//second", "2/n/after 1", "2//second"}; err != errEnough || !slices.Equal(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
		if len(reasons) != 1 || reasons[0] != io.EOF {
			t.Errorf("the reasons are %v", reasons)
		}
		if s.LastEventID != "2" {
			t.Errorf("the last ID is %q", s.LastEventID)
		}
	})
}

// answers is a handler with a response for each path.
func answers(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); path {
	case "/204":
		ctx.SetStatusCode(204)
	case "/500":
		ctx.Error("data: a\n\n", 500)
		ctx.SetContentType("text/event-stream")
	case "/text":
		ctx.SetBodyString("data: a\n\n")
	case "/gzip":
		ctx.SetContentType("text/event-stream")
		ctx.Response.Header.SetContentEncoding("gzip")
		ctx.SetBodyString("data: a\n\n")
	case "/redirect":
		ctx.Redirect("/events", 307)
	case "/loop":
		ctx.Redirect("/loop", 307)
	case "/events":
		ctx.SetContentType("Text/Event-Stream; charset=utf-8")
		ctx.SetBodyString("retry: 100\nid: 1\ndata: " + strings.Join([]string{
			string(ctx.Request.Header.Peek("Accept")), string(ctx.Request.Header.Peek("Cache-Control")), string(ctx.Request.Header.Peek("X-Own")),
		}, "|") + "\n\n")
	case "/large":
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStream(io.LimitReader(endless{}, 1<<30), -1)
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, "xxxxxxxxxxxxxxxxxxxx"), nil }

func TestSourceEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: answers})
		client := ts.ours(t)
		for path, check := range map[string]func(err error) bool{
			"/204": func(err error) bool { return err == nil },
			"/500": func(err error) bool {
				status, ok := errors.AsType[*sse.StatusError](err)
				return ok && status.StatusCode == 500
			},
			"/text":  func(err error) bool { return errors.Is(err, sse.ErrContentType) },
			"/gzip":  func(err error) bool { return errors.Is(err, sse.ErrContentType) },
			"/large": func(err error) bool { return err == sse.ErrEventTooLarge },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*servertest.Patience)
			if err := sse.Read(ctx, client, ts.URL(path), func(e sse.Event) error { return errEnough }); !check(err) {
				t.Errorf("%s: %v", path, err)
			}
			cancel()
		}
		// a redirect is followed, and the fields are set
		s := sse.Source{URL: ts.URL("/redirect"), Client: client, Request: &fasthttp.Request{}}
		s.Request.Header.Set("X-Own", "own")
		s.Request.Header.Set("Accept", "other")
		if got, err := collect(t, &s, 1); err != errEnough || !slices.Equal(got, []string{"1//text/event-stream|no-cache|own"}) {
			t.Errorf("after a redirect: %q, %v", got, err)
		}
		// what fails again and again is given up
		s = sse.Source{URL: ts.URL("/loop"), Client: client, MaxFailures: 2, Retry: time.Millisecond}
		if _, err := collect(t, &s, 1); !errors.Is(err, fasthttp.ErrTooManyRedirects) {
			t.Errorf("after redirects without an end: %v", err)
		}
	})
}

func TestSourceNeedsAURL(t *testing.T) {
	for _, url := range []string{"", "/path", "ftp://host/", "http://", "http://a b/"} {
		if err := sse.Read(t.Context(), nil, url, nil); err == nil {
			t.Errorf("%q: no error", url)
		}
	}
}

// The context ends Read while it waits for events, for a response, and for reconnecting.
func TestContextEndsRead(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		reached := make(chan struct{}, 1)
		hold := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/silent":
				sse.Serve(ctx, func(s *sse.Stream) {
					reached <- struct{}{}
					<-s.Done()
				})
			case "/late":
				reached <- struct{}{}
				<-hold
			case "/gone":
				sse.Options{Retry: time.Hour}.Serve(ctx, func(s *sse.Stream) {})
			}
		}})
		defer close(hold)
		why := errors.New("the reason")
		for _, path := range []string{"/silent", "/late", "/gone"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := sse.Source{URL: ts.URL(path), Client: ts.ours(t), Disconnected: func(error, time.Duration) { reached <- struct{}{} }}
			ended := make(chan error, 1)
			go func() { ended <- s.Read(ctx, func(sse.Event) error { return nil }) }()
			servertest.Receive(t, "the right moment", reached)
			cancel(why)
			if err := servertest.Receive(t, "the end of Read", ended); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

func TestLoopOverEvents(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: answers})
		n := 0
		s := sse.Source{URL: ts.URL("/events"), Client: ts.ours(t)}
		for e, err := range s.Events(t.Context()) {
			if err != nil || e.ID != "1" {
				t.Fatalf("%+v, %v", e, err)
			}
			if n++; n == 2 {
				break
			}
		}
		s.URL = ts.URL("/500")
		var last error
		for _, err := range s.Events(t.Context()) {
			last = err
			n++
		}
		if _, ok := errors.AsType[*sse.StatusError](last); !ok || n != 3 {
			t.Errorf("%d events, then %v", n, last)
		}
		s.URL = ts.URL("/204")
		for e, err := range s.Events(t.Context()) {
			t.Errorf("after 204: %+v, %v", e, err)
		}
	})
}

// scripted is a Client that gets the same events in each response. It keeps the Last-Event-ID of the
// last request.
type scripted struct{ events, lastID string }

// DoRedirectsContext implements sse.Client.
func (c *scripted) DoRedirectsContext(_ context.Context, req *fasthttp.Request, resp *fasthttp.Response, _ int) error {
	c.lastID = string(req.Header.Peek("Last-Event-ID"))
	resp.Header.SetContentType("text/event-stream")
	resp.SetBodyString(c.events)
	return nil
}

// The function ends Read, and a loop ends itself, also if the context has ended meanwhile.
func TestFunctionEndsReadAfterItsContext(t *testing.T) {
	s := sse.Source{URL: "http://a/", Client: &scripted{events: "data: a\n\n"}}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Read(ctx, func(sse.Event) error {
		cancel()
		return errEnough
	})
	if err != errEnough {
		t.Errorf("Read returns %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for e, err := range s.Events(ctx) {
		if err != nil || string(e.Data) != "a" {
			t.Errorf("%+v, %v", e, err)
		}
		if cancel(); ctx.Err() != nil {
			break
		}
	}
}

// An event that the function does not get, since the context has ended, is sent again: its ID is not
// the last one.
func TestLastEventIDIsOfAnEventThatWasPassedOn(t *testing.T) {
	client := &scripted{events: "id: 1\ndata: a\n\nid: 2\ndata: b\n\n"}
	s := sse.Source{URL: "http://a/", Client: client}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := s.Read(ctx, func(sse.Event) error {
		n++
		cancel()
		return nil
	})
	if err != context.Canceled || n != 1 || s.LastEventID != "1" {
		t.Errorf("after %d events the last ID is %q, %v", n, s.LastEventID, err)
	}
	if err := s.Read(t.Context(), func(sse.Event) error { return errEnough }); err != errEnough || client.lastID != "1" {
		t.Errorf("the next request has the ID %q, %v", client.lastID, err)
	}
}

// A server of net/http sends events, and cuts them off.
func TestSourceReadsOtherServers(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		n := requests.Add(1)
		fmt.Fprintf(w, "\ufeffretry: 1\r\nid: %d\r\ndata: %s\r\n\r\ndata: incomp", n, r.Header.Get("Last-Event-ID"))
		_ = http.NewResponseController(w).Flush()
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer ts.Close()
	client := &fasthttp.Client{}
	defer client.CloseIdleConnections()
	got, err := collect(t, &sse.Source{URL: ts.URL, Client: client}, 3)
	if err != errEnough || !slices.Equal(got, []string{"1//", "2//1", "3//2"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCurlReadsStreams(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl on this machine")
	}
	version, err := exec.Command(curl, "--version").Output()
	if err != nil {
		t.Skipf("curl does not run: %v", err)
	}
	everywhere(t, func(t *testing.T, start starter) {
		ts := start(serving(sse.Options{}, func(s *sse.Stream) {
			for i := range 3 {
				_ = s.Send(data(fmt.Sprint(i)))
			}
		}))
		protocol := "--http1.1"
		switch {
		case !ts.HTTP2:
		case !strings.Contains(string(version), " HTTP2"):
			t.Skip("this curl was built without HTTP/2")
		case ts.Engine.TLS:
			protocol = "--http2"
		default:
			protocol = "--http2-prior-knowledge"
		}
		got, err := exec.CommandContext(t.Context(), curl, "--silent", "--show-error", "--fail", "--noproxy", "*", "--no-buffer",
			"--insecure", "--max-time", "300", protocol, ts.URL("/")).CombinedOutput()
		if want := "data: 0\n\ndata: 1\n\ndata: 2\n\n"; err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
