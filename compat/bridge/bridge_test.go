package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/serving"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

var engines = map[string]fasthttp.Engine{"auto": fasthttp.EngineAuto, "portable": fasthttp.EnginePortable}

// eachEngine runs a test with h on a server of each engine.
func eachEngine(t *testing.T, h http.Handler, f func(t *testing.T, addr string)) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			s := &fasthttp.Server{
				Handler:           fasthttpadaptor.NewFastHTTPHandler(h),
				StreamRequestBody: true,
				Engine:            engine,
			}
			addr, stop := serving.Start(t, s, serving.Options{})
			f(t, addr)
			http.DefaultClient.CloseIdleConnections()
			stop()
		})
	}
}

func do(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestMux(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "user %s by %s", r.PathValue("id"), r.Pattern)
	})
	mux.HandleFunc("POST /users/", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "created %s", r.PostForm.Get("name"))
	})
	mux.Handle("/slow", http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}), time.Millisecond, "too slow"))
	mux.Handle("/dir/", http.StripPrefix("/dir", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	})))
	mux.Handle("/limited", http.MaxBytesHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	}), 3))
	eachEngine(t, mux, func(t *testing.T, addr string) {
		tests := []struct {
			method, path, body string
			status             int
			text               string
		}{
			{"GET", "/users/7", "", 200, "user 7 by GET /users/{id}"},
			{"PUT", "/users/7", "", 405, "Method Not Allowed\n"},
			{"GET", "/none", "", 404, "404 page not found\n"},
			{"GET", "/dir", "", 200, "/"},
			{"GET", "/dir//a/../b", "", 200, "/b"},
			{"GET", "/slow", "", 503, "too slow"},
			{"POST", "/limited", "1234", 413, "http: request body too large\n"},
		}
		for _, test := range tests {
			status, text := do(t, test.method, "http://"+addr+test.path, test.body)
			if status != test.status || text != test.text {
				t.Errorf("%s %s: %d %q, want %d %q", test.method, test.path, status, text, test.status, test.text)
			}
		}
		resp, err := http.PostForm("http://"+addr+"/users/", url.Values{"name": {"me"}})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 201 || string(text) != "created me" {
			t.Errorf("form: %d %q", resp.StatusCode, text)
		}
	})
}

func TestCoderWebsocket(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Errorf("Accept: %v", err)
			return
		}
		defer c.CloseNow()
		for {
			kind, p, err := c.Read(context.Background())
			if err != nil {
				if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					t.Errorf("Read: %v", err)
				}
				return
			}
			if err := c.Write(context.Background(), kind, p); err != nil {
				t.Errorf("Write: %v", err)
				return
			}
		}
	})
	eachEngine(t, echo, func(t *testing.T, addr string) {
		c, _, err := websocket.Dial(t.Context(), "ws://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for _, size := range []int{0, 1, 1000, 30_000} {
			sent := bytes.Repeat([]byte("x"), size)
			if err := c.Write(t.Context(), websocket.MessageBinary, sent); err != nil {
				t.Fatal(err)
			}
			if _, got, err := c.Read(t.Context()); err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("got %d of %d bytes, %v", len(got), size, err)
			}
		}
		if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestGorillaWebsocket(t *testing.T) {
	var upgrader gorilla.Upgrader
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, http.Header{"X-Own": {"1"}})
		if err != nil {
			t.Errorf("Upgrade: %v", err)
			return
		}
		defer c.Close()
		for {
			kind, p, err := c.ReadMessage()
			if err != nil {
				return
			}
			if err := c.WriteMessage(kind, p); err != nil {
				t.Errorf("WriteMessage: %v", err)
				return
			}
		}
	})
	eachEngine(t, echo, func(t *testing.T, addr string) {
		c, resp, err := gorilla.DefaultDialer.Dial("ws://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if resp.Header.Get("X-Own") != "1" {
			t.Errorf("the header is %v", resp.Header)
		}
		for _, size := range []int{0, 1, 1000, 100_000} {
			sent := bytes.Repeat([]byte("x"), size)
			if err := c.WriteMessage(gorilla.BinaryMessage, sent); err != nil {
				t.Fatal(err)
			}
			if _, got, err := c.ReadMessage(); err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("got %d of %d bytes, %v", len(got), size, err)
			}
		}
	})
}

// zeros is a body of many bytes that takes no memory.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	clear(p[:n])
	z.left -= int64(n)
	return n, nil
}

func TestReverseProxy(t *testing.T) {
	const large = 64 << 20
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.Copy(w, r.Body)
		case "/count":
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n, err)
		case "/large":
			_, _ = io.Copy(w, &zeros{large})
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "half of it")
		case "/trailers":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "5")
		case "/events":
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
			}
		default:
			fmt.Fprintf(w, "%s for %s", r.URL, r.Header.Get("X-Forwarded-For"))
		}
	}))
	defer backend.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		FlushInterval: time.Millisecond,
	}
	eachEngine(t, proxy, func(t *testing.T, addr string) {
		base := "http://" + addr
		if status, text := do(t, "GET", base+"/a?b=c", ""); status != 200 || text != "/a?b=c for 127.0.0.1" {
			t.Errorf("got %d %q", status, text)
		}
		if status, text := do(t, "POST", base+"/echo", "hello"); status != 200 || text != "hello" {
			t.Errorf("echo: got %d %q", status, text)
		}
		if status, text := do(t, "GET", base+"/events", ""); status != 200 || text != "data: 0\n\ndata: 1\n\ndata: 2\n\n" {
			t.Errorf("events: got %d %q", status, text)
		}
		resp, err := http.Post(base+"/count", "text/plain", &zeros{large})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(resp.Body); string(text) != fmt.Sprint(large, " <nil>") && string(text) != fmt.Sprint(large, error(nil)) {
			t.Errorf("upload: got %q", text)
		}
		_ = resp.Body.Close()
		if resp, err = http.Get(base + "/large"); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); n != large || err != nil {
			t.Errorf("download: got %d bytes, %v", n, err)
		}
		_ = resp.Body.Close()
		if resp, err = http.Get(base + "/trailers"); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); string(text) != "hello" || err != nil || resp.Trailer.Get("X-Sum") != "5" {
			t.Errorf("trailers: got %q, %v, %v", text, err, resp.Trailer)
		}
		_ = resp.Body.Close()
		resp, err = http.Get(base + "/cut")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("a truncated body ends with %v", err)
		}
	})
}

// An upgraded connection crosses the proxy and the bridge.
func TestWebsocketThroughReverseProxy(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Errorf("Accept: %v", err)
			return
		}
		defer c.CloseNow()
		_ = c.Write(r.Context(), websocket.MessageText, []byte("hello"))
		_, _, _ = c.Read(r.Context())
	}))
	defer backend.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	eachEngine(t, httputil.NewSingleHostReverseProxy(target), func(t *testing.T, addr string) {
		c, _, err := websocket.Dial(t.Context(), "ws://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
