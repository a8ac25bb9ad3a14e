package fasthttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/servertest"
)

// If a body stream fails, the call fails at once with its error, whatever the
// framing, and whether or not the server responds. A response that was complete a moment before
// counts, however.
func TestClientReportsErrorsOfBodyStreams(t *testing.T) {
	broken := errors.New("the stream is broken")
	late := timeoutError{}
	for name, tt := range map[string]struct {
		stream func() io.Reader
		size   int
		want   error
	}{
		"chunked":          {func() io.Reader { return io.MultiReader(strings.NewReader("some"), failing{broken}) }, -1, broken},
		"at once":          {func() io.Reader { return failing{broken} }, -1, broken},
		"sized":            {func() io.Reader { return io.MultiReader(strings.NewReader("some"), failing{broken}) }, 100, broken},
		"its own timeout":  {func() io.Reader { return failing{&late} }, -1, &late},
		"short":            {func() io.Reader { return strings.NewReader("some") }, 100, errShortStream},
		"short and hidden": {func() io.Reader { return io.MultiReader(strings.NewReader("some")) }, 100, errShortStream},
		"long":             {func() io.Reader { return io.MultiReader(strings.NewReader("some more")) }, 4, bodyio.ErrLong},
	} {
		const begun = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"
		for _, answer := range []string{"", begun, servertest.OK} {
			t.Run(name, func(t *testing.T) {
				p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
					c.Head()
					c.Send(answer)
					c.UntilClosed()
				})
				hc := hostFor(p)
				req := requestTo(t, MethodPut, p.URL("/"))
				req.SetBodyStream(tt.stream(), tt.size)
				var err error
				servertest.Soon(t, "the call", func() { err = hc.Do(req, responseFor(t)) })
				if !errors.Is(err, tt.want) && (answer != servertest.OK || err != nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if n := hc.ConnsCount(); n != 0 {
					t.Errorf("%d connections are left", n)
				}
				if n := p.Conns.Load(); n > 1 {
					t.Errorf("%d connections were made", n)
				}
			})
		}
	}
}

// failing is a stream whose Read fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// panicking is a stream whose Read panics.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("boom") }

func TestClientSurvivesPanicsOfBodyStreams(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.UntilClosed() })
	hc := hostFor(p)
	req := requestTo(t, MethodPost, p.URL("/"))
	req.SetBodyStream(panicking{}, -1)
	err := hc.Do(req, nil)
	if _, ok := errors.AsType[*ErrBodyStreamWritePanic](err); !ok {
		t.Errorf("got %v", err)
	}
}

// largeBodies are functions that set a large body, one for each kind of body.
func largeBodies(size int) map[string]func(req *Request) {
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	return map[string]func(req *Request){
		"bytes":          func(req *Request) { req.SetBodyRaw(content) },
		"stream":         func(req *Request) { req.SetBodyStream(bytes.NewReader(content), len(content)) },
		"chunked stream": func(req *Request) { req.SetBodyStream(io.MultiReader(bytes.NewReader(content)), -1) },
		"bytes, trailer": func(req *Request) {
			req.SetBodyRaw(content)
			_ = req.Header.SetTrailer("X-End")
			req.Header.Set("X-End", "yes")
		},
	}
}

// The client reads an early refusal at once, even if the server stops reading and
// leaves the connection open.
func TestClientHearsEarlyRefusal(t *testing.T) {
	t.Parallel()
	for name, set := range largeBodies(64 << 20) {
		for _, streamed := range []bool{false, true} {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				c.Head()
				c.Send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlong")
				<-c.Peer.Ended()
			})
			hc := hostFor(p)
			req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
			resp.StreamBody = streamed
			set(req)
			servertest.Soon(t, name, func() { servertest.Must(t, hc.Do(req, resp)) })
			if resp.StatusCode() != 413 || string(resp.Body()) != "long" {
				t.Errorf("%s: got %d %q", name, resp.StatusCode(), resp.Body())
			}
			servertest.Eventually(t, "the end of the connection", func() bool { return hc.ConnsCount() == 0 })
			p.Stop()
		}
	}
}

// If a server responds while it reads, both messages arrive complete.
func TestClientEchoesInFullDuplex(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Head() {
			c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			// the content is written in chunks, as it arrives
			var b [32 << 10]byte
			for sent := ""; !strings.HasSuffix(sent, "\r\n0\r\n\r\n"); {
				n, err := c.R.Read(b[:])
				if err != nil {
					return
				}
				_, _ = c.Write(b[:n])
				sent = (sent + string(b[:n]))[max(0, len(sent)+n-16):]
			}
		}
	})
	hc := hostFor(p)
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for _, streamed := range []bool{false, true} {
		// a connection is lost if the end of the sending is not seen within a moment after the
		// response
		const tries = 10
		for try := 1; ; try++ {
			hc.CloseIdleConnections()
			before := p.Conns.Load()
			for range 2 {
				req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
				req.SetBodyStream(io.MultiReader(bytes.NewReader(content)), -1)
				resp.StreamBody = streamed
				servertest.Soon(t, "the echo", func() {
					servertest.Must(t, hc.Do(req, resp))
					if !bytes.Equal(resp.Body(), content) {
						t.Errorf("%d bytes came back of %d", len(resp.Body()), size)
					}
				})
			}
			if p.Conns.Load() == before+1 {
				break
			}
			if try == tries {
				t.Fatalf("streamed %v: no connection is used again", streamed)
			}
		}
	}
}

