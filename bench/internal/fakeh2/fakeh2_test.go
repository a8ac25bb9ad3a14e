package fakeh2

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
	"github.com/valyala/fasthttp/bench/internal/protocols"
)

const (
	testBody = "Hello, World!"
	testType = "text/plain"
)

// testMessage returns a GET, or a POST if it has a body.
func testMessage(path, body string) Message {
	m := Message{Fields: []Field{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "example.com"},
		{Name: ":path", Value: path, Changes: true}, {Name: "user-agent", Value: "a test of some length"},
	}}
	if body != "" {
		m.Fields[0].Value, m.Body = "POST", []byte(body)
	}
	return m
}

func drive(t *testing.T, cfg Config, serve func(net.Listener) error) error {
	t.Helper()
	cfg.ContentType, cfg.Body = testType, testBody
	ln, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func() {}
	return ln.Drive(serve, nothing, nothing)
}

func serve(handler http.HandlerFunc) func(net.Listener) error {
	s := &http.Server{Handler: handler}
	protocols.EnableHTTP2(s)
	return s.Serve
}

func good(w http.ResponseWriter, r *http.Request) {
	if body, err := io.ReadAll(r.Body); err != nil || r.Method == http.MethodPost && len(body) == 0 {
		w.WriteHeader(http.StatusBadRequest)
	}
	w.Header().Set("Content-Type", testType)
	_, _ = io.WriteString(w, testBody)
}

func TestServerGetsEveryRequest(t *testing.T) {
	messages := []Message{testMessage("/one", ""), testMessage("/two", "content"), testMessage("/three", "")}
	for _, shape := range []Config{{Requests: 1, Clients: 1, Streams: 1}, {Requests: 2, Clients: 3, Streams: 5}, {Requests: 999, Clients: 2, Streams: 7}} {
		shape.Messages = messages
		paths := make(chan string, 2000)
		err := drive(t, shape, serve(func(w http.ResponseWriter, r *http.Request) {
			paths <- r.URL.Path
			good(w, r)
		}))
		if err != nil {
			t.Errorf("%+v: %v", shape, err)
		}
		close(paths)
		got := map[string]int{}
		for path := range paths {
			got[path]++
		}
		if sum := got["/one"] + got["/two"] + got["/three"]; sum != shape.Requests+shape.Clients || len(got) > 3 {
			t.Errorf("%+v: %v", shape, got)
		}
	}
}

// TestWrongResponsesAreNoticed has a server that answers the first request of a connection
// and then does something else.
func TestWrongResponsesAreNoticed(t *testing.T) {
	tests := []struct {
		name string
		then http.HandlerFunc
		want string
	}{
		{"another status", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, testBody)
		}, "begin with"},
		{"another content", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Hello, Wörld") }, "content"},
		{"too much content", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, testBody+"!")
		}, "content"},
		{"no content", func(http.ResponseWriter, *http.Request) {}, "fields of"},
		{"a reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "reset"},
		{"the end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			good(w, r)
		}, "GOAWAY"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first := true
			err := drive(t, Config{Messages: []Message{testMessage("/", "")}, Requests: 20, Clients: 1, Streams: 1},
				serve(func(w http.ResponseWriter, r *http.Request) {
					if first {
						first = false
						good(w, r)
						return
					}
					test.then(w, r)
				}))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// dialServer returns a net/http client whose connections lead to s.
func dialServer(s *Server) *http.Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return s.Dial(), nil }}
	protocols.OnlyHTTP2(transport)
	return &http.Client{Transport: transport}
}

func TestClientGetsEveryResponse(t *testing.T) {
	var answers []Message
	for i := range 3 {
		answers = append(answers, Message{
			Fields: []Field{{Name: ":status", Value: "200"}, {Name: "server", Value: "bench"}, {Name: "etag", Value: fmt.Sprint(i), Changes: true}},
			Body:   []byte(strings.Repeat("x", 1+i)),
		})
	}
	s, err := NewServer(answers)
	if err != nil {
		t.Fatal(err)
	}
	c := dialServer(s)
	defer c.CloseIdleConnections()
	for i, want := range []int{1, 1, 2, 3, 1} {
		resp, err := c.Post("http://example.com/", "text/plain", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(body) != want || resp.Header.Get("Etag") != fmt.Sprint(want-1) || resp.Header.Get("Server") != "bench" {
			t.Errorf("response %d: %q, %v, %v", i, body, resp.Header, err)
		}
	}
}

func TestWrongRequestsAreNoticed(t *testing.T) {
	answer := Message{Fields: []Field{{Name: ":status", Value: "200"}}, Body: []byte("x")}
	if _, err := NewServer(nil); err == nil {
		t.Error("a server without responses")
	}
	if _, err := NewServer([]Message{{Fields: answer.Fields}}); err == nil {
		t.Error("a response without content")
	}
	request := func(id, flags byte) string {
		b := h2frame.Append(nil, h2frame.Headers, flags, 0, nil)
		b[8] = id
		return string(b)
	}
	for text, ok := range map[string]bool{
		h2frame.Preface: true, h2frame.Preface[:5]: true, "GET / HTTP/1.1\r\n": false,
		h2frame.Preface + request(1, h2frame.EndHeaders|h2frame.EndStream) + request(3, h2frame.EndHeaders): true,
		h2frame.Preface + request(1, h2frame.EndStream):                                                     false,
		h2frame.Preface + request(2, h2frame.EndHeaders):                                                    false,
		h2frame.Preface + request(3, h2frame.EndHeaders) + request(1, h2frame.EndHeaders):                   false,
		h2frame.Preface + string(h2frame.Append(nil, h2frame.Reset, 0, 0, make([]byte, 4))):                 false,
		h2frame.Preface + string(h2frame.Append(nil, h2frame.Continuation, 0, 0, nil)):                      false,
		h2frame.Preface + string(h2frame.Append(nil, h2frame.Data, 0, 0, make([]byte, 20<<10))):             false,
	} {
		s, err := NewServer([]Message{answer})
		if err != nil {
			t.Fatal(err)
		}
		nc := s.Dial()
		for i := range len(text) {
			if _, err = nc.Write([]byte{text[i]}); err != nil {
				break
			}
		}
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		_ = nc.Close()
	}
}
