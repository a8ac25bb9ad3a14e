package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/servertest"
)

var wireCodings = []coding.Coding{coding.Deflate, coding.Gzip, coding.Zstd, coding.Brotli}

// getEncoded sends a GET that accepts only one coding.
func getEncoded(c *servertest.Conn, target string, kind coding.Coding) {
	c.T.Helper()
	c.Send("GET " + target + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + kind.String() + "\r\n\r\n")
}

func TestServerSendsEncodedBodies(t *testing.T) {
	t.Parallel()
	content := servertest.SampleText(300_000)
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: withBrotli(func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/stream":
				ctx.SetBodyStream(bytes.NewReader(content), -1)
			case "/sized":
				ctx.SetBodyStream(bytes.NewReader(content), len(content))
			case "/written":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.Write(content) })
			default:
				ctx.SetBody(content)
			}
		})})
		c := ts.Dial()
		for _, kind := range wireCodings {
			for _, target := range []string{"/", "/stream", "/sized", "/written"} {
				getEncoded(c, target, kind)
				resp := c.Next("GET")
				if got := resp.Header.Get(HeaderContentEncoding); got != kind.String() {
					t.Errorf("%s %s: Content-Encoding is %q", kind, target, got)
				}
				got, err := coding.AppendDecoded(nil, []byte(resp.Content), kind, coding.HelperBound())
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s %s: %d bytes, %v", kind, target, len(got), err)
				}
			}
		}
	})
}

// TestCompressedStreamsAreFlushedAsTheProducerFlushes has a producer that continues only after
// the client has received all flushed bytes.
func TestCompressedStreamsAreFlushedAsTheProducerFlushes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		seen := make(chan struct{}, 3)
		ts := start(&Server{Handler: withBrotli(func(ctx *RequestCtx) {
			ctx.SetContentType("text/event-stream")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for _, event := range []string{"data: first\n\n", "data: second\n\n", "data: third\n\n"} {
					_, _ = w.WriteString(event)
					if w.Flush() != nil {
						return
					}
					<-seen
				}
			})
		})})
		c := ts.Dial()
		for _, kind := range wireCodings {
			getEncoded(c, "/", kind)
			resp, err := http.ReadResponse(c.R, nil)
			if err != nil {
				t.Fatal(err)
			}
			d := coding.NewDecoder(kind, resp.Body, coding.HelperBound())
			for _, event := range []string{"data: first\n\n", "data: second\n\n", "data: third\n\n"} {
				got := make([]byte, len(event))
				if _, err := io.ReadFull(d, got); err != nil || string(got) != event {
					t.Fatalf("%s: %q, %v", kind, got, err)
				}
				seen <- struct{}{}
			}
			if rest, err := io.ReadAll(d); len(rest) > 0 || err != nil {
				t.Errorf("%s after the last event: %q, %v", kind, rest, err)
			}
			d.Release()
			// the decoder may have left the last chunk unread
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	})
}

// endlessSource is a body stream without an end that reports when it is closed.
type endlessSource struct {
	content []byte
	closed  chan struct{}
}

func (e *endlessSource) Read(p []byte) (int, error) { return copy(p, e.content), nil }

func (e *endlessSource) Close() error {
	close(e.closed)
	return nil
}

// TestEncoderIsReleasedWhenTheClientLeaves checks known failure 56.
func TestEncoderIsReleasedWhenTheClientLeaves(t *testing.T) {
	content := servertest.Noise(10_000)
	forEachEngine(t, func(t *testing.T, start starter) {
		streams := make(chan *bodyio.Encoded, 1)
		sources := make(chan *endlessSource, 1)
		compress := withBrotli(func(ctx *RequestCtx) {
			src := &endlessSource{content, make(chan struct{})}
			sources <- src
			ctx.SetBodyStream(src, -1)
		})
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			compress(ctx)
			streams <- ctx.Response.BodyStream().(*bodyio.Encoded)
		}})
		for _, kind := range wireCodings {
			c := ts.Dial()
			getEncoded(c, "/", kind)
			if _, err := io.ReadFull(c.R, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			s, src := servertest.Receive(t, "the stream", streams), servertest.Receive(t, "the source", sources)
			servertest.Receive(t, "the end of the source", src.closed)
			if s.Holds() {
				t.Errorf("%s: the stream holds its encoder", kind)
			}
		}
	})
}

func TestPanicOfAnEncodedStreamCutsTheResponse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: CompressHandler(func(ctx *RequestCtx) {
			ctx.SetBodyStream(panickingReader{}, -1)
		})})
		c := ts.Dial()
		getEncoded(c, "/", coding.Gzip)
		if _, err := servertest.ReadResponse(c.R, "GET"); err == nil {
			t.Error("the response looks whole")
		}
		ts.Log.WaitFor(t, "panic while writing body stream")
	})
}

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic(errors.New("the source is broken")) }

