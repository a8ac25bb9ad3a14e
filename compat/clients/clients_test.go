package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// patience is the time that a program may take. It is far more than any of them
// needs.
const patience = 90 * time.Second

// program returns the path of the first of some programs that the machine has, or
// skips the test.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("this machine has no %s", strings.Join(names, " or "))
	return ""
}

// command prepares a program. It kills the program if it takes too long.
func command(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	// a program that must shut down cleanly must not be killed at the end of the test
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = patience
	// the test does not use proxies of the machine
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*", "http_proxy=", "HTTP_PROXY=", "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// output runs a program that must succeed, and returns its output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v after %d bytes\n%s", strings.Join(cmd.Args, " "), err, len(out), stderr.Bytes())
	}
	return string(out)
}

// skipOriginal skips a test if it is built with v1.77.0, which sends chunks to
// clients of HTTP/1.0 and holds large forms in memory, among other things. v1.77.0
// has no engines.
func skipOriginal(t *testing.T) {
	t.Helper()
	serving.SkipOriginal(t, "these are no tests for v1.77.0")
}

// eachEngine runs a test with a server for each way to serve. configure returns a
// server for each of them.
func eachEngine(t *testing.T, configure func() *fasthttp.Server, test func(t *testing.T, origin string)) {
	t.Helper()
	skipOriginal(t)
	for _, engine := range []string{"auto", "portable"} {
		t.Run(engine, func(t *testing.T) {
			s := configure()
			if s.Logger == nil {
				s.Logger = serving.Logger{T: t}
			}
			addr, stop := serving.Start(t, s, serving.Options{Portable: engine == "portable"})
			defer stop()
			test(t, "http://"+addr)
		})
	}
}

// text returns n bytes that can be compressed. The scripts in testdata make the same
// bytes.
func text(n int) []byte {
	b := make([]byte, 0, n+20)
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "line %d\n", i)
	}
	return b[:n]
}

// unsized hides the length of a stream.
type unsized struct{ io.Reader }

// serve answers the requests of the clients:
//
//	/text?n=     n bytes of text
//	/stream?n=   the same as a stream of unknown length
//	/echo        the body
//	/form?part=  the content of a file of the form, or of a field
//	/trailers    the body, and the trailer X-Sum in the trailer X-Echoed
//	/hints       a 103 before the answer
//	/away a cookie, and a redirect to a page that shows it
//
// All answers have a number for their connection.
func serve(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("X-Conn", fmt.Sprint(ctx.ConnID()))
	n := ctx.QueryArgs().GetUintOrZero("n")
	switch string(ctx.Path()) {
	case "/text":
		ctx.SetBody(text(n))
	case "/stream":
		ctx.SetBodyStream(unsized{bytes.NewReader(text(n))}, -1)
	case "/echo":
		ctx.SetContentType("application/octet-stream")
		if body := ctx.RequestBodyStream(); body != nil {
			ctx.SetBodyStream(body, ctx.Request.Header.ContentLength())
			return
		}
		ctx.SetBody(ctx.PostBody())
	case "/form":
		serveForm(ctx)
	case "/trailers":
		body := append([]byte(nil), ctx.PostBody()...)
		sum := string(ctx.Request.Header.Peek("X-Sum"))
		if err := ctx.Response.Header.SetTrailer("X-Echoed"); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.Response.Header.Set("X-Echoed", sum)
		ctx.SetBodyStream(bytes.NewReader(body), -1)
	case "/hints":
		ctx.Response.Header.Add("Link", "</style.css>; rel=preload; as=style")
		if err := ctx.EarlyHints(); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetBodyString("hinted")
	case "/away":
		var c fasthttp.Cookie
		c.SetKey("flavour")
		c.SetValue("vanilla")
		ctx.Response.Header.SetCookie(&c)
		ctx.Redirect("/cookie", fasthttp.StatusFound)
	case "/cookie":
		ctx.SetBody(ctx.Request.Header.Cookie("flavour"))
	default:
		ctx.NotFound()
	}
}

func serveForm(ctx *fasthttp.RequestCtx) {
	part := string(ctx.QueryArgs().Peek("part"))
	fh, err := ctx.FormFile(part)
	if errors.Is(err, fasthttp.ErrMissingFile) || errors.Is(err, fasthttp.ErrNoMultipartForm) {
		ctx.SetBody(ctx.FormValue(part))
		return
	}
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	f, err := fh.Open()
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.Response.Header.Set("X-File", fh.Filename+" "+fh.Header.Get("Content-Type"))
	ctx.SetContentType("application/octet-stream")
	ctx.SetBody(content)
}

// general returns a server for most tests, with streamed or buffered request bodies.
func general(streams bool) func() *fasthttp.Server {
	return func() *fasthttp.Server {
		return &fasthttp.Server{
			Handler: fasthttp.CompressHandlerBrotliLevel(serve,
				fasthttp.CompressBrotliDefaultCompression, fasthttp.CompressDefaultCompression),
			StreamRequestBody:  streams,
			MaxRequestBodySize: 16 << 20,
		}
	}
}

// bodies runs a test with a server that buffers request bodies, and with one that
// streams them.
func bodies(t *testing.T, test func(t *testing.T, origin string)) {
	t.Helper()
	for name, streams := range map[string]bool{"buffered": false, "streams": true} {
		t.Run(name, func(t *testing.T) { eachEngine(t, general(streams), test) })
	}
}
