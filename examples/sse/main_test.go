package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// program is the server of a test.
var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", stdout)
}

// start serves a hub and returns it.
func start(t *testing.T) (h *hub, base string, shutDown func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h = newHub()
	s := &fasthttp.Server{Handler: h.serve}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	return h, "http://" + ln.Addr().String(), func() {
		t.Helper()
		http.DefaultClient.CloseIdleConnections()
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// await waits until the topic has n clients.
func (h *hub) await(t *testing.T, n int) {
	t.Helper()
	servertest.Eventually(t, "the clients in the topic", func() bool { return h.topic.Len() == n })
}

func post(t *testing.T, base, event string) {
	t.Helper()
	resp, err := http.Post(base+"/events", "text/plain", strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("posting is answered with %s", resp.Status)
	}
}

func TestEventsReachAllWhoListen(t *testing.T) {
	h, base, shutDown := start(t)
	var readers []*bufio.Reader
	for range 3 {
		resp, err := http.Get(base + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("the content type is %q", kind)
		}
		readers = append(readers, bufio.NewReader(resp.Body))
	}
	h.await(t, len(readers))
	for i, event := range []struct{ posted, want string }{
		{"hello", "data: hello\n\n"},
		{"two\nlines", "data: two\ndata: lines\n\n"},
		{"a\r\nb\rc", "data: a\ndata: b\ndata: c\n\n"},
		{"", "data: \n\n"},
	} {
		event.want = fmt.Sprintf("id: %d\n", i+1) + event.want
		post(t, base, event.posted)
		for i, r := range readers {
			got := make([]byte, len(event.want))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != event.want {
				t.Fatalf("reader %d got %q, %v, want %q", i, got, err, event.want)
			}
		}
	}
	// a shutdown ends the streams, and does not wait for the clients to end them
	shutDown()
	h.await(t, 0)
	for i, r := range readers {
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("the stream of reader %d ends with %q, %v", i, rest, err)
		}
	}
}

func TestWhoLeavesIsForgotten(t *testing.T) {
	h, base, shutDown := start(t)
	defer shutDown()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h.await(t, 1)
	cancel()
	// nothing is sent, so only the end of the connection shows that
	h.await(t, 0)
}

func TestClientsThatReconnectGetWhatTheyHaveMissed(t *testing.T) {
	_, base, shutDown := start(t)
	defer shutDown()
	for _, event := range []string{"one", "two", "three"} {
		post(t, base, event)
	}
	var client fasthttp.Client
	defer client.CloseIdleConnections()
	source := sse.Source{URL: base + "/events", Client: &client, LastEventID: "1"}
	var got []string
	for event, err := range source.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, string(event.Data)); len(got) == 2 {
			break
		}
	}
	if got[0] != "two" || got[1] != "three" {
		t.Errorf("got %q", got)
	}
}

func TestRunServesThePage(t *testing.T) {
	p := program.Start(t)
	resp, err := http.Get("http://" + p.Addr() + "/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !strings.Contains(string(body), "EventSource('/events')") {
		t.Errorf("the page is %q", body)
	}
	p.End()
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }
