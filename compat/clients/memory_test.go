package clients

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

var echoSize = flag.Int64("echo.size", 64<<20, "how many bytes the tests of memory send")

const (
	// echoBound is the number of bytes by which the heap may grow for a stream.
	echoBound = 8 << 20

	// formBound is the same for a form. Up to 4 MiB of its files stay in memory, in
	// a buffer that has grown by doubling.
	formBound = 24 << 20
)

// randomBytes is an endless source. Two with the same seed give the same bytes.
type randomBytes struct{ chacha *rand.ChaCha8 }

func newRandomBytes() randomBytes { return randomBytes{rand.NewChaCha8([32]byte{7})} }

func (r randomBytes) Read(p []byte) (int, error) { return r.chacha.Read(p) }

// comparer fails at the first byte that differs from the bytes of a source.
type comparer struct {
	source  io.Reader
	n       int64
	scratch []byte
	// each is called with the number of bytes so far
	each func(n int64)
}

func (c *comparer) Write(p []byte) (int, error) {
	if cap(c.scratch) < len(p) {
		c.scratch = make([]byte, len(p))
	}
	want := c.scratch[:len(p)]
	if _, err := io.ReadFull(c.source, want); err != nil {
		return 0, err
	}
	if !bytes.Equal(p, want) {
		return 0, fmt.Errorf("a wrong byte among the %d after %d", len(p), c.n)
	}
	c.n += int64(len(p))
	c.each(c.n)
	return len(p), nil
}

// watcher measures the memory of this process from time to time.
type watcher struct {
	heapBefore, heapMost int64
	residentBefore       int64
	next                 int64
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func watch() *watcher {
	runtime.GC()
	runtime.GC()
	h := heap()
	resetPeak()
	return &watcher{heapBefore: h, heapMost: h, residentBefore: resident("VmRSS")}
}

func (w *watcher) look(n int64) {
	if n >= w.next {
		w.next = n + 1<<20
		w.heapMost = max(w.heapMost, heap())
	}
}

// keepLooking measures continuously, until stop is called.
func (w *watcher) keepLooking() (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond): // real time: each look stops the world
				w.heapMost = max(w.heapMost, heap())
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// resetPeak resets the peak of the resident memory of this process, on Linux.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// resident returns the value of a line of /proc/self/status in bytes, or 0 if the
// system is not Linux.
func resident(line string) (n int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\n"+line+":")
	_, _ = fmt.Sscan(rest, &n)
	return n << 10
}

// echoStreams is a server that echoes the body while it arrives.
func echoStreams() *fasthttp.Server {
	return &fasthttp.Server{
		StreamRequestBody: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(ctx.RequestBodyStream(), ctx.Request.Header.ContentLength())
		},
	}
}

// finish logs the growth of the memory, and fails the test if the heap grew by more
// than bound.
func (w *watcher) finish(t *testing.T, n, bound int64) {
	t.Helper()
	growth := w.heapMost - w.heapBefore
	t.Logf("%d MiB: the heap grew by %d KiB, resident memory by %d KiB", n>>20, growth>>10, (resident("VmHWM")-w.residentBefore)>>10)
	if growth > bound {
		t.Errorf("the heap grew by %d KiB", growth>>10)
	}
}

// TestStreamsAreEchoedInLittleMemory sends much more than the server may hold. To
// send 1 GiB, run it with -echo.size=1073741824 -v.
func TestStreamsAreEchoedInLittleMemory(t *testing.T) {
	for name, echo := range map[string]func(t *testing.T, origin string, out io.Writer){
		"sized": echoSized, "chunked by curl": echoWithCurl,
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, echoStreams, func(t *testing.T, origin string) {
				w := watch()
				got := &comparer{source: newRandomBytes(), each: w.look}
				echo(t, origin, got)
				if got.n != *echoSize {
					t.Errorf("%d bytes came back, want %d", got.n, *echoSize)
				}
				w.finish(t, got.n, echoBound)
			})
		})
	}
}

// TestCurlUploadsALargeFormInLittleMemory sends a form with a file that the server
// writes to the disk while it arrives.
func TestCurlUploadsALargeFormInLittleMemory(t *testing.T) {
	program(t, "curl")
	// for a form, curl reads a pipe into memory, but not a file
	source := largeFile(t)
	t.Setenv("TMPDIR", t.TempDir())
	eachEngine(t, func() *fasthttp.Server {
		return &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if err := compareFile(ctx); err != nil {
				ctx.Error(err.Error(), fasthttp.StatusBadRequest)
				return
			}
			ctx.SetBodyString("the same")
		}}
	}, func(t *testing.T, origin string) {
		w := watch()
		stop := w.keepLooking()
		got := curl(t, "--form", "file=@"+source, origin+"/")
		stop()
		if got != "the same" {
			t.Errorf("got %q", got)
		}
		w.finish(t, *echoSize, formBound)
	})
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// largeFile makes the file to send.
func largeFile(t *testing.T) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "large"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, newRandomBytes(), *echoSize); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// compareFile compares the file of a form with the file that was sent.
func compareFile(ctx *fasthttp.RequestCtx) error {
	fh, err := ctx.FormFile("file")
	if err != nil {
		return err
	}
	f, err := fh.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	got := &comparer{source: newRandomBytes(), each: func(int64) {}}
	if _, err := io.Copy(got, f); err != nil {
		return err
	}
	if got.n != *echoSize {
		return fmt.Errorf("%d bytes arrived of %d", got.n, *echoSize)
	}
	return nil
}

func echoSized(t *testing.T, origin string, out io.Writer) {
	nc, err := net.Dial("tcp", strings.TrimPrefix(origin, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	sent := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(nc, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", *echoSize)
		if err == nil {
			_, err = io.Copy(struct{ io.Writer }{nc}, io.LimitReader(newRandomBytes(), *echoSize))
		}
		sent <- err
	}()
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.ContentLength != *echoSize {
		t.Errorf("Content-Length is %d", resp.ContentLength)
	}
	if _, err := io.Copy(out, resp.Body); err != nil {
		t.Errorf("the answer: %v", err)
	}
	if err := process.Receive(t, "the end of the request", sent); err != nil {
		t.Errorf("the request: %v", err)
	}
}

func echoWithCurl(t *testing.T, origin string, out io.Writer) {
	var stderr bytes.Buffer
	cmd := command(t, program(t, "curl"), "--silent", "--show-error", "--fail", "--noproxy", "*", "--no-buffer",
		"--request", "POST", "--upload-file", "-", origin+"/")
	cmd.Stdin = io.LimitReader(newRandomBytes(), *echoSize)
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, stderr.Bytes())
	}
}