// After Do has returned, the caller may change the bytes of the request, even if the
// response arrived before the client had sent all of them.
func TestClientSendsOnAfterDoHasReturned(t *testing.T) {
	// the connection is lost if the end of the sending is not seen within a moment after the
	// response
	const tries = 10
	for try := 1; !sendsOnAfterDo(t); try++ {
		if try == tries {
			t.Fatal("no connection is kept")
		}
	}
}

// sendsOnAfterDo makes a call that returns before its request is sent, and reports whether the
// client has kept the connection.
func sendsOnAfterDo(t *testing.T) (kept bool) {
	const size = 8 << 20
	begin := make(chan struct{})
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Head()
		c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		<-begin
		b, _ := io.ReadAll(io.LimitReader(c.R, size))
		if n := bytes.Count(b, []byte("a")); n != size {
			t.Errorf("%d bytes of %d are unchanged", n, size)
		}
		c.Send("ok")
		c.UntilClosed()
	})
	hc := hostFor(p)
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	content := bytes.Repeat([]byte("a"), size)
	req.SetBodyRaw(content)
	resp.StreamBody = true
	servertest.Must(t, hc.Do(req, resp))
	req.Reset()
	for i := range content {
		content[i] = 'b'
	}
	close(begin)
	if got, err := io.ReadAll(resp.BodyStream()); err != nil || string(got) != "ok" {
		t.Errorf("got %q, %v", got, err)
	}
	servertest.Eventually(t, "the connection idle, or closed", func() bool {
		kept = hc.IdleConnsCount() == 1
		return kept || hc.ConnsCount() == 0
	})
	return kept
}

// hanging is a body stream whose Read waits until the test ends. Close does not end
// the wait.
type hanging struct {
	closer
	release chan struct{}
}

func (h *hanging) Read([]byte) (int, error) {
	<-h.release
	return 0, io.EOF
}

// A call ends in time even if its body stream hangs. The stream is closed, and the
// caller may use request and response.
func TestClientLeavesBodyStreamThatHangs(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) { c.UntilClosed() })
	for name, tt := range map[string]struct {
		do   func(hc *HostClient, req *Request, resp *Response) error
		want error
	}{
		"DoTimeout": {func(hc *HostClient, req *Request, resp *Response) error {
			return hc.DoTimeout(req, resp, servertest.Short)
		}, ErrTimeout},
		"WriteTimeout": {func(hc *HostClient, req *Request, resp *Response) error {
			hc.WriteTimeout = servertest.Short
			return hc.Do(req, resp)
		}, ErrTimeout},
		"DoContext": {func(hc *HostClient, req *Request, resp *Response) error {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(servertest.Short, cancel)
			return hc.DoContext(ctx, req, resp)
		}, context.Canceled},
	} {
		for _, size := range []int{-1, 1000} {
			hc := hostFor(p)
			release := make(chan struct{})
			body := &hanging{release: release}
			req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
			_ = req.Header.SetTrailer("X-End")
			req.SetBodyStream(body, size)
			var err error
			servertest.Soon(t, name, func() { err = tt.do(hc, req, resp) })
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
			if n := body.closed.Load(); n != 1 {
				t.Errorf("%s: the stream was closed %d times", name, n)
			}
			close(release)
			for range 100 {
				req.Header.Set("X-End", "mine")
				resp.Header.Set("X-End", "mine")
			}
		}
	}
}

// If the response ends the connection, the call returns it although the body stream
// hangs.
func TestClientHearsRefusalWhileBodyStreamHangs(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Head()
		c.Send(servertest.OKClose)
		c.UntilClosed()
	})
	hc := hostFor(p)
	release := make(chan struct{})
	defer close(release)
	body := &hanging{release: release}
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	req.SetBodyStream(io.MultiReader(strings.NewReader("some"), body), -1)
	servertest.Soon(t, "the call", func() { servertest.Must(t, hc.Do(req, resp)) })
	if string(resp.Body()) != "ok" {
		t.Errorf("got %q", resp.Body())
	}
}

// The client calls the hooks of a trace on the goroutine of the call, in order, even
// if another goroutine sends the body.
func TestClientTraceOfALargeBody(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	var events []string
	hc := hostFor(p)
	hc.Trace = &httptrace.ClientTrace{
		WroteHeaders:         func() { events = append(events, "headers") },
		WroteRequest:         func(info httptrace.WroteRequestInfo) { events = append(events, "request") },
		GotFirstResponseByte: func() { events = append(events, "answer") },
	}
	for name, set := range largeBodies(4 << 20) {
		events = nil
		req := requestTo(t, MethodPost, p.URL("/"))
		set(req)
		servertest.Must(t, hc.Do(req, responseFor(t)))
		if got := strings.Join(events, " "); got != "headers request answer" && got != "headers answer request" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A call ends as usual if its body is larger than the buffer of a wrapped
// connection.
func TestClientSendsLargeBodiesThroughPipes(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 100_000)
	var serving sync.WaitGroup
	var seen atomic.Int64
	hc := &HostClient{Addr: "pipe", Dial: func(string) (net.Conn, error) {
		a, b := net.Pipe()
		serving.Go(func() {
			defer b.Close()
			var req Request
			for req.Read(bufio.NewReader(b)) == nil {
				seen.Add(int64(len(req.Body())))
				if _, err := io.WriteString(b, servertest.OK); err != nil {
					return
				}
			}
		})
		return a, nil
	}}
	for range 10 {
		req := requestTo(t, MethodPost, "http://pipe/")
		req.SetBodyRaw(content)
		servertest.Soon(t, "the call", func() { servertest.Must(t, hc.Do(req, nil)) })
	}
	hc.CloseIdleConnections()
	servertest.Soon(t, "the peer", serving.Wait)
	if n := seen.Load(); n != 1_000_000 {
		t.Errorf("%d bytes came", n)
	}
}
