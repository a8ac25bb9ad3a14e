package http3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/servertest"
)

// noStreams is for a client that allows no unidirectional stream of the server.
func noStreams() *quic.Config { return &quic.Config{MaxIncomingUniStreams: -1} }

func TestClientsMustAllowTheStreamsOfTheServer(t *testing.T) {
	t.Parallel()
	servertest.Doubling(t, func(limit time.Duration) error {
		_, addr := runOver(t, &Server{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}, openTime: limit})
		r, err := tryDial(t, addr, noStreams())
		if err != nil {
			return err
		}
		if got := r.ended(); got != "H3_NO_ERROR" {
			return errors.New(got)
		}
		return nil
	})
}

func TestShutdownEndsConnectionsThatAreOpening(t *testing.T) {
	t.Parallel()
	s, addr := runOver(t, &Server{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}, openTime: servertest.Never})
	r := dialWith(t, addr, noStreams())
	servertest.Eventually(t, "the connection", func() bool { return s.open() == 1 })
	servertest.Soon(t, "Shutdown", func() { servertest.Must(t, s.Shutdown(context.Background())) })
	if got := r.ended(); got != "H3_NO_ERROR" {
		t.Errorf("the connection: %s", got)
	}
}

// A client that does not read the stream of the decoder must not hold up its requests without end.
func TestClientsMustReadTheDecoderStream(t *testing.T) {
	t.Parallel()
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	const window = 256 // of each stream, none of which the client reads
	r := dialWith(t, addr, &quic.Config{InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window})
	r.control()
	b := hpack.AppendText(append(hpack.AppendInt(nil, 0x20, 5, 220), 0xc0), 0, 7, []byte("a"), false)
	r.uni(append([]byte{wire.StreamEncoder}, b...)...)
	// each has a reference to the entry, which is acknowledged
	section := string([]byte{2, 0, 0xc0 | 17, 0xc0 | 23, 0xc0 | 1, 0x80})
	if got := r.response(r.stream(true, frame(wire.TypeHeaders, section)...)); got != "200" {
		t.Fatalf("the first response is %s", got)
	}
	within, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	// QUIC takes some bytes more than the window allows
	for range 4000 {
		s, err := r.q.OpenStreamSync(within)
		if err != nil {
			break
		}
		_, _ = s.Write(frame(wire.TypeHeaders, section))
		_ = s.Close()
	}
	if got := r.ended(); got != "H3_EXCESSIVE_LOAD" {
		t.Errorf("the connection: %s", got)
	}
}

// The usual response of one Server must not have the name of another.
func TestServersHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	handler := func(ctx *fasthttp.RequestCtx) { ctx.WriteString("same") }
	_, one := run(t, &fasthttp.Server{Name: "one", Handler: handler})
	_, two := run(t, &fasthttp.Server{Name: "two", Handler: handler})
	c := client(t)
	for i := range 40 {
		addr, want := one, "one"
		if i%2 == 1 {
			addr, want = two, "two"
		}
		if resp, _ := get(t, c, request(t, "GET", "https://"+addr, nil)); resp.Header.Get("Server") != want {
			t.Fatalf("response %d of %s is from %q", i, want, resp.Header.Get("Server"))
		}
	}
}

// A user value that panics, or ends the goroutine, must not keep a stream open.
func TestStreamsEndWithBrokenUserValues(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(){"panic": func() { panic("a broken value") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			log := new(servertest.Log)
			_, addr := run(t, &fasthttp.Server{Logger: log, StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetUserValue("x", servertest.CloserFunc(breaks))
			}})
			r := dial(t, addr)
			r.control()
			s := r.stream(false, method("POST")...)
			if got := r.response(s); got != "200" {
				t.Errorf("the response is %s", got)
			}
			// the server wants no more of the request
			servertest.Receive(t, "the end of the stream", s.Context().Done())
			if _, err := s.Write([]byte{0}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%#x", int(wire.NoError))) && !strings.Contains(err.Error(), fmt.Sprint(int(wire.NoError))) {
				t.Errorf("the stream ends with %v", err)
			}
			if got := r.response(r.stream(true, getHead()...)); got != "200" {
				t.Errorf("the next response is %s", got)
			}
		})
	}
}

