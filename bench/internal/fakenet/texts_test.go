package fakenet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/await"
)

// numbered returns n requests. Each differs in length from its neighbours.
func numbered(n int) (texts [][]byte) {
	for i := range n {
		texts = append(texts, fmt.Appendf(nil, "GET /%d HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n", i, strings.Repeat("x", i*7%31)))
	}
	return texts
}

func readAll(t *testing.T, c net.Conn, size int) (all []byte) {
	t.Helper()
	buf := make([]byte, size)
	for {
		n, err := c.Read(buf)
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all
		}
		if err != nil || n == 0 {
			t.Fatalf("Read: %d, %v", n, err)
		}
	}
}

func TestTextsTakeTurns(t *testing.T) {
	for _, texts := range []int{1, 2, 5, 300} {
		for _, requests := range []int{1, 4, 5, 6, 5000} {
			for _, size := range []int{1, 7, 30, 4096, 65536, 1 << 20} {
				all := numbered(texts)
				ln := listen(t, Config{Texts: all, Requests: 3 * requests, PerConn: requests, Clients: 2, Turns: 1})
				ln.Start()
				// Accept returns the last client first.
				at := apart % texts
				for range 2 {
					c, err := ln.Accept()
					if err != nil {
						t.Fatal(err)
					}
					var want []byte
					for range requests {
						want = append(want, all[at]...)
						at = (at + 1) % texts
					}
					if got := readAll(t, c, size); !bytes.Equal(got, want) {
						t.Fatalf("%d texts, %d requests, buffer of %d: got %d bytes, want %d", texts, requests, size, len(got), len(want))
					}
					if _, err := c.Write([]byte(strings.Repeat(testResponse, requests))); err != nil {
						t.Fatal(err)
					}
					_ = c.Close()
				}
			}
		}
	}
}

// TestOnePerRead reads a connection like a server that responds to each request at once, and
// like one that reads ahead meanwhile.
func TestOnePerRead(t *testing.T) {
	all := numbered(3)
	for _, batch := range []int{1, 2, 10} {
		ln := listen(t, Config{Texts: all, Requests: 10, PerConn: 10, Batch: batch, Clients: 1, OnePerRead: true})
		ln.Start()
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		for i := range 10 {
			text := all[i%3]
			n := 0
			if i%2 == 0 {
				n, err = c.Read(buf[:5])
			}
			if err == nil {
				var more int
				more, err = c.Read(buf[n:])
				n += more
			}
			if err != nil || !bytes.Equal(buf[:n], text) {
				t.Fatalf("request %d: %q, %v, want %q", i, buf[:n], err, text)
			}
			// the next request does not arrive before the response
			_ = c.SetReadDeadline(time.Unix(1, 0))
			if n, err := c.Read(buf); i < 9 && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("before the response to request %d: %d, %v", i, n, err)
			}
			_ = c.SetReadDeadline(time.Time{})
			if i%3 > 0 {
				if _, err := c.Write([]byte(testResponse)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			// a reader that does not wait for the writer
			ahead := make(chan struct{})
			go func() {
				defer close(ahead)
				c.(*Conn).lookAhead()
			}()
			for _, piece := range []string{testResponse[:40], testResponse[40:]} {
				if _, err := c.Write([]byte(piece)); err != nil {
					t.Fatal(err)
				}
			}
			await.Receive(t, "the look-ahead", ahead)
		}
		if n, err := c.Read(buf); err != io.EOF {
			t.Errorf("after the last request: %d, %v", n, err)
		}
		_ = c.Close()
		if err := ln.Wait(); err != nil {
			t.Error(err)
		}
		if err := ln.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// lookAhead blocks until a byte can be read, and leaves it there.
func (c *Conn) lookAhead() {
	if c.unread > 0 || c.final {
		return
	}
	_ = c.await()
}

func TestResponseBeforeTheRequestIsNoticed(t *testing.T) {
	err := drive(t, Config{Requests: 9, PerConn: 3, Clients: 1, OnePerRead: true}, serveEach(func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = c.Write([]byte(strings.Repeat(testResponse, 2)))
	}))
	if err != errUnasked {
		t.Errorf("got %v", err)
	}
}
