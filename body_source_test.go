package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// pieces is a content.Source apart from HTTP/1: content in pieces, followed by
// trailers.
type pieces struct {
	content  []string
	arrived  int // pieces that are ready; a read waits for each of the others
	trailers map[string]string

	h      *header.Header
	room   int64
	err    error
	over   atomic.Bool
	drains []string // the results of draining
}

func newPieces(content ...string) *pieces {
	return &pieces{content: content, arrived: len(content), room: 1 << 40}
}

func (s *pieces) Read(p []byte) (int, error) {
	switch {
	case s.err != nil:
		return 0, s.err
	case len(s.content) == 0:
		for name, value := range s.trailers {
			s.h.AddTrailing(header.KeyOf([]byte(name)), []byte(value))
		}
		s.err = io.EOF
		s.over.Store(true)
		return 0, s.err
	case s.room == 0:
		s.err = ErrBodyTooLarge
		return 0, s.err
	}
	n := copy(p[:min(int64(len(p)), s.room)], s.content[0])
	s.room -= int64(n)
	if s.content[0] = s.content[0][n:]; s.content[0] == "" {
		s.content, s.arrived = s.content[1:], s.arrived-1
	}
	return n, nil
}

func (s *pieces) Close() error {
	if s.err == nil {
		s.err = errStreamClosed
	}
	return nil
}

func (s *pieces) Limit(n int64) error {
	s.room = min(s.room, n)
	return nil
}

func (s *pieces) Drain(limit *int) bodyio.Drained {
	return s.drained("all", s.drop(limit, func() bool { return true }))
}

func (s *pieces) DrainArrived(limit *int) bodyio.Drained {
	return s.drained("arrived", s.drop(limit, func() bool { return s.arrived > 0 }))
}

func (s *pieces) drop(limit *int, more func() bool) bodyio.Drained {
	if s.err == errStreamClosed {
		s.err = nil
	}
	p := make([]byte, 4096)
	for s.err == nil && *limit > 0 {
		if !more() {
			return bodyio.DrainedLater
		}
		n, _ := s.Read(p[:min(len(p), *limit)])
		*limit -= n
	}
	if s.Ended() {
		return bodyio.DrainedAll
	}
	return bodyio.DrainedNever
}

func (s *pieces) drained(what string, result bodyio.Drained) bodyio.Drained {
	s.drains = append(s.drains, fmt.Sprint(what, " ", result))
	return result
}

func (s *pieces) Ended() bool { return s.over.Load() }

func (s *pieces) TrailersTo(h *header.Header) { s.h = h }

// from calls handler with a request whose body comes from source. The connection
// itself has no more bytes.
func from(source *pieces, handler RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err != nil {
			panic(err)
		}
		source.TrailersTo(&ctx.Request.Header.head)
		ctx.Request.setSource(source, -1)
		handler(ctx)
	}
}

// readAll responds with the body and a trailer of the request.
func readAll(ctx *RequestCtx) {
	content, err := io.ReadAll(ctx.RequestBodyStream())
	fmt.Fprintf(ctx, "%s, %s, %v", content, ctx.Request.Header.PeekTrailer("X-Sum"), err)
}

func TestHandlersReadContentThatIsNotOfHTTP1(t *testing.T) {
	t.Parallel()
	trailing := func() *pieces {
		source := newPieces("one ", "two ", "three")
		source.trailers = map[string]string{"X-Sum": "3"}
		return source
	}
	limited := func(limit int64, handler RequestHandler) RequestHandler {
		return func(ctx *RequestCtx) {
			if err := ctx.LimitRequestBody(limit); err != nil {
				panic(err)
			}
			handler(ctx)
		}
	}
	posted := func(ctx *RequestCtx) { fmt.Fprintf(ctx, "%s", ctx.PostBody()) }
	inTime := func(handler RequestHandler) RequestHandler { return TimeoutHandler(handler, time.Hour, "late") }
	sumAround := func(handler RequestHandler) RequestHandler {
		return func(ctx *RequestCtx) {
			handler(ctx)
			fmt.Fprintf(ctx, " and %s", ctx.Request.Header.PeekTrailer("X-Sum"))
		}
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, tt := range map[string]struct {
			handler RequestHandler
			want    string
		}{
			"as a stream":                   {readAll, "one two three, 3, <nil>"},
			"in memory":                     {posted, "one two three"},
			"within a limit":                {limited(13, readAll), "one two three, 3, <nil>"},
			"over a limit":                  {limited(7, readAll), "one two, , " + ErrBodyTooLarge.Error()},
			"in a handler with a timeout":   {sumAround(inTime(readAll)), "one two three, 3, <nil> and 3"},
			"in two handlers with timeouts": {sumAround(inTime(sumAround(inTime(readAll)))), "one two three, 3, <nil> and 3 and 3"},
			"a limit in a timeout":          {inTime(limited(7, readAll)), "one two, , " + ErrBodyTooLarge.Error()},
		} {
			t.Run(name, func(t *testing.T) {
				source := trailing()
				c := start(&Server{StreamRequestBody: true, Handler: from(source, tt.handler)}).Dial()
				c.Send(servertest.Chunked("/", "3\r\nabc\r\n0\r\n\r\n"))
				resp := c.Expect(200, tt.want)
				if over := strings.Contains(name, "a limit") && !source.Ended(); resp.Close != over {
					t.Errorf("the connection ends: %v, want %v", resp.Close, over)
				}
			})
		}
	})
}