// A hook that ends the goroutine of a connection or a request must not keep its place.
func TestHooksThatEndTheirGoroutines(t *testing.T) {
	t.Parallel()
	ofRequest := func(r raw) string { return r.response(r.stream(true, getHead()...)) }
	for state, row := range map[fasthttp.ConnState]struct {
		end  func(r raw) string
		want string
	}{fasthttp.StateNew: {raw.ended, "H3_NO_ERROR"}, fasthttp.StateActive: {ofRequest, "H3_INTERNAL_ERROR"}} {
		t.Run(state.String(), func(t *testing.T) {
			var exited atomic.Bool
			over := &fasthttp.Server{
				Handler: func(*fasthttp.RequestCtx) {}, MaxConnsPerIP: 1, Concurrency: 1,
				ConnState: func(_ net.Conn, now fasthttp.ConnState) {
					if now == state && !exited.Swap(true) {
						runtime.Goexit()
					}
				},
			}
			s, addr := runOver(t, &Server{Server: over, QUICConfig: &quic.Config{MaxIdleTimeout: wait, HandshakeIdleTimeout: wait}})
			r := dial(t, addr)
			if got := row.end(r); got != row.want {
				t.Errorf("the end is %s, want %s", got, row.want)
			}
			_ = r.q.CloseWithError(0, "")
			servertest.Eventually(t, "the end of the connection", func() bool { return s.open() == 0 })
			if n := over.GetCurrentConcurrency(); n != 0 {
				t.Errorf("%d connections are served", n)
			}
			r = dial(t, addr)
			if got := ofRequest(r); got != "200" {
				t.Errorf("the next response is %s", got)
			}
		})
	}
}

// Aborted requests must cost a client something, as with HTTP/2.
func TestTooManyAbortedRequestsEndTheConnection(t *testing.T) {
	t.Parallel()
	handler := func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/wait" {
			ctx.WatchDisconnect()
			<-ctx.Done()
		}
	}
	end := func(s *quic.Stream) { _ = s.Close() }
	leave := func(s *quic.Stream) {
		s.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled))
		s.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
	}
	leaveLater := func(s *quic.Stream) {
		end(s)
		s.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
	}
	for _, flood := range []struct {
		name  string
		bytes []byte
		then  func(s *quic.Stream)
	}{
		{"requests that are reset", method("POST"), leave},
		{"heads that are reset", getHead()[:9], leave},
		{"responses that are not wanted", headers(":method: GET", ":scheme: https", ":authority: a", ":path: /wait"), leaveLater},
		{"malformed requests", getHead("X-Upper: 1"), end},
		{"malformed requests that are answered", headers(":method: GET", ":scheme: https", ":path: /"), end},
		{"more content than Content-Length", frames(method("POST", "content-length: 1"), frame(wire.TypeData, "ab")), end},
		{"requests without a head", nil, end},
	} {
		t.Run(flood.name, func(t *testing.T) {
			_, addr := runOver(t, &Server{Server: &fasthttp.Server{Handler: handler}, wasted: 10, quick: servertest.Never})
			r := dial(t, addr)
			r.control()
			within, cancel := context.WithTimeout(r.q.Context(), wait)
			defer cancel()
			for range 2000 {
				s, err := r.q.OpenStreamSync(within)
				if err != nil {
					break
				}
				_, _ = s.Write(flood.bytes)
				flood.then(s)
			}
			if got := r.ended(); got != "H3_EXCESSIVE_LOAD" {
				t.Errorf("the connection: %s", got)
			}
		})
	}
}

// Requests that end well make up for aborted ones.
func TestAbortedRequestsAreForgiven(t *testing.T) {
	t.Parallel()
	idle := make(chan struct{}, 10)
	_, addr := runOver(t, &Server{wasted: 1, Server: &fasthttp.Server{
		Handler: func(*fasthttp.RequestCtx) {},
		ConnState: func(_ net.Conn, state fasthttp.ConnState) {
			if state == fasthttp.StateIdle {
				idle <- struct{}{}
			}
		},
	}})
	r := dial(t, addr)
	r.control()
	for range 10 {
		if got := r.response(r.stream(true, getHead("X-Upper: 1")...)); got != "H3_MESSAGE_ERROR" {
			t.Fatalf("a malformed request: %s", got)
		}
		servertest.Receive(t, "its end", idle)
		if got := r.response(r.stream(true, getHead()...)); got != "200" {
			t.Fatalf("a good request: %s", got)
		}
		servertest.Receive(t, "its end", idle)
	}
}

