package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/servertest"
)

// sendForm returns a request with a form.
func sendForm(target, form string, fields ...string) string {
	return servertest.Post(target, form, append(fields, "Content-Type: "+formType)...)
}

func TestFormValueLooksInQueryThenBodyThenForm(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		value := func(ctx *RequestCtx) {
			if v := ctx.FormValue("a"); v == nil {
				ctx.SetBodyString("none")
			} else {
				fmt.Fprintf(ctx, "%q", v)
			}
		}
		for _, tt := range []struct {
			name     string
			from     FormValueFunc
			requests map[string]string
		}{
			{"default", nil, map[string]string{
				sendForm("/?a=q", formText): `"q"`,
				sendForm("/?a=", formText):  `"1"`,
				sendForm("/", formText):     `"1"`,
				sendForm("/", "junk"):       `none`,
				servertest.Post("/?a=q", "a=b", "Content-Type: application/x-www-form-urlencoded"): `"q"`,
				servertest.Post("/", "a=b", "Content-Type: application/x-www-form-urlencoded"):     `"b"`,
				servertest.Post("/", "a=b"): `none`,
				servertest.Get("/?a=q"):     `"q"`,
				servertest.Get("/?b=q"):     `none`,
			}},
			{"as in net/http", NetHttpFormValueFunc, map[string]string{
				sendForm("/?a=q", formText): `"1"`,
				sendForm("/?a=q", "junk"):   `"q"`,
				servertest.Post("/?a=q", "a=b", "Content-Type: application/x-www-form-urlencoded"): `"b"`,
				servertest.Post("/?a=q", "a=", "Content-Type: application/x-www-form-urlencoded"):  `"q"`,
				servertest.Get("/?a=q"): `"q"`,
				servertest.Get("/?a="):  `none`,
			}},
			{"own", func(_ *RequestCtx, key string) []byte { return []byte("own " + key) }, map[string]string{
				servertest.Get("/?a=q"): `"own a"`,
			}},
		} {
			for _, streamed := range []bool{false, true} {
				ts := start(&Server{Handler: value, FormValueFunc: tt.from, StreamRequestBody: streamed})
				c := ts.Dial()
				for request, want := range tt.requests {
					c.Send(request)
					if resp := c.Next("POST"); resp.Content != want {
						t.Errorf("%s: streamed %t: %q: got %q, want %q", tt.name, streamed, request, resp.Content, want)
					}
				}
			}
		}
	})
}

func TestFormFile(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			fh, err := ctx.FormFile(string(ctx.QueryArgs().Peek("key")))
			switch {
			case (fh == nil) != (err != nil):
				t.Errorf("FormFile returned %v, %v", fh, err)
			case err == nil:
				fmt.Fprintf(ctx, "%s %s", fh.Filename, fileText(t, fh))
			case err == ErrMissingFile:
				ctx.SetBodyString("missing")
			case err == ErrNoMultipartForm:
				ctx.SetBodyString("no form")
			default:
				ctx.SetBodyString("error")
			}
		}})
		c := ts.Dial()
		for request, want := range map[string]string{
			sendForm("/?key=f", formText): "n.txt file text",
			// known failure 26: a missing file is an error
			sendForm("/?key=a", formText):     "missing",
			sendForm("/?key=x", formText):     "missing",
			sendForm("/?key=", formText):      "missing",
			sendForm("/?key=f", "junk"):       "error",
			servertest.Get("/?key=f"):         "no form",
			servertest.Post("/?key=f", "a=b"): "no form",
		} {
			c.Send(request)
			if resp := c.Next("POST"); resp.Content != want {
				t.Errorf("%q: got %q, want %q", request, resp.Content, want)
			}
		}
	})
}

