package fakenet

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	testRequest  = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	testBody     = "Hello, World!"
	testResponse = "HTTP/1.1 200 OK\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\n\r\n" + testBody
)

func config(cfg Config) Config {
	if cfg.Texts == nil {
		cfg.Texts = [][]byte{[]byte(testRequest)}
	}
	cfg.ContentType, cfg.Body = "text/plain", testBody
	return cfg
}

func listen(t testing.TB, cfg Config) *Listener {
	t.Helper()
	ln, err := New(config(cfg))
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// accepted returns the connection of a listener's only client, with all of its
// requests granted.
func accepted(t testing.TB, requests int) (*Listener, net.Conn) {
	t.Helper()
	ln := listen(t, Config{Requests: requests, PerConn: requests, Clients: 1})
	ln.Start()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return ln, c
}

// responder returns a server for single connections that writes response for each request, in
// pieces of at most piece bytes.
func responder(response string, readBuffer, piece int) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, readBuffer)
		pending := 0
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			pending += n
			out := strings.Repeat(response, pending/len(testRequest))
			pending %= len(testRequest)
			for len(out) > 0 {
				n := min(piece, len(out))
				if _, err := c.Write([]byte(out[:n])); err != nil {
					return
				}
				out = out[n:]
			}
		}
	}
}

// serveEach runs handle on a goroutine per connection.
func serveEach(handle func(net.Conn)) func(net.Listener) error {
	return func(ln net.Listener) error {
		for {
			c, err := ln.Accept()
			if err != nil {
				return nil
			}
			go handle(c)
		}
	}
}

func drive(t *testing.T, cfg Config, serve func(net.Listener) error) error {
	t.Helper()
	nothing := func() {}
	return listen(t, cfg).Drive(serve, nothing, nothing)
}

func TestWriteCountsResponsesHoweverTheyAreCut(t *testing.T) {
	const requests = 7
	all := []byte(strings.Repeat(testResponse, requests))
	for piece := 1; piece <= len(all); piece++ {
		ln, c := accepted(t, requests)
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
		for p := range slices.Chunk(all, piece) {
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatalf("pieces of %d: Write: %d, %v", piece, n, err)
			}
		}
		if err := errors.Join(c.Close(), ln.Wait(), ln.Stop()); err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
	}
}

func TestWrongResponsesAreNoticed(t *testing.T) {
	long := strings.Replace(testResponse, "Date", "Filler: "+strings.Repeat("x", carryBytes)+"\r\nDate", 1)
	tests := []struct {
		name, response string
	}{
		{"status", strings.Replace(testResponse, "200 OK", "400 Bad Request", 1)},
		{"protocol", strings.Replace(testResponse, "1.1", "1.0", 1)},
		{"body", strings.Replace(testResponse, "World", "Moon!", 1)},
		{"short body", testResponse[:len(testResponse)-1]},
		{"long body", testResponse + "!"},
		{"no end of head", strings.Replace(testResponse, "\r\n\r\n", "\r\n", 1)},
		{"one too many", testResponse + testResponse},
		{"content type", strings.Replace(testResponse, "text/plain", "text/html", 1)},
		{"declared length", strings.Replace(testResponse, "Length: 13", "Length: 12", 1)},
		{"no declared length", strings.Replace(testResponse, "Content-Length: 13", "X: y", 1)},
		{"no date", strings.Replace(testResponse, "Date", "Data", 1)},
		{"closing", strings.Replace(testResponse, "Date", "Connection: close\r\nDate", 1)},
		{"too long", long},
		{"nothing", ""},
	}
	for _, test := range tests {
		for _, piece := range []int{1, 60, 4096} {
			t.Run(fmt.Sprintf("%s in pieces of %d", test.name, piece), func(t *testing.T) {
				err := drive(t, Config{Requests: 6, PerConn: 3, Clients: 1}, serveEach(responder(test.response, 4096, piece)))
				if err == nil {
					t.Error("went unnoticed")
				}
			})
		}
	}
}

func TestClientsSendTheirBudgetAndNoMore(t *testing.T) {
	for _, cfg := range []Config{
		{Requests: 1, PerConn: 1, Clients: 1},
		{Requests: 1, PerConn: 10, Clients: 100, Turns: 2},
		{Requests: 1000, PerConn: 1, Clients: 3},
		{Requests: 1000, PerConn: 7, Clients: 3},
		{Requests: 1000, PerConn: 7, Batch: 3, Clients: 3},
		{Requests: 1000, PerConn: 7, Batch: 3, Clients: 30, Turns: 1},
		{Requests: 1000, PerConn: 3, Batch: 7, Clients: 30, Turns: 29},
		{Requests: 1000, PerConn: 5000, Clients: 2},
	} {
		var mu sync.Mutex
		bytes := 0
		handle := responder(testResponse, 100, 64)
		err := drive(t, cfg, serveEach(func(c net.Conn) {
			counting := &countingConn{Conn: c}
			handle(counting)
			mu.Lock()
			defer mu.Unlock()
			bytes += counting.read
			if limit := cfg.PerConn * len(testRequest); counting.read > limit {
				t.Errorf("%+v: %d bytes on one connection", cfg, counting.read)
			}
		}))
		mu.Lock()
		if want := cfg.Requests * len(testRequest); err != nil || bytes > want {
			t.Errorf("%+v: %d bytes, want %d: %v", cfg, bytes, want, err)
		}
		mu.Unlock()
	}
}

type countingConn struct {
	net.Conn
	read int
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read += n
	return n, err
}

func TestHarnessAllocatesNothing(t *testing.T) {
	buf := make([]byte, 4096)
	answers := []byte(strings.Repeat(testResponse, 3))
	for _, onePerRead := range []bool{false, true} {
		ln := listen(t, Config{Texts: numbered(5), Requests: 1 << 30, PerConn: 3, Clients: 1, OnePerRead: onePerRead})
		ln.Start()
		connection := func() {
			c, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			for from := 0; from < len(answers); from += len(testResponse) {
				if _, err := c.Read(buf); err != nil && onePerRead {
					t.Fatal(err)
				}
				_, _ = c.Write(answers[from:][:100])
				_, _ = c.Write(answers[from+100:][:len(testResponse)-100])
			}
			_ = c.Close()
		}
		connection()
		if n := testing.AllocsPerRun(100, connection); n != 0 {
			t.Errorf("one request a read: %v: %v allocations per connection", onePerRead, n)
		}
	}
}