func TestFormsAreReadFromContentThatIsNotOfHTTP1(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	_ = w.WriteField("name", "value")
	file, _ := w.CreateFormFile("file", "a.txt")
	content := servertest.SampleText(formMemory + 1<<20)
	_, _ = file.Write(content)
	_ = w.Close()
	split := func() (all []string) {
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 100_003)
			all, rest = append(all, rest[:n]), rest[n:]
		}
		return all
	}
	formed := func(ctx *RequestCtx) {
		ctx.Request.Header.SetContentTypeBytes([]byte(w.FormDataContentType()))
		if n := ctx.QueryArgs().GetUintOrZero("limit"); n > 0 {
			_ = ctx.LimitRequestBody(int64(n))
		}
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(fmt.Sprint(errors.Is(err, ErrBodyTooLarge)), 413)
			return
		}
		f, err := form.File["file"][0].Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		_, spooled := f.(*os.File)
		got, err := io.ReadAll(f)
		fmt.Fprint(ctx, form.Value["name"], spooled, bytes.Equal(got, content), err)
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) { from(newPieces(split()...), formed)(ctx) }}).Dial()
		c.Send(servertest.Post("/", "x"))
		if resp := c.Expect(200, "[value] true true <nil>"); resp.Close {
			t.Error("the connection ends")
		}
		c.Send(servertest.Post("/?limit=100000", "x"))
		if resp := c.Expect(413, "true"); !resp.Close {
			t.Error("the connection does not end")
		}
	})
}

// The server discards the content that a handler has not read, whatever its source:
// it discards the pieces that are ready before it sends the response, and the rest
// after it.
func TestServerDrainsContentThatIsNotOfHTTP1(t *testing.T) {
	more := func(arrived int) *pieces {
		source := newPieces("one ", "two ", "three")
		source.arrived = arrived
		return source
	}
	const (
		all   = bodyio.DrainedAll
		never = bodyio.DrainedNever
		later = bodyio.DrainedLater
	)
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, tt := range map[string]struct {
			source *pieces
			drains []string
			ends   bool
		}{
			"all has arrived": {more(4), []string{fmt.Sprint("arrived ", all)}, false},
			"some comes":      {more(2), []string{fmt.Sprint("arrived ", later), fmt.Sprint("all ", all)}, false},
			"too much":        {newPieces(strings.Repeat("x", drainLimit+10)), []string{fmt.Sprint("arrived ", never)}, true},
		} {
			t.Run(name, func(t *testing.T) {
				ended := make(chan struct{}, 1)
				c := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
					if ctx.IsGet() {
						ctx.SetBodyString("next")
						return
					}
					from(tt.source, func(ctx *RequestCtx) {
						_, _ = ctx.RequestBodyStream().Read(make([]byte, 2))
						ctx.SetBodyString("answered")
						ctx.SetUserValue("end", servertest.CloserFunc(func() { ended <- struct{}{} }))
					})(ctx)
				}}).Dial()
				c.Send(servertest.Post("/", "abc"))
				if resp := c.Expect(200, "answered"); resp.Close != tt.ends {
					t.Errorf("the connection ends: %v, want %v", resp.Close, tt.ends)
				}
				servertest.Receive(t, "the end of the request", ended)
				if fmt.Sprint(tt.source.drains) != fmt.Sprint(tt.drains) {
					t.Errorf("it was drained with the results %q, want %q", tt.source.drains, tt.drains)
				}
				if !tt.ends {
					c.Get("/")
					c.Expect(200, "next")
				}
			})
		}
	})
}

// A late handler keeps the source of its body.
func TestLateHandlersReadContentThatIsNotOfHTTP1(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, got := make(chan struct{}, 1), make(chan string, 1)
		source := newPieces("one ", "two ", "three")
		source.trailers = map[string]string{"X-Sum": "3"}
		c := start(&Server{StreamRequestBody: true, Handler: from(source, TimeoutHandler(func(ctx *RequestCtx) {
			<-goOn
			readAll(ctx)
			got <- string(ctx.Response.Body())
		}, time.Millisecond, "late"))}).Dial()
		c.Send(servertest.Post("/", "abc"))
		if resp := c.Expect(408, "late"); !resp.Close {
			t.Error("the connection does not end")
		}
		goOn <- struct{}{}
		if text := servertest.Receive(t, "the end of the late handler", got); text != "one two three, 3, <nil>" {
			t.Errorf("the late handler reads %q", text)
		}
		if len(source.drains) > 0 {
			t.Errorf("the body of the late handler was drained: %q", source.drains)
		}
	})
}