// TestServerLimitsWhatBodiesDecodeTo checks known failure 41: the limit for a body
// also applies to its decoded content, even with the default limit.
func TestServerLimitsWhatBodiesDecodeTo(t *testing.T) {
	t.Parallel()
	const limit = 50_000
	bodies := map[coding.Coding]map[int][]byte{}
	for _, kind := range wireCodings {
		bodies[kind] = map[int][]byte{}
		for _, size := range []int{limit, limit + 1, DefaultMaxRequestBodySize, DefaultMaxRequestBodySize + 1} {
			bodies[kind][size] = zeros(kind, size)
		}
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, c := range []struct {
			name  string
			s     *Server
			limit int
		}{
			{"set", &Server{MaxRequestBodySize: limit}, limit},
			{"set, streamed", &Server{MaxRequestBodySize: limit, StreamRequestBody: true}, limit},
			{"by default", &Server{}, DefaultMaxRequestBodySize},
			{"by default, streamed", &Server{StreamRequestBody: true}, DefaultMaxRequestBodySize},
			{"for one request", &Server{HeaderReceived: func(*RequestHeader) RequestConfig {
				return RequestConfig{MaxRequestBodySize: limit}
			}}, limit},
		} {
			c.s.Handler = func(ctx *RequestCtx) {
				if _, err := ctx.Request.BodyUncompressed(); errors.Is(err, ErrBodyTooLarge) {
					ctx.SetStatusCode(StatusRequestEntityTooLarge)
				}
			}
			conn := start(c.s).Dial()
			for _, kind := range wireCodings {
				for size, want := range map[int]int{c.limit: StatusOK, c.limit + 1: StatusRequestEntityTooLarge} {
					body := bodies[kind][size]
					conn.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: " + kind.String() +
						"\r\nContent-Length: " + string(AppendUint(nil, len(body))) + "\r\n\r\n" + string(body))
					if resp := conn.Next("POST"); resp.StatusCode != want {
						t.Errorf("%s, %s, %d bytes: %d", c.name, kind, size, resp.StatusCode)
					}
				}
			}
		}
	})
}

// TestClientsLimitWhatBodiesDecodeTo checks known failure 41.
func TestClientsLimitWhatBodiesDecodeTo(t *testing.T) {
	const limit = 50_000
	ts := startServer(t, servertest.MemoryEngine, &Server{Handler: func(ctx *RequestCtx) {
		size, _ := ParseUint(ctx.Request.URI().LastPathSegment())
		ctx.Response.Header.SetContentEncoding("gzip")
		ctx.SetBody(zeros(coding.Gzip, size))
	}})
	dial := func(string) (net.Conn, error) { return ts.Dialer() }
	buffered := &HostClient{Addr: "a:80", Dial: dial, MaxResponseBodySize: limit}
	streaming := &HostClient{Addr: "a:80", Dial: dial, MaxResponseBodySize: limit, StreamResponseBody: true}
	pipelined := &PipelineClient{Addr: "a:80", Dial: dial, MaxResponseBodySize: limit}
	// the shutdown of the server waits for these connections
	defer buffered.CloseIdleConnections()
	defer streaming.CloseIdleConnections()
	for name, do := range map[string]func(*Request, *Response) error{"buffered": buffered.Do, "streaming": streaming.Do, "pipelined": pipelined.Do} {
		for size, want := range map[int]error{limit: nil, limit + 1: ErrBodyTooLarge} {
			req, resp := AcquireRequest(), AcquireResponse()
			req.SetRequestURI("http://a/" + string(AppendUint(nil, size)))
			if err := do(req, resp); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := resp.BodyUncompressed(); err != want || err == nil && len(got) != size {
				t.Errorf("%s, %d bytes: %d, %v", name, size, len(got), err)
			}
			ReleaseRequest(req)
			ReleaseResponse(resp)
		}
	}
}

func TestHTTP10GetsEncodedStreamsWithoutChunks(t *testing.T) {
	content := servertest.SampleText(50_000)
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: CompressHandler(func(ctx *RequestCtx) {
			ctx.SetBodyStream(bytes.NewReader(content), len(content))
		})})
		c := ts.Dial()
		c.Send("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
		resp := c.Next("GET")
		got, err := AppendGunzipBytes(nil, []byte(resp.Content))
		if err != nil || !bytes.Equal(got, content) || len(resp.TransferEncoding) > 0 {
			t.Errorf("%d bytes, %v, Transfer-Encoding %q", len(got), err, resp.TransferEncoding)
		}
		c.ExpectEnd()
	})
}

func TestCurlDecodesEveryCoding(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl on this machine")
	}
	version, err := exec.Command(curl, "--version").Output()
	if err != nil {
		t.Skipf("curl does not run: %v", err)
	}
	features := map[coding.Coding]string{coding.Deflate: "libz", coding.Gzip: "libz", coding.Zstd: "zstd", coding.Brotli: "brotli"}
	content := servertest.SampleText(100_000)
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			ts := startServer(t, e, &Server{Handler: withBrotli(func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/stream" {
					ctx.SetBodyStream(bytes.NewReader(content), -1)
					return
				}
				ctx.SetBody(content)
			})})
			origin := "http://" + ts.Listener.Addr().String()
			if e.TLS {
				origin = "https://" + ts.Listener.Addr().String()
			}
			for _, kind := range wireCodings {
				t.Run(kind.String(), func(t *testing.T) {
					if !bytes.Contains(version, []byte(" "+features[kind])) {
						t.Skipf("this curl was built without %s", features[kind])
					}
					for _, path := range []string{"/", "/stream"} {
						cmd := exec.CommandContext(t.Context(), curl, "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "60",
							"--insecure", "--http1.1", "--compressed", "--header", "Accept-Encoding: "+kind.String(), "--dump-header", "/dev/stderr", origin+path)
						var head strings.Builder
						cmd.Stderr = &head
						got, err := cmd.Output()
						if err != nil || !bytes.Equal(got, content) {
							t.Errorf("%s: %d bytes, %v\n%s", path, len(got), err, head.String())
						}
						if !strings.Contains(head.String(), "Content-Encoding: "+kind.String()+"\r\n") {
							t.Errorf("%s: not encoded\n%s", path, head.String())
						}
					}
				})
			}
		})
	}
}
