package bench

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/cputime"
)

// fileRows are the requests for files, by the name of the row. The benchmark checks
// the first response of each.
var fileRows = []struct {
	name, target, fields string
	status               int
	size                 int // of the content; -1 for any
}{
	{"1KiB", "/1k.txt", "", 200, 1 << 10},
	{"64KiB", "/64k.txt", "", 200, 64 << 10},
	{"1MiB", "/1m.txt", "", 200, 1 << 20},
	{"Gzip", "/64k.txt", "Accept-Encoding: gzip, deflate, br\r\n", 200, -1},
	{"Range", "/1m.txt", "Range: bytes=500000-501023\r\n", 206, 1 << 10},
	{"NotModified", "/1k.txt", "If-Modified-Since: Mon, 06 May 2024 07:08:09 GMT\r\n", 304, 0},
	{"NotFound", "/nothing", "", 404, -1},
	{"Page", "/list/", "", 200, -1},
}

// fileTree makes the files of the rows.
func fileTree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	changed := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	write := func(name string, size int) {
		path := filepath.Join(root, name)
		text := strings.Repeat("all work and no play makes a dull text. ", size/40+1)[:size]
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, changed, changed); err != nil {
			b.Fatal(err)
		}
	}
	write("1k.txt", 1<<10)
	write("64k.txt", 64<<10)
	write("1m.txt", 1<<20)
	for i := range 100 {
		write(filepath.Join("list", strconv.Itoa(i)+".txt"), 10)
	}
	return root
}

func fileHandler(root string) fasthttp.RequestHandler {
	return (&fasthttp.FS{Root: root, Compress: true, AcceptByteRange: true, GenerateIndexPages: true, CacheDuration: time.Minute}).NewRequestHandler()
}

// repeated is a connection that sends the same request repeatedly, and drops the responses.
type repeated struct {
	inProcess
	request, rest []byte
	left          int
}

func (c *repeated) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		c.left--
		c.rest = c.request
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *repeated) Write(p []byte) (int, error) { return len(p), nil }
func (c *repeated) Close() error                { return nil }

// silent is a logger that drops its lines. The published package logs every missing
// file.
type silent struct{}

func (silent) Printf(string, ...any) {}

// BenchmarkFiles measures a server with a handler for files on one connection that
// costs nothing.
func BenchmarkFiles(b *testing.B) {
	h := fileHandler(fileTree(b))
	for _, row := range fileRows {
		b.Run(row.name, func(b *testing.B) {
			request := []byte("GET " + row.target + " HTTP/1.1\r\n" + browserHead + row.fields + "\r\n")
			checkFile(b, h, request, row.status, row.size)
			s := &fasthttp.Server{Handler: h, Logger: silent{}}
			b.ReportAllocs()
			b.ResetTimer()
			begin := cputime.Used()
			if err := s.ServeConn(&repeated{request: request, left: b.N}); err != nil {
				b.Fatal(err)
			}
			reportCPU(b, cputime.Used()-begin)
		})
	}
}

// BenchmarkFilesTCP measures the same over a socket, one request after the other.
// The client takes part of the time; it only counts bytes.
func BenchmarkFilesTCP(b *testing.B) {
	h := fileHandler(fileTree(b))
	for _, row := range fileRows[:4] {
		b.Run(row.name, func(b *testing.B) {
			c, err := serving(b, overTCP, with(h))("")
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			request := []byte("GET " + row.target + " HTTP/1.1\r\n" + browserHead + row.fields + "\r\n")
			size := ask(b, c, request)
			buf := make([]byte, 256<<10)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			b.ResetTimer()
			begin := cputime.Used()
			for range b.N {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				for left := size; left > 0; {
					n, err := c.Read(buf[:min(left, len(buf))])
					if err != nil {
						b.Fatal(err)
					}
					left -= n
				}
			}
			reportCPU(b, cputime.Used()-begin)
			b.StopTimer()
		})
	}
}

// ask sends a request and returns the size of the response, head included.
func ask(b *testing.B, c net.Conn, request []byte) int {
	b.Helper()
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	var raw bytes.Buffer
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &raw)), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Fatal(err)
	}
	return raw.Len()
}

// checkFile checks the response to a request.
func checkFile(b *testing.B, h fasthttp.RequestHandler, request []byte, status, size int) {
	b.Helper()
	var ctx fasthttp.RequestCtx
	var req fasthttp.Request
	if err := req.Read(bufio.NewReader(bytes.NewReader(request))); err != nil {
		b.Fatal(err)
	}
	ctx.Init(&req, nil, silent{})
	h(&ctx)
	if got := len(ctx.Response.Body()); ctx.Response.StatusCode() != status || size >= 0 && got != size {
		b.Fatalf("got %d with %d bytes, want %d with %d", ctx.Response.StatusCode(), got, status, size)
	}
}