// TestFormOnAConnection checks known failures 1 and 2: the server drops the bytes of
// a body after the form, whether or not the body is a stream, and finds the next
// request.
func TestFormOnAConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streamed := range []bool{false, true} {
			ts := start(&Server{StreamRequestBody: streamed, Handler: func(ctx *RequestCtx) {
				if ctx.IsGet() {
					ctx.SetBodyString("next")
					return
				}
				limit, _ := ctx.QueryArgs().GetUint("limit")
				form, err := ctx.MultipartFormWithLimit(limit)
				switch {
				case errors.Is(err, ErrBodyTooLarge):
					ctx.SetStatusCode(413)
				case err != nil:
					ctx.SetStatusCode(400)
				default:
					ctx.SetBodyString(formSaid(t, form))
				}
			}})
			for _, behind := range []string{"", servertest.Smuggled, strings.Repeat(servertest.Smuggled, 1000)} {
				c := ts.Dial()
				c.Send(sendForm("/", formText+behind) + servertest.Get("/next"))
				c.Expect(200, formTextSaid)
				c.Expect(200, "next")
				chunk := formText + behind
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, "Transfer-Encoding: chunked") +
					fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(chunk), chunk) + servertest.Get("/next"))
				c.Expect(200, formTextSaid)
				c.Expect(200, "next")
			}
			c := ts.Dial()
			c.Send(sendForm("/?limit=10", formText) + servertest.Get("/next"))
			if resp := c.Next("POST"); resp.StatusCode != 413 {
				t.Errorf("got %d", resp.StatusCode)
			}
			c.Expect(200, "next")
		}
	})
}

// TestUploadedFilesAreRemovedWithTheRequest checks known failure 26 for every way in
// which a request to a server can end.
func TestUploadedFilesAreRemovedWithTheRequest(t *testing.T) {
	servertest.Apart(t, testUploadedFilesAreRemovedWithTheRequest)
}

func testUploadedFilesAreRemovedWithTheRequest(t *testing.T) {
	files := tempFiles(t)
	text, long := largeForm(formMemory+1), sendForm("/", largeForm(formMemory+2<<20))
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn := make(chan struct{}, 2)
		parse := func(ctx *RequestCtx) {
			if _, err := ctx.MultipartForm(); err != nil {
				t.Errorf("%s: %v", ctx.Path(), err)
			}
			if len(files()) != 1 {
				t.Errorf("%s: there are the files %q", ctx.Path(), files())
			}
		}
		late := TimeoutHandler(func(*RequestCtx) { <-goOn }, time.Millisecond, "too slow")
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/ok":
				parse(ctx)
			case "/panic":
				parse(ctx)
				panic("a mistake")
			case "/late":
				parse(ctx)
				late(ctx)
			case "/abort":
				parse(ctx)
				panic(http.ErrAbortHandler)
			case "/exit":
				parse(ctx)
				runtime.Goexit()
			case "/left":
				// the server cannot know when the other goroutines are done with the
				// context
				parse(ctx)
				ctx.TimeoutError("left")
			case "/hijack":
				parse(ctx)
				ctx.Hijack(func(nc net.Conn) {
					<-goOn
					_, _ = io.WriteString(nc, "hijacked")
				})
			case "/cut":
				if _, err := ctx.MultipartForm(); err == nil {
					t.Error("a form that was cut off was parsed")
				}
			}
		}})
		for path, status := range map[string]int{"/ok": 200, "/panic": 500, "/late": 408} {
			c := ts.Dial()
			c.Send(sendForm(path, text))
			if resp := c.Next("POST"); resp.StatusCode != status {
				t.Errorf("%s: got %d", path, resp.StatusCode)
			}
			if path == "/late" {
				goOn <- struct{}{}
			}
			servertest.Eventually(t, path+": no temporary files", func() bool { return len(files()) == 0 })
		}
		for path, status := range map[string]int{"/abort": 0, "/exit": 0, "/left": 408} {
			c := ts.Dial()
			c.Send(sendForm(path, text))
			if status == 0 {
				c.ExpectCut()
			} else if resp := c.Next("POST"); resp.StatusCode != status {
				t.Errorf("%s: got %d", path, resp.StatusCode)
			}
			_ = c.Close()
			servertest.Eventually(t, path+": no temporary files", func() bool {
				// the garbage collector removes files that are unreachable
				runtime.GC()
				return len(files()) == 0
			})
		}
		c := ts.Dial()
		c.Send(sendForm("/hijack", text))
		c.Expect(200, "")
		servertest.Eventually(t, "no temporary files on a hijacked connection", func() bool { return len(files()) == 0 })
		goOn <- struct{}{}
		if b, err := io.ReadAll(c.R); string(b) != "hijacked" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
		c = ts.Dial()
		c.Send(sendForm("/cut", text)[:formMemory])
		_ = c.Close()
		servertest.Eventually(t, "no temporary files", func() bool { return len(files()) == 0 })

		// the server itself parses a form too large for its memory
		ts = start(&Server{MaxRequestBodySize: 4 * formMemory, Handler: func(ctx *RequestCtx) {
			t.Errorf("the handler was called for a form that was cut off")
		}})
		for _, size := range []int{100, formMemory / 2, formMemory + 1<<20} {
			c = ts.Dial()
			c.Send(long[:size])
			_ = c.Close()
			servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
			if left := files(); len(left) > 0 {
				t.Errorf("after %d bytes there are the files %q", size, left)
			}
		}
	})
}

