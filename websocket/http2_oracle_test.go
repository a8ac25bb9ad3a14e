//lint:file-ignore SA1019 http.Transport, which should replace http2.Transport, refuses a field with the name :protocol

package websocket_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// oracleSocket is a WebSocket on a stream of golang.org/x/net/http2.
type oracleSocket struct {
	t    testing.TB
	in   io.Reader
	out  io.WriteCloser
	ws   ws.Conn
	rest []byte
}

func newOracleSocket(t testing.TB, role ws.Role, in io.Reader, out io.WriteCloser) *oracleSocket {
	limits := &ws.Limits{Message: -1}
	limits.Fill()
	o := &oracleSocket{t: t, in: in, out: out}
	o.ws.Init(role, limits, ws.Extensions{})
	return o
}

// next returns the next message or Close frame.
func (o *oracleSocket) next() (opcode ws.Opcode, payload string) {
	o.t.Helper()
	b := make([]byte, 4096)
	for {
		var ev ws.Event
		n, err := o.ws.Feed(o.rest, &ev)
		servertest.Must(o.t, err)
		o.rest = o.rest[n:]
		if ev.Opcode != ws.Continuation || ev.First || ev.End {
			if opcode == 0 {
				opcode = ev.Opcode
			}
			if payload += string(ev.Payload); ev.End || ev.Opcode >= ws.Close {
				return opcode, payload
			}
			continue
		}
		n, err = o.in.Read(b)
		if n == 0 && err != nil {
			o.t.Fatalf("a stream ends early: %v", err)
		}
		o.rest = append(o.rest, b[:n]...)
	}
}

// overXNet opens a WebSocket with the client of x/net.
func overXNet(t testing.TB, s *http2Server, path string) (*oracleSocket, *http.Response, error) {
	t.Helper()
	tr := &http2.Transport{AllowHTTP: !s.Engine.TLS, TLSClientConfig: servertest.TrustCertificate()}
	if !s.Engine.TLS {
		tr.DialTLSContext = func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}
	t.Cleanup(tr.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	t.Cleanup(cancel)
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	req, err := http.NewRequestWithContext(ctx, "CONNECT", strings.Replace(s.url(path), "ws", "http", 1), r)
	servertest.Must(t, err)
	req.Header = http.Header{":protocol": {"websocket"}, "Sec-Websocket-Version": {"13"}}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return newOracleSocket(t, ws.Client, resp.Body, w), resp, nil
}

// The client of golang.org/x/net/http2 opens a WebSocket on this server.
func TestXNetOpensSockets(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
		s := start(both(&websocket.Upgrader{}, echoConn, &websocket.Handler{OnMessage: echoMessage}))
		for _, path := range paths {
			o, resp, err := overXNet(t, s, path)
			servertest.Must(t, err)
			if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
				t.Fatalf("%s: %+v", path, resp)
			}
			for _, size := range []int{0, 5, 200, 200_000} {
				text := string(servertest.SampleText(size))
				sent := make(chan error, 1)
				go func() {
					_, err := o.out.Write(socketFrame(ws.Text, text))
					sent <- err
				}()
				if opcode, got := o.next(); opcode != ws.Text || got != text {
					t.Fatalf("%s: %v with %d bytes, want %d", path, opcode, len(got), size)
				}
				servertest.Must(t, servertest.Receive(t, "the end of writing", sent))
			}
			code, err := ws.AppendClose(nil, 1000, "")
			servertest.Must(t, err)
			_, err = o.out.Write(socketFrame(ws.Close, string(code)))
			servertest.Must(t, err)
			if opcode, _ := o.next(); opcode != ws.Close {
				t.Errorf("%s: the answer to Close is %v", path, opcode)
			}
			if b, err := io.ReadAll(o.in); len(b) != 0 || err != nil {
				t.Errorf("%s: after Close: %q, %v", path, b, err)
			}
		}
	})
}

