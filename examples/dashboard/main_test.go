package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// start runs the program, and returns the addresses of the service and of the page.
func start(t *testing.T, demo bool) (service, page string) {
	t.Helper()
	words := servertest.Program(func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, "127.0.0.1:0", "127.0.0.1:0", demo, stdout)
	}).Start(t).Words
	if len(words) != 6 {
		t.Fatalf("the program says %q", words)
	}
	return "http://" + words[2], "http://" + words[5]
}

func newClient(t *testing.T) *fasthttp.Client {
	client := &fasthttp.Client{MaxIdleConnDuration: servertest.Never} // its connections are counted
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// get sends a request, and checks the status.
func get(t *testing.T, client *fasthttp.Client, uri string, want int) (body string) {
	t.Helper()
	status, b, err := client.Get(nil, uri)
	if err != nil || status != want {
		t.Fatalf("%s: %d, %v, want %d", uri, status, err, want)
	}
	return string(b)
}

var errSeen = errors.New("seen")

// await reads events of the page until one is as the test wants it.
func await(t *testing.T, client *fasthttp.Client, page string, as func(s snapshot) bool) (s snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	err := sse.Read(ctx, client, page+"/events", func(e sse.Event) error {
		s = snapshot{}
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return err
		}
		if as(s) {
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		t.Fatalf("the last event is %+v, %v", s, err)
	}
	return s
}

func TestEventsCountRequests(t *testing.T) {
	service, page := start(t, false)
	client := newClient(t)
	for range 3 {
		get(t, client, service+"/", fasthttp.StatusOK)
	}
	get(t, client, service+"/missing?secret", fasthttp.StatusNotFound)
	get(t, client, service+"/fails", fasthttp.StatusInternalServerError)
	get(t, client, service+"/"+strings.Repeat("a", 100), fasthttp.StatusNotFound)
	s := await(t, client, page, func(s snapshot) bool {
		// an event may have the status of a response, but not yet the rest of it
		return s.Statuses == [6]uint64{2: 3, 4: 2, 5: 1} && len(s.Latest) == 6 && s.Running == 0
	})
	if s.Open != 1 || s.Accepted != 1 || s.Ended != 0 || s.Running != 0 || s.Refused != 0 || s.Bytes == 0 || s.Goroutines == 0 || s.Loops == 0 {
		t.Errorf("the event is %+v", s)
	}
	if len(s.Latest) != 6 || s.Latest[0].Path != "/"+strings.Repeat("a", maxPath-1) || s.Latest[2].Path != "/missing" {
		t.Fatalf("the latest requests are %+v", s.Latest)
	}
	if r := s.Latest[5]; r.Method != "GET" || r.Path != "/" || r.Status != 200 || r.Protocol != "HTTP/1.1" || r.Millis <= 0 {
		t.Errorf("the first request is %+v", r)
	}
	client.CloseIdleConnections()
	await(t, client, page, func(s snapshot) bool { return s.Open == 0 && s.Ended == 1 })
}

func TestEventsTellWhyRequestsAreRefused(t *testing.T) {
	m := newMonitor(new(fasthttp.Server))
	for _, err := range []error{nil, fasthttp.ErrQueueTime, fasthttp.ErrQueueTime, fasthttp.ErrBodyTooLarge} {
		m.sent(new(fasthttp.RequestCtx), fasthttp.TracedResponse{SentResponse: fasthttp.SentResponse{StatusCode: 503, Refused: err}})
	}
	var s snapshot
	servertest.Must(t, json.Unmarshal(m.snapshot(new(distribution), new(distribution)), &s))
	if s.Queued != 2 || s.Refused != 1 || s.Statuses[5] != 4 {
		t.Errorf("the event is %+v", s)
	}
}

// Only the requests of the last interval have percentiles in an event.
func TestPercentilesAreOfTheLastInterval(t *testing.T) {
	var h histogram
	h.add(time.Hour)
	before := h.read()
	for i := range 100 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	fresh := h.read().since(before)
	for p, want := range map[float64]float64{50: 50, 90: 90, 99: 99, 100: 100} {
		if got := fresh.percentile(p); got < want || got > want*1.25 {
			t.Errorf("percentile %v is %v", p, got)
		}
	}
	if got := h.read().since(h.read()).percentile(99); got != 0 {
		t.Errorf("without requests the percentile is %v", got)
	}
	for _, d := range []time.Duration{-1, 0, 1, 1 << 62} {
		h.add(d)
	}
}

func TestPageIsServed(t *testing.T) {
	service, page := start(t, true)
	client := newClient(t)
	if body := get(t, client, page+"/", fasthttp.StatusOK); !strings.Contains(body, "new EventSource('/events')") {
		t.Errorf("the page is %q", body)
	}
	get(t, client, page+"/missing", fasthttp.StatusNotFound)
	if status, _, err := client.Post(nil, page+"/", nil); err != nil || status != fasthttp.StatusMethodNotAllowed {
		t.Errorf("POST: %d, %v", status, err)
	}
	get(t, client, service+"/", fasthttp.StatusOK)
	// the program sends requests of its own
	await(t, client, page, func(s snapshot) bool { return s.Statuses[2] > 1 && s.Open > 1 })
}

func TestAnAddressInUseIsReported(t *testing.T) {
	ln, _ := servertest.ListenTCP(t)
	defer ln.Close()
	for _, addrs := range [][2]string{{ln.Addr().String(), "127.0.0.1:0"}, {"127.0.0.1:0", ln.Addr().String()}} {
		if err := run(t.Context(), addrs[0], addrs[1], false, io.Discard); err == nil {
			t.Errorf("serving %q succeeds", addrs)
		}
	}
}
