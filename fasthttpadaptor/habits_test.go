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
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) {
	leaveWait = 10 * time.Millisecond
	servertest.Main(m)
}

// serve serves until the test ends, and returns a connection to the server.
func serve(t testing.TB, s *fasthttp.Server, listen listenFunc) net.Conn {
	t.Helper()
	return serveAll(t, s, listen)()
}

// ownContext is the key of the context that the adaptor has made.
type ownContext struct{}

// A client that has closed its sending side may still read. So the context of its request must
// not end yet: a TimeoutHandler would respond instead of the handler.
func TestClientThatHasEndedItsSideIsAnswered(t *testing.T) {
	wait := leaveWait
	leaveWait = time.Hour
	t.Cleanup(func() { leaveWait = wait })
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context().Value("ctx").(*fasthttp.RequestCtx)
			ctx.WatchDisconnect()
			<-ctx.Done()
			if !ctx.EndedSending() {
				t.Error("the client has not ended its side")
			}
			own := r.Context().Value(ownContext{}).(*requestContext)
			servertest.Eventually(t, "the end of the client's side", func() bool {
				own.mu.Lock()
				defer own.mu.Unlock()
				return own.leaving != nil
			})
			if err := r.Context().Err(); err != nil {
				t.Errorf("the context has ended: %v", err)
			}
			io.WriteString(w, "answer")
		})
		late := http.TimeoutHandler(h, time.Minute, "late")
		bridge := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			late.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ownContext{}, r.Context())))
		})
		c := serve(t, &fasthttp.Server{
			Engine: engine,
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetUserValue("ctx", ctx)
				bridge(ctx)
			},
		}, listenTCP)
		send(t, c, get)
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, bufio.NewReader(c), "GET"); got.status != "200 OK" || got.body != "answer" {
			t.Errorf("the answer is %s", got)
		}
	}
}

func TestResetEndsTheContextAtOnce(t *testing.T) {
	wait := leaveWait
	leaveWait = time.Hour
	t.Cleanup(func() { leaveWait = wait })
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		began, ended := make(chan struct{}), make(chan struct{})
		h := NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			done := r.Context().Done()
			close(began)
			<-done
			close(ended)
		})
		c := serve(t, &fasthttp.Server{Engine: engine, Handler: h}, listenTCP)
		send(t, c, get)
		servertest.Receive(t, "the request", began)
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		servertest.Receive(t, "the end of the context", ended)
	}
}

func TestStatusSetAroundTheHandlerStays(t *testing.T) {
	t.Parallel()
	for want, h := range map[int]http.HandlerFunc{
		403: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "text") },
		404: func(http.ResponseWriter, *http.Request) {},
		502: func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		201: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) },
		200: func(http.ResponseWriter, *http.Request) {},
	} {
		bridge := NewFastHTTPHandler(h)
		c := serve(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch want {
			case 201:
				ctx.SetStatusCode(http.StatusForbidden)
			case 200:
				ctx.SetStatusCode(http.StatusContinue)
			default:
				ctx.SetStatusCode(want)
			}
			bridge(ctx)
		}}, listenTCP)
		if got := ask(t, c, get); got.status != fmt.Sprint(want, " ", http.StatusText(want)) {
			t.Errorf("got %s, want %d", got.status, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]string{
		"":         "HTTP/1.1 1.1",
		"HTTP/1.1": "HTTP/1.1 1.1",
		"HTTP/1.0": "HTTP/1.0 1.0",
		"HTTP/0.0": "HTTP/0.0 1.0",
		"HTTP/2":   "HTTP/2.0 2.0",
		"HTTP/2.0": "HTTP/2.0 2.0",
		"HTTP/3":   "HTTP/3.0 3.0",
		"odd":      "odd 1.1",
	} {
		var ctx fasthttp.RequestCtx
		ctx.Init(new(fasthttp.Request), nil, nil)
		ctx.Request.Header.SetProtocol(protocol)
		var r http.Request
		if err := ConvertRequest(&ctx, &r, true); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %d.%d", r.Proto, r.ProtoMajor, r.ProtoMinor); got != want {
			t.Errorf("%q became %s, want %s", protocol, got, want)
		}
	}
	for proto, want := range map[string]string{"": "HTTP/1.1", "HTTP/0.0": "HTTP/1.0"} {
		r, err := http.NewRequest("GET", "http://a/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Proto, r.ProtoMajor, r.ProtoMinor = proto, 0, 0
		var req fasthttp.Request
		ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
		if got := string(req.Header.Protocol()); got != want {
			t.Errorf("%q became %s, want %s", proto, got, want)
		}
	}
}

// TestRequestsOfStreamsHaveNoFieldsOfHTTP1 has requests with a body of unknown size.
func TestRequestsOfStreamsHaveNoFieldsOfHTTP1(t *testing.T) {
	for protocol, streams := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true, "HTTP/3.0": true} {
		var ctx fasthttp.RequestCtx
		ctx.Init(new(fasthttp.Request), nil, nil)
		h := &ctx.Request.Header
		h.SetProtocol(protocol)
		h.SetMethod("POST")
		h.SetContentLength(-1)
		h.Set("Expect", "100-continue")
		var r http.Request
		if err := ConvertRequest(&ctx, &r, true); err != nil {
			t.Fatal(err)
		}
		if chunked, expects := len(r.TransferEncoding) > 0, r.Header.Get("Expect") != ""; chunked == streams || expects == streams {
			t.Errorf("%s: the coding is %q, the fields are %v", protocol, r.TransferEncoding, r.Header)
		}
		NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := http.NewResponseController(w).Hijack(); streams != errors.Is(err, errStreams) {
				t.Errorf("%s: the connection is hijacked with %v", protocol, err)
			}
		})(&ctx)
	}
}

// logBook is a Logger that keeps its messages.
type logBook struct {
	mu   sync.Mutex
	text string
}

func (l *logBook) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += fmt.Sprintf(format, args...) + "\n"
}

func TestPanicsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"at once": func(http.ResponseWriter, *http.Request) { panic("broken here") },
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			panic("broken here")
		},
		"of an error that is common": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			panic(fmt.Errorf("broken here: %w", io.ErrUnexpectedEOF))
		},
		"after all of it": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic("broken here")
		},
		"half-written": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("x", 2*bufferLimit))
			panic("broken here")
		},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, abort := range []bool{false, true} {
				h := h
				if abort {
					inner := h
					h = func(w http.ResponseWriter, r *http.Request) {
						defer func() {
							_ = recover()
							panic(http.ErrAbortHandler)
						}()
						inner(w, r)
					}
				}
				var book logBook
				s := &fasthttp.Server{Handler: NewFastHTTPHandler(h), Logger: &book}
				c := serve(t, s, listenTCP)
				send(t, c, method+" / HTTP/1.1\r\nHost: a\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
				// the server would wait for more bytes
				_ = c.Close()
				if err := s.Shutdown(); err != nil {
					t.Fatal(err)
				}
				want := 1
				if abort {
					want = 0
				}
				book.mu.Lock()
				if got := strings.Count(book.text, "broken here"); got != want {
					t.Errorf("%s, %s, abort %v: logged %d times: %s", method, name, abort, got, book.text)
				}
				book.mu.Unlock()
			}
		}
	}
}

// The deadline of a handler takes effect even if the server sets its own only after
// the Flush has returned.
func TestWriteDeadlineSetBehindAFlushHolds(t *testing.T) {
	t.Parallel()
	t.Run("event engine", func(t *testing.T) {
		const limit = time.Second
		servertest.Steady(t, limit, func(t testing.TB) { writeDeadlineHolds(t, fasthttp.EngineAuto, listenTCP, limit) })
	})
	t.Run("portable engine", func(t *testing.T) {
		servertest.Bubble(t, func(t *testing.T) {
			writeDeadlineHolds(t, fasthttp.EnginePortable, listenMemory, time.Minute)
		})
	})
}

func writeDeadlineHolds(t testing.TB, engine fasthttp.Engine, listen listenFunc, timeout time.Duration) {
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		if err := rc.SetWriteDeadline(time.Time{}); err != nil {
			t.Errorf("SetWriteDeadline: %v", err)
		}
		// the deadline of the server passes
		time.Sleep(2 * timeout) // real time: connections of the event engine have no bubble
		io.WriteString(w, "late")
	})
	var all sync.WaitGroup
	for range 20 {
		// the clock of the Date field does not run in a bubble
		s := &fasthttp.Server{Engine: engine, Handler: h, WriteTimeout: timeout, NoDefaultDate: true}
		c := serve(t, s, listen)
		_ = c.SetDeadline(time.Now().Add(2*timeout + servertest.Patience))
		all.Go(func() {
			if got := ask(t, c, get); got.body != "late" || got.err != nil {
				t.Errorf("the answer is %s, %v", got, got.err)
			}
		})
	}
	all.Wait()
}

func TestConvertedRequestLeavesTheBodyToOthers(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"Content-Length: 5\r\n\r\nhello":                            `"hello" <nil>, then "hello"`,
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n": `"hello" <nil>, then "hello"`,
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n\r\n": `error`,
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":               `"" <nil>, then ""`,
	} {
		c := serve(t, &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			var r http.Request
			if err := ConvertRequest(ctx, &r, true); err != nil {
				t.Errorf("ConvertRequest: %v", err)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				ctx.SetBodyString("error")
				return
			}
			fmt.Fprintf(ctx, "%q %v, then %q", body, err, ctx.PostBody())
		}}, listenTCP)
		if got := ask(t, c, "POST / HTTP/1.1\r\nHost: a\r\n"+request); got.body != want {
			t.Errorf("%q: got %s, want %s", request, got.body, want)
		}
	}
}

func TestBarredTrailersAreFieldsOfTheHead(t *testing.T) {
	t.Parallel()
	for _, s := range servers {
		for when, set := range map[string]func(w http.ResponseWriter){
			"early": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/x")
				io.WriteString(w, "hello")
			},
			"late": func(w http.ResponseWriter) {
				io.WriteString(w, "hello")
				w.Header().Set("Content-Type", "text/x")
			},
			"flushed": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/x")
				w.(http.Flusher).Flush()
				io.WriteString(w, "hello")
				w.Header().Set("Content-Type", "text/y")
			},
		} {
			c := s.start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "Content-Type, X-Sum")
				set(w)
				w.Header().Set("X-Sum", "5")
			}))()
			got := ask(t, c, get)
			if fmt.Sprint(got.header["Content-Type"], got.body, got.trailer) != "[text/x]hellomap[X-Sum:[5]]" {
				t.Errorf("%s, %s: the answer is %s", s.name, when, got)
			}
		}
	}
}

// A flushed response is not replaced by another one, even if only the end of the
// connection can follow it.
func TestFlushedHeadIsTheOnlyAnswer(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"broken", http.ErrAbortHandler} {
		eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
			c := start(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-A", "1")
				w.WriteHeader(http.StatusAccepted)
				w.(http.Flusher).Flush()
				panic(value)
			})
			r := bufio.NewReader(c)
			send(t, c, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
			if got := readReply(t, r, "HEAD"); got.status != "202 Accepted" || got.header.Get("X-A") != "1" {
				t.Errorf("the answer is %s", got)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%q after it, %v", rest, err)
			}
		})
	}
}