// The client of x/net sends no extended CONNECT that was not announced.
func TestXNetAsksForPermission(t *testing.T) {
	s := both(&websocket.Upgrader{}, echoConn, nil)
	s.Protocols.SetUnencryptedHTTP2(true)
	h := &http2Server{servertest.Start(t, servertest.Engines[0], s, prepareServer), nil}
	if _, resp, err := overXNet(t, h, "/conn"); err == nil || !strings.Contains(err.Error(), "not supported by peer") {
		t.Errorf("%+v, %v", resp, err)
	}
}

// permitting is the setting with which the server of x/net permits extended CONNECT. It is read
// when a process starts.
const permitting = "http2xconnect=1"

// Sockets of this client are served by golang.org/x/net/http2, if that permits them.
func TestXNetServesSockets(t *testing.T) {
	t.Parallel()
	t.Run("refuses", func(t *testing.T) {
		if strings.Contains(os.Getenv("GODEBUG"), permitting) {
			t.Skip("the process permits extended CONNECT")
		}
		c, _, err := (&websocket.Dialer{HTTP2Client: http2Client(t, servertest.Engines[0])}).Dial(serveXNet(t, nil), nil)
		if !errors.Is(err, fasthttp.ErrNoExtendedConnect) {
			t.Errorf("%v, %v", c, err)
		}
	})
	t.Run("permits", func(t *testing.T) {
		if strings.Contains(os.Getenv("GODEBUG"), permitting) {
			testXNetServesSockets(t)
			return
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestXNetServesSockets$/^permits$", "-test.v", "-test.timeout=10m")
		cmd.Env = append(os.Environ(), "GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+permitting, ","))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestXNetServesSockets/permits") {
			t.Errorf("the process of the test: %v\n%s", err, out)
		}
	})
}

// serveXNet starts a server of x/net, and returns the URL of a WebSocket.
func serveXNet(t testing.TB, h http.HandlerFunc) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go new(http2.Server).ServeConn(nc, &http2.ServeConnOpts{Handler: h})
		}
	}()
	return "ws://" + ln.Addr().String() + "/chat?room=1"
}

func testXNetServesSockets(t *testing.T) {
	ended := make(chan error, 1)
	url := serveXNet(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "CONNECT" || r.Header.Get(":protocol") != "websocket" || r.URL.Path != "/chat" || r.URL.RawQuery != "room=1" ||
			r.Header.Get("Sec-WebSocket-Version") != "13" || r.Header.Get("Sec-WebSocket-Key")+r.Header.Get("Upgrade")+r.Header.Get("Connection") != "" {
			t.Errorf("got %s %s %v", r.Method, r.URL, r.Header)
		}
		if r.Header.Get("X-Refuse") != "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w).Flush
		servertest.Must(t, flush())
		o := newOracleSocket(t, ws.Server, r.Body, nil)
		for {
			opcode, payload := o.next()
			_, err := w.Write(ws.AppendFrame(nil, ws.Head{Opcode: opcode, Fin: true}, []byte(payload)))
			if err = errors.Join(err, flush()); err != nil || opcode == ws.Close {
				ended <- err
				return
			}
		}
	})
	d := &websocket.Dialer{HTTP2Client: http2Client(t, servertest.Engines[0])}
	if _, resp, err := d.Dial(url, http.Header{"X-Refuse": {"yes"}}); !errors.Is(err, websocket.ErrBadHandshake) || resp == nil || resp.StatusCode != 403 {
		t.Errorf("%+v, %v", resp, err)
	}
	c, resp, err := d.Dial(url, nil)
	servertest.Must(t, err)
	defer func() { _ = c.CloseNow() }()
	if resp.StatusCode != 200 {
		t.Errorf("%+v", resp)
	}
	for _, size := range []int{0, 5, 200, 200_000} {
		text := servertest.SampleText(size)
		sent := make(chan error, 1)
		go func() { sent <- c.WriteMessage(websocket.TextMessage, text) }()
		if _, p, err := c.ReadMessage(); string(p) != string(text) || err != nil {
			t.Fatalf("%d bytes of %d, %v", len(p), size, err)
		}
		servertest.Must(t, servertest.Receive(t, "the end of writing", sent))
	}
	servertest.Must(t, c.Close())
	servertest.Must(t, servertest.Receive(t, "the end of the handler", ended))
}
