package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A connection waits for room to write between its turns. If its peer never reads, it waits no
// longer than the time for a response.
func TestPeerThatReadsNothingIsCutOffBetweenTurns(t *testing.T) {
	t.Parallel()
	for _, size := range []int{24 << 10, 64 << 10, 200 << 10} {
		body := bytes.Repeat([]byte("x"), size)
		var closed atomic.Bool
		ts := startServer(t, eventEngine, &Server{
			WriteTimeout: servertest.Short,
			Handler:      func(ctx *RequestCtx) { ctx.SetBody(body) },
			ConnState: func(_ net.Conn, state ConnState) {
				if state == StateClosed {
					closed.Store(true)
				}
			},
		})
		c := ts.Dial()
		// more than the system buffers for a peer that does not read
		c.Send(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 32<<20/size))
		servertest.Eventually(t, "the connection is closed", closed.Load)
	}
}

// If a descriptor is closed twice, the second call may close another connection.
func TestHookThatEndsItsGoroutineClosesOnce(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var once sync.Once
	reached, free := make(chan struct{}), make(chan struct{})
	ts := startServer(t, eventEngine, &Server{
		Handler: func(*RequestCtx) {},
		ConnState: func(_ net.Conn, state ConnState) {
			if state == StateClosed {
				once.Do(func() {
					close(reached)
					<-free
					runtime.Goexit()
				})
			}
		},
	})
	c := ts.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	c.Expect(200, "")
	servertest.Receive(t, "the hook", reached)
	// open connections until one gets the same descriptor
	var others []net.Conn
	for range 4 {
		nc, err := net.Dial("tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, nc, accepted)
	}
	close(free)
	servertest.Eventually(t, "the connection is forgotten", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	for i := 0; i < len(others); i += 2 {
		if _, err := others[i].Write([]byte("x")); err != nil {
			t.Errorf("the other connection: %v", err)
		}
		if _, err := io.ReadFull(others[i+1], make([]byte, 1)); err != nil {
			t.Errorf("the other connection: %v", err)
		}
		_, _ = others[i].Close(), others[i+1].Close()
	}
}

func TestReaderThatWasLeftIsToldOfTheEnd(t *testing.T) {
	ended := make(chan error, 1)
	ts := startServer(t, eventEngine, &Server{Handler: func(ctx *RequestCtx) {
		nc := ctx.Conn()
		begun := make(chan struct{})
		go func() {
			close(begun)
			_, err := nc.Read(make([]byte, 1))
			ended <- err
		}()
		<-begun
	}})
	c := ts.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	c.Expect(200, "")
	_ = c.Close()
	if err := servertest.Receive(t, "end of the read", ended); err == nil {
		t.Error("read without an error")
	}
}

func TestDeadlineWakesAllReaders(t *testing.T) {
	const readers = 3
	ended := make(chan error, readers)
	ts := startServer(t, eventEngine, &Server{Handler: func(ctx *RequestCtx) {
		nc := ctx.Conn()
		for range readers {
			go func() {
				_, err := nc.Read(make([]byte, 1))
				ended <- err
			}()
		}
		_ = nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		for range readers {
			if err := servertest.Receive(t, "end of a read", ended); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read: %v", err)
			}
		}
	}})
	c := ts.Dial()
	c.Get("/")
	c.Expect(200, "")
}
