package fasthttp

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Ask sends a request over HTTP/2, and returns the status and the content.
func h2Ask(t *testing.T, client *http.Client, method, url string, body io.Reader, fields ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	servertest.Must(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := client.Do(req)
	servertest.Must(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	servertest.Must(t, err)
	if resp.ProtoMajor != 2 {
		t.Errorf("the response came by %s", resp.Proto)
	}
	return resp, string(content)
}

// The differences that docs/migrating.md lists, one by one.
func TestWhatHTTP2Changes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		settings func(s *Server)
		handler  RequestHandler
		method   string
		body     string
		fields   []string
		status   int
		content  string
		log      string
	}{
		{name: "the protocol", handler: func(ctx *RequestCtx) {
			fmt.Fprintf(ctx, "%s %v %v", ctx.Request.Header.Protocol(), ctx.IsHTTP2(), ctx.Request.Header.IsHTTP11())
		}, content: "HTTP/2.0 true true"},
		{name: "Host is :authority", handler: func(ctx *RequestCtx) {
			fmt.Fprintf(ctx, "%s %s %s", ctx.Host(), ctx.Request.Header.Peek("Host"), ctx.Request.Header.Peek(":authority"))
		}, content: "127.0.0.1 127.0.0.1 "},
		{name: "names", handler: h2Names, fields: []string{"X-Some-Name", "1"}, content: "X-Some-Name"},
		{name: "names that are kept", settings: func(s *Server) { s.DisableHeaderNamesNormalizing = true },
			handler: h2Names, fields: []string{"X-Some-Name", "1"}, content: "x-some-name"},
		{name: "Hijack", handler: func(ctx *RequestCtx) { ctx.Hijack(func(net.Conn) { t.Error("the handler is called") }) },
			status: StatusNotImplemented, content: errH2Hijack.Error(), log: errH2Hijack.Error()},
		{name: "another protocol", handler: func(ctx *RequestCtx) { ctx.SetStatusCode(StatusSwitchingProtocols) },
			status: StatusNotImplemented, content: errH2Hijack.Error(), log: errH2Hijack.Error()},
		{name: "a status that is none of a final response", handler: func(ctx *RequestCtx) { ctx.SetStatusCode(StatusEarlyHints) },
			status: StatusInternalServerError, content: StatusMessage(StatusInternalServerError), log: "the status 103"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				s := withHTTP2(&Server{Handler: tc.handler})
				if tc.settings != nil {
					tc.settings(s)
				}
				r := start(s)
				client, base := h2Client(t, r)
				resp, content := h2Ask(t, client, max(tc.method, "GET"), base+"/", strings.NewReader(tc.body), tc.fields...)
				if resp.StatusCode != max(tc.status, StatusOK) || content != tc.content {
					t.Errorf("got %d %q, want %d %q", resp.StatusCode, content, tc.status, tc.content)
				}
				if tc.log != "" {
					r.Log.WaitFor(t, tc.log)
				}
			})
		})
	}
}

func h2Names(ctx *RequestCtx) {
	for name := range ctx.Request.Header.All() {
		if strings.HasPrefix(strings.ToLower(string(name)), "x-") {
			_, _ = ctx.Write(name)
		}
	}
}

// MinRequestBodyRate refuses the request of a client that sends a body slowly. The connection stays.
func TestHTTP2MinRequestBodyRateOnEveryEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		r := start(withHTTP2(&Server{Handler: echo, MinRequestBodyRate: 1 << 40, MinRequestBodyRateGrace: 1}))
		client, base := h2Client(t, r)
		in, out := io.Pipe()
		defer out.Close()
		go func() { _, _ = io.WriteString(out, "slow") }()
		if resp, _ := h2Ask(t, client, "POST", base+"/", in); resp.StatusCode != StatusRequestTimeout {
			t.Errorf("got %d", resp.StatusCode)
		}
		h2Ask(t, client, "GET", base+"/", nil)
		if n := r.S.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// Malformed requests are reset and counted; no hook is called for them.
func TestHTTP2MalformedRequestsAreCounted(t *testing.T) {
	t.Parallel()
	counted := make(chan string, 10)
	s := withHTTP2(&Server{
		Handler:      func(*RequestCtx) { t.Error("the handler is called") },
		ErrorHandler: func(*RequestCtx, error) { t.Error("ErrorHandler is called") },
		ResponseSent: func(*RequestCtx, SentResponse) { t.Error("ResponseSent is called") },
	})
	s.HTTP2.CountError = func(errType string) { counted <- errType }
	c := startServer(t, servertest.MemoryEngine, s).Dial()
	c.Send(http2.ClientPreface)
	f := http2.NewFramer(c, c)
	servertest.Must(t, f.WriteSettings())
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	servertest.Must(t, enc.WriteField(hpack.HeaderField{Name: "a", Value: "b"}))
	servertest.Must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
	servertest.Must(t, f.WriteData(3, true, nil))
	for _, want := range []string{"protocol_error", "protocol_error"} {
		if got := servertest.Receive(t, "an error", counted); got != want {
			t.Errorf("counted %q, want %q", got, want)
		}
	}
	reset := false
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		if frame, ok := frame.(*http2.RSTStreamFrame); ok {
			reset = frame.StreamID == 1 && frame.ErrCode == http2.ErrCodeProtocol
		}
	}
	if !reset {
		t.Error("the stream was not reset")
	}
}

// The settings have the same names as in net/http, which has none for extended CONNECT.
func TestHTTP2ConfigHasTheNamesOfNetHTTP(t *testing.T) {
	theirs := reflect.TypeFor[http.HTTP2Config]()
	for f := range reflect.TypeFor[HTTP2Config]().Fields() {
		if their, ok := theirs.FieldByName(f.Name); f.Name != "ExtendedConnect" && (!ok || their.Type != f.Type) {
			t.Errorf("%s %s is not in net/http", f.Name, f.Type)
		}
	}
	ours := reflect.TypeFor[*Protocols]()
	for m := range reflect.TypeFor[*http.Protocols]().Methods() {
		if our, ok := ours.MethodByName(m.Name); m.Name != "SetHTTP3" && m.Name != "HTTP3" && (!ok || our.Type.NumIn() != m.Type.NumIn()) {
			t.Errorf("Protocols has no %s", m.Name)
		}
	}
}

// As with HTTP/1.1, the response has the Server field whatever the handler has reset. The
// requests share a connection, which caches the start of usual responses.
func TestHTTP2NamesTheServer(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := withHTTP2(&Server{Name: "named", Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/reset":
				ctx.Response.Reset()
			case "/reset-error":
				ctx.Response.Reset()
				ctx.SetStatusCode(StatusTeapot)
			case "/deleted":
				ctx.Response.Header.Del("Server")
			case "/own":
				ctx.Response.Header.SetServer("own")
			}
			ctx.WriteString("text")
		}})
		r := start(s)
		client, base := h2Client(t, r)
		for _, path := range []string{"/reset", "/", "/reset-error", "/deleted", "/own", "/"} {
			want := "named"
			if path == "/own" {
				want = "own"
			}
			resp, _ := h2Ask(t, client, "GET", base+path, nil)
			if got := resp.Header["Server"]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: Server is %q, want %q", path, got, want)
			}
		}
	})
}
