package websocket

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestSubprotocols(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		for _, c := range []struct {
			asked []string
			want  string
		}{{[]string{"c", "a", "b"}, "b"}, {[]string{"c"}, ""}, {nil, ""}} {
			got := make(chan string, 1)
			url := s.start(t, settings{subprotocols: []string{"b", "a"}}, nil, func(c *Conn) { got <- c.Subprotocol() })
			conn, resp := dial(t, &Dialer{Subprotocols: c.asked}, url)
			if p := receive(t, got); p != c.want || conn.Subprotocol() != c.want || resp.Header.Get(headerProtocol) != c.want {
				t.Errorf("%q: the server has %q, the client %q", c.asked, p, conn.Subprotocol())
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		refused := make(chan error, 1)
		addr := s.start(t, settings{}, refused, echoing)
		for _, origin := range []string{"http://elsewhere.example", "null"} {
			_, resp, err := DefaultDialer.Dial(addr, http.Header{"Origin": {origin}})
			if err != ErrBadHandshake || resp == nil || resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s: the client gets %v, %v", origin, resp, err)
			}
			if err, ok := receive(t, refused).(HandshakeError); !ok || err.Status != http.StatusForbidden {
				t.Errorf("%s: the server gets %v", origin, err)
			}
		}
		at := strings.Replace(addr, "ws:", "http:", 1)
		c, _, err := (&Dialer{}).Dial(addr, http.Header{"Origin": {strings.TrimSuffix(at, "/")}})
		if err != nil {
			t.Fatal("a page of the same host:", err)
		}
		_ = c.Close()
		resp, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		reason := receive(t, refused)
		if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Sec-WebSocket-Version") != "13" || strings.TrimSpace(string(text)) != reason.Error() {
			t.Errorf("a request without a handshake gets %s, %q, %q", resp.Status, resp.Header, text)
		}
		c, _, err = (&Dialer{}).Dial(s.start(t, settings{anyOrigin: true}, nil, echoing), http.Header{"Origin": {"http://elsewhere.example"}})
		if err != nil {
			t.Fatal("CheckOrigin permits it:", err)
		}
		_ = c.Close()
	})
}

// handshakeOf returns a valid opening handshake.
func handshakeOf(more ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://example.com/", nil)
	r.Header = http.Header{
		"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	for i := 0; i < len(more); i += 2 {
		r.Header.Add(more[i], more[i+1])
	}
	return r
}

func TestErrorMakesTheResponse(t *testing.T) {
	up := Upgrader{Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, r.URL.Path+" "+reason.Error())
	}}
	w := httptest.NewRecorder()
	_, err := up.Upgrade(w, handshakeOf("Sec-Websocket-Version", "12"), nil)
	if w.Code != http.StatusBadRequest || w.Body.String() != "/ "+err.Error() {
		t.Errorf("got %d, %q; %v", w.Code, w.Body, err)
	}
	w = httptest.NewRecorder()
	_, err = up.Upgrade(w, handshakeOf(), nil)
	if w.Code != http.StatusInternalServerError || !errors.Is(err, ErrResponseHijackUnsupported) {
		t.Errorf("without a Hijacker: %d, %v", w.Code, err)
	}
	if _, _, err := HijackResponse(nil, w); err != ErrResponseHijackUnsupported {
		t.Errorf("HijackResponse: %v", err)
	}
}

func TestFactsAboutRequests(t *testing.T) {
	r := handshakeOf(headerProtocol, "a, b", headerProtocol, "c")
	if got := Subprotocols(r); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the subprotocols are %q", got)
	}
	ctx := contextOf(r)
	if !IsWebSocketUpgrade(r) || !FastHTTPIsWebSocketUpgrade(ctx) {
		t.Error("an opening handshake is not recognised")
	}
	if IsWebSocketUpgrade(httptest.NewRequest(http.MethodGet, "/", nil)) || FastHTTPIsWebSocketUpgrade(new(fasthttp.RequestCtx)) {
		t.Error("a usual request is taken for an opening handshake")
	}
}

func TestDeprecatedFunctions(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Upgrade(w, r, http.Header{headerProtocol: {"own"}, "Set-Cookie": {"a=1", "b=2"}}, 1024, 1024)
		if err != nil {
			http.Error(w, "refused", http.StatusTeapot)
			return
		}
		defer c.Close()
		_ = echo(c)
	}))
	defer srv.Close()
	to, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", to.Host)
	if err != nil {
		t.Fatal(err)
	}
	// TLS is part of the connection, so that the scheme does not matter
	to.Scheme = "wss"
	c, resp, err := NewClient(nc, to, http.Header{"Origin": {"http://elsewhere.example"}, headerProtocol: {"own"}}, 1024, 1024)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Subprotocol() != "own" || !slices.Equal(resp.Header["Set-Cookie"], []string{"a=1", "b=2"}) {
		t.Errorf("the subprotocol is %q, the header %q", c.Subprotocol(), resp.Header)
	}
	if c.NetConn() != nc || c.UnderlyingConn() != nc {
		t.Error("the connection is another one")
	}
	if err := c.WriteMessage(TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	wantMessage(t, c, TextMessage, "hello")
	if resp, err := http.Get(srv.URL); err != nil || resp.StatusCode != http.StatusTeapot {
		t.Errorf("a refused request gets %v, %v", resp, err)
	}
}

// TestMessagesThatArriveWithTheHandshake sends a request and a message in one segment.
func TestMessagesThatArriveWithTheHandshake(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		got := make(chan string, 1)
		addr := s.start(t, settings{}, nil, func(c *Conn) {
			_, p, err := c.ReadMessage()
			if err != nil {
				t.Error(err)
			}
			got <- string(p)
		})
		u, err := url.Parse(addr)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		request := "GET / HTTP/1.1\r\nHost: " + u.Host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
		if _, err := io.WriteString(nc, request+"\x81\x82\x00\x00\x00\x00hi"); err != nil {
			t.Fatal(err)
		}
		if p := receive(t, got); p != "hi" {
			t.Errorf("got %q", p)
		}
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
			t.Errorf("the response is %v, %v", resp, err)
		}
		if resp != nil && (resp.Header.Get("Content-Length") != "" || resp.Header.Get("Content-Type") != "") {
			t.Errorf("the response has %q", resp.Header)
		}
	})
}