// TestLargeFormsWithACodingAreHeldInMemory sends such a form to a server that allows
// it. The handler finds the file in the form.
func TestLargeFormsWithACodingAreHeldInMemory(t *testing.T) {
	t.Parallel()
	const size = parseFrom + 1<<20
	// level 0 stores its input, so the body is as large as the form
	coded := string(AppendGzipBytesLevel(nil, []byte(largeForm(size)), CompressNoCompression))
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{
			MaxRequestBodySize: size + 1<<20,
			Handler: func(ctx *RequestCtx) {
				if n := len(ctx.Request.Body()); n != len(coded) {
					t.Errorf("the body has %d bytes, not %d", n, len(coded))
				}
				fh, err := ctx.FormFile("f")
				if err != nil || fh.Size != size {
					t.Errorf("FormFile: %v", err)
				}
			},
		}).Dial()
		c.Send(sendForm("/", coded, "Content-Encoding: gzip"))
		c.Expect(200, "")
	})
}

// TestLargeFormsAreParsedAsTheyArrive sends forms of more than 4 MiB to servers that
// allow them.
func TestLargeFormsAreParsedAsTheyArrive(t *testing.T) {
	servertest.Apart(t, testLargeFormsAreParsedAsTheyArrive)
}

func testLargeFormsAreParsedAsTheyArrive(t *testing.T) {
	files := tempFiles(t)
	const size = parseFrom + 1<<20
	text := largeForm(size)
	requests := sendForm("/", text) + servertest.Get("/next")
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, inMemory := range []bool{false, true} {
			called := 0
			ts := start(&Server{
				MaxRequestBodySize: size + 1<<20, DisablePreParseMultipartForm: inMemory,
				Handler: func(ctx *RequestCtx) {
					called++
					if ctx.IsGet() {
						ctx.SetBodyString("next")
						return
					}
					if ctx.Request.BodyStream() != nil && ctx.Request.BodyStream() != http.NoBody {
						t.Error("the handler is given a stream")
					}
					if got := len(files()); got == 1 == inMemory {
						t.Errorf("there are %d files", got)
					}
					fh, err := ctx.FormFile("f")
					if err != nil || fh.Size != size {
						t.Errorf("FormFile: %v", err)
					}
					if body := ctx.PostBody(); string(body) != text {
						t.Errorf("the body has %d bytes, not %d", len(body), len(text))
					}
				},
			})
			c := ts.Dial()
			c.Send(requests)
			c.Expect(200, "")
			c.Expect(200, "next")
			// a body with an epilogue too long to drain
			c.Send(requests)
			c.Expect(200, "")
			c.Expect(200, "next")
			if called != 4 {
				t.Errorf("the handler was called %d times", called)
			}
			c = ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, fmt.Sprint("Content-Length: ", size+2<<20)))
			if resp := c.Next("POST"); resp.StatusCode != 413 {
				t.Errorf("a form over the limit got %d", resp.StatusCode)
			}
			if inMemory {
				continue
			}
			c = ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, "Expect: 100-continue", fmt.Sprint("Content-Length: ", len(text))))
			if resp := c.Next("POST"); resp.StatusCode != 100 {
				t.Errorf("got %d, want 100", resp.StatusCode)
			}
			c.Send(text)
			c.Expect(200, "")
			c = ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, fmt.Sprint("Content-Length: ", size)) + "--xx\r\nno colon\r\n\r\n")
			if resp := c.Next("POST"); resp.StatusCode != 400 || !resp.Close {
				t.Errorf("a form that is none got %d", resp.StatusCode)
			}
			c.ExpectCut()
			if called != 5 {
				t.Errorf("the handler was called %d times", called)
			}
		}
		servertest.Eventually(t, "no temporary files", func() bool { return len(files()) == 0 })
	})
}

