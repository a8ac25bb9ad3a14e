package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestServersSendFiles(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"small": "small", "edge": long[:files.MaxSmall], "over": long[:files.MaxSmall+1], "long": long, "huge": strings.Repeat(long, 20)})
	for name, s := range map[string]*FS{
		"plain": {Root: root}, "uncached": {Root: root, SkipCache: true}, "fs.FS": {FS: os.DirFS(root)}, "stream": {FS: onlyReadable{os.DirFS(root)}},
	} {
		s.AcceptByteRange = true
		h := s.NewRequestHandler()
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				ts := start(&Server{Handler: h})
				c := ts.Dial()
				for _, file := range []string{"small", "edge", "over", "long", "huge", "small"} {
					text, _ := servertest.StateOf(t, filepath.Join(root, file))
					c.Get("/" + file)
					if resp := c.Next("GET"); resp.StatusCode != 200 || resp.Content != text || resp.Header.Get("Content-Length") != strconv.Itoa(len(text)) {
						t.Fatalf("%s: got %d, %d bytes", file, resp.StatusCode, len(resp.Content))
					}
					c.Send("HEAD /" + file + " HTTP/1.1\r\nHost: a\r\n\r\n")
					if resp := c.Next("HEAD"); resp.StatusCode != 200 || resp.ContentLength != int64(len(text)) {
						t.Fatalf("HEAD %s: got %d, %d bytes", file, resp.StatusCode, resp.ContentLength)
					}
					from, to := len(text)/3, len(text)/3*2
					c.Send(fmt.Sprintf("GET /%s HTTP/1.1\r\nHost: a\r\nRange: bytes=%d-%d\r\n\r\n", file, from, to))
					if resp := c.Next("GET"); resp.StatusCode != 206 || resp.Content != text[from:to+1] {
						t.Fatalf("range of %s: got %d, %d bytes", file, resp.StatusCode, len(resp.Content))
					}
				}
				// three requests at once, so the responses follow each other on the
				// wire
				c.Send(strings.Repeat("GET /long HTTP/1.1\r\nHost: a\r\n\r\nGET /small HTTP/1.1\r\nHost: a\r\n\r\n", 3))
				for range 3 {
					c.Expect(200, long)
					c.Expect(200, "small")
				}
				ts.Log.CheckEmpty(t)
			})
		})
	}
}

func TestAConnectionSendsAnyNumberOfFiles(t *testing.T) {
	t.Parallel()
	h := FSHandler(plant(t, map[string]string{"over": long[:files.MaxSmall+1]}), 0)
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{Handler: h}).Dial()
		for range 3 * pipelineBatch {
			c.Get("/over")
			c.Expect(200, long[:files.MaxSmall+1])
		}
	})
}

func TestFilesThatShrinkWhileTheyAreSentCutTheConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		root := plant(t, map[string]string{"long": long})
		h := FSHandler(root, 0)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			h(ctx)
			if err := os.Truncate(filepath.Join(root, "long"), 1000); err != nil {
				t.Error(err)
			}
		}})
		c := ts.Dial()
		c.Get("/long")
		// if the system call sendfile is not used, no byte was sent before the
		// failure
		resp, err := servertest.ReadResponse(c.R, "GET")
		if !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF || len(resp.Content) > 1000 || !strings.HasPrefix(long, resp.Content) {
			t.Errorf("got %d bytes, %v", len(resp.Content), err)
		}
		ts.Log.WaitFor(t, "shorter")
	})
}

func TestClientsThatLeaveDoNotKeepFilesOpen(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		h := handlerOf(&FS{Root: plant(t, map[string]string{"huge": strings.Repeat(long, 50)})})
		ts := start(&Server{Handler: h.handle})
		for range 3 {
			c := ts.Dial()
			c.Get("/huge")
			if _, err := c.R.Peek(1); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		n, err := h.finder.Find([]byte("/huge"), files.EndsInName, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := h.finder.Choose(n, new(field.List), false)
		h.finder.Clear()
		servertest.Eventually(t, "the file closed", func() bool {
			shared := c.Acquire()
			if shared {
				c.Release()
			}
			return !shared
		})
	})
}

func TestSendFileServesAnyMethod(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "text", "percent%41": "percent", "sub/index": "x", "long.txt": long})
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/literal":
				ctx.SendFileLiteral(root + "/percent%41")
			case "/decoded":
				ctx.SendFile(root + "/percent%2541?x#y")
			case "/bytes":
				ctx.SendFileBytes([]byte(root + "/a.txt"))
			case "/long":
				ServeFileUncompressed(ctx, root+"/long.txt")
			case "/fs":
				ServeFS(ctx, os.DirFS(root), "/sub/../a.txt")
			case "/fsliteral":
				ServeFSLiteral(ctx, os.DirFS(root), "percent%41")
			case "/nothing":
				ctx.SendFile(root + "/nothing")
			case "/up":
				ServeFS(ctx, os.DirFS(root), "../../../etc/passwd")
			}
		}})
		c := ts.Dial()
		for _, method := range []string{"GET", "POST", "DELETE"} {
			for target, want := range map[string]string{
				"/literal": "percent", "/decoded": "percent", "/bytes": "text", "/long": long, "/fs": "text", "/fsliteral": "percent",
			} {
				c.Send(method + " " + target + " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
				if resp := c.Next(method); resp.StatusCode != 200 || resp.Content != want {
					t.Errorf("%s %s: got %d %.50q", method, target, resp.StatusCode, resp.Content)
				}
			}
		}
		for _, target := range []string{"/nothing", "/up"} {
			c.Get(target)
			if resp := c.Next("GET"); resp.StatusCode != 404 {
				t.Errorf("%s: got %d", target, resp.StatusCode)
			}
		}
	})
}

