package fasthttp

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// spanStream is a body stream that has a span of a file.
type spanStream struct {
	*io.SectionReader
	file           *os.File
	offset, length int64
	reads, closes  *atomic.Int32
}

func (s *spanStream) Read(p []byte) (int, error) {
	s.reads.Add(1)
	return s.SectionReader.Read(p)
}

func (s *spanStream) span() (*os.File, int64, int64) { return s.file, s.offset, s.length }

func (s *spanStream) Close() error {
	s.closes.Add(1)
	return nil
}

func TestFilesAreSentByTheSystem(t *testing.T) {
	t.Parallel()
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i * 7 / 5)
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	forEachEngine(t, func(t *testing.T, start starter) {
		var reads, closes atomic.Int32
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			var offset, length, announced int64
			_, _ = fmt.Sscanf(string(ctx.Path()), "/%d/%d/%d", &offset, &length, &announced)
			ctx.SetBodyStream(&spanStream{io.NewSectionReader(file, offset, announced), file, offset, length, &reads, &closes}, int(announced))
		}})
		var answered int32
		for _, part := range [][2]int{{0, len(content)}, {1 << 20, 1<<20 + 1}, {5, 1}, {len(content) - 7, 7}} {
			c := ts.Dial()
			// two in a row: the second shows if the first was framed correctly
			for range 2 {
				c.Get(fmt.Sprintf("/%d/%d/%d", part[0], part[1], part[1]))
				resp := c.Next(http.MethodGet)
				if resp.Content != string(content[part[0]:part[0]+part[1]]) {
					t.Errorf("%v: %d other bytes", part, len(resp.Content))
				}
				answered++
			}
		}
		servertest.Eventually(t, "all streams closed", func() bool { return closes.Load() == answered })
		if n := reads.Load(); runtime.GOOS == "linux" && ts.Engine.Sockets && !ts.Engine.TLS && n != 0 {
			t.Errorf("read %d times", n)
		}
		// if the span does not match the declared length, the server copies the
		// content
		c := ts.Dial()
		c.Get("/0/3/5")
		c.Expect(200, string(content[:5]))
		if reads.Load() == 0 {
			t.Error("not read")
		}
		// if the file ends early, the server cuts the response off
		c = ts.Dial()
		c.Get(fmt.Sprintf("/%d/100/100", len(content)-10))
		if resp, err := servertest.ReadResponse(c.R, http.MethodGet); err == nil || len(resp.Content) > 10 {
			t.Errorf("%d bytes, %v", len(resp.Content), err)
		}
		ts.Log.WaitFor(t, "body stream is shorter than its size")
	})
}

func TestSendingAFileEndsAtTheWriteTimeout(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const size = 64 << 20
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		var reads, closes atomic.Int32
		ts := start(&Server{WriteTimeout: 100 * time.Millisecond, Handler: func(ctx *RequestCtx) {
			ctx.SetBodyStream(&spanStream{io.NewSectionReader(file, 0, size), file, 0, size, &reads, &closes}, size)
		}})
		c := ts.Dial()
		c.Get("/")
		servertest.Eventually(t, "the stream closed", func() bool { return closes.Load() == 1 })
		if n, err := io.Copy(io.Discard, c.R); n >= size && err == nil {
			t.Errorf("got all of it")
		}
	})
}

// A slow download occupies no goroutine of the event engine, and other clients are
// served meanwhile.
func TestSlowDownloadsOccupyNobody(t *testing.T) {
	const size, clients = 8 << 20, 20
	name := filepath.Join(t.TempDir(), "file")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		var reads, closes atomic.Int32
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/file" {
				ctx.SetBodyStream(&spanStream{io.NewSectionReader(file, 0, size), file, 0, size, &reads, &closes}, size)
			}
		}})
		before := runtime.NumGoroutine()
		var slow []*servertest.Conn
		for range clients {
			c := ts.Dial()
			c.Get("/file")
			if _, err := c.R.Peek(1); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, c)
		}
		if ts.Engine.Name == "event/tcp" && runtime.GOOS == "linux" {
			servertest.Eventually(t, "no goroutine for each client", func() bool { return runtime.NumGoroutine() < before+clients/2 })
		}
		c := ts.Dial()
		for range 10 {
			c.Get("/")
			c.Expect(200, "")
		}
		if n := closes.Load(); n != 0 {
			t.Errorf("%d of %d downloads have ended", n, clients)
		}
		for _, c := range slow[:3] {
			if resp := c.Next(http.MethodGet); len(resp.Content) != size {
				t.Errorf("got %d bytes", len(resp.Content))
			}
		}
		for _, c := range slow[3:] {
			_ = c.Close()
		}
		servertest.Eventually(t, "all streams closed", func() bool { return closes.Load() == clients })
	})
}