// TestLargeFormsInChunksAreParsedAsTheyArrive is the same for chunked forms, whose
// size is unknown in advance.
func TestLargeFormsInChunksAreParsedAsTheyArrive(t *testing.T) {
	servertest.Apart(t, testLargeFormsInChunksAreParsedAsTheyArrive)
}

func testLargeFormsInChunksAreParsedAsTheyArrive(t *testing.T) {
	files := tempFiles(t)
	const limit = parseFrom + 3<<20
	chunks := func(form, trailers string) string {
		var b strings.Builder
		for len(form) > 0 {
			n := min(len(form), 100_000)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, form[:n])
			form = form[n:]
		}
		return servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, "Transfer-Encoding: chunked") + b.String() + "0\r\n" + trailers + "\r\n"
	}
	forms, requests := map[int]string{}, map[int]string{}
	for _, size := range []int{1000, parseFrom - 1000, parseFrom + 1<<20} {
		forms[size] = largeForm(size)
		requests[size] = chunks(forms[size], "X-Sum: 1\r\n") + servertest.Get("/next")
	}
	wrong := map[int]string{
		413: chunks(largeForm(limit), ""),
		400: strings.Replace(chunks(forms[parseFrom+1<<20], ""), "Disposition", "Disposition\xff ", 1),
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, inMemory := range []bool{false, true} {
			ts := start(&Server{
				MaxRequestBodySize: limit, DisablePreParseMultipartForm: inMemory,
				Handler: func(ctx *RequestCtx) {
					if ctx.IsGet() {
						ctx.SetBodyString("next")
						return
					}
					large := len(files())
					fh, err := ctx.FormFile("f")
					if err != nil {
						t.Error(err)
						return
					}
					text := fileText(t, fh)
					fmt.Fprintf(ctx, "%d %t %d %s %s", len(text), strings.Trim(text, "x") == "", large, ctx.FormValue("v"), ctx.Request.Header.PeekTrailer("X-Sum"))
					if body := ctx.PostBody(); string(body) != forms[len(text)] {
						t.Errorf("the body has %d bytes", len(body))
					}
				},
			})
			for size, request := range requests {
				spooled := 0
				if size > parseFrom && !inMemory {
					spooled = 1
				}
				c := ts.Dial()
				c.Send(request)
				c.Expect(200, fmt.Sprintf("%d true %d value 1", size, spooled))
				c.Expect(200, "next")
				_ = c.Close()
			}
			for status, text := range wrong {
				if status == 400 && inMemory {
					continue
				}
				c := ts.Dial()
				go func() { _, _ = io.WriteString(c.Conn, text) }()
				if resp := c.Next("POST"); resp.StatusCode != status || !resp.Close {
					t.Errorf("got %d, want %d", resp.StatusCode, status)
				}
				_ = c.Close()
			}
			c := ts.Dial()
			c.Send(requests[parseFrom+1<<20][:parseFrom+1<<19])
			_ = c.Close()
			servertest.Eventually(t, "the end of the connections", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
			if left := files(); len(left) > 0 {
				t.Errorf("there are the files %q", left)
			}
		}
	})
}

// TestFormBehindWhichTooMuchComes sends a large form with a rest too long to drain.
func TestFormBehindWhichTooMuchComes(t *testing.T) {
	tempFiles(t)
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{MaxRequestBodySize: 16 << 20, Handler: func(ctx *RequestCtx) {
			form, err := ctx.MultipartForm()
			if err != nil {
				t.Error(err)
				return
			}
			ctx.SetBodyString(formSaid(t, form))
		}})
		c := ts.Dial()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, fmt.Sprint("Content-Length: ", 8<<20)) + formText)
		if resp := c.Expect(200, formTextSaid); !resp.Close {
			t.Error("the connection is kept")
		}
	})
}

