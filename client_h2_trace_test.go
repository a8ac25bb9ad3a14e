package fasthttp

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/sender"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lateWriter is a connection whose Write does not return, once it has written the end of a
// request with content, before over is closed.
type lateWriter struct {
	net.Conn
	over    <-chan struct{}
	pending []byte // of the output, from the beginning of a frame on
	begun   bool   // the preface was written
}

func (c *lateWriter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.pending = append(c.pending, p...); c.hasEnd() {
		<-c.over
	}
	return n, err
}

// hasEnd removes the whole frames from pending, and reports whether one of them is a DATA frame
// with the flag END_STREAM.
func (c *lateWriter) hasEnd() (found bool) {
	if !c.begun {
		if len(c.pending) < len(http2.Preface) {
			return false
		}
		c.pending, c.begun = c.pending[len(http2.Preface):], true
	}
	for len(c.pending) >= http2.FrameHeadSize {
		b := c.pending
		size := http2.FrameHeadSize + int(b[0])<<16 + int(b[1])<<8 + int(b[2])
		if len(b) < size {
			break
		}
		found = found || b[3] == 0 && b[4]&1 != 0
		c.pending = b[size:]
	}
	return found
}

// h2Traced is a client that records the hooks of its calls, with a server of net/http.
type h2Traced struct {
	hc     *HostClient
	url    string
	events []string
	wrote  error // of WroteRequest
}

func newH2Traced(t *testing.T, handler http.HandlerFunc, wrap func(net.Conn) net.Conn) *h2Traced {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	addr := s.Listener.Addr().String()
	u := &h2Traced{url: "http://" + addr + "/"}
	u.hc = &HostClient{Addr: addr, Dial: func(addr string) (net.Conn, error) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		return wrap(nc), nil
	}}
	u.hc.Protocols.SetUnencryptedHTTP2(true)
	u.hc.Trace = &httptrace.ClientTrace{
		WroteHeaders: func() { u.events = append(u.events, "headers") },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			u.events, u.wrote = append(u.events, "request"), info.Err
		},
		GotFirstResponseByte: func() { u.events = append(u.events, "answer") },
	}
	t.Cleanup(func() {
		u.hc.CloseIdleConnections()
		s.Close()
	})
	return u
}

func (u *h2Traced) expect(t *testing.T, want string, err error) {
	t.Helper()
	if got := strings.Join(u.events, " "); got != want || !errors.Is(u.wrote, err) {
		t.Errorf("got %q, %v; want %q, %v", got, u.wrote, want, err)
	}
}

// The hook WroteRequest is called before the hooks of the response, even if the response arrives
// while the last write of the request has not returned.
func TestHTTP2ClientTracesTheRequestBeforeItsResponse(t *testing.T) {
	text := strings.Repeat("x", 6000) // more than is copied at once
	for name, set := range map[string]func(req *Request, resp *Response){
		"content": func(req *Request, _ *Response) { req.SetBodyString(text) },
		"stream":  func(req *Request, _ *Response) { req.SetBodyStream(strings.NewReader(text), -1) },
		"sized stream": func(req *Request, _ *Response) {
			req.SetBodyStream(strings.NewReader(text), len(text))
		},
		"both streams": func(req *Request, resp *Response) {
			req.SetBodyStream(strings.NewReader(text), -1)
			resp.StreamBody = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			u := newH2Traced(t, func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil || string(b) != text {
					t.Errorf("the server got %d bytes, %v", len(b), err)
				}
				_, _ = io.WriteString(w, "ok")
			}, func(nc net.Conn) net.Conn { return &lateWriter{Conn: nc, over: over} })
			defer close(over)
			req, resp := requestTo(t, MethodPost, u.url), responseFor(t)
			set(req, resp)
			servertest.Soon(t, "the call", func() { servertest.Must(t, u.hc.Do(req, resp)) })
			if resp.StatusCode() != StatusOK {
				t.Errorf("status %d", resp.StatusCode())
			}
			u.expect(t, "headers request answer", nil)
		})
	}
}

// The hook WroteRequest gets the reason if the request is not sent to its end, at the latest
// with the end of the response.
func TestHTTP2ClientTracesARequestThatIsCutOff(t *testing.T) {
	unwrapped := func(nc net.Conn) net.Conn { return nc }
	for _, streams := range []bool{false, true} {
		u := newH2Traced(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, unwrapped)
		release := make(chan struct{})
		req, resp := requestTo(t, MethodPost, u.url), responseFor(t)
		req.SetBodyStream(&hanging{release: release}, -1)
		resp.StreamBody = streams
		servertest.Soon(t, "the call", func() { servertest.Must(t, u.hc.Do(req, resp)) })
		if streams {
			u.expect(t, "headers answer", nil)
			b, err := io.ReadAll(resp.BodyStream())
			if string(b) != "ok" || err != nil {
				t.Errorf("got %q, %v", b, err)
			}
			servertest.Must(t, resp.CloseBodyStream())
		}
		u.expect(t, "headers answer request", sender.ErrAbandoned)
		close(release)
	}
	u := newH2Traced(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, unwrapped)
	release := make(chan struct{})
	defer close(release)
	req := requestTo(t, MethodPost, u.url)
	req.SetBodyStream(&hanging{release: release}, -1)
	var err error
	servertest.Soon(t, "the call", func() { err = u.hc.Do(req, responseFor(t)) })
	if err == nil {
		t.Error("a call without a response has not failed")
	}
	u.expect(t, "headers request", err)
}