// After a hijack, the stream of the request is not reused for another request.
func TestBodyStreamAfterHijack(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		streaming := servertest.NewGate()
		hijacked, goOn := make(chan error, 1), make(chan struct{}, 1)
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			stream := ctx.RequestBodyStream()
			if string(ctx.Path()) == "/hijack" {
				ctx.Hijack(func(net.Conn) {
					<-goOn
					_, err := stream.Read(make([]byte, 10))
					hijacked <- err
				})
				return
			}
			streaming.Pass("next")
			content, err := io.ReadAll(stream)
			fmt.Fprint(ctx, string(content), err)
		}})
		c := ts.Dial()
		c.Send(servertest.Chunked("/hijack", "3\r\nabc\r\n0\r\n\r\n"))
		c.Expect(200, "")
		next := ts.Dial()
		next.Send(servertest.Post("/", "content"))
		servertest.Receive(t, "the next request", streaming.Entered)
		goOn <- struct{}{}
		if err := servertest.Receive(t, "the read of the hijacked request", hijacked); err != io.EOF && err != errStreamClosed {
			t.Errorf("the read of a hijacked request has the error %v", err)
		}
		close(streaming.Open)
		next.Expect(200, "content<nil>")
	})
}

// After its handler has panicked, a goroutine reads no more of the body.
func TestBodyStreamAfterPanic(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		streams := make(chan io.Reader, 1)
		c := start(&Server{StreamRequestBody: true, Logger: &servertest.Log{}, Handler: func(ctx *RequestCtx) {
			streams <- ctx.RequestBodyStream()
			panic("oops")
		}}).Dial()
		c.Send(servertest.Post("/", "content"))
		c.Expect(500, StatusMessage(500))
		if n, err := servertest.Receive(t, "the stream", streams).Read(make([]byte, 10)); n > 0 || err != errStreamClosed {
			t.Errorf("the stream has %d bytes left, %v", n, err)
		}
	})
}

// TestStreamsOnAReaderDoNotAllocate reads messages whose content stays on their reader.
func TestStreamsOnAReaderDoNotAllocate(t *testing.T) {
	in := strings.NewReader("")
	r, rest := bufio.NewReader(in), make([]byte, 10)
	for name, content := range map[string]string{
		"length": "Content-Length: 5\r\n\r\nhello", "chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	} {
		var req Request
		request, response := "POST / HTTP/1.1\r\nHost: h\r\n"+content, "HTTP/1.1 200 OK\r\n"+content
		checkAllocs(t, "ContinueReadBodyStream, "+name, func() {
			in.Reset(request)
			r.Reset(in)
			if err := req.Header.Read(r); err != nil {
				t.Fatal(err)
			}
			if err := req.ContinueReadBodyStream(r, 0); err != nil {
				t.Fatal(err)
			}
			if n, err := req.BodyStream().Read(rest); string(rest[:n]) != "hello" {
				t.Errorf("got %q, %v", rest[:n], err)
			}
		})
		resp := Response{StreamBody: true}
		for what, read := range map[string]func() error{
			"ReadLimitBody": func() error { return resp.ReadLimitBody(r, 0) },
			"ReadBody": func() error {
				if err := resp.Header.Read(r); err != nil {
					return err
				}
				return resp.ReadBody(r, 0)
			},
		} {
			checkAllocs(t, what+", "+name, func() {
				in.Reset(response)
				r.Reset(in)
				if err := read(); err != nil {
					t.Fatal(err)
				}
				if n, err := resp.BodyStream().Read(rest); string(rest[:n]) != "hello" {
					t.Errorf("got %q, %v", rest[:n], err)
				}
			})
		}
	}
}

// TestStreamThatIsLentIsNotUsedAgain leaves the stream of a request with another one.
func TestStreamThatIsLentIsNotUsedAgain(t *testing.T) {
	var req, other Request
	next := func(content string) io.Reader {
		r := bufio.NewReader(strings.NewReader(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(content), content)))
		if err := req.Header.Read(r); err != nil {
			t.Fatal(err)
		}
		if err := req.ContinueReadBodyStream(r, 0); err != nil {
			t.Fatal(err)
		}
		return req.BodyStream()
	}
	// closed by its own request, a stream is reused; before that it reads nothing
	first := next("first")
	_ = req.CloseBodyStream()
	if n, err := first.Read(make([]byte, 10)); n > 0 || err != errStreamClosed {
		t.Errorf("after closing: %d, %v", n, err)
	}
	// a spare one is not lent
	req.shareWith(&other)
	req.detachShared()
	if other.body.FreeContent != nil {
		t.Error("two requests have a spare stream")
	}
	second := next("second")
	req.shareWith(&other)
	req.detachShared()
	third := next("third")
	if second == third {
		t.Error("a lent stream is used again")
	}
	for stream, want := range map[io.Reader]string{second: "second", third: "third"} {
		if got, err := io.ReadAll(stream); string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	// and closed by another request, it is not
	_ = other.CloseBodyStream()
	if other.body.FreeContent != nil {
		t.Error("a stream has two owners")
	}
}