func TestServeFileLeavesTheRequestAsReceived(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": "text"})
	got := ""
	askFor(t, func(ctx *RequestCtx) {
		ServeFile(ctx, root+"/a.txt")
		got = fmt.Sprintf("%s %s %s", ctx.Path(), ctx.RequestURI(), ctx.QueryArgs())
	}, "GET", "/download?a=1").check(t, "file", 200, "text")
	if want := "/download /download?a=1 a=1"; got != want {
		t.Errorf("after ServeFile the request is %q, not %q", got, want)
	}
}

func TestServeFileOfADirectory(t *testing.T) {
	root := plant(t, map[string]string{"sub/a.txt": "text"})
	serve := func(path string) RequestHandler { return func(ctx *RequestCtx) { ServeFile(ctx, path) } }
	if a := askFor(t, serve(root+"/sub"), "GET", "/docs"); a.status != 302 || a.get("Location") != "./docs/" {
		t.Errorf("got %d %q", a.status, a.get("Location"))
	}
	for target, path := range map[string]string{"/docs/": root + "/sub", "/docs": root + "/sub/"} {
		if a := askFor(t, serve(path), "GET", target); a.status != 200 || !strings.Contains(a.body, "./a.txt") {
			t.Errorf("%s: got %d %s", target, a.status, a.body)
		}
	}
}

func TestServeFileTakesRelativePaths(t *testing.T) {
	t.Chdir(plant(t, map[string]string{"a.txt": "here"}))
	askFor(t, func(ctx *RequestCtx) { ServeFile(ctx, "a.txt") }, "GET", "/").check(t, "relative", 200, "here")
}

func TestServeFSKeepsFileSystemsApart(t *testing.T) {
	t.Parallel()
	for i := range 3 * maxFileSystems {
		text := fmt.Sprint("text ", i)
		fsys := os.DirFS(plant(t, map[string]string{"a.txt": text}))
		if i%8 == 0 {
			// a type that cannot be the key of a map
			fsys = mapOf(fmt.Sprint(fsys), "a.txt")
		}
		for range 2 {
			askFor(t, func(ctx *RequestCtx) { ServeFS(ctx, fsys, "a.txt") }, "GET", "/").check(t, text, 200, text)
		}
	}
	if n := len(fileSystems.handlers); n > maxFileSystems {
		t.Errorf("%d file systems are remembered", n)
	}
}

// A forgotten file system is not the one of the operating system.
func TestServeFSWithoutAFileSystemServesNothing(t *testing.T) {
	t.Chdir(plant(t, map[string]string{"a.txt": "of the working directory"}))
	for name, h := range map[string]RequestHandler{
		"ServeFS":                func(ctx *RequestCtx) { ServeFS(ctx, nil, "a.txt") },
		"ServeFSLiteral":         func(ctx *RequestCtx) { ServeFSLiteral(ctx, nil, "a.txt") },
		"ServeFS of a directory": func(ctx *RequestCtx) { ServeFS(ctx, nil, "") },
	} {
		log := &servertest.Log{}
		var ctx RequestCtx
		ctx.Init(&Request{}, nil, log)
		h(&ctx)
		if ctx.Response.StatusCode() != StatusInternalServerError || string(ctx.Response.Body()) != "Cannot open requested path" {
			t.Errorf("%s: got %d %q", name, ctx.Response.StatusCode(), ctx.Response.Body())
		}
		if lines := log.All(); len(lines) != 1 || !strings.Contains(lines[0], "nil") {
			t.Errorf("%s: logged %q", name, lines)
		}
	}
}

