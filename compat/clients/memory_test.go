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
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

var (
	echoSize  = flag.Int64("echo.size", 64<<20, "how many bytes are echoed by the tests of memory")
	echoBound = flag.Int64("echo.bound", 8<<20, "by how many bytes the memory may grow meanwhile")
)

// randomBytes is an endless source: two with the same seed are the same.
type randomBytes struct{ chacha *rand.ChaCha8 }

func newRandomBytes() randomBytes { return randomBytes{rand.NewChaCha8([32]byte{7})} }

func (r randomBytes) Read(p []byte) (int, error) { return r.chacha.Read(p) }

// comparer fails at the first byte that differs from those of a source.
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
		return 0, fmt.Errorf("another byte than was sent, in the %d behind %d", len(p), c.n)
	}
	c.n += int64(len(p))
	c.each(c.n)
	return len(p), nil
}

// watcher measures the memory of this process now and then.
type watcher struct {
	heapBefore, heapMost int64
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
	return &watcher{heapBefore: h, heapMost: h}
}

func (w *watcher) look(n int64) {
	if n >= w.next {
		w.next = n + 1<<20
		w.heapMost = max(w.heapMost, heap())
	}
}

// resetPeak has Linux forget the peak of the resident memory of this process.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// resident returns a line of the memory that Linux has for this process, in
// bytes, and 0 elsewhere.
func resident(line string) (n int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\n"+line+":")
	_, _ = fmt.Sscan(rest, &n)
	return n << 10
}

// echoStreams is a server that answers with the body while it arrives.
func echoStreams() *fasthttp.Server {
	return &fasthttp.Server{
		StreamRequestBody: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(ctx.RequestBodyStream(), ctx.Request.Header.ContentLength())
		},
	}
}

// TestStreamsAreEchoedInLittleMemory sends much more than the server may hold.
// To see what becomes of 1 GiB, run it with -echo.size=1073741824 -v.
func TestStreamsAreEchoedInLittleMemory(t *testing.T) {
	for name, echo := range map[string]func(t *testing.T, origin string, out io.Writer){
		"sized": echoSized, "chunked by curl": echoWithCurl,
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, echoStreams, func(t *testing.T, origin string) {
				w := watch()
				before := resident("VmRSS")
				got := &comparer{source: newRandomBytes(), each: w.look}
				echo(t, origin, got)
				peak := resident("VmHWM")
				if got.n != *echoSize {
					t.Errorf("%d bytes came back, want %d", got.n, *echoSize)
				}
				growth := w.heapMost - w.heapBefore
				t.Logf("%d MiB: the heap grew by %d KiB, resident memory by %d KiB", got.n>>20, growth>>10, (peak-before)>>10)
				if growth > *echoBound {
					t.Errorf("the heap grew by %d KiB", growth>>10)
				}
			})
		})
	}
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
	if err := <-sent; err != nil {
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
