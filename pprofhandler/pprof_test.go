package pprofhandler

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"os"
	rtp "runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestPaths(t *testing.T) {
	tests := []struct {
		path   string
		status int
		body   string // a part of it
	}{
		{"/debug/pprof/", 200, "full goroutine stack dump"},
		{"/debug/pprof/cmdline", 200, os.Args[0]},
		{"/debug/pprof/symbol", 200, "num_symbols: 1"},
		{"/debug/pprof/allocs?debug=1", 200, "heap profile"},
		{"/debug/pprof/block?debug=1", 200, "contention"},
		{"/debug/pprof/goroutine?debug=2", 200, "TestPaths"},
		{"/debug/pprof/heap?debug=1&gc=1", 200, "heap profile"},
		{"/debug/pprof/mutex?debug=1", 200, "mutex"},
		{"/debug/pprof/threadcreate?debug=1", 200, "threadcreate profile"},
		{"/debug/pprof/heap/", 404, ""},
		{"/debug/pprof/cmdline/", 404, ""},
		{"/debug/pprof/nothing", 404, ""},
		{"/debug/pprof/heap/x", 404, ""},
		{"/debug/pprofheap", 404, ""},
		{"/debug/", 404, ""},
		{"/", 404, ""},
		{"/debug/pprof", 301, ""},
		{"/debug/pprof/profile?seconds=3601", 400, "3600"},
		{"/debug/pprof/profile?seconds=-1", 400, "3600"},
		{"/debug/pprof/heap?seconds=NaN", 400, "3600"},
		{"/debug/pprof/trace?seconds=soon", 400, "3600"},
	}
	for _, test := range tests {
		ctx := ask(test.path)
		if got := ctx.Response.StatusCode(); got != test.status {
			t.Errorf("%s: the status is %d, want %d", test.path, got, test.status)
		}
		if body := string(ctx.Response.Body()); !strings.Contains(body, test.body) {
			t.Errorf("%s: %q is not in %.200q", test.path, test.body, body)
		}
	}
}

func TestProfilesAreCompressed(t *testing.T) {
	for _, path := range []string{"heap", "goroutine", "profile?seconds=1"} {
		ctx := ask("/debug/pprof/" + path)
		r, err := gzip.NewReader(bytes.NewReader(ctx.Response.Body()))
		if err != nil {
			t.Errorf("%s: %v: %.200q", path, err, ctx.Response.Body())
			continue
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The profiles read their arguments from a form, too.
func TestSecondsOfAFormAreLimited(t *testing.T) {
	for _, name := range []string{"profile", "trace", "heap"} {
		for _, tc := range []struct{ query, kind, form string }{
			// the form has precedence
			{"?seconds=1", "application/x-www-form-urlencoded", "seconds=3601"},
			{"", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"seconds\"\r\n\r\n3601\r\n--b--\r\n"},
		} {
			var req fasthttp.Request
			req.Header.SetMethod("POST")
			req.Header.SetContentType(tc.kind)
			req.SetRequestURI("/debug/pprof/" + name + tc.query)
			req.SetBodyString(tc.form)
			ctx := new(fasthttp.RequestCtx)
			ctx.Init(&req, nil, nil)
			PprofHandler(ctx)
			if body := ctx.Response.Body(); ctx.Response.StatusCode() != 400 || !bytes.Contains(body, []byte("3600")) {
				t.Errorf("%s, %s: got %d, %.200q", name, tc.kind, ctx.Response.StatusCode(), body)
			}
		}
	}
}

func TestTraceIsTaken(t *testing.T) {
	ctx := ask("/debug/pprof/trace?seconds=0.01")
	if body := ctx.Response.Body(); !bytes.HasPrefix(body, []byte("go 1.")) {
		t.Errorf("no trace: %d, %.200q", ctx.Response.StatusCode(), body)
	}
}

// ownProfile is one for the program, however often a test runs.
var ownProfile = sync.OnceValue(func() *rtp.Profile { return rtp.NewProfile("pprofhandler.test") })

func TestProfilesOfTheProgramAreServed(t *testing.T) {
	p := ownProfile()
	p.Add(p, 0)
	defer p.Remove(p)
	ctx := ask("/debug/pprof/pprofhandler.test?debug=1")
	if body := string(ctx.Response.Body()); !strings.Contains(body, "pprofhandler.test profile: total 1") {
		t.Errorf("got %q", body)
	}
}

func TestProfileEndsWhenTheClientLeaves(t *testing.T) {
	over := make(chan struct{})
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		defer close(over)
		PprofHandler(ctx)
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()

	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	servertest.NewConn(t, nc).Get("/debug/pprof/profile?seconds=3600")
	servertest.Eventually(t, "the profile", func() bool {
		return bytes.Contains(ask("/debug/pprof/goroutine?debug=2").Response.Body(), []byte("net/http/pprof.sleep"))
	})
	// one that ended its sending side alone could still read
	servertest.Reset(nc)
	servertest.Receive(t, "the end of the handler", over)
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	servertest.Receive(t, "the end of Serve", served)
}

func ask(target string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.SetRequestURI(target)
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	PprofHandler(ctx)
	return ctx
}
