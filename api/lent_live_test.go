package api

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// meeting is a channel over which two goroutines exchange their slices.
type meeting chan [][]byte

// show waits for the other goroutine, which never comes if its call has failed: until ctx ends.
func (m meeting) show(ctx context.Context, mine [][]byte) (others [][]byte) {
	select {
	case m <- mine:
		return <-m
	case others = <-m:
		m <- mine
		return others
	case <-ctx.Done():
		return nil
	}
}

// inContextOf returns all slices that a handler can get.
func inContextOf(ctx *fasthttp.RequestCtx) (all [][]byte) {
	for _, object := range []any{
		&ctx.Request.Header, ctx.URI(), ctx.QueryArgs(), ctx.PostArgs(), &ctx.Response.Header, ctx, &ctx.Request, &ctx.Response,
	} {
		all = append(all, everything(object)...)
	}
	return all
}

// Two handlers run at the same time, on connections that have had such requests and
// responses before. So do two callers of a client.
func TestWhatServersAndClientsHandOutIsTheExchangesOwn(t *testing.T) {
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		t.Run(fmt.Sprint(engine), func(t *testing.T) {
			var mu sync.Mutex
			said := map[string]string{}
			differs := func(kind string, all [][]byte) {
				mu.Lock()
				defer mu.Unlock()
				now := texts(all)
				if said[kind] == "" {
					said[kind] = now
				}
				if said[kind] != now {
					t.Errorf("%s: %s, before it was %s", kind, now, said[kind])
				}
			}
			handlers, callers := make(meeting), make(meeting)
			both, part := context.WithTimeout(t.Context(), servertest.Patience)
			defer part()
			s := &fasthttp.Server{
				Engine: engine,
				Name:   "name",
				AcceptTrailer: func(name []byte) bool {
					// the object is the same after two writes
					for range 2 {
						if !overwrite([][]byte{name}) {
							t.Error("the name of a trailer field is read-only")
						}
					}
					return true
				},
				Handler: func(ctx *fasthttp.RequestCtx) {
					ctx.SetUserValue("key", 1)
					mine := inContextOf(ctx)
					differs("request", mine)
					if text, found := shared(mine, handlers.show(both, mine)); found {
						t.Errorf("two handlers share the memory of %q", text)
					}
					if !overwrite(mine) {
						t.Errorf("read-only memory in %s", texts(mine))
					}
					ctx.Response.Reset()
					ctx.SetBodyString("body")
				},
			}
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			client := &fasthttp.HostClient{Addr: ln.Addr().String(), Name: "agent", MaxConns: 2}
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for range 8 {
						req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
						req.SetRequestURI("http://host/path?query=1")
						req.Header.Set("X-Other", "x")
						req.Header.SetMethod(fasthttp.MethodPost)
						req.SetBodyStream(strings.NewReader("a=b"), -1)
						if err := req.Header.AddTrailerField("X-Sum", "1"); err != nil {
							t.Error(err)
						}
						if err := client.Do(req, resp); err != nil {
							t.Error(err)
							part()
						}
						mine := slices.Concat(everything(&resp.Header), everything(resp), everything(&req.Header))
						differs("response", mine)
						if text, found := shared(mine, callers.show(both, mine)); found {
							t.Errorf("two callers share the memory of %q", text)
						}
						if !overwrite(mine) {
							t.Errorf("read-only memory in %s", texts(mine))
						}
						fasthttp.ReleaseRequest(req)
						fasthttp.ReleaseResponse(resp)
					}
				})
			}
			wg.Wait()
			client.CloseIdleConnections()
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := servertest.Receive(t, "the end of Serve", served); err != nil {
				t.Error(err)
			}
		})
	}
}