// RFC 9204 section 2.2.2.2.
func TestSectionsOfAbandonedStreamsAreCancelled(t *testing.T) {
	t.Parallel()
	_, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control()
	seen := r.serverStream(wire.StreamDecoder)
	b := hpack.AppendText(append(hpack.AppendInt(nil, 0x20, 5, 220), 0xc0), 0, 7, []byte("a"), false)
	says := func(what string, n int) []byte {
		t.Helper()
		var got []byte
		for len(got) < n {
			got = append(got, servertest.Receive(t, what, seen)...)
		}
		return got
	}
	expect := func(what string, want byte) {
		t.Helper()
		if got := says(what, 1); !bytes.Equal(got, []byte{want}) {
			t.Errorf("%s: the decoder says %x, want %x", what, got, want)
		}
	}
	// a client that does not use its encoder need not read yet
	if got := r.response(r.stream(false, getHead("X-Upper: 1")...)); got != "H3_MESSAGE_ERROR" {
		t.Fatal(got)
	}
	encoder := r.uni(wire.StreamEncoder)
	_, err := encoder.Write(b)
	servertest.Must(t, err)
	// the request ends on a goroutine of its own
	if got := says("a malformed request, and an insertion", 2); !bytes.ContainsRune(got, 1) || !bytes.ContainsRune(got, 0x40) || len(got) != 2 {
		t.Errorf("a malformed request, and an insertion: the decoder says %x, want 40 and 01", got)
	}
	if got := r.response(r.stream(false, method("POST")...)); got != "200" {
		t.Fatal(got)
	}
	expect("content that is not read", 0x40|4)
	s := r.stream(false, frames(method("POST", "content-length: 3"), frame(wire.TypeData, "a"))...)
	if got := r.response(s); got != "200" {
		t.Fatal(got)
	}
	expect("content that is cut off", 0x40|8)
	r.stream(false, getHead()[:9]...).CancelWrite(quic.StreamErrorCode(wire.RequestCancelled))
	expect("a head that is cut off", 0x40|12)
	section := string([]byte{2, 0, 0xc0 | 17, 0xc0 | 23, 0xc0 | 1, 0x80})
	if got := r.response(r.stream(true, frame(wire.TypeHeaders, section)...)); got != "200" {
		t.Fatal(got)
	}
	expect("a section with a reference", 0x80|16)
}

// The end of a request without content may be late.
func TestRequestsWithoutTheirEndAreServed(t *testing.T) {
	t.Parallel()
	_, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control()
	if got := r.response(r.stream(false, getHead()...)); got != "200" {
		t.Errorf("the response is %s", got)
	}
}

func TestConnStatesOfRequests(t *testing.T) {
	t.Parallel()
	states := make(chan fasthttp.ConnState, 10)
	_, addr := run(t, &fasthttp.Server{
		Handler:   func(*fasthttp.RequestCtx) {},
		ConnState: func(_ net.Conn, state fasthttp.ConnState) { states <- state },
	})
	expect := func(all ...fasthttp.ConnState) {
		t.Helper()
		for _, want := range all {
			if got := servertest.Receive(t, "a state", states); got != want {
				t.Errorf("the state is %v, want %v", got, want)
			}
		}
	}
	r := dial(t, addr)
	r.control()
	expect(fasthttp.StateNew)
	for range 2 {
		if got := r.response(r.stream(true, getHead()...)); got != "200" {
			t.Errorf("the response is %s", got)
		}
		expect(fasthttp.StateActive, fasthttp.StateIdle)
	}
	_ = r.q.CloseWithError(0, "")
	expect(fasthttp.StateClosed)
}

// A body that arrives too slowly is refused, whether it is collected or read by the handler.
func TestMinRequestBodyRate(t *testing.T) {
	read := make(chan error, 1)
	for _, row := range []struct {
		streams, slow bool
		want          string
	}{{false, false, "200"}, {false, true, "408"}, {true, false, "200"}, {true, true, "200"}} {
		grace := wait
		if row.slow {
			grace = servertest.Short
		}
		_, addr := run(t, &fasthttp.Server{
			StreamRequestBody: row.streams, MinRequestBodyRate: 1000, MinRequestBodyRateGrace: grace,
			Handler: func(ctx *fasthttp.RequestCtx) {
				if row.streams && ctx.IsPost() {
					_, err := io.ReadAll(ctx.RequestBodyStream())
					read <- err
				}
			},
		})
		r := dial(t, addr)
		r.control()
		if got := r.response(r.stream(!row.slow, frames(method("POST"), frame(wire.TypeData, "a"))...)); got != row.want {
			t.Errorf("%+v: %s", row, got)
		}
		if row.streams {
			if err := servertest.Receive(t, "the end of the body", read); errors.Is(err, os.ErrDeadlineExceeded) != row.slow {
				t.Errorf("%+v: the handler gets %v", row, err)
			}
		}
		if got := r.response(r.stream(true, getHead()...)); got != "200" {
			t.Errorf("%+v: another request of the connection: %s", row, got)
		}
	}
}
