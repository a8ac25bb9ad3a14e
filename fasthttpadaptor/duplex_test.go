package fasthttpadaptor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// echoLines answers each line at once. It does not enable full duplex.
func echoLines(w http.ResponseWriter, r *http.Request) {
	lines := bufio.NewReader(r.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = io.WriteString(w, strings.ToUpper(line))
		_ = http.NewResponseController(w).Flush()
	}
}

// converse sends lines one by one, each after the answer to the one before.
func converse(t *testing.T, answers *bufio.Reader, out io.Writer, lines ...string) {
	t.Helper()
	for _, line := range lines {
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(out, line)
			sent <- err
		}()
		if got, err := answers.ReadString('\n'); got != strings.ToUpper(line) || err != nil {
			t.Fatalf("the answer to %q is %q, %v", line, got, err)
		}
		if err := servertest.Receive(t, "the end of sending", sent); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHTTP2IsFullDuplex has net/http handlers that read and write concurrently without
// EnableFullDuplex, which HTTP/2 does not need.
func TestHTTP2IsFullDuplex(t *testing.T) {
	t.Parallel()
	readerEnd := make(chan error, 1)
	readOn := func(r *http.Request) {
		go func() {
			_, err := io.Copy(io.Discard, r.Body)
			readerEnd <- err
		}()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echoLines)
	mux.HandleFunc("/head", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		echoLines(w, r)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) {
		// the response begins without a flush
		_, _ = io.WriteString(w, strings.Repeat("x", 2*bufferLimit))
		echoLines(w, r)
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, r *http.Request) {
		// as the handler of grpc-go ends
		w.(http.Flusher).Flush()
		readOn(r)
		if err := r.Body.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		readerEnd <- <-readerEnd
	})
	mux.HandleFunc("/close-early", func(w http.ResponseWriter, r *http.Request) {
		readOn(r)
		_ = r.Body.Close()
		readerEnd <- <-readerEnd
		if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("after Close: %d, %v", n, err)
		}
	})
	mux.HandleFunc("/leave", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		readOn(r)
	})
	overHTTP2(t, mux, func(t *testing.T, c *http.Client, url string, streams bool) {
		if !streams {
			t.Skip("the handler gets the body when it has arrived")
		}
		begin := func(path string, write func(out io.Writer)) (*http.Response, *io.PipeWriter) {
			t.Helper()
			in, out := io.Pipe()
			if write != nil {
				go write(out)
			}
			resp, err := c.Post(url+path, "text/plain", in)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			return resp, out
		}
		end := func(path string, answers io.Reader, out io.Closer) {
			t.Helper()
			_ = out.Close()
			if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
				t.Errorf("%s: at the end: %q, %v", path, rest, err)
			}
		}

		resp, out := begin("/echo", func(out io.Writer) { _, _ = io.WriteString(out, "first\n") })
		answers := bufio.NewReader(resp.Body)
		if line, err := answers.ReadString('\n'); line != "FIRST\n" || err != nil {
			t.Fatalf("got %q, %v", line, err)
		}
		converse(t, answers, out, "second\n", "third\n")
		end("/echo", answers, out)

		// no content is sent before the head of the response has arrived
		resp, out = begin("/head", nil)
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("the status is %d", resp.StatusCode)
		}
		answers = bufio.NewReader(resp.Body)
		converse(t, answers, out, "first\n", "second\n")
		end("/head", answers, out)

		resp, out = begin("/large", nil)
		answers = bufio.NewReader(resp.Body)
		if _, err := answers.Discard(bufferLimit); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(out, "first\n")
		if line, err := answers.ReadString('\n'); !strings.HasSuffix(line, "xFIRST\n") || err != nil {
			t.Fatalf("got %.40q, %v", line, err)
		}
		end("/large", answers, out)

		for _, path := range []string{"/close", "/close-early", "/leave"} {
			resp, out := begin(path, nil)
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Errorf("%s: %q, %v", path, rest, err)
			}
			if err := servertest.Receive(t, "the end of the reader", readerEnd); err == nil {
				t.Errorf("%s: the body has an end that was not sent", path)
			}
			_ = out.Close()
		}
	})
}

// TestContextEndsWhileTheBodyArrives has a client that cancels a request before it has sent all of
// its content. An HTTP/2 connection reports that at once, even if the content is not read.
func TestContextEndsWhileTheBodyArrives(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}, 1), make(chan error, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		done := r.Context().Done()
		entered <- struct{}{}
		<-done
		ended <- r.Context().Err()
	})
	overHTTP2(t, handler, func(t *testing.T, c *http.Client, url string, streams bool) {
		if !streams {
			t.Skip("the handler gets the body when it has arrived")
		}
		in, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "POST", url, in)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			resp, err := c.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			failed <- err
		}()
		servertest.Receive(t, "the request", entered)
		cancel()
		if err := servertest.Receive(t, "the end of the context", ended); err == nil {
			t.Error("the context has no error")
		}
		if err := servertest.Receive(t, "the end of the request", failed); err == nil {
			t.Error("the request that was given up has a response")
		}
		_ = out.Close()
	})
}

// TestFullDuplexOfAHandlerAround has a fasthttp handler that enables full duplex before it calls
// the net/http handler.
func TestFullDuplexOfAHandlerAround(t *testing.T) {
	t.Parallel()
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		t.Run(fmt.Sprint(engine), func(t *testing.T) {
			inner := NewFastHTTPHandlerFunc(echoLines)
			s := &fasthttp.Server{StreamRequestBody: true, Engine: engine, Logger: testLogger{t}, Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.EnableFullDuplex()
				inner(ctx)
			}}
			c := serveAll(t, s, listenTCP)()
			send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, resp.Body, "FIRST\n")
			send(t, c, "7\r\nsecond\n\r\n")
			expect(t, resp.Body, "SECOND\n")
			send(t, c, "0\r\n\r\n")
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Errorf("the rest is %q, %v", rest, err)
			}
		})
	}
}

// TestFastHTTPHandlersInFullDuplexBehindNetHTTP is the opposite: responses of fasthttp handlers, in
// net/http servers, that are sent while the request arrives.
func TestFastHTTPHandlersInFullDuplexBehindNetHTTP(t *testing.T) {
	t.Parallel()
	handler := NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.Response.ImmediateHeaderFlush = true
		switch string(ctx.Path()) {
		case "/back":
			// the body stream of the response may always read the body of the request
			ctx.SetBodyStream(body, -1)
		case "/beside":
			ctx.EnableFullDuplex()
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				lines := bufio.NewReader(body)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					_, _ = w.WriteString(line)
					if w.Flush() != nil {
						return
					}
				}
			})
		}
	})
	for _, http2 := range []bool{false, true} {
		for _, path := range []string{"/back", "/beside"} {
			t.Run(fmt.Sprintf("HTTP/2 %v%s", http2, path), func(t *testing.T) {
				s := httptest.NewUnstartedServer(handler)
				s.EnableHTTP2 = http2
				s.StartTLS()
				defer s.Close()
				c := s.Client()
				c.Timeout = servertest.Patience
				in, out := io.Pipe()
				defer out.Close()
				resp, err := c.Post(s.URL+path, "text/plain", in)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if resp.ProtoMajor == 2 != http2 {
					t.Errorf("the protocol is %s", resp.Proto)
				}
				answers := bufio.NewReader(resp.Body)
				converse(t, answers, out, "1\n", "2\n", "3\n")
				_ = out.Close()
				if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
					t.Errorf("at the end: %q, %v", rest, err)
				}
			})
		}
	}
}