// TestUploadTakesBoundedMemory uploads a file larger than the memory that a form may take.
func TestUploadTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("uploads 48 MiB several times")
	}
	tempFiles(t)
	size := 48 << 20
	if servertest.RaceDetector {
		size = 8 << 20
	}
	saved := filepath.Join(t.TempDir(), "saved")
	forEachEngine(t, func(t *testing.T, start starter) {
		var before, during runtime.MemStats
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			fh, err := ctx.FormFile("f")
			if err == nil {
				err = SaveMultipartFile(fh, saved)
			}
			if err != nil {
				t.Error(err)
			}
			runtime.ReadMemStats(&during)
			fmt.Fprint(ctx, fh.Size)
		}})
		runtime.ReadMemStats(&before)
		c := ts.Dial()
		form := largeForm(0)
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Type: "+formType, fmt.Sprint("Content-Length: ", len(form)+size)) +
			strings.TrimSuffix(form, formEnd))
		piece := make([]byte, 1<<20)
		source := rand.NewChaCha8([32]byte{})
		for range size / len(piece) {
			_, _ = source.Read(piece)
			if _, err := c.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		c.Send(formEnd)
		c.Expect(200, fmt.Sprint(size))
		if taken := during.TotalAlloc - before.TotalAlloc; !servertest.RaceDetector && taken > uint64(size)/2 {
			t.Errorf("%d MiB were allocated", taken>>20)
		}
		got, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		source = rand.NewChaCha8([32]byte{})
		for at := 0; at < size; at += len(piece) {
			_, _ = source.Read(piece)
			if len(got) != size || !bytes.Equal(got[at:at+len(piece)], piece) {
				t.Fatalf("%d bytes were saved that are others", len(got))
			}
		}
	})
}

func TestUploadWithCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl to upload with")
	}
	tempFiles(t)
	source := filepath.Join(t.TempDir(), "source")
	content := make([]byte, 6<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	if err := os.WriteFile(source, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Server{{StreamRequestBody: true}, {MaxRequestBodySize: 10 << 20}} {
		s.Handler = func(ctx *RequestCtx) {
			fh, err := ctx.FormFile("file")
			if err != nil {
				ctx.Error(err.Error(), 400)
				return
			}
			fmt.Fprintf(ctx, "%s %s %t", ctx.FormValue("field"), fh.Filename, fileText(t, fh) == string(content))
		}
		ts := startServer(t, servertest.Engines[1], s)
		out, err := exec.CommandContext(t.Context(), curl, "-s", "-S", "-F", "field=value", "-F", "file=@"+source,
			"http://"+ts.Listener.Addr().String()+"/").CombinedOutput()
		if string(out) != "value source true" || err != nil {
			t.Errorf("curl got %q, %v", out, err)
		}
	}
}

// TestEncodedFormsMakeNoLargeFiles checks known failure 41: a few encoded bytes must
// not become a large file.
func TestEncodedFormsMakeNoLargeFiles(t *testing.T) {
	servertest.Apart(t, testEncodedFormsMakeNoLargeFiles)
}

func testEncodedFormsMakeNoLargeFiles(t *testing.T) {
	files := tempFiles(t)
	pack := func(form string, codings ...coding.Coding) string {
		body, names := []byte(form), []string{}
		for _, c := range codings {
			body, names = coding.AppendEncoded(nil, body, c, CompressBestSpeed), append(names, c.String())
		}
		return servertest.Post("/", string(body), "Content-Type: "+formType, "Content-Encoding: "+strings.Join(names, ", "))
	}
	fits, large := largeForm(DefaultMaxRequestBodySize-1000), largeForm(DefaultMaxRequestBodySize)
	var requests []string
	for _, c := range wireCodings {
		requests = append(requests, pack(fits, c)+pack(large, c)+pack(large, c, c))
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streamed := range []bool{false, true} {
			conn := start(&Server{StreamRequestBody: streamed, Handler: func(ctx *RequestCtx) {
				_, err := ctx.MultipartForm()
				switch n := len(files()); {
				case n > 0:
					t.Errorf("%d files", n)
				case errors.Is(err, ErrBodyTooLarge):
					ctx.SetBodyString("too large")
				case errors.Is(err, ErrContentEncodingUnsupported):
					ctx.SetBodyString("unsupported")
				default:
					fmt.Fprint(ctx, err)
				}
			}}).Dial()
			for _, request := range requests {
				conn.Send(request)
				conn.Expect(200, "<nil>")
				conn.Expect(200, "too large")
				conn.Expect(200, "unsupported")
			}
		}
	})
}