func TestFileLastModifiedIsInWholeSeconds(t *testing.T) {
	path := filepath.Join(plant(t, map[string]string{"a": "a"}), "a")
	if err := os.Chtimes(path, modelTime, modelTime.Add(123456789)); err != nil {
		t.Fatal(err)
	}
	if got, err := FileLastModified(path); err != nil || !got.Equal(modelTime) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := FileLastModified(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// FuzzServedPathsLieInTheRoot checks that all served content is from inside the root.
func FuzzServedPathsLieInTheRoot(f *testing.F) {
	root := plant(f, map[string]string{
		"a.txt": "inside", "dir/b.txt": "inside", "dir/index.html": "inside", "%2e%2e/c": "inside", `..\d`: "inside", "in@": "a.txt",
		"../outside.txt": "secret", "../rootmate/e": "secret", "out@": "../outside.txt", "up@": "..", "dir/up@": "../..", "abs@": filepath.Dir(f.TempDir()),
	})
	handlers := []RequestHandler{
		(&FS{Root: root, IndexNames: []string{"index.html"}, Compress: true}).NewRequestHandler(),
		(&FS{Root: root, SkipCache: true, IndexNames: []string{"../outside.txt", "index.html"}}).NewRequestHandler(),
		(&FS{Root: root, PathRewrite: func(ctx *RequestCtx) []byte { return ctx.RequestURI() }}).NewRequestHandler(),
		(&FS{Root: root, PathRewrite: NewVHostPathRewriter(1)}).NewRequestHandler(),
		(&FS{Root: root, PathRewrite: NewPathPrefixStripper(2)}).NewRequestHandler(),
	}
	for _, target := range []string{
		"/a.txt", "/dir/", "/../outside.txt", "/%2e%2e/outside.txt", "/..%2foutside.txt", "/out", "/up/outside.txt", "/dir/up/outside.txt", "//up//rootmate/e",
		"/x/../../outside.txt", "/%2e%2e/c", "/..%5cd", "/.%2e/outside.txt", "/abs/", "/a.txt%00", "/..;/outside.txt", "/dir/..%252f..%252foutside.txt",
	} {
		f.Add(target, "example.com")
	}
	f.Add("/outside.txt", "..")
	f.Add("/outside.txt", "up")
	f.Fuzz(func(t *testing.T, target, host string) {
		for i, h := range handlers {
			var req Request
			req.SetRequestURI(target)
			req.Header.SetHost(host)
			var ctx RequestCtx
			ctx.Init(&req, nil, &servertest.Log{})
			h(&ctx)
			switch status := ctx.Response.StatusCode(); status {
			case 200:
				if body := string(ctx.Response.Body()); body != "inside" {
					t.Fatalf("handler %d: %q of %q is %q", i, target, host, body)
				}
			case 302, 400, 403, 404:
			default:
				t.Fatalf("handler %d: %q of %q is answered with %d", i, target, host, status)
			}
		}
	})
}

// TestLinksThatChangeWhileTheyAreFollowedLeadNowhereElse switches a link between a folder
// inside the root and one outside, as fast as it can.
func TestLinksThatChangeWhileTheyAreFollowedLeadNowhereElse(t *testing.T) {
	inside := "inside " + long[:1000]
	root := plant(t, map[string]string{"dir/a.txt": inside, "../out/a.txt": "secret " + long[:1000]})
	turning := filepath.Join(root, "turning")
	stop, turned := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				turned <- nil
				return
			default:
			}
			next := filepath.Join(root, "next")
			target := []string{"dir", "../out"}[i%2]
			if err := errors.Join(os.Symlink(target, next), os.Rename(next, turning)); err != nil {
				turned <- err
				return
			}
		}
	}()
	h := (&FS{Root: root, SkipCache: true, Compress: true}).NewRequestHandler()
	servertest.Eventually(t, "the link", func() bool { return askFor(t, h, "GET", "/turning/a.txt").status == 200 })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 300 {
				a := askFor(t, h, "GET", "/turning/a.txt", "Accept-Encoding", []string{"", "gzip"}[i%2])
				if a.status == 200 && a.decode(t) != inside || a.status != 200 && a.status != 404 {
					t.Errorf("got %d %.50q", a.status, a.decode(t))
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	if err := servertest.Receive(t, "the end of the turns", turned); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Join(root, "../out")); err != nil || len(entries) != 1 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
}

// TestFilesUnderLoad runs all operations of a handler at the same time.
func TestFilesUnderLoad(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"small": "small", "long": long, "list/x": "x", "text.txt": long})
	h := handlerOf(&FS{Root: root, CacheDuration: 1, Compress: true, AcceptByteRange: true, GenerateIndexPages: true})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				switch (worker + i) % 5 {
				case 0:
					askFor(t, h.handle, "GET", "/small").check(t, "small", 200, "small")
				case 1:
					askFor(t, h.handle, "GET", "/long").check(t, "long", 200, long)
				case 2:
					if a := askFor(t, h.handle, "GET", "/text.txt", "Accept-Encoding", "gzip"); a.status != 200 || a.decode(t) != long {
						t.Errorf("text: got %d", a.status)
					}
				case 3:
					if a := askFor(t, h.handle, "GET", "/list/", "Accept", "application/json"); a.status != 200 || !bytes.Contains([]byte(a.body), []byte(`"x"`)) {
						t.Errorf("list: got %d %q", a.status, a.body)
					}
				case 4:
					askFor(t, h.handle, "GET", "/long", "Range", "bytes=5-9").check(t, "range", 206, long[5:10])
					h.finder.Clear()
				}
			}
		})
	}
	wg.Wait()
}
