package fasthttpadaptor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// eachServer runs a test on net/http, as a check of the test, and on the adaptor.
func eachServer(t *testing.T, streamedOnly bool, f func(t *testing.T, start func(http.HandlerFunc) net.Conn)) {
	t.Helper()
	for _, s := range append([]server{netHTTP}, servers...) {
		if streamedOnly && s.name == "buffered" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			f(t, func(h http.HandlerFunc) net.Conn { return s.start(t, h)() })
		})
	}
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(r, got)
	if string(got[:n]) != text {
		t.Fatalf("got %q, %v; want %q", got[:n], err, text)
	}
}

// Known failure 55: whole bodies were buffered.
func TestBodyIsReadWhileItArrives(t *testing.T) {
	t.Parallel()
	eachServer(t, true, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		got := make(chan string)
		c := start(func(_ http.ResponseWriter, r *http.Request) {
			buf := make([]byte, 100)
			for {
				n, err := r.Body.Read(buf)
				if n > 0 {
					got <- string(buf[:n])
				}
				if err != nil {
					got <- err.Error()
					return
				}
			}
		})
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n")
		for _, piece := range []string{"one ", "two "} {
			send(t, c, piece)
			if p := servertest.Receive(t, "a piece", got); p != piece {
				t.Errorf("read %q, want %q", p, piece)
			}
		}
		if p := servertest.Receive(t, "the end", got); p != "EOF" {
			t.Errorf("the body ends with %q", p)
		}
	})
}

// A separate piece for each would cost a write to the connection.
func TestShortWritesAreSentTogether(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			for _, text := range []string{"one", "two", "three"} {
				if n, err := io.WriteString(w, text); n != len(text) || err != nil {
					t.Errorf("WriteString: %d, %v", n, err)
				}
			}
			w.(http.Flusher).Flush()
			for range 3 {
				fmt.Fprint(w, "x")
			}
		})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == "\r\n" {
				break
			}
		}
		expect(t, r, "b\r\nonetwothree\r\n3\r\nxxx\r\n0\r\n\r\n")
	})
}

func TestFlushedPiecesArriveWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	for _, length := range []string{"", "6"} {
		eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
			next := make(chan struct{})
			c := start(func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				for i := range 3 {
					<-next
					fmt.Fprintf(w, "p%d", i)
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Errorf("Flush: %v", err)
					}
				}
			})
			send(t, c, get)
			next <- struct{}{}
			r := bufio.NewReader(c)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, resp.Body, "p0")
			next <- struct{}{}
			expect(t, resp.Body, "p1")
			next <- struct{}{}
			expect(t, resp.Body, "p2")
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Errorf("the rest is %q, %v", rest, err)
			}
		})
	}
}

func TestFlushMayComeFromAnotherGoroutine(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		arrived := make(chan struct{})
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "first")
			flushed := make(chan struct{})
			go func() {
				defer close(flushed)
				w.(http.Flusher).Flush()
			}()
			<-arrived
			<-flushed
		})
		send(t, c, get)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, resp.Body, "first")
		close(arrived)
	})
}

func TestFullDuplex(t *testing.T) {
	t.Parallel()
	eachServer(t, true, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		c := start(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			if err := rc.EnableFullDuplex(); err != nil {
				t.Errorf("EnableFullDuplex: %v", err)
			}
			_ = rc.Flush()
			lines := make(chan string)
			go func() {
				defer close(lines)
				s := bufio.NewScanner(r.Body)
				for s.Scan() {
					lines <- s.Text()
				}
			}()
			for line := range lines {
				fmt.Fprintf(w, "you said %s\n", line)
				_ = rc.Flush()
			}
		})
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"hello", "again", "thrice"} {
			send(t, c, fmt.Sprintf("%x\r\n%s\n\r\n", len(word)+1, word))
			expect(t, resp.Body, "you said "+word+"\n")
		}
		send(t, c, "0\r\n\r\n")
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

func TestUnreadBodyIsDroppedWhenTheResponseBegins(t *testing.T) {
	t.Parallel()
	eachServer(t, true, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		readErr := make(chan error, 2)
		c := start(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			_, err := r.Body.Read(make([]byte, 1))
			readErr <- err
			io.WriteString(w, "done")
		})
		r := bufio.NewReader(c)
		for range 2 {
			send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
			if got := readReply(t, r, "POST"); got.body != "done" || got.close {
				t.Fatalf("the answer is %s", got)
			}
			if err := servertest.Receive(t, "the error", readErr); err != http.ErrBodyReadAfterClose {
				t.Errorf("reading the body: %v", err)
			}
		}
	})
}

func TestConnectionIsUsedAgainAfterAStream(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		c := start(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.URL.Path)
			w.(http.Flusher).Flush()
			io.WriteString(w, r.URL.Path)
		})
		r := bufio.NewReader(c)
		for _, path := range []string{"/a", "/bc", "/def"} {
			send(t, c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if got := readReply(t, r, "GET"); got.body != path+path {
				t.Fatalf("the answer is %s", got)
			}
		}
	})
}

func TestContextEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	for _, flushed := range []bool{false, true} {
		eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
			began, ended := make(chan struct{}), make(chan error, 1)
			c := start(func(w http.ResponseWriter, r *http.Request) {
				if flushed {
					w.(http.Flusher).Flush()
				}
				ctx, cancel := context.WithTimeout(r.Context(), servertest.Patience)
				defer cancel()
				done := ctx.Done()
				close(began)
				<-done
				ended <- ctx.Err()
			})
			send(t, c, get)
			servertest.Receive(t, "the request", began)
			_ = c.Close()
			if err := servertest.Receive(t, "the end of the handler", ended); err != context.Canceled {
				t.Errorf("the context ended with %v", err)
			}
		})
	}
}

func TestContextEndsWhenTheClientLeavesAfterItsBody(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		began, ended := make(chan struct{}), make(chan error, 1)
		c := start(func(_ http.ResponseWriter, r *http.Request) {
			done := r.Context().Done()
			_, _ = io.Copy(io.Discard, r.Body)
			close(began)
			<-done
			ended <- r.Context().Err()
		})
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
		servertest.Receive(t, "the request", began)
		_ = c.Close()
		if err := servertest.Receive(t, "the end of the handler", ended); err != context.Canceled {
			t.Errorf("the context ended with %v", err)
		}
	})
}

func TestContextEndsWithTheHandler(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		contexts := make(chan context.Context, 1)
		c := start(func(_ http.ResponseWriter, r *http.Request) {
			if err := r.Context().Err(); err != nil {
				t.Errorf("the context has ended in the handler: %v", err)
			}
			contexts <- r.Context()
		})
		if got := ask(t, c, get); got.status != "200 OK" {
			t.Fatalf("the answer is %s", got)
		}
		ctx := servertest.Receive(t, "the context", contexts)
		servertest.Receive(t, "its end", ctx.Done())
		if err := ctx.Err(); err != context.Canceled {
			t.Errorf("the context ended with %v", err)
		}
	})
}

func TestWritesFailWhenTheClientHasLeft(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		failed := make(chan error, 1)
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			piece := []byte(strings.Repeat("x", 64<<10))
			for {
				if _, err := w.Write(piece); err != nil {
					failed <- err
					return
				}
			}
		})
		send(t, c, get)
		expect(t, c, "HTTP/1.1 200 OK\r\n")
		_ = c.Close()
		if err := servertest.Receive(t, "the error", failed); err == nil {
			t.Error("no error")
		}
	})
}

func TestInformationalResponses(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		received := make(chan struct{})
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			<-received
			w.WriteHeader(http.StatusProcessing)
			io.WriteString(w, "body")
		})
		send(t, c, get)
		r := bufio.NewReader(c)
		for i, want := range []string{"103 Early Hints", "102 Processing", "200 OK"} {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Status != want || resp.Header.Get("Link") == "" {
				t.Errorf("response %d is %s with %v", i, resp.Status, resp.Header)
			}
			if i == 0 {
				close(received)
			}
			if i == 2 {
				expect(t, resp.Body, "body")
			}
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	eachServer(t, true, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		errs := make(chan error, 1)
		c := start(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).SetReadDeadline(time.Now()); err != nil {
				t.Errorf("SetReadDeadline: %v", err)
			}
			_, err := io.ReadAll(r.Body)
			errs <- err
		})
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
		if ne, ok := errors.AsType[net.Error](servertest.Receive(t, "the error", errs)); !ok || !ne.Timeout() {
			t.Errorf("reading the body: %v", ne)
		}
	})
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		errs := make(chan error, 1)
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now()); err != nil {
				t.Errorf("SetWriteDeadline: %v", err)
			}
			var err error
			for err == nil {
				_, err = io.WriteString(w, strings.Repeat("x", 64<<10))
			}
			errs <- err
		})
		send(t, c, get)
		if err := servertest.Receive(t, "the error", errs); err == nil {
			t.Error("no error")
		}
	})
}

// Known failures 19 and 55.
func TestPanicIsAnsweredWhereNothingWasSent(t *testing.T) {
	t.Parallel()
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			c := s.start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				panic("broken")
			}))()
			if got := ask(t, c, get); got.status != "500 Internal Server Error" || !got.close {
				t.Errorf("the answer is %s", got)
			}
		})
	}
}

func TestUserValuesAreInTheContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Context().Value("name"), r.Context().Value(key{}), r.Context().Value("none"))
	})
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), nil, nil)
	ctx.SetUserValue("name", "value")
	ctx.SetUserValue(key{}, 7)
	h(&ctx)
	if got := string(ctx.Response.Body()); got != "value7 <nil>" {
		t.Errorf("got %q", got)
	}
}

func TestFieldsSetAroundTheHandlerStay(t *testing.T) {
	t.Parallel()
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Both", "inner")
	})
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), nil, nil)
	ctx.Response.Header.Set("X-Outer", "outer")
	ctx.Response.Header.Set("X-Both", "outer")
	h(&ctx)
	if got := string(ctx.Response.Header.Peek("X-Outer")); got != "outer" {
		t.Errorf("X-Outer is %q", got)
	}
	if got := ctx.Response.Header.PeekAll("X-Both"); len(got) != 1 || string(got[0]) != "inner" {
		t.Errorf("X-Both is %q", got)
	}
}

func TestBadTargetIsRefused(t *testing.T) {
	t.Parallel()
	c := servers[0].start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	}))()
	if got := ask(t, c, "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"); got.status != "400 Bad Request" {
		t.Errorf("the answer is %s", got)
	}
}

// TestContextEndsWithoutALookAtTheEndOfTheBody has handlers that read as much of the body as there is,
// and no more.
func TestContextEndsWithoutALookAtTheEndOfTheBody(t *testing.T) {
	t.Parallel()
	for _, s := range allServers() {
		if s.name == "behind net/http" {
			// no handler sees there that the client leaves
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			got, ended := make(chan error, 1), make(chan struct{})
			c := s.start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, err := io.ReadFull(r.Body, make([]byte, 5))
				got <- err
				<-r.Context().Done()
				close(ended)
			}))()
			send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe")
			send(t, c, "llo")
			if err := servertest.Receive(t, "the body", got); err != nil {
				t.Errorf("reading: %v", err)
			}
			_ = c.Close()
			servertest.Receive(t, "the end of the context", ended)
		})
	}
}
